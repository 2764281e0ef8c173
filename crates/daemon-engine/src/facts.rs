//! Facts that are missing in payloads: the trait that fetches them, and the times of retries.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use daemon_event::{Enrichment, Event, InvalidId, Need};
use jiff::{SignedDuration, Timestamp};

/// How long after it was first wanted a fact is given up.
pub const FACT_EXPIRY: SignedDuration = SignedDuration::from_hours(24);
/// The delay between the first tries: three in the first minute.
const SOON: [SignedDuration; 2] = [SignedDuration::from_secs(5), SignedDuration::from_secs(25)];
/// The delay between later tries.
const LATER: SignedDuration = SignedDuration::from_mins(5);
/// The longest delay that a service can ask for.
const MAX_PATIENCE: SignedDuration = SignedDuration::from_hours(1);

/// Fetches facts that are missing in payloads.
#[async_trait]
pub trait Facts: Send + Sync {
    /// Fetches one fact of one event.
    ///
    /// # Errors
    /// The reason, and whether a retry makes sense.
    async fn fetch(&self, need: &Need, event: &Event) -> Result<Fact, FactError>;
}

/// A fact that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The values, which are added to the facts of the event.
    pub found: Enrichment,
    /// The source of the values.
    pub origin: FactOrigin,
    /// A note for people, such as that a list was cut.
    pub note: Option<String>,
}

/// The source of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactOrigin {
    /// In the objects of the watched repository.
    LocalGit,
    /// At the API of the service.
    Api,
    /// In earlier events.
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

/// A failure to fetch a fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct FactError {
    /// Whether and when a retry makes sense.
    pub kind: FactErrorKind,
    /// The failure, as shown to people.
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

    /// Adds the name of the service whose API failed.
    #[must_use]
    pub fn of(self, service: &str) -> Self {
        Self {
            message: format!("{service}'s API: {}", self.message),
            ..self
        }
    }

    /// Puts the failure of an earlier source in front.
    #[must_use]
    pub fn after(self, earlier: impl fmt::Display) -> Self {
        Self {
            message: format!("{earlier}; {}", self.message),
            ..self
        }
    }
}

/// Whether and when a retry makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactErrorKind {
    /// A retry would give the same result.
    Final,
    /// A retry may succeed.
    Retryable,
    /// The service limits requests until a time.
    Limited(RetryAfter),
}

/// When a service accepts requests again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// At an instant.
    Until(Timestamp),
    /// After a duration from now.
    For(SignedDuration),
}

impl RetryAfter {
    /// Returns the instant of the next try, at most an hour from now.
    pub fn end(self, now: Timestamp) -> Timestamp {
        let end = match self {
            Self::Until(at) => at,
            Self::For(span) => now.checked_add(span).unwrap_or(Timestamp::MAX),
        };
        // A service that names a far instant, by mistake or by another clock, must not mute the facts of a whole day.
        end.clamp(now, now + MAX_PATIENCE)
    }
}

/// The state of a wanted fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactState {
    /// Not found yet.
    Waiting,
    /// Found.
    Known,
    /// Given up.
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
    /// What the condition needs to know.
    pub need: Need,
    /// Whether it is waited for, found or given up.
    pub state: FactState,
    /// How often it was tried, from 0.
    pub tries: u32,
    /// When it was first wanted.
    pub asked_at: Timestamp,
    /// The earliest next try, while it is waiting.
    pub not_before: Timestamp,
    /// The source, once it is found.
    pub origin: Option<FactOrigin>,
    /// The newest failure, or a note on the found fact.
    pub note: Option<String>,
}

impl WantedFact {
    /// Makes a wanted fact that is due at once.
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

    /// Returns the fact after a try that began at `now`.
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
        // A service's own delay may end after the expiry; the fact is given up now instead of after a try that comes too
        // late.
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

    /// Delays the next try without counting one.
    #[must_use]
    pub fn put_off(&self, until: Timestamp) -> Self {
        Self {
            not_before: until,
            ..self.clone()
        }
    }

    /// Gives the fact up.
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

/// Returns the next time to look for something that does not exist at `now`, by the rule for facts; `None` once the search
/// lasted for [`FACT_EXPIRY`].
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
