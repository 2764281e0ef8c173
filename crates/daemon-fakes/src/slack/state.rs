//! What the fake Slack stores.

use std::time::Duration;

use serde_json::{Map, Value, json};

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackChannel {
    /// The id, such as `C123`.
    pub id: String,
    /// The name.
    pub name: String,
    /// Whether the applications are members, which posting requires.
    pub is_member: bool,
    /// Whether it is archived.
    pub is_archived: bool,
}

/// A user, or the account of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackUser {
    /// The id, such as `U123`.
    pub id: String,
    /// The name.
    pub name: String,
    /// The id of the bot, for an application.
    pub bot: Option<String>,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct SlackMessage {
    /// The channel.
    pub channel: String,
    /// The time that identifies it in its channel.
    pub ts: String,
    /// The first message of its thread; its own time if it is the first.
    pub thread_ts: Option<String>,
    /// The id of its author.
    pub user: String,
    /// The text.
    pub text: String,
    /// The blocks; `Null` without any.
    pub blocks: Value,
    /// The metadata; `Null` without any.
    pub metadata: Value,
    /// Whether it was edited.
    pub is_edited: bool,
}

#[derive(Debug, Default)]
pub(crate) struct SlackState {
    pub(crate) users: Vec<SlackUser>,
    /// Tokens, and the ids of the users.
    pub(crate) tokens: Vec<(String, String)>,
    pub(crate) channels: Vec<SlackChannel>,
    /// The oldest first.
    pub(crate) messages: Vec<SlackMessage>,
    last_ts: Duration,
}

impl SlackState {
    /// Returns the time of a new message: the one of the clock, or just after the last message.
    pub(crate) fn next_ts(&mut self, now: Duration) -> String {
        let next = self.last_ts + Duration::from_micros(1);
        self.last_ts = now.max(next);
        format!(
            "{}.{:06}",
            self.last_ts.as_secs(),
            self.last_ts.subsec_micros()
        )
    }

    pub(crate) fn user(&self, id: &str) -> Option<&SlackUser> {
        self.users.iter().find(|user| user.id == id)
    }

    pub(crate) fn channel(&self, id: &str) -> Option<&SlackChannel> {
        self.channels.iter().find(|channel| channel.id == id)
    }

    /// Returns a message as the API sends it. Metadata are only sent to callers that ask for them.
    pub(crate) fn rendered(&self, message: &SlackMessage, metadata: WithMetadata) -> Value {
        let mut acc = Map::new();
        let mut put = |name: &str, value: Value| acc.insert(name.to_owned(), value);
        put("type", json!("message"));
        put("user", json!(message.user));
        put("ts", json!(message.ts));
        put("text", json!(message.text));
        if let Some(bot) = self.user(&message.user).and_then(|user| user.bot.as_ref()) {
            put("bot_id", json!(bot));
        }
        if let Some(thread) = &message.thread_ts {
            put("thread_ts", json!(thread));
        }
        let replies = self
            .messages
            .iter()
            .filter(|it| it.is_reply_to(message))
            .count();
        if replies > 0 {
            put("reply_count", json!(replies));
        }
        if !message.blocks.is_null() {
            put("blocks", message.blocks.clone());
        }
        if metadata == WithMetadata::Yes && !message.metadata.is_null() {
            put("metadata", message.metadata.clone());
        }
        if message.is_edited {
            put("edited", json!({"user": message.user, "ts": message.ts}));
        }
        Value::Object(acc)
    }
}

/// Whether a response has the metadata of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithMetadata {
    Yes,
    No,
}

impl SlackMessage {
    pub(crate) fn is_reply(&self) -> bool {
        self.thread_ts
            .as_ref()
            .is_some_and(|thread| *thread != self.ts)
    }

    fn is_reply_to(&self, first: &Self) -> bool {
        self.channel == first.channel
            && self.is_reply()
            && self.thread_ts.as_ref() == Some(&first.ts)
    }
}
