//! D400 to D402: the `routines`.

use daemon_spec::{Diagnostic, Field, FieldList, Shape, Span, Text};

use super::lists::says_something;
use crate::Subject;
use crate::prose::{folded, stem, verbs, words};
use crate::report::report;

/// Verbs that say only that something should be better.
const VAGUE_VERBS: &[&str] = &[
    "improve", "enhance", "help", "assist", "support", "handle", "manage", "optimize", "optimise",
    "maintain", "ensure", "be", "try", "deal", "care", "take", "look", "make", "think", "consider",
];

/// Things that one can see afterwards.
const TANGIBLE: &[&str] = &[
    "comment",
    "commit",
    "title",
    "body",
    "label",
    "issue",
    "pr",
    "prs",
    "pull",
    "request",
    "branch",
    "file",
    "doc",
    "documentation",
    "readme",
    "test",
    "check",
    "changelog",
    "description",
    "summary",
    "link",
    "message",
    "report",
    "reviewer",
    "assignee",
    "owner",
    "milestone",
    "tag",
    "release",
    "thread",
    "list",
    "table",
    "diff",
    "patch",
    "ticket",
    "page",
    "heading",
    "dependency",
    "version",
    "lockfile",
    "warning",
    "error",
    "failure",
    "conflict",
    "review",
    "alert",
    "channel",
    "note",
    "section",
    "index",
    "build",
    "ci",
    "sha",
    "template",
    "checklist",
    "entry",
    "line",
    "import",
];

/// Words of work without an end.
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
                "say what is done in one activation; waking again is `watch` or `schedule`",
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

/// Vague is a short routine whose every verb is vague and which names nothing one can see.
fn is_vague(routine: &str) -> bool {
    let mut verbs = verbs(routine).peekable();
    verbs.peek().is_some()
        && verbs.all(|verb| VAGUE_VERBS.contains(&verb.as_str()))
        && words(routine).count() <= 8
        && !words(routine).any(|word| TANGIBLE.contains(&stem(word).as_str()))
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
