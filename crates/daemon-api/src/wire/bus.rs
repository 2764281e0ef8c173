//! The objects of the event bus.

use daemon_agent::{FeedEvent, NumberedFeedEvent, RecoveredEntry, Subscription};
use schemars::JsonSchema;
use serde::Serialize;

use super::AgentEventObject;

/// The kinds of events that `event/subscribe` streams.
pub const AGENT_EVENT_KINDS: [&str; 9] = [
    "start",
    "text",
    "thinking",
    "tool_start",
    "tool_result",
    "ask_user",
    "compacted",
    "end",
    "published",
];

/// A subscription.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SubscriptionObject {
    /// The id, which no other subscription ever had.
    pub id: u64,
    /// The source of the events; null if the entry has none.
    pub source: Option<String>,
    /// The agent that they wake; null if the entry has none.
    pub target_agent: Option<String>,
    /// Whether the first event ends it.
    pub once: bool,
    /// What is wrong with the entry; null if nothing is.
    pub problem: Option<String>,
}

impl SubscriptionObject {
    /// Makes the object of a valid subscription.
    pub fn new(id: u64, subscription: &Subscription) -> Self {
        Self {
            id,
            source: Some(subscription.source.clone()),
            target_agent: Some(subscription.target_agent.to_string()),
            once: subscription.once,
            problem: None,
        }
    }

    /// Makes the object of an entry.
    pub(crate) fn of(id: u64, entry: &RecoveredEntry<Subscription>) -> Self {
        match entry {
            RecoveredEntry::Valid(subscription) => Self::new(id, subscription),
            RecoveredEntry::Invalid { table, problem } => {
                let text = |key: &str| table.get(key)?.as_str().map(str::to_owned);
                Self {
                    id,
                    source: text("source"),
                    target_agent: text("target_agent"),
                    once: table
                        .get("once")
                        .is_some_and(|once| once.as_bool() == Some(true)),
                    problem: Some(problem.clone()),
                }
            }
        }
    }
}

/// An event of any conversation, or one that was published.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FeedEventObject {
    /// An event of a turn.
    Turn {
        /// The agent.
        agent: String,
        /// The sender.
        sender: String,
        /// The event.
        #[serde(flatten)]
        event: AgentEventObject,
    },
    /// An event was published.
    Published {
        /// `published`.
        r#type: &'static str,
        /// The id under which it is stored.
        event_id: String,
        /// Its source.
        source: String,
        /// How many subscriptions it met.
        matched: usize,
    },
}

impl FeedEventObject {
    /// Makes the object of an event.
    pub(crate) fn new(numbered: &NumberedFeedEvent) -> Self {
        match &numbered.event {
            FeedEvent::Turn(pair, event) => Self::Turn {
                agent: pair.agent.to_string(),
                sender: pair.sender.to_string(),
                event: AgentEventObject::new(event),
            },
            FeedEvent::Published(published) => Self::Published {
                r#type: "published",
                event_id: published.event_id.clone(),
                source: published.source.clone(),
                matched: published.matched,
            },
        }
    }
}
