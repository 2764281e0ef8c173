//! The lines of a session log.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::{AgentName, Pair, Sender};

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// One line. Its number counts from 1 without gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) n: u64,
    #[serde(with = "stamp")]
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) entry: Entry,
}

/// Times as text in RFC 3339.
pub(crate) mod stamp {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// What a line records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Entry {
    /// The first line.
    Meta {
        v: u32,
        agent: String,
        sender: String,
        /// The working directory that the first turn named; without one the conversation has a place of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// A message that begins a turn.
    User {
        turn: u64,
        content: String,
        /// The way on which it came, such as `rpc`.
        via: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        #[serde(flatten)]
        chain: TurnChain,
    },
    /// A reply of the model.
    Assistant {
        turn: u64,
        content: String,
        #[serde(default)]
        calls: Vec<CallLine>,
        model: String,
        usage: TurnTokens,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// The result of a call.
    Tool {
        turn: u64,
        call_id: String,
        output: String,
        is_error: bool,
        duration_ms: u64,
    },
    /// A question to the user, which the turn waits for.
    Ask {
        turn: u64,
        ask_id: String,
        call_id: String,
        questions: Value,
    },
    /// The reply to a question.
    Answer { ask_id: String, content: String },
    /// The end of a turn.
    End {
        turn: u64,
        outcome: TurnOutcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        usage: TurnTokens,
    },
    /// A summary that replaces the lines before `upto` for the model.
    Compact {
        summary: String,
        title: String,
        upto: u64,
        usage: TurnTokens,
    },
}

/// What led to a turn: both are 0 for a message of a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnChain {
    /// How many events led to one another and to this turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hops: u32,
    /// How many delegations led to one another and to this turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
}

/// How many delegations may lead to one another.
pub(crate) const MAX_DEPTH: u32 = 3;

impl TurnChain {
    /// Returns the chain of a turn that is the last one: it cannot delegate, publish events or dispatch runs.
    pub fn last() -> Self {
        Self {
            // More than any bound, and one less than the greatest number, because the next one is compared.
            hops: u32::MAX - 1,
            depth: MAX_DEPTH,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallLine {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// Counts of tokens, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnTokens {
    /// Input tokens, without cached ones.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// TurnTokens spent on thinking.
    pub thinking: u64,
    /// Input tokens read from or written to a cache.
    pub cached: u64,
    /// The cost in millionths of a US dollar; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl TurnTokens {
    /// Adds other counts.
    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.thinking = self.thinking.saturating_add(other.thinking);
        self.cached = self.cached.saturating_add(other.cached);
        self.cost_micros = match (self.cost_micros, other.cost_micros) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
    }

    /// Returns the tokens that a model has read and written.
    pub(crate) fn context(self) -> u64 {
        self.input
            .saturating_add(self.cached)
            .saturating_add(self.output)
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnOutcome {
    /// The model finished.
    Done,
    /// The turn failed.
    Failed,
    /// A client ended it.
    Killed,
    /// The host ended while it was under way.
    Interrupted,
    /// It reached a limit before it was done.
    Limit,
}

impl TurnOutcome {
    /// Returns the word of the outcome.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
            Self::Limit => "limit",
        }
    }
}

impl Entry {
    /// Makes the first entry of a conversation.
    pub(crate) fn meta(pair: &Pair, cwd: Option<String>) -> Self {
        Self::Meta {
            v: VERSION,
            agent: pair.agent.to_string(),
            sender: pair.sender.to_string(),
            cwd,
        }
    }

    /// Returns the pair of a first line of this version.
    pub(crate) fn pair(&self) -> Option<Pair> {
        match self {
            Self::Meta {
                v: VERSION,
                agent,
                sender,
                ..
            } => Some(Pair {
                agent: agent.parse::<AgentName>().ok()?,
                sender: sender.parse::<Sender>().ok()?,
            }),
            _ => None,
        }
    }
}
