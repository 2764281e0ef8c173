//! The normalised event and its source.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

use crate::facts::EventFacts;
use crate::ids::{DeliveryId, EventId, InvalidId, RepoName, Subject};

/// A service or repository that emits events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// GitHub webhooks.
    Github,
    /// Linear webhooks.
    Linear,
    /// Slack's Events API.
    Slack,
    /// Sentry's integration webhooks.
    Sentry,
    /// Branches and tags of a watched repository.
    Git,
    /// CloudEvents whose type is not in the vocabulary.
    Cloudevents,
}

impl Source {
    /// Every source, in the order of the vocabulary.
    pub const ALL: [Self; 6] = [
        Self::Github,
        Self::Linear,
        Self::Slack,
        Self::Sentry,
        Self::Git,
        Self::Cloudevents,
    ];

    /// Returns the name used on the command line, in routes and in stored rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Linear => "linear",
            Self::Slack => "slack",
            Self::Sentry => "sentry",
            Self::Git => "git",
            Self::Cloudevents => "cloudevents",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Source {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL
            .into_iter()
            .find(|source| source.as_str() == text)
            .ok_or_else(|| {
                let expected = "a source (github, linear, slack, sentry, git or cloudevents)";
                InvalidId::new(text, expected)
            })
    }
}

/// The person or program that caused an event, as the source names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The login, or the display name where the source has no logins.
    pub name: String,
    /// Whether the source marks the actor as a program.
    pub kind: ActorKind,
}

/// Whether an actor is a person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActorKind {
    /// A person, or an actor that the source does not mark as a program.
    Human,
    /// A bot or an application.
    Bot,
}

/// A normalised event, with the facts that conditions are matched against.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The id given on receipt; sorts by time of receipt.
    pub id: EventId,
    /// The service or repository that sent it.
    pub source: Source,
    /// The source's name for the kind: `pull_request`, `Issue`, `push`.
    pub kind: String,
    /// The source's name for the action: `opened`, `create`; `None` for kinds without actions.
    pub action: Option<String>,
    /// The subject by which activations are coalesced; `None` if the payload names none.
    pub subject: Option<Subject>,
    /// The person or program that caused it; `None` if the payload names none.
    pub actor: Option<Actor>,
    /// The repository named in the payload.
    pub repo: Option<RepoName>,
    /// The time of the event by the source's clock, or the time of receipt if the payload has none.
    pub time: Timestamp,
    /// The time of receipt by this host's clock.
    pub received_at: Timestamp,
    /// The sender's id for this delivery, by which duplicates are detected.
    pub delivery: DeliveryId,
    /// The typed fields that conditions are matched against.
    pub facts: EventFacts,
    /// The body as received, byte for byte.
    pub payload: Arc<[u8]>,
}
