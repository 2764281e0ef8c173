//! D410 and D411: the `deny` rules in relation to the routines.

use std::borrow::Cow;
use std::cell::OnceCell;

use daemon_spec::{Diagnostic, Field, Span};

use super::lists::says_something;
use super::routines::texts;
use crate::Subject;
use crate::prose::{is_among, stem, stem_of, verbs, words};
use crate::report::report;

/// Verbs that change something.
const WRITES: &[&str] = &[
    "add",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "bump",
    "cancel",
    "change",
    "close",
    "comment",
    "commit",
    "convert",
    "create",
    "delete",
    "deploy",
    "disable",
    "edit",
    "enable",
    "fix",
    "force-push",
    "format",
    "label",
    "merge",
    "migrate",
    "move",
    "open",
    "post",
    "publish",
    "push",
    "rebase",
    "refactor",
    "release",
    "remove",
    "rename",
    "reopen",
    "repair",
    "replace",
    "reply",
    "resolve",
    "revert",
    "rewrite",
    "send",
    "set",
    "tag",
    "transition",
    "unassign",
    "update",
    "upgrade",
    "write",
];

/// Words that are ignored when sentences are compared.
const FILLERS: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "directly", "do", "does",
    "don't", "ever", "for", "from", "in", "into", "is", "it", "its", "never", "no", "not", "of",
    "on", "or", "that", "the", "their", "them", "these", "this", "to", "which", "with", "without",
    "your",
];

pub(crate) fn missing(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let file = subject.file();
    // A field of the wrong type shows that the author wants to deny something.
    let denies = match file.deny() {
        Field::Absent => !subject.knows_all_fields(),
        Field::Present { value, .. } => says_something(value),
        Field::Mistyped { .. } => true,
    };
    let writing = texts(subject)
        .find_map(|routine| verbs(&routine.value).find(|verb| is_among(WRITES, verb)));
    if let (false, Some(verb)) = (denies, writing) {
        let span = file
            .deny()
            .key()
            .or(file.routines().key())
            .unwrap_or(Span::at(0));
        acc.push(
            report(
                410,
                span,
                format!("the routines write (`{verb}`), and nothing is denied"),
            )
            .with_help("deny the riskiest operation next to what the daemon does"),
        );
    }
}

pub(crate) fn conflict(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Some(deny) = subject.file().deny().value() else {
        return;
    };
    let routines: Vec<Demand<'_>> = texts(subject)
        .map(|text| Demand::read(&text.value))
        .collect();
    for (index, rule) in deny.texts().enumerate() {
        let denied = Demand::read(&rule.value);
        for (number, routine) in routines.iter().enumerate() {
            if denied.covers(routine) {
                let message = format!(
                    "routine {} and deny rule {} may conflict",
                    number + 1,
                    index + 1
                );
                acc.push(
                    report(411, rule.span, message)
                        .with_help("the deny rule wins; narrow one of them"),
                );
            }
        }
    }
}

/// The verbs and words of a routine or a deny rule, in a form that can be compared.
struct Demand<'t> {
    text: &'t str,
    verbs: Vec<Cow<'t, str>>,
    /// Read from the text when they are first compared. Few rules have the verb of a routine.
    words: OnceCell<Vec<Cow<'t, str>>>,
}

impl<'t> Demand<'t> {
    fn read(text: &'t str) -> Self {
        Self {
            text,
            verbs: verbs(text).map(stem_of).collect(),
            words: OnceCell::new(),
        }
    }

    fn words(&self) -> &[Cow<'t, str>] {
        self.words.get_or_init(|| meaning(self.text))
    }

    /// Returns `true` if `routine` contains the first verb and all words of this rule.
    fn covers(&self, routine: &Self) -> bool {
        let is_named = |verb| routine.verbs.contains(verb);
        self.verbs.first().is_some_and(is_named)
            // A rule of one word, such as "merge", would conflict with every routine that mentions it.
            && self.words().len() >= 2
            && self.words().iter().all(|word| routine.words().contains(word))
    }
}

fn meaning(text: &str) -> Vec<Cow<'_, str>> {
    words(text)
        .map(stem)
        .filter(|word| !is_among(FILLERS, word))
        .collect()
}
