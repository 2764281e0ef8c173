//! The configuration of agents, their conversations and their events.

use std::path::PathBuf;

use daemon_agent::{ConversationBounds, OnDisconnect};
use daemon_api::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;

/// The longest time that a question may wait for its answer.
const LONGEST_ASK: Period = Period::from_secs(7 * 86_400);

/// The longest time that a command of a model may take.
const LONGEST_COMMAND: Period = Period::from_secs(3_600);

/// The model of agents.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Model")]
pub struct ModelConfig {
    /// The provider, or the model of one, that answers for agents that name none; by default `provider.default`.
    pub active: Option<String>,
}

/// The memories of agents.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Memory")]
pub struct MemoryConfig {
    /// How many entries a call of `recall` returns that names no number, 1 to 50.
    pub recall_limit: u32,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { recall_limit: 5 }
    }
}

/// Conversations with agents.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Conversation")]
pub struct ConversationConfig {
    /// Whether a turn ends when its client disconnects.
    pub on_disconnect: Disconnect,
    /// How many messages may wait in one conversation, 1 to 1000.
    pub queue: u32,
    /// How long a question of an agent waits for its answer, at most 7 days.
    pub ask_timeout: Period,
}

impl Default for ConversationConfig {
    fn default() -> Self {
        Self {
            on_disconnect: Disconnect::Continue,
            queue: 16,
            ask_timeout: Period::from_secs(3_600),
        }
    }
}

/// Whether a turn ends when its client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disconnect {
    /// It continues.
    Continue,
    /// It ends, unless another client follows it.
    Cancel,
}

/// The event bus of agents.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Events")]
pub struct EventsConfig {
    /// How many events may lead to one another, 1 to 64.
    pub hops: u32,
    /// How many messages of one event source may wait, 1 to 10000.
    pub queue: u32,
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self {
            hops: 8,
            queue: 256,
        }
    }
}

/// What clients with a token may use of this machine, and the tools of models.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Tools")]
pub struct ToolsConfig {
    /// Directories below which clients of the control protocol with a token may let agents and runs work, as absolute paths. The
    /// owner may name any directory.
    pub roots: Vec<PathBuf>,
    /// How long a command of the tool `bash` may take, 1 second to 1 hour.
    pub bash_timeout: Period,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            bash_timeout: Period::from_secs(30),
        }
    }
}

/// The sections of conversations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversing<'c> {
    pub(super) conversation: &'c ConversationConfig,
    pub(super) events: &'c EventsConfig,
    pub(super) memory: &'c MemoryConfig,
    pub(super) tools: &'c ToolsConfig,
}

impl Conversing<'_> {
    /// Returns the bounds of conversations.
    pub(super) fn bounds(self) -> ConversationBounds {
        let count = |value: u32| usize::try_from(value).expect("it was checked to be small");
        ConversationBounds {
            queue: count(self.conversation.queue),
            ask: self.conversation.ask_timeout.unsigned(),
            on_disconnect: match self.conversation.on_disconnect {
                Disconnect::Continue => OnDisconnect::Continue,
                Disconnect::Cancel => OnDisconnect::Cancel,
            },
            hops: self.events.hops,
            events: count(self.events.queue),
            recall_limit: count(self.memory.recall_limit),
        }
    }

    /// Finds values out of their range, and roots that are not absolute.
    pub(super) fn faults(self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        for (section, key, value, most) in [
            ("conversation", "queue", self.conversation.queue, 1_000),
            ("events", "hops", self.events.hops, 64),
            ("events", "queue", self.events.queue, 10_000),
            ("memory", "recall_limit", self.memory.recall_limit, 50),
        ] {
            if !(1..=most).contains(&value) {
                let message = format!("`{section}.{key}` is {value}, it must be 1 to {most}");
                faults.push(ConfigFault::of_value(&[section, key], message));
            }
        }
        let ask = self.conversation.ask_timeout;
        if !(Period::from_secs(1)..=LONGEST_ASK).contains(&ask) {
            let message =
                format!("`conversation.ask_timeout` is {ask}, it must be 1s to {LONGEST_ASK}");
            let path = ["conversation", "ask_timeout"];
            faults.push(ConfigFault::of_value(&path, message));
        }
        let bash = self.tools.bash_timeout;
        if !(Period::from_secs(1)..=LONGEST_COMMAND).contains(&bash) {
            let message =
                format!("`tools.bash_timeout` is {bash}, it must be 1s to {LONGEST_COMMAND}");
            let path = ["tools", "bash_timeout"];
            faults.push(ConfigFault::of_value(&path, message));
        }
        for (index, root) in self.tools.roots.iter().enumerate() {
            if !root.is_absolute() {
                let message = format!("`tools.roots`: `{}` is not absolute", root.display());
                let path = ["tools", "roots", &index.to_string()];
                faults.push(ConfigFault::of_value(&path, message));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{Config, parse};

    #[test]
    fn the_bounds_of_conversations_are_configured() {
        let defaults = Config::default().conversation_bounds();
        assert_eq!(defaults, ConversationBounds::default());
        let text = "[conversation]\non_disconnect = 'cancel'\nqueue = 1\nask_timeout = '90s'\n\
            [events]\nhops = 2\nqueue = 3\n[memory]\nrecall_limit = 4\n";
        assert_eq!(
            parse(text).unwrap().conversation_bounds(),
            ConversationBounds {
                queue: 1,
                ask: Duration::from_secs(90),
                on_disconnect: OnDisconnect::Cancel,
                hops: 2,
                events: 3,
                recall_limit: 4,
            }
        );
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (text, message) in [
            (
                "[conversation]\nqueue = 0\n",
                "`conversation.queue` is 0, it must be 1 to 1000",
            ),
            (
                "[conversation]\nask_timeout = '8d'\n",
                "`conversation.ask_timeout` is 8d, it must be 1s to 7d",
            ),
            (
                "[conversation]\nask_timeout = '1ms'\n",
                "`conversation.ask_timeout` is 1ms, it must be 1s to 7d",
            ),
            (
                "[events]\nhops = 65\n",
                "`events.hops` is 65, it must be 1 to 64",
            ),
            (
                "[events]\nqueue = 10001\n",
                "`events.queue` is 10001, it must be 1 to 10000",
            ),
            (
                "[memory]\nrecall_limit = 51\n",
                "`memory.recall_limit` is 51, it must be 1 to 50",
            ),
            (
                "[tools]\nroots = ['/a', 'b']\n",
                "`tools.roots`: `b` is not absolute",
            ),
            (
                "[tcp]\nlisten = 'x'\n",
                "`tcp.listen` is `x`, which is no address with a port, such as `127.0.0.1:7778`",
            ),
        ] {
            let problems = parse(text).unwrap_err().problems;
            let messages: Vec<_> = problems.iter().map(|one| one.message.as_str()).collect();
            assert_eq!(messages, [message], "{text}");
        }
    }
}
