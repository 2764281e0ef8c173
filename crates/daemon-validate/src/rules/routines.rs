//! D400 to D402: the `routines`.

use daemon_spec::{Diagnostic, Field, FieldList, Shape, Span, Text};

use super::lists::says_something;
use crate::Subject;
use crate::prose::{folded, is_among, stem, verbs, words};
use crate::report::report;

// These lists are short on purpose. Advice that is wrong once is not read again, and a vague routine
// that the lists miss does no harm, because no code enforces prose.

/// Verbs that demand an improvement without naming a result.
const VAGUE_VERBS: &[&str] = &[
    "improve", "enhance", "help", "assist", "support", "handle", "manage", "optimize", "optimise",
    "maintain", "ensure", "be", "try", "deal", "care", "take", "look", "make", "think", "consider",
];

/// Nouns of observable results.
const TANGIBLE: &[&str] = &[
    "alert",
    "assignee",
    "body",
    "branch",
    "build",
    "changelog",
    "channel",
    "check",
    "checklist",
    "ci",
    "comment",
    "commit",
    "conflict",
    "dependency",
    "description",
    "diff",
    "doc",
    "documentation",
    "entry",
    "error",
    "failure",
    "file",
    "heading",
    "import",
    "index",
    "issue",
    "label",
    "line",
    "link",
    "list",
    "lockfile",
    "message",
    "milestone",
    "note",
    "owner",
    "page",
    "patch",
    "pr",
    "prs",
    "pull",
    "readme",
    "release",
    "report",
    "request",
    "review",
    "reviewer",
    "section",
    "sha",
    "summary",
    "table",
    "tag",
    "template",
    "test",
    "thread",
    "ticket",
    "title",
    "version",
    "warning",
];

/// Words that describe work without an end.
const ENDLESS: &[&str] = &[
    "continuously",
    "constantly",
    "perpetually",
    "endlessly",
    "forever",
    "indefinitely",
    "nonstop",
    "non-stop",
    "unceasingly",
    "24/7",
];

pub(crate) fn missing(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    // After a syntax error the field may exist in the part that was not read.
    if !subject.knows_all_fields() {
        return;
    }
    let (span, message) = match file.routines() {
        Field::Absent => (Span::at(0), "`routines` is missing"),
        Field::Present { key, value } if !says_something(value) => (*key, "`routines` is empty"),
        Field::Mistyped { key, value } if value.shape == Shape::Null => {
            (*key, "`routines` is empty")
        }
        Field::Present { .. } | Field::Mistyped { .. } => return,
    };
    acc.push(report(400, span, message).with_help("name at least one concrete operation"));
}

pub(crate) fn vague(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for routine in texts(subject) {
        if is_vague(&routine.value) {
            let message = format!("`{}` has no observable result", routine.value.trim());
            acc.push(
                report(401, routine.span, message)
                    .with_help("name what changes: a comment, a commit, a label, an issue"),
            );
        }
    }
}

pub(crate) fn endless(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for routine in texts(subject) {
        if is_endless(&routine.value) {
            let message = format!("`{}` never finishes", routine.value.trim());
            acc.push(report(402, routine.span, message).with_help(
                "name what one activation does; `watch` and `schedule` wake the daemon again",
            ));
        }
    }
}

pub(crate) fn texts<'a>(subject: &Subject<'a>) -> impl Iterator<Item = &'a Text> {
    subject
        .file()
        .routines()
        .value()
        .into_iter()
        .flat_map(FieldList::texts)
}

/// Returns `true` for a short routine with only vague verbs and no observable result.
fn is_vague(routine: &str) -> bool {
    let mut verbs = verbs(routine).peekable();
    verbs.peek().is_some()
        && verbs.all(|verb| VAGUE_VERBS.contains(&&*verb))
        // A longer routine usually explains what it means.
        && words(routine).count() <= 8
        && !words(routine).any(|word| is_among(TANGIBLE, &stem(word)))
}

fn is_endless(routine: &str) -> bool {
    let folded = folded(routine);
    let begins = [
        "monitor ",
        "keep watching",
        "keep monitoring",
        "keep an eye",
        "watch for ",
        "watch over ",
    ];
    folded
        .split(' ')
        .any(|word| ENDLESS.contains(&word.trim_matches([',', '.', ';', '(', ')'])))
        || begins.iter().any(|begin| folded.starts_with(begin))
        || ["at all times", "around the clock"]
            .iter()
            .any(|phrase| folded.contains(phrase))
}
