//! Facts that payloads lack: the seam that fetches them, and when it is tried again.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use daemon_event::{Enrichment, Event, InvalidId, Need};
use jiff::{SignedDuration, Timestamp};

/// How long a fact is tried for before it is given up.
pub const FACT_EXPIRY: SignedDuration = SignedDuration::from_hours(24);
/// How long after a try the next one follows: three in the first minute.
const SOON: [SignedDuration; 2] = [SignedDuration::from_secs(5), SignedDuration::from_secs(25)];
/// How long after a later try the next one follows.
const LATER: SignedDuration = SignedDuration::from_mins(5);
/// The longest that a service may ask for patience before it is asked again.
const MAX_PATIENCE: SignedDuration = SignedDuration::from_hours(1);

/// Fetches what payloads lack.
#[async_trait]
pub trait Facts: Send + Sync {
    /// Fetches one fact of one event.
    ///
    /// # Errors
    /// Says why it cannot be had, and whether asking again makes sense.
    async fn fetch(&self, need: &Need, event: &Event) -> Result<Fact, FactError>;
}

/// A fact that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What was found.
    pub found: Enrichment,
    /// Where.
    pub origin: FactOrigin,
    /// What a reader should know of it, such as that a list was cut.
    pub note: Option<String>,
}

/// Where a fact was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactOrigin {
    /// In the objects of the watched repository.
    LocalGit,
    /// At the API of the service.
    Api,
    /// In events that came before.
    Events,
}

impl FactOrigin {
    /// Returns the word used in JSON and in stored rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LocalGit => "local_git",
            Self::Api => "api",
            Self::Events => "events",
        }
    }
}

impl FromStr for FactOrigin {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        [Self::LocalGit, Self::Api, Self::Events]
            .into_iter()
            .find(|origin| origin.as_str() == text)
            .ok_or_else(|| {
                InvalidId::new(text, "where a fact was found (local_git, api or events)")
            })
    }
}

/// A fact that could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct FactError {
    /// What can be done about it.
    pub kind: FactErrorKind,
    /// What happened, for people.
    pub message: String,
}

impl FactError {
    /// Makes an error.
    pub fn new(kind: FactErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Says of whose API it speaks.
    #[must_use]
    pub fn of(self, service: &str) -> Self {
        Self {
            message: format!("{service}'s API: {}", self.message),
            ..self
        }
    }

    /// Says first what else was tried.
    #[must_use]
    pub fn after(self, earlier: impl fmt::Display) -> Self {
        Self {
            message: format!("{earlier}; {}", self.message),
            ..self
        }
    }
}

/// What can be done about a fact that could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactErrorKind {
    /// Asking again gives the same answer.
    Final,
    /// Asking again may give another.
    Retryable,
    /// The service wants to be left alone.
    Limited(Patience),
}

/// For how long a service wants to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Until an instant.
    Until(Timestamp),
    /// For a span from now.
    For(SignedDuration),
}

impl Patience {
    /// Returns when the service may be asked again, at most an hour from now.
    pub fn end(self, now: Timestamp) -> Timestamp {
        let end = match self {
            Self::Until(at) => at,
            Self::For(span) => now.checked_add(span).unwrap_or(Timestamp::MAX),
        };
        end.clamp(now, now + MAX_PATIENCE)
    }
}

/// Where a wanted fact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactState {
    /// It is not there yet.
    Waiting,
    /// It is there.
    Known,
    /// It could not be had.
    GaveUp,
}

impl FactState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Known, Self::GaveUp];

    /// Returns the word used in JSON and in stored rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Known => "known",
            Self::GaveUp => "gave_up",
        }
    }
}

impl FromStr for FactState {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| InvalidId::new(text, "the state of a fact (waiting, known or gave_up)"))
    }
}

/// A fact that a condition of some daemon needs of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedFact {
    /// Which.
    pub need: Need,
    /// Where it stands.
    pub state: FactState,
    /// How often it was tried.
    pub tries: u32,
    /// When it was first wanted.
    pub asked_at: Timestamp,
    /// The earliest next try, while it waits.
    pub not_before: Timestamp,
    /// Where it was found.
    pub origin: Option<FactOrigin>,
    /// Why it is not there, or what a reader should know of it.
    pub note: Option<String>,
}

impl WantedFact {
    /// Makes one that is due at once.
    pub fn new(need: Need, now: Timestamp) -> Self {
        Self {
            need,
            state: FactState::Waiting,
            tries: 0,
            asked_at: now,
            not_before: now,
            origin: None,
            note: None,
        }
    }

    /// Says what it becomes after a try that began at `now`.
    #[must_use]
    pub fn after_try(&self, tried: Result<&Fact, &FactError>, now: Timestamp) -> Self {
        let tried_once_more = Self {
            tries: self.tries.saturating_add(1),
            ..self.clone()
        };
        match tried {
            Ok(fact) => Self {
                state: FactState::Known,
                origin: Some(fact.origin),
                note: fact.note.clone(),
                ..tried_once_more
            },
            Err(error) => tried_once_more.after_failure(error, now),
        }
    }

    fn after_failure(self, error: &FactError, now: Timestamp) -> Self {
        let next = match error.kind {
            FactErrorKind::Final => None,
            FactErrorKind::Retryable => Some(self.next_try(now)),
            FactErrorKind::Limited(patience) => Some(self.next_try(now).max(patience.end(now))),
        };
        match next.filter(|next| *next <= self.asked_at + FACT_EXPIRY) {
            Some(next) => Self {
                not_before: next,
                note: Some(error.message.clone()),
                ..self
            },
            None if error.kind == FactErrorKind::Final => self.given_up(&error.message),
            None => {
                let message = format!("tried for 24 hours: {}", error.message);
                self.given_up(&message)
            }
        }
    }

    /// Waits until an instant without a try.
    #[must_use]
    pub fn put_off(&self, until: Timestamp) -> Self {
        Self {
            not_before: until,
            ..self.clone()
        }
    }

    /// Stops trying.
    #[must_use]
    pub fn given_up(self, why: &str) -> Self {
        Self {
            state: FactState::GaveUp,
            note: Some(why.to_owned()),
            ..self
        }
    }

    fn next_try(&self, now: Timestamp) -> Timestamp {
        let done = usize::try_from(self.tries).unwrap_or(usize::MAX);
        now + SOON.get(done.saturating_sub(1)).copied().unwrap_or(LATER)
    }
}

/// Returns when something that is not there at `now` is looked for again, by the rule for facts; `None` once it was looked
/// for during [`FACT_EXPIRY`].
pub fn next_look(asked_at: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let mut soon = asked_at;
    let soon = SOON.iter().map(|span| {
        soon += *span;
        soon
    });
    let next = soon.into_iter().find(|at| *at > now).unwrap_or(now + LATER);
    (next <= asked_at + FACT_EXPIRY).then_some(next)
}

#[cfg(test)]
mod tests;
