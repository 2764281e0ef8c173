//! A labelled corpus of conditions and payloads, and how an interpreter scores on it.

use std::collections::{BTreeMap, BTreeSet};

use daemon_event::{DeliveryId, Enrichment, Event, EventId, PullRequestFact, Source, read};
use serde::{Deserialize, Serialize};

use crate::interpretation::{Interpretation, Status, WakeVerdict};

/// A labelled condition: one line of a corpus.
#[derive(Clone, Debug, Deserialize)]
pub struct Labelled {
    /// Its name in the corpus.
    pub id: String,
    /// The line, as an author would write it.
    pub condition: String,
    /// The labels, made without an interpreter.
    pub expect: Expected,
}

/// The labels of a condition.
#[derive(Clone, Debug, Deserialize)]
pub struct Expected {
    /// The expected status, as in JSON.
    pub status: String,
    /// Other statuses that are right too.
    #[serde(default)]
    pub accept: Vec<String>,
    /// The payloads that must wake it.
    #[serde(default)]
    pub matches: BTreeSet<String>,
    /// Ids of payloads that must not wake it.
    #[serde(default)]
    pub rejects: BTreeSet<String>,
    /// Ids of payloads that may wake it or not.
    #[serde(default)]
    pub dontcare: BTreeSet<String>,
    /// Whether every payload not named must not wake it.
    #[serde(default)]
    pub exhaustive: bool,
    /// Phrases of which one must be in the remainder.
    #[serde(default)]
    pub remainder: Vec<String>,
}

/// A payload together with the facts that a host fetched for it.
#[derive(Clone, Debug, Deserialize)]
pub struct Envelope {
    /// Its name; empty if the envelope has none.
    #[serde(default)]
    pub id: String,
    /// The name of the source, such as `github`.
    pub source: String,
    /// The source's name for the kind.
    pub event: String,
    /// The facts that the host fetched.
    #[serde(default)]
    pub enrichment: EnvelopeFacts,
    /// The body as the service sent it.
    pub body: Box<serde_json::value::RawValue>,
}

/// The fetched facts, as an envelope spells them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EnvelopeFacts {
    /// The changed paths, which no payload of a pull request contains.
    pub changed_files: Option<Vec<String>>,
    /// The pull requests of a check.
    pub pull_requests: Option<Vec<EnvelopePullRequest>>,
    /// The name of the channel; Slack's payloads contain its id.
    pub channel_name: Option<String>,
    /// The names of labels by their ids.
    pub label_names: Option<BTreeMap<String, String>>,
}

/// A pull request, as an envelope writes it.
#[derive(Clone, Debug, Deserialize)]
pub struct EnvelopePullRequest {
    /// The number in its repository.
    pub number: u64,
    /// Whether it is a draft.
    pub draft: Option<bool>,
    /// `open` or `closed`.
    pub state: Option<String>,
    /// Whether the commit is its current head.
    pub is_current_head: Option<bool>,
    /// The branch that it targets.
    #[serde(default)]
    pub base: Option<String>,
    /// The branch that it comes from.
    #[serde(default)]
    pub head: Option<String>,
    /// Whether it comes from a fork.
    #[serde(default)]
    pub is_fork: Option<bool>,
    /// Whether it is merged; `None` if the host does not know.
    #[serde(default)]
    pub is_merged: Option<bool>,
}

impl From<EnvelopeFacts> for Enrichment {
    fn from(facts: EnvelopeFacts) -> Self {
        let pull_request = |found: EnvelopePullRequest| PullRequestFact {
            number: found.number,
            draft: found.draft,
            state: found.state,
            is_current_head: found.is_current_head,
            base: found.base,
            head: found.head,
            head_commit: None,
            is_fork: found.is_fork,
            is_merged: found.is_merged,
        };
        Self {
            changed_files: facts.changed_files,
            pull_requests: facts
                .pull_requests
                .map(|found| found.into_iter().map(pull_request).collect()),
            channel_name: facts.channel_name,
            label_names: facts.label_names,
        }
    }
}

/// Reports a corpus or payload that cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum CorpusError {
    /// A line is not a labelled condition.
    Line {
        /// The line's number, from 1.
        number: usize,
        /// The reason.
        source: serde_json::Error,
    },
    /// The string is not an envelope.
    Envelope(serde_json::Error),
    /// The envelope names an unknown source.
    Source(daemon_event::InvalidId),
    /// The body does not have the form of its kind.
    Body {
        /// The id of the envelope.
        id: String,
        /// The reason.
        source: daemon_event::MalformedPayload,
    },
}

impl std::fmt::Display for CorpusError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line { number, .. } => write!(f, "line {number} is not a labelled condition"),
            Self::Envelope(_) => f.write_str("not a payload envelope"),
            Self::Source(_) => f.write_str("the envelope's source is unknown"),
            Self::Body { id, .. } => write!(f, "the body of `{id}` cannot be read"),
        }
    }
}

impl std::error::Error for CorpusError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Line { source, .. } | Self::Envelope(source) => Some(source),
            Self::Source(source) => Some(source),
            Self::Body { source, .. } => Some(source),
        }
    }
}

/// Reads the lines of a corpus.
///
/// # Errors
/// Fails at the first line that is not a labelled condition.
pub fn conditions(text: &str) -> Result<Vec<Labelled>, CorpusError> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| CorpusError::Line {
                number: index + 1,
                source,
            })
        })
        .collect()
}

/// Reads one payload envelope.
///
/// # Errors
/// Fails if the string is not an envelope.
pub fn envelope(text: &str) -> Result<Envelope, CorpusError> {
    serde_json::from_str(text).map_err(CorpusError::Envelope)
}

/// Gives each envelope the names of labels that other envelopes of the corpus contain.
///
/// A host does the same with the events that it has stored. Names in the envelope itself are kept.
pub fn learn_label_names(envelopes: &mut [Envelope]) {
    let of_linear = |envelope: &&Envelope| envelope.source == Source::Linear.as_str();
    let bodies = envelopes
        .iter()
        .filter(of_linear)
        .map(|envelope| envelope.body.get());
    let learnt: BTreeMap<String, String> = bodies
        .flat_map(|body| daemon_event::label_names(body.as_bytes()))
        .collect();
    for envelope in envelopes {
        if envelope.source == Source::Linear.as_str() && envelope.enrichment.label_names.is_none() {
            envelope.enrichment.label_names = Some(learnt.clone());
        }
    }
}

impl Envelope {
    /// Parses the body into an event, as if it had just been received.
    ///
    /// # Errors
    /// Fails if the source is unknown or the body does not have the form of its kind.
    pub fn event(&self) -> Result<Event, CorpusError> {
        let source: Source = self.source.parse().map_err(CorpusError::Source)?;
        let body = self.body.get().as_bytes();
        let enrichment = Enrichment::from(self.enrichment.clone());
        let reading =
            read(source, &self.event, body, &enrichment).map_err(|source| CorpusError::Body {
                id: self.id.clone(),
                source,
            })?;
        Ok(Event {
            id: EventId::new(0, [0; 10]),
            source,
            kind: self.event.clone(),
            action: reading.action,
            subject: reading.subject,
            actor: reading.actor,
            repo: reading.repo,
            time: reading.time.unwrap_or_default(),
            received_at: reading.time.unwrap_or_default(),
            delivery: self.delivery(),
            facts: reading.facts,
            payload: body.into(),
        })
    }

    fn delivery(&self) -> DeliveryId {
        let fallback = || "envelope".parse().expect("it is a short text");
        self.id.parse().unwrap_or_else(|_unprintable| fallback())
    }
}

/// The score of an interpreter.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// The number of conditions that were scored.
    pub conditions: usize,
    /// The number of correct statuses.
    pub status_correct: usize,
    /// The number of pairs that woke and must not.
    pub false_wakes: usize,
    /// The number of pairs that did not wake and must.
    pub missed_wakes: usize,
    /// The number of partial lines whose remainder contains none of the expected phrases.
    pub silent_remainders: usize,
    /// The number of conditions without any failure.
    pub exact: usize,
    /// The conditions with a failure.
    pub failures: Vec<CorpusFailure>,
}

/// A condition with a failure.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CorpusFailure {
    /// Its name in the corpus.
    pub id: String,
    /// The line, as an author would write it.
    pub condition: String,
    /// The status that was expected.
    pub expected: String,
    /// The status that was found.
    pub got: &'static str,
    /// Payloads that should have woken it.
    pub missed: Vec<String>,
    /// Payloads that should not have.
    #[serde(rename = "false")]
    pub false_wakes: Vec<String>,
    /// The reported remainder, its parts separated by ` … `.
    pub remainder: String,
}

/// The result of an interpreter for one condition, for an independent scorer.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The condition's name in the corpus.
    pub id: String,
    /// The status, as in JSON.
    pub status: &'static str,
    /// The payloads that wake it.
    pub wakes: Vec<String>,
    /// The reported remainder, its parts separated by ` … `.
    pub remainder: String,
}

/// Decides every condition for every payload and counts what is right.
pub fn score(
    conditions: &[Labelled],
    payloads: &BTreeMap<String, Event>,
    interpret: impl Fn(&str) -> Interpretation,
) -> (Score, Vec<Answer>) {
    let mut score = Score::default();
    let mut answers = Vec::new();
    for labelled in conditions {
        let meaning = interpret(&labelled.condition);
        let wakes: Vec<String> = payloads
            .iter()
            .filter(|(_, event)| meaning.wakes(event) == WakeVerdict::Wakes)
            .map(|(id, _)| id.clone())
            .collect();
        let remainder: Vec<&str> = meaning
            .remainder
            .iter()
            .map(|span| span.of(&labelled.condition))
            .collect();
        let remainder = remainder.join(" … ");
        judge(&mut score, labelled, meaning.status, &wakes, &remainder);
        answers.push(Answer {
            id: labelled.id.clone(),
            status: meaning.status.as_str(),
            wakes,
            remainder,
        });
    }
    (score, answers)
}

fn judge(score: &mut Score, labelled: &Labelled, got: Status, wakes: &[String], remainder: &str) {
    let expect = &labelled.expect;
    let is_first = got.as_str() == expect.status;
    let is_other = !is_first && expect.accept.iter().any(|other| other == got.as_str());
    score.conditions += 1;
    score.status_correct += usize::from(is_first || is_other);
    if is_other {
        score.exact += 1;
        return;
    }
    let missed: Vec<String> = expect
        .matches
        .iter()
        .filter(|id| !wakes.contains(id))
        .cloned()
        .collect();
    let is_false = |id: &&String| {
        if expect.exhaustive {
            !expect.matches.contains(*id) && !expect.dontcare.contains(*id)
        } else {
            expect.rejects.contains(*id)
        }
    };
    let false_wakes: Vec<String> = wakes.iter().filter(is_false).cloned().collect();
    let folded = fold(remainder);
    let is_named = expect
        .remainder
        .iter()
        .any(|phrase| folded.contains(&fold(phrase)));
    let is_silent =
        expect.status == "partial" && matches!(got, Status::Mapped | Status::Partial) && !is_named;
    score.missed_wakes += missed.len();
    score.false_wakes += false_wakes.len();
    score.silent_remainders += usize::from(is_silent);
    if is_first && missed.is_empty() && false_wakes.is_empty() && !is_silent {
        score.exact += 1;
        return;
    }
    score.failures.push(CorpusFailure {
        id: labelled.id.clone(),
        condition: labelled.condition.clone(),
        expected: expect.status.clone(),
        got: got.as_str(),
        missed,
        false_wakes,
        remainder: remainder.to_owned(),
    });
}

/// Folds case, quotes and punctuation, as the corpus compares remainders.
fn fold(text: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "_/*#@.{}~-".contains(c);
    let spaced: String = text
        .to_lowercase()
        .chars()
        .map(|c| if kept(c) { c } else { ' ' })
        .collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ").trim_matches([' ', '.']).to_owned()
}
