//! The event: something that happened, normalised.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

use crate::facts::Facts;
use crate::ids::{DeliveryId, EventId, InvalidId, RepoName, Subject};

/// Where events come from.
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
}

impl Source {
    /// Every source, in the order of the vocabulary.
    pub const ALL: [Self; 5] = [
        Self::Github,
        Self::Linear,
        Self::Slack,
        Self::Sentry,
        Self::Git,
    ];

    /// Returns the name used on the command line, in routes and in stored rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Linear => "linear",
            Self::Slack => "slack",
            Self::Sentry => "sentry",
            Self::Git => "git",
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
            .ok_or_else(|| InvalidId::new(text, "a source (github, linear, slack, sentry or git)"))
    }
}

/// Who did it, as the source names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The login or display name.
    pub name: String,
    /// Whether the source says that a program acted.
    pub kind: ActorKind,
}

/// Whether an actor is a person or a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActorKind {
    /// A person, or nothing says otherwise.
    Human,
    /// A bot or an application.
    Bot,
}

/// One thing that happened, with what is needed to decide whom it wakes.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Our id, made when it was received.
    pub id: EventId,
    /// Where it came from.
    pub source: Source,
    /// The source's name for the kind: `pull_request`, `Issue`, `push`.
    pub kind: String,
    /// The source's name for what was done: `opened`, `create`.
    pub action: Option<String>,
    /// What it is about, for coalescing.
    pub subject: Option<Subject>,
    /// Who did it.
    pub actor: Option<Actor>,
    /// The repository that it names.
    pub repo: Option<RepoName>,
    /// When it happened, by the source's clock; else when it was received.
    pub time: Timestamp,
    /// When it was received, by ours.
    pub received_at: Timestamp,
    /// The sender's id for this delivery.
    pub delivery: DeliveryId,
    /// The typed fields that decide conditions.
    pub facts: Facts,
    /// The body as received.
    pub payload: Arc<[u8]>,
}
