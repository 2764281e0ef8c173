//! D420 and D421: the text below the front matter.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use daemon_spec::{Completeness, Diagnostic, Span};

use super::routines::texts;
use crate::Subject;
use crate::prose::{verbs, words};
use crate::report::report;

/// Verbs whose result is a message to people.
const POSTS: &[&str] = &[
    "comment", "post", "reply", "respond", "notify", "announce", "ping", "message", "send",
];

/// Words of a body that specify the format or the amount of output.
static SHAPES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build([
            "output",
            "format",
            "template",
            "limit",
            "at most",
            "no more than",
            "maximum",
            "example",
        ])
        .expect("a few short patterns fit every limit of the automaton")
});

pub(crate) fn empty(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    // Without fences the start of the body is unknown.
    let has_frame = !subject
        .found_by_reader()
        .any(|found| (1..=5).contains(&found.code.number()));
    if has_frame && file.completeness() != Completeness::Nothing && is_empty(file.body_text()) {
        let at = file.body().start;
        acc.push(
            report(420, Span::at(at), "no text below the front matter")
                .with_help("add sections such as Policy, Limits and Output format"),
        );
    }
}

pub(crate) fn output(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    let body = file.body_text();
    // `leave`, `add` and `write` are messages only together with the noun `comment`.
    let posts = |text: &str| {
        let mut comments = words(text).filter(|word| word.eq_ignore_ascii_case("comment"));
        verbs(text).any(|verb| {
            POSTS.contains(&&*verb)
                || (matches!(&*verb, "leave" | "add" | "write") && comments.next().is_some())
        })
    };
    let Some(routine) = texts(subject).find(|routine| posts(&routine.value)) else {
        return;
    };
    if !is_empty(body) && !SHAPES.is_match(body) {
        acc.push(
            report(
                421,
                routine.span,
                "it posts, but the body gives no output format and no limits",
            )
            .with_help("add the sections `## Output format` and `## Limits`"),
        );
    }
}

/// Returns `true` if a body contains only blanks and HTML comments, which a rendered page hides.
fn is_empty(body: &str) -> bool {
    let mut rest = body.trim_start();
    while let Some(comment) = rest.strip_prefix("<!--") {
        rest = comment
            .split_once("-->")
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    rest.is_empty()
}
