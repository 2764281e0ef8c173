//! Reads a payload into the facts that decide conditions.

mod derive;
mod labels;
mod slack;
mod subject;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use jiff::Timestamp;

use crate::event::{Actor, ActorKind, Event, Source};
use crate::facts::Facts;
use crate::field::{Field, FieldValue, Shape};
use crate::ids::{RepoName, Subject};
use crate::vocabulary::{self, EventKind};
use tree::{Found, Tree, walk};

pub use labels::label_names;
pub use subject::{branch_ref, full_ref};

/// What the host found out beside the payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrichment {
    /// The paths changed by a push or a pull request.
    pub changed_files: Option<Vec<String>>,
    /// The pull requests whose head is the commit of a check or a status.
    pub pull_requests: Option<Vec<PullRequestFact>>,
    /// The name of the channel, without its `#`.
    pub channel_name: Option<String>,
    /// The names of labels by their ids; Linear tells of a label that is gone by its id only.
    pub label_names: Option<BTreeMap<String, String>>,
}

/// A pull request that a check or a status belongs to, or that a comment is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequestFact {
    /// Its number.
    pub number: u64,
    /// Whether it is a draft.
    pub draft: Option<bool>,
    /// `open` or `closed`.
    pub state: Option<String>,
    /// Whether the commit is its current head.
    pub is_current_head: Option<bool>,
    /// The branch that it targets.
    pub base: Option<String>,
    /// The branch that it comes from.
    pub head: Option<String>,
    /// Whether it comes from a fork.
    pub is_fork: Option<bool>,
    /// Whether it is merged.
    pub is_merged: Option<bool>,
}

/// What a payload says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The source's name for what was done.
    pub action: Option<String>,
    /// What it is about, for coalescing.
    pub subject: Option<Subject>,
    /// Who did it.
    pub actor: Option<Actor>,
    /// The repository that it names.
    pub repo: Option<RepoName>,
    /// When it happened, by the source's clock.
    pub time: Option<Timestamp>,
    /// The typed fields that decide conditions.
    pub facts: Facts,
}

/// Reports that a body is not what its source and kind promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The body is not UTF-8.
    #[error("the body is not UTF-8 after byte {valid_up_to}")]
    Encoding {
        /// How many bytes are valid.
        valid_up_to: usize,
    },
    /// The body is not one JSON object.
    #[error("the body is not one JSON object: line {line}, column {column}")]
    Json {
        /// The line, from 1; 0 when the body is no object at all.
        line: usize,
        /// The column, from 1; 0 when the body is no object at all.
        column: usize,
    },
    /// The body lacks what its kind promises.
    #[error("a `{kind}` event has no `{place}`")]
    Missing {
        /// The kind that was claimed.
        kind: Box<str>,
        /// The path that holds nothing.
        place: Box<str>,
    },
    /// The body says that it is of another kind.
    #[error("`{place}` is `{got}`, the event was announced as `{kind}`")]
    Mismatch {
        /// The kind that was claimed.
        kind: Box<str>,
        /// Where the body names its kind.
        place: Box<str>,
        /// What the body says.
        got: Box<str>,
    },
}

/// The paths of one kind, ready to walk.
struct Plan {
    kind: &'static EventKind,
    tree: Tree,
    /// By leaf: the path, and the field that it fills.
    leaves: Vec<(&'static str, Option<Field>)>,
}

impl Plan {
    fn new(kind: &'static EventKind) -> Self {
        let mut plan = Self {
            kind,
            tree: Tree::default(),
            leaves: Vec::new(),
        };
        plan.add("action", None);
        for path in kind.required.iter().chain(kind.times) {
            plan.add(path, None);
        }
        for read in kind.reads.iter().copied().flatten() {
            plan.add(read.path, read.field);
        }
        plan
    }

    fn add(&mut self, path: &'static str, field: Option<Field>) {
        self.tree.insert(path, self.leaves.len());
        self.leaves.push((path, field));
    }
}

static PLANS: LazyLock<HashMap<(Source, &'static str), Plan>> = LazyLock::new(|| {
    vocabulary::kinds()
        .iter()
        .map(|kind| ((kind.source, kind.name), Plan::new(kind)))
        .collect()
});

/// What was found, by path.
struct Raw<'p, 'de> {
    leaves: &'p [(&'static str, Option<Field>)],
    found: Vec<(usize, Found<'de>)>,
}

impl<'de> Raw<'_, 'de> {
    fn at<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a Found<'de>> {
        self.found
            .iter()
            .filter(move |(leaf, _)| self.leaves[*leaf].0 == path)
            .map(|(_, value)| value)
    }

    fn text<'a>(&'a self, path: &str) -> Option<&'a str> {
        self.at(path).find_map(|value| match value {
            Found::Text(text) => Some(&**text),
            Found::Number(_) | Found::Flag(_) | Found::Null | Found::Container => None,
        })
    }

    fn texts<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a str> {
        self.at(path).filter_map(|value| match value {
            Found::Text(text) => Some(&**text),
            Found::Number(_) | Found::Flag(_) | Found::Null | Found::Container => None,
        })
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.at(path).find_map(|value| match value {
            Found::Number(number) => Some(*number),
            Found::Text(_) | Found::Flag(_) | Found::Null | Found::Container => None,
        })
    }

    /// Whether the path holds anything but `null`.
    fn has(&self, path: &str) -> bool {
        self.at(path).any(|value| !matches!(value, Found::Null))
    }

    /// Whether the path was seen at all, `null` included.
    fn seen(&self, path: &str) -> bool {
        self.at(path).next().is_some()
    }
}

/// Reads the body of an event into the facts that decide conditions.
///
/// Only the fields that the vocabulary names for this kind are kept; the rest is skipped unread. A kind that
/// the vocabulary does not know gives its action, actor and repository where they stand in the usual place,
/// and no condition meets it.
///
/// # Errors
/// [`Malformed`] when the body is not one JSON object of the shape that the kind promises.
pub fn read(
    source: Source,
    kind: &str,
    body: &[u8],
    enrichment: &Enrichment,
) -> Result<Reading, Malformed> {
    read_beside(source, kind, body, (enrichment, &Facts::default()))
}

/// Reads an event again with what was found out since; what was known before stays known.
///
/// The subject may become more precise: a check whose pull request is found is about that pull request.
///
/// # Errors
/// [`Malformed`] when the payload is gone, or was never one.
pub fn enriched(event: &Event, enrichment: &Enrichment) -> Result<Event, Malformed> {
    let known = (enrichment, &event.facts);
    let reading = read_beside(event.source, &event.kind, &event.payload, known)?;
    Ok(Event {
        facts: reading.facts,
        subject: reading.subject,
        ..event.clone()
    })
}

fn read_beside(
    source: Source,
    kind: &str,
    body: &[u8],
    (enrichment, known): (&Enrichment, &Facts),
) -> Result<Reading, Malformed> {
    let body = std::str::from_utf8(body).map_err(|error| Malformed::Encoding {
        valid_up_to: error.valid_up_to(),
    })?;
    let plan = PLANS
        .get(&(source, kind))
        .or_else(|| PLANS.get(&fallback(source)));
    let plan = plan.expect("every source has a plan for kinds that it does not know");
    let found = walk(&plan.tree, body).map_err(|error| Malformed::Json {
        line: error.line(),
        column: error.column(),
    })?;
    let raw = Raw {
        leaves: &plan.leaves,
        found,
    };
    if plan.kind.name == kind {
        check_shape(plan.kind, &raw)?;
    }
    check_kind(source, kind, &raw)?;
    let mut facts = collect(&raw);
    derive::derive(source, kind, &raw, enrichment, &mut facts);
    facts.complete(known);
    let repo = facts
        .text(Field::Repo)
        .and_then(|name| name.parse::<RepoName>().ok());
    let actor = facts.text(Field::Actor).map(|name| Actor {
        name: name.to_owned(),
        kind: match facts.text(Field::ActorKind) {
            Some("bot") => ActorKind::Bot,
            Some(_) | None => ActorKind::Human,
        },
    });
    Ok(Reading {
        action: raw.text("action").map(str::to_owned),
        subject: subject::subject(source, kind, &raw, &facts),
        actor,
        repo,
        time: plan.kind.times.iter().find_map(|path| time(&raw, path)),
        facts,
    })
}

/// The kind whose common paths serve kinds that the vocabulary does not know.
fn fallback(source: Source) -> (Source, &'static str) {
    let name = match source {
        Source::Github => "ping",
        Source::Linear => "Initiative",
        Source::Slack => "channel_archive",
        Source::Sentry => "comment",
        Source::Git => "create",
    };
    (source, name)
}

fn check_shape(kind: &EventKind, raw: &Raw<'_, '_>) -> Result<(), Malformed> {
    for place in kind.required {
        if !raw.has(place) {
            return Err(Malformed::Missing {
                kind: kind.name.into(),
                place: (*place).into(),
            });
        }
    }
    Ok(())
}

/// Compares the kind with the body's own word for it, where the source writes one.
fn check_kind(source: Source, kind: &str, raw: &Raw<'_, '_>) -> Result<(), Malformed> {
    let place = match source {
        Source::Linear => "type",
        Source::Slack => "event.type",
        Source::Github | Source::Sentry | Source::Git => return Ok(()),
    };
    match raw.text(place) {
        Some(got) if got == kind => Ok(()),
        Some(got) => Err(Malformed::Mismatch {
            kind: kind.into(),
            place: place.into(),
            got: got.into(),
        }),
        None => Err(Malformed::Missing {
            kind: kind.into(),
            place: place.into(),
        }),
    }
}

/// Turns what stands at fields' paths into values of the fields' shapes.
fn collect(raw: &Raw<'_, '_>) -> Facts {
    let mut facts = Facts::default();
    for (leaf, value) in &raw.found {
        let Some(field) = raw.leaves[*leaf].1 else {
            continue;
        };
        match (field.shape(), value) {
            (Shape::Flag, Found::Flag(flag)) => facts.set(field, FieldValue::Flag(*flag)),
            (Shape::Number, Found::Number(number)) => {
                facts.set(field, FieldValue::Number(*number));
            }
            (Shape::Text, Found::Text(text)) => facts.set_text(field, text),
            (Shape::Text, Found::Number(number)) => facts.set_text(field, &number.to_string()),
            (Shape::Texts, Found::Text(text)) => facts.push(field, text),
            (Shape::Texts, Found::Number(number)) => facts.push(field, &number.to_string()),
            (Shape::Texts, Found::Container) => facts.know(field),
            (Shape::Flag | Shape::Number | Shape::Text | Shape::Texts, _) => {}
        }
    }
    facts
}

/// Reads RFC 3339 text, seconds, or seconds with a fraction in text.
fn time(raw: &Raw<'_, '_>, path: &str) -> Option<Timestamp> {
    let seconds = |number: u64| Timestamp::from_second(i64::try_from(number).ok()?).ok();
    if let Some(number) = raw.number(path) {
        return seconds(number);
    }
    let text = raw.text(path)?;
    text.parse()
        .ok()
        .or_else(|| seconds(text.split_once('.')?.0.parse().ok()?))
}

#[cfg(test)]
mod tests;
