//! The events of every source as data: kinds, actions, the fields they carry and the English words for them.
//!
//! A row maps an action to a noun, verbs and further conditions on fields. Its kind lists the paths of the
//! payload that hold those fields. A new source is new rows.

// The macros keep the tables one row a line: rustfmt leaves their content as it is, while nouns, verbs and fields are still
// checked by the compiler and the tables are still constants.

/// Lists paths: `"issue.title" Title` fills a field, `"actor.id"` is only used to derive others.
macro_rules! paths {
    (@path $path:literal $field:ident) => { $crate::vocabulary::at($path, $crate::Field::$field) };
    (@path $path:literal) => { $crate::vocabulary::raw($path) };
    ($($path:literal $($field:ident)?),* $(,)?) => { &[$(paths!(@path $path $($field)?)),*] };
}

/// Lists rows: the function that makes the row, the action, the noun, the verbs, and conditions on fields.
macro_rules! rows {
    (@guards) => { &[] };
    (@guards $guards:expr) => { $guards };
    (in $shared:ident) => { $shared };
    ($($level:ident $($action:literal)?: $noun:ident [$($verb:ident)+] $(if $guards:expr)?;)*) => {
        &[$($crate::vocabulary::$level(
            $($action,)?
            $crate::vocabulary::Noun::$noun,
            &[$($crate::vocabulary::Verb::$verb),+],
            rows!(@guards $($guards)?),
        )),*]
    };
}

/// Lists kinds: the name, the required paths, the paths of the time, the paths to read, and the rows.
macro_rules! kinds {
    ($($name:literal [$($required:literal),*] $(at [$($time:literal),*])?
        reads [$($group:ident),*] $({$($path:literal $($field:ident)?),* $(,)?})?
        rows {$($rows:tt)*}
    )*) => {
        &[$(&kind(
            $name,
            &[$($required),*],
            &[$($group,)* $(paths! {$($path $($field)?),*})?],
            $(&[$($time),*],)?
            rows! {$($rows)*},
        )),*]
    };
}

mod fields;
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

mod verbs;

use std::sync::LazyLock;

use crate::event::Source;
use crate::field::Field;

pub(crate) use fields::holds_writer;
pub use nouns::Noun;
pub use verbs::Verb;

/// One kind of event of one source.
#[derive(Debug)]
pub struct EventKind {
    /// The source that emits it.
    pub source: Source,
    /// The source's name for it: `pull_request`.
    pub name: &'static str,
    /// Paths that must have a value in every payload of this kind.
    pub required: &'static [&'static str],
    /// The paths to read, in groups that several kinds share.
    pub reads: &'static [&'static [FieldPath]],
    /// The paths at which the time of the event may be, best first.
    pub times: &'static [&'static str],
    /// The actions, as conditions name them.
    pub rows: &'static [ActionRow],
}

/// A path in a payload and the field that it fills.
#[derive(Debug)]
pub struct FieldPath {
    /// The path: `issue.labels[].name`, or `changes.*` for the keys of an object.
    pub path: &'static str,
    /// The field; `None` if the path is only used to derive other fields.
    pub field: Option<Field>,
}

/// One way to name an action in English.
#[derive(Debug)]
pub struct ActionRow {
    /// The source's name for the action; `None` if the kind has no actions.
    pub action: Option<&'static str>,
    /// The subject of the sentence.
    pub noun: Noun,
    /// The verbs that name the action.
    pub verbs: &'static [Verb],
    /// Conditions on fields that must hold in addition to the action.
    pub guards: &'static [RowGuard],
    /// Whether other runtimes can be expected to read the phrase the same way.
    pub portability: Portability,
}

/// A condition on a field under which a row applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowGuard {
    /// The field has one of these values.
    Is(Field, &'static [&'static str]),
    /// The field is known and has none of these values.
    IsNot(Field, &'static [&'static str]),
    /// The field is known and not empty.
    Present(Field),
    /// The field is known and empty.
    Absent(Field),
}

/// How far a phrase is portable between runtimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portability {
    /// The format's own examples contain it.
    Common,
    /// The service documents the event; a runtime of that service can be expected to read it.
    Service,
    /// Only this runtime documents it.
    Local,
}

/// Returns a path that fills a field.
const fn at(path: &'static str, field: Field) -> FieldPath {
    FieldPath {
        path,
        field: Some(field),
    }
}

/// Returns a path that is only used to derive fields.
const fn raw(path: &'static str) -> FieldPath {
    FieldPath { path, field: None }
}

/// Returns a row for a phrasing of the format's own examples.
const fn common(
    action: &'static str,
    noun: Noun,
    verbs: &'static [Verb],
    guards: &'static [RowGuard],
) -> ActionRow {
    ActionRow {
        action: Some(action),
        noun,
        verbs,
        guards,
        portability: Portability::Common,
    }
}

/// Returns a row for an action that the service documents.
const fn row(
    action: &'static str,
    noun: Noun,
    verbs: &'static [Verb],
    guards: &'static [RowGuard],
) -> ActionRow {
    ActionRow {
        action: Some(action),
        noun,
        verbs,
        guards,
        portability: Portability::Service,
    }
}

/// Returns a row of a kind without actions.
const fn plain(noun: Noun, verbs: &'static [Verb], guards: &'static [RowGuard]) -> ActionRow {
    ActionRow {
        action: None,
        noun,
        verbs,
        guards,
        portability: Portability::Service,
    }
}

/// Returns a row of a kind without actions, for a phrasing of the format's own examples.
const fn common_plain(
    noun: Noun,
    verbs: &'static [Verb],
    guards: &'static [RowGuard],
) -> ActionRow {
    ActionRow {
        portability: Portability::Common,
        ..plain(noun, verbs, guards)
    }
}

/// Every kind of every source, in the order of [`Source::ALL`].
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

/// The kind of every CloudEvent whose type is not in the vocabulary.
pub const UNMAPPED: &str = "unmapped";

/// What is read from such an event. It has no rows and is not among [`kinds`], since no condition can name it.
pub(crate) static UNMAPPED_KIND: EventKind = EventKind {
    source: Source::Cloudevents,
    name: UNMAPPED,
    required: &["id", "source", "type"],
    reads: &[paths! { "subject" }],
    times: &["time"],
    rows: &[],
};

/// Returns every kind of every source.
pub fn kinds() -> &'static [&'static EventKind] {
    &KINDS
}

/// The rows of each noun with their kinds, by the noun's number.
static ROWS: LazyLock<Vec<Vec<(&'static EventKind, &'static ActionRow)>>> = LazyLock::new(|| {
    let mut rows = vec![Vec::new(); Noun::ALL.len()];
    for kind in KINDS.iter().copied() {
        for row in kind.rows {
            if let Some(of_noun) = rows.get_mut(row.noun as usize) {
                of_noun.push((kind, row));
            }
        }
    }
    rows
});

/// Returns the rows that name a noun, in the order of [`kinds`].
pub fn rows(noun: Noun) -> &'static [(&'static EventKind, &'static ActionRow)] {
    ROWS.get(noun as usize).map_or(&[], Vec::as_slice)
}

/// Returns the source and the kind that a CloudEvents type `<source>.<event>.<action>` names, or `<source>.<event>` for an
/// event without actions; `None` if no row has them.
///
/// ```
/// use daemon_event::{Source, vocabulary::of_type};
///
/// assert_eq!(of_type("github.pull_request.opened"), Some((Source::Github, "pull_request", Some("opened"))));
/// assert_eq!(of_type("github.push"), Some((Source::Github, "push", None)));
/// assert_eq!(of_type("com.example.build.done"), None);
/// ```
pub fn of_type(name: &str) -> Option<(Source, &'static str, Option<&'static str>)> {
    let (source, rest) = name.split_once('.')?;
    let source: Source = source.parse().ok()?;
    let kinds = KINDS.iter().filter(|kind| kind.source == source);
    let rows = kinds.flat_map(|kind| kind.rows.iter().map(move |row| (kind, row)));
    let mut named = rows.filter(|(kind, row)| match row.action {
        Some(action) => {
            let event = rest.strip_suffix(action);
            event.and_then(|event| event.strip_suffix('.')) == Some(kind.name)
        }
        None => rest == kind.name,
    });
    named
        .next()
        .map(|(kind, row)| (source, kind.name, row.action))
}

/// Returns the kind that a source emits under this name.
pub fn kind(source: Source, name: &str) -> Option<&'static EventKind> {
    KINDS
        .iter()
        .copied()
        .find(|kind| kind.source == source && kind.name == name)
}

#[cfg(test)]
mod tests;
