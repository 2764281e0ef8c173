//! Reads a payload into typed facts.

mod derive;
mod labels;
mod scan;
mod slack;
mod subject;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use jiff::Timestamp;

use crate::event::{Actor, ActorKind, Event, Source};
use crate::facts::EventFacts;
use crate::field::{Field, FieldShape, FieldValue};
use crate::ids::{RepoName, Subject};
use crate::vocabulary::{self, EventKind};
use tree::{PathTree, PathValue, walk};

pub use labels::label_names;
pub use subject::{branch_ref, full_ref, is_zeros};

/// Facts that the host fetched because the payload does not contain them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrichment {
    /// The paths changed by a push or a pull request.
    pub changed_files: Option<Vec<String>>,
    /// The pull requests whose head is the commit of a check or a status.
    pub pull_requests: Option<Vec<PullRequestFact>>,
    /// The name of the channel, without its `#`.
    pub channel_name: Option<String>,
    /// Label names by id; Linear's payloads contain only the id of a removed label.
    pub label_names: Option<BTreeMap<String, String>>,
}

/// A pull request that a commit's check or status belongs to, or that a comment was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequestFact {
    /// The number within its repository.
    pub number: u64,
    /// Whether it is a draft; `None` if the service did not say.
    pub draft: Option<bool>,
    /// `open` or `closed`.
    pub state: Option<String>,
    /// Whether the checked commit is its current head.
    pub is_current_head: Option<bool>,
    /// The branch that it targets.
    pub base: Option<String>,
    /// The branch that it comes from.
    pub head: Option<String>,
    /// The commit of that branch.
    pub head_commit: Option<String>,
    /// Whether it comes from a fork.
    pub is_fork: Option<bool>,
    /// Whether it is merged.
    pub is_merged: Option<bool>,
}

/// The parts of an [`Event`] that a payload determines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedEvent {
    /// The source's name for the action; `None` for kinds without actions.
    pub action: Option<String>,
    /// The subject by which activations are coalesced.
    pub subject: Option<Subject>,
    /// The person or program that caused the event.
    pub actor: Option<Actor>,
    /// The repository named in the payload.
    pub repo: Option<RepoName>,
    /// The time of the event, by the source's clock.
    pub time: Option<Timestamp>,
    /// The typed fields that conditions are matched against.
    pub facts: EventFacts,
}

/// The error of reading a body that does not fit its source and kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedPayload {
    /// The body is not UTF-8.
    #[error("the body is not UTF-8 after byte {valid_up_to}")]
    Encoding {
        /// The length of the valid prefix, in bytes.
        valid_up_to: usize,
    },
    /// The body is not one JSON object.
    #[error("the body is not one JSON object{}", at(*line, *column))]
    Json {
        /// The line, from 1; 0 if the body is not an object.
        line: usize,
        /// The column, from 1; 0 if the body is not an object.
        column: usize,
    },
    /// A path that the kind requires is missing or `null`.
    #[error("the `{kind}` event has no `{place}`")]
    Missing {
        /// The announced kind.
        kind: Box<str>,
        /// The missing path.
        place: Box<str>,
    },
    /// The body names another kind than the one announced.
    #[error("`{place}` is `{got}`, the event was announced as `{kind}`")]
    Mismatch {
        /// The announced kind.
        kind: Box<str>,
        /// The path at which the body names its kind.
        place: Box<str>,
        /// The kind in the body.
        got: Box<str>,
    },
}

/// The paths to read for one kind.
struct KindPaths {
    kind: &'static EventKind,
    tree: PathTree,
    /// The path and the field that it fills, by leaf index.
    leaves: Vec<(&'static str, Option<Field>)>,
}

impl KindPaths {
    fn new(kind: &'static EventKind) -> Self {
        let mut plan = Self {
            kind,
            tree: PathTree::default(),
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

static PLANS: LazyLock<HashMap<(Source, &'static str), KindPaths>> = LazyLock::new(|| {
    // Built once per process: building a path tree for each event would cost more than reading the event.
    vocabulary::kinds()
        .iter()
        .copied()
        .chain([&vocabulary::UNMAPPED_KIND])
        .map(|kind| ((kind.source, kind.name), KindPaths::new(kind)))
        .collect()
});

/// The values found in a body, by path.
struct PathValues<'p, 'de> {
    leaves: &'p [(&'static str, Option<Field>)],
    found: Vec<(usize, PathValue<'de>)>,
}

impl<'de> PathValues<'_, 'de> {
    fn at<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a PathValue<'de>> {
        self.found
            .iter()
            .filter(move |(leaf, _)| self.leaves[*leaf].0 == path)
            .map(|(_, value)| value)
    }

    fn text<'a>(&'a self, path: &str) -> Option<&'a str> {
        self.at(path).find_map(|value| match value {
            PathValue::Text(text) => Some(&**text),
            PathValue::Number(_) | PathValue::Flag(_) | PathValue::Null | PathValue::Container => {
                None
            }
        })
    }

    fn texts<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a str> {
        self.at(path).filter_map(|value| match value {
            PathValue::Text(text) => Some(&**text),
            PathValue::Number(_) | PathValue::Flag(_) | PathValue::Null | PathValue::Container => {
                None
            }
        })
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.at(path).find_map(|value| match value {
            PathValue::Number(number) => Some(*number),
            PathValue::Text(_) | PathValue::Flag(_) | PathValue::Null | PathValue::Container => {
                None
            }
        })
    }

    /// Whether the path has a value other than `null`.
    fn has(&self, path: &str) -> bool {
        self.at(path).any(|value| !matches!(value, PathValue::Null))
    }

    /// Whether the path is present, be it `null`.
    fn seen(&self, path: &str) -> bool {
        self.at(path).next().is_some()
    }
}

/// Reads the body of an event into the facts that conditions are matched against.
///
/// Reads only the paths that the vocabulary lists for the kind. For a kind that is not in the vocabulary, reads the
/// action, actor and repository from the usual paths; no condition matches such an event.
///
/// # Examples
/// ```
/// use daemon_event::{Enrichment, Field, Source, read};
///
/// let body = br#"{"ref":"refs/heads/main","repository":{"full_name":"acme/pump","default_branch":"main"}}"#;
/// let push = read(Source::Github, "push", body, &Enrichment::default())?;
/// assert_eq!(push.facts.flag(Field::OnDefaultBranch), Some(true));
/// # Ok::<(), daemon_event::MalformedPayload>(())
/// ```
///
/// # Errors
/// Returns [`MalformedPayload`] if the body is not one JSON object of the shape that the kind requires.
pub fn read(
    source: Source,
    kind: &str,
    body: &[u8],
    enrichment: &Enrichment,
) -> Result<ParsedEvent, MalformedPayload> {
    read_with_known(source, kind, body, (enrichment, &EventFacts::default()))
}

/// Reads an event again with facts fetched since; facts that were known stay known.
///
/// The subject may become more precise: the subject of a check becomes its pull request once that is known.
///
/// # Errors
/// Returns [`MalformedPayload`] if the payload is malformed or was deleted by retention.
pub fn enriched(event: &Event, enrichment: &Enrichment) -> Result<Event, MalformedPayload> {
    let known = (enrichment, &event.facts);
    let reading = read_with_known(event.source, &event.kind, &event.payload, known)?;
    Ok(Event {
        facts: reading.facts,
        subject: reading.subject,
        ..event.clone()
    })
}

/// Returns the end of a message with the place of an error in a body; empty for an error of the whole body.
fn at(line: usize, column: usize) -> String {
    match line {
        0 => String::new(),
        line => format!(": line {line}, column {column}"),
    }
}

fn read_with_known(
    source: Source,
    kind: &str,
    body: &[u8],
    (enrichment, known): (&Enrichment, &EventFacts),
) -> Result<ParsedEvent, MalformedPayload> {
    let body = simdutf8::compat::from_utf8(body).map_err(|error| MalformedPayload::Encoding {
        valid_up_to: error.valid_up_to(),
    })?;
    let plan = PLANS
        .get(&(source, kind))
        .or_else(|| PLANS.get(&fallback(source)));
    let plan = plan.expect("every source has a plan for kinds that it does not know");
    let found = walk(&plan.tree, body).map_err(|error| MalformedPayload::Json {
        line: error.line(),
        column: error.column(),
    })?;
    let raw = PathValues {
        leaves: &plan.leaves,
        found,
    };
    if plan.kind.name == kind {
        check_shape(plan.kind, &raw)?;
    }
    check_kind(source, kind, &raw)?;
    check_repo(source, kind, &raw)?;
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
    Ok(ParsedEvent {
        action: raw.text("action").map(str::to_owned),
        subject: subject::subject(source, kind, &raw, &facts),
        actor,
        repo,
        time: plan.kind.times.iter().find_map(|path| time(&raw, path)),
        facts,
    })
}

/// Returns the kind whose common paths are read for kinds that are not in the vocabulary.
fn fallback(source: Source) -> (Source, &'static str) {
    let name = match source {
        Source::Github => "ping",
        Source::Linear => "Initiative",
        Source::Slack => "channel_archive",
        Source::Sentry => "comment",
        Source::Git => "create",
        Source::Cloudevents => vocabulary::UNMAPPED,
    };
    (source, name)
}

/// Fails if a path that the kind requires is missing.
fn check_shape(kind: &EventKind, raw: &PathValues<'_, '_>) -> Result<(), MalformedPayload> {
    for place in kind.required {
        if !raw.has(place) {
            return Err(MalformedPayload::Missing {
                kind: kind.name.into(),
                place: (*place).into(),
            });
        }
    }
    Ok(())
}

/// Fails if an event names a repository in a way that no repository has: an event without a repository concerns the daemons of
/// all repositories, so that a name which cannot be read must not be left out.
fn check_repo(
    source: Source,
    kind: &str,
    raw: &PathValues<'_, '_>,
) -> Result<(), MalformedPayload> {
    const PLACE: &str = "repository.full_name";
    let is_name = |name: &str| name.parse::<RepoName>().is_ok();
    if source == Source::Github && raw.has(PLACE) && !raw.text(PLACE).is_some_and(is_name) {
        return Err(MalformedPayload::Missing {
            kind: kind.into(),
            place: PLACE.into(),
        });
    }
    Ok(())
}

/// Compares the announced kind with the kind in the body.
fn check_kind(
    source: Source,
    kind: &str,
    raw: &PathValues<'_, '_>,
) -> Result<(), MalformedPayload> {
    let place = match source {
        Source::Linear => "type",
        Source::Slack => "event.type",
        Source::Github | Source::Sentry | Source::Git | Source::Cloudevents => return Ok(()),
    };
    match raw.text(place) {
        Some(got) if got == kind => Ok(()),
        Some(got) => Err(MalformedPayload::Mismatch {
            kind: kind.into(),
            place: place.into(),
            got: got.into(),
        }),
        None => Err(MalformedPayload::Missing {
            kind: kind.into(),
            place: place.into(),
        }),
    }
}

/// Converts the values at fields' paths into values of the fields' types.
fn collect(raw: &PathValues<'_, '_>) -> EventFacts {
    let mut facts = EventFacts::default();
    for (leaf, value) in &raw.found {
        let Some(field) = raw.leaves[*leaf].1 else {
            continue;
        };
        match (field.shape(), value) {
            (FieldShape::Flag, PathValue::Flag(flag)) => facts.set(field, FieldValue::Flag(*flag)),
            (FieldShape::Number, PathValue::Number(number)) => {
                facts.set(field, FieldValue::Number(*number));
            }
            (FieldShape::Text, PathValue::Text(text)) => facts.set_text(field, text),
            (FieldShape::Text, PathValue::Number(number)) => {
                facts.set_text(field, &number.to_string());
            }
            (FieldShape::Texts, PathValue::Text(text)) => facts.push(field, text),
            (FieldShape::Texts, PathValue::Number(number)) => {
                facts.push(field, &number.to_string());
            }
            // A body or a reason that is `null` is known to be none, so "unless its body contains …" holds.
            (FieldShape::Texts, PathValue::Container) | (FieldShape::Text, PathValue::Null) => {
                facts.know(field);
            }
            (FieldShape::Flag | FieldShape::Number | FieldShape::Text | FieldShape::Texts, _) => {}
        }
    }
    facts
}

/// Reads an RFC 3339 timestamp, seconds, or a string of seconds with a fraction.
fn time(raw: &PathValues<'_, '_>, path: &str) -> Option<Timestamp> {
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
