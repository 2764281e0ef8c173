//! What the sources emit, as data: one row per source, kind and action.
//!
//! A row says which noun and verbs name the event in English, and which fields beyond the action decide
//! it; its kind says where in a payload the facts stand. Adding a source is adding rows.

mod git;
mod github;
mod github_account;
mod github_checks;
mod github_planning;
mod github_repository;
mod github_security;
mod linear;
mod linear_workspace;
mod nouns;
mod sentry;
mod slack;
mod slack_apps;
mod slack_channels;
mod slack_people;
mod slack_workspace;
mod tells;
mod verbs;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::event::Source;
use crate::field::Field;

pub use nouns::Noun;
pub use verbs::Verb;

/// One kind of event of one source.
#[derive(Debug)]
pub struct EventKind {
    /// Who emits it.
    pub source: Source,
    /// The source's name for it: `pull_request`.
    pub name: &'static str,
    /// Paths that must hold something in every payload of this kind.
    pub required: &'static [&'static str],
    /// Where its facts stand.
    pub reads: &'static [&'static [Read]],
    /// Where the time of the event may stand, best first.
    pub times: &'static [&'static str],
    /// Its actions, as conditions name them.
    pub rows: &'static [Row],
}

/// One fact and its place in a payload.
#[derive(Debug)]
pub struct Read {
    /// The path: `issue.labels[].name`, `changes.*` for the keys of an object.
    pub path: &'static str,
    /// The field that it fills; none when it only helps to derive others.
    pub field: Option<Field>,
}

/// One way to name one action in English.
#[derive(Debug)]
pub struct Row {
    /// The source's name for the action; none if the kind has no actions.
    pub action: Option<&'static str>,
    /// What the event is about.
    pub noun: Noun,
    /// What happens to it.
    pub verbs: &'static [Verb],
    /// What else must hold for the verb to be true.
    pub guards: &'static [Guard],
    /// Whether other runtimes are expected to read it alike.
    pub portability: Portability,
}

/// A fact that must hold for a row to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The field has one of these values.
    Is(Field, &'static [&'static str]),
    /// The field is known and has none of these values.
    IsNot(Field, &'static [&'static str]),
    /// The field holds something.
    Present(Field),
    /// The field is known to hold nothing.
    Absent(Field),
}

/// How far a phrase travels between runtimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portability {
    /// The format's own examples name it.
    Common,
    /// The service documents the event; a runtime of that service can be expected to read it.
    Service,
    /// Only this runtime documents it.
    Local,
}

/// Reads a field at a path.
const fn at(path: &'static str, field: Field) -> Read {
    Read {
        path,
        field: Some(field),
    }
}

/// Reads a path that only helps to derive fields.
const fn raw(path: &'static str) -> Read {
    Read { path, field: None }
}

/// A row of the format's own phrasings.
const fn common(
    action: &'static str,
    noun: Noun,
    verbs: &'static [Verb],
    guards: &'static [Guard],
) -> Row {
    Row {
        action: Some(action),
        noun,
        verbs,
        guards,
        portability: Portability::Common,
    }
}

/// A row that its service documents.
const fn row(
    action: &'static str,
    noun: Noun,
    verbs: &'static [Verb],
    guards: &'static [Guard],
) -> Row {
    Row {
        action: Some(action),
        noun,
        verbs,
        guards,
        portability: Portability::Service,
    }
}

/// A row of a kind without actions.
const fn plain(noun: Noun, verbs: &'static [Verb], guards: &'static [Guard]) -> Row {
    Row {
        action: None,
        noun,
        verbs,
        guards,
        portability: Portability::Service,
    }
}

/// Every kind of every source.
static KINDS: LazyLock<Vec<&'static EventKind>> = LazyLock::new(|| {
    [
        github::KINDS,
        github_checks::KINDS,
        github_repository::KINDS,
        github_security::KINDS,
        github_planning::KINDS,
        github_account::KINDS,
        linear::KINDS,
        linear_workspace::KINDS,
        slack::KINDS,
        slack_channels::KINDS,
        slack_people::KINDS,
        slack_workspace::KINDS,
        slack_apps::KINDS,
        sentry::KINDS,
        git::KINDS,
    ]
    .into_iter()
    .flatten()
    .copied()
    .collect()
});

/// Returns every kind of every source.
pub fn kinds() -> &'static [&'static EventKind] {
    &KINDS
}

/// By noun: the rows that name it, with their kinds.
static ROWS: LazyLock<HashMap<Noun, Vec<(&'static EventKind, &'static Row)>>> =
    LazyLock::new(|| {
        let mut rows: HashMap<Noun, Vec<_>> = HashMap::new();
        for kind in KINDS.iter().copied() {
            for row in kind.rows {
                rows.entry(row.noun).or_default().push((kind, row));
            }
        }
        rows
    });

/// Returns the rows that name a noun, in the order of the vocabulary.
pub fn rows(noun: Noun) -> &'static [(&'static EventKind, &'static Row)] {
    ROWS.get(&noun).map_or(&[], Vec::as_slice)
}

/// Returns the kind that a source emits under a name.
pub fn kind(source: Source, name: &str) -> Option<&'static EventKind> {
    KINDS
        .iter()
        .copied()
        .find(|kind| kind.source == source && kind.name == name)
}

#[cfg(test)]
mod tests;
