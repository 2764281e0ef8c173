//! The methods of the Web API.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::state::{SlackChannel, SlackMessage, SlackState, SlackUser, WithMetadata};

/// The longest message, in characters.
const MAX_TEXT: usize = 40_000;
const MAX_BLOCKS: usize = 50;

/// One call of a method by a user.
pub(crate) struct SlackCall<'c> {
    pub(crate) state: &'c mut SlackState,
    pub(crate) user: SlackUser,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) base: String,
    pub(crate) now: Duration,
}

/// An answer, or the word in `error`.
type Answer = Result<Value, &'static str>;

/// Carries out a call.
pub(crate) type SlackHandler = fn(&mut SlackCall<'_>) -> Answer;

pub(crate) const METHODS: &[(&str, SlackHandler)] = &[
    ("auth.test", auth_test),
    ("chat.postMessage", post_message),
    ("chat.update", update),
    ("conversations.history", history),
    ("conversations.info", conversation),
    ("conversations.replies", replies),
    ("users.info", user),
];

fn auth_test(call: &mut SlackCall<'_>) -> Answer {
    Ok(json!({
        "ok": true, "url": format!("{}/slack", call.base), "team": "fake", "team_id": "T1",
        "user": call.user.name, "user_id": call.user.id, "bot_id": call.user.bot,
    }))
}

fn user(call: &mut SlackCall<'_>) -> Answer {
    let id = call.text("user").ok_or("user_not_found")?;
    let user = call.state.user(id).ok_or("user_not_found")?;
    let profile = json!({"display_name": user.name, "real_name": user.name});
    let user = json!({
        "id": user.id, "team_id": "T1", "name": user.name, "real_name": user.name, "deleted": false,
        "is_bot": user.bot.is_some(), "profile": profile,
    });
    Ok(json!({"ok": true, "user": user}))
}

fn conversation(call: &mut SlackCall<'_>) -> Answer {
    let channel = call.channel()?;
    let channel = json!({
        "id": channel.id, "name": channel.name, "is_channel": true, "is_private": false,
        "is_archived": channel.is_archived, "is_member": channel.is_member,
    });
    Ok(json!({"ok": true, "channel": channel}))
}

fn post_message(call: &mut SlackCall<'_>) -> Answer {
    let channel = call.channel_to_write()?.id.clone();
    let (text, blocks, metadata) = call.content()?;
    let text = text.unwrap_or_default();
    if text.is_empty() && blocks.is_null() {
        return Err("no_text");
    }
    let thread = call.text("thread_ts").map(str::to_owned);
    if let Some(thread) = &thread {
        let messages = call.state.messages.iter_mut();
        let mut first = messages.filter(|it| it.channel == channel && it.ts == *thread);
        first.next().ok_or("thread_not_found")?.thread_ts = Some(thread.clone());
    }
    let message = SlackMessage {
        channel,
        ts: call.state.next_ts(call.now),
        thread_ts: thread,
        user: call.user.id.clone(),
        text,
        blocks,
        metadata,
        is_edited: false,
    };
    let rendered = call.state.rendered(&message, WithMetadata::Yes);
    let answer =
        json!({"ok": true, "channel": message.channel, "ts": message.ts, "message": rendered});
    call.state.messages.push(message);
    Ok(answer)
}

fn update(call: &mut SlackCall<'_>) -> Answer {
    let channel = call.channel_to_write()?.id.clone();
    let ts = call.text("ts").unwrap_or_default().to_owned();
    let (text, blocks, metadata) = call.content()?;
    if text.is_none() && blocks.is_null() {
        return Err("no_text");
    }
    let messages = call.state.messages.iter_mut();
    let mut found = messages.filter(|it| it.channel == channel && it.ts == ts);
    let message = found.next().ok_or("message_not_found")?;
    if message.user != call.user.id {
        return Err("cant_update_message");
    }
    message.text = text.unwrap_or_default();
    message.blocks = blocks;
    message.is_edited = true;
    if !metadata.is_null() {
        message.metadata = metadata;
    }
    let message = message.clone();
    let rendered = call.state.rendered(&message, WithMetadata::Yes);
    Ok(json!({"ok": true, "channel": channel, "ts": ts, "text": message.text, "message": rendered}))
}

/// Lists the messages of a channel that are no replies, the newest first.
fn history(call: &mut SlackCall<'_>) -> Answer {
    let channel = call.channel_of_member()?.id.clone();
    let messages = call.state.messages.iter().rev();
    let messages = messages.filter(|it| it.channel == channel && !it.is_reply());
    call.page(messages.filter(|it| call.is_within(&it.ts)).collect())
}

/// Lists a thread, the oldest message first.
fn replies(call: &mut SlackCall<'_>) -> Answer {
    let channel = call.channel_of_member()?.id.clone();
    let ts = call.text("ts").unwrap_or_default();
    let of_channel = || {
        call.state
            .messages
            .iter()
            .filter(|it| it.channel == channel)
    };
    let named = of_channel()
        .find(|it| it.ts == ts)
        .ok_or("thread_not_found")?;
    let first = named.thread_ts.as_ref().unwrap_or(&named.ts);
    let of_thread =
        of_channel().filter(|it| it.ts == *first || it.thread_ts.as_ref() == Some(first));
    // The first message is in every answer.
    call.page(
        of_thread
            .filter(|it| it.ts == *first || call.is_within(&it.ts))
            .collect(),
    )
}

impl SlackCall<'_> {
    /// Returns an argument that is a string.
    fn text(&self, name: &str) -> Option<&str> {
        self.arguments
            .get(name)
            .and_then(Value::as_str)
            .filter(|it| !it.is_empty())
    }

    fn is_set(&self, name: &str) -> bool {
        let value = self.arguments.get(name);
        value.is_some_and(|value| *value == true || *value == "true" || *value == "1")
    }

    /// Returns an argument that is an object or a list, which a form has as JSON in a string.
    fn json(&self, name: &str, error: &'static str) -> Answer {
        match self.arguments.get(name) {
            None => Ok(Value::Null),
            Some(Value::String(text)) => serde_json::from_str(text).ok().ok_or(error),
            Some(value) => Ok(value.clone()),
        }
    }

    fn channel(&self) -> Result<&SlackChannel, &'static str> {
        let channel = self.text("channel").and_then(|id| self.state.channel(id));
        channel.ok_or("channel_not_found")
    }

    fn channel_of_member(&self) -> Result<&SlackChannel, &'static str> {
        let channel = self.channel()?;
        channel.is_member.then_some(channel).ok_or("not_in_channel")
    }

    fn channel_to_write(&self) -> Result<&SlackChannel, &'static str> {
        let channel = self.channel_of_member()?;
        (!channel.is_archived)
            .then_some(channel)
            .ok_or("is_archived")
    }

    /// Returns text, blocks and metadata of a message.
    fn content(&self) -> Result<(Option<String>, Value, Value), &'static str> {
        let text = self.text("text").map(str::to_owned);
        if text
            .as_ref()
            .is_some_and(|text| text.chars().count() > MAX_TEXT)
        {
            return Err("msg_too_long");
        }
        let blocks = self.json("blocks", "invalid_blocks_format")?;
        let is_block = |block: &Value| block["type"].is_string();
        let is_list = blocks
            .as_array()
            .is_some_and(|list| list.len() <= MAX_BLOCKS && list.iter().all(is_block));
        if !blocks.is_null() && !is_list {
            return Err("invalid_blocks");
        }
        let metadata = self.json("metadata", "invalid_metadata_format")?;
        let is_whole = metadata["event_type"].is_string() && metadata["event_payload"].is_object();
        if !metadata.is_null() && !is_whole {
            return Err("invalid_metadata_format");
        }
        Ok((text, blocks, metadata))
    }

    /// Returns whether a message is between `oldest` and `latest`.
    fn is_within(&self, ts: &str) -> bool {
        let order = |name: &str| self.text(name).map(|limit| micros(ts).cmp(&micros(limit)));
        let is_inclusive = self.is_set("inclusive");
        let oldest = order("oldest").is_none_or(|it| it.is_gt() || is_inclusive && it.is_eq());
        let latest = order("latest").is_none_or(|it| it.is_lt() || is_inclusive && it.is_eq());
        oldest && latest
    }

    /// Returns one page; the cursor names the last message of the page before.
    fn page(&self, messages: Vec<&SlackMessage>) -> Answer {
        let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
        let limit = self.arguments.get("limit").and_then(number).unwrap_or(100);
        let limit =
            usize::try_from(limit.clamp(1, 1000)).expect("a page has at most 1,000 messages");
        let begin = match self.text("cursor") {
            None => 0,
            Some(cursor) => {
                let last = cursor.strip_prefix("bmV4dDo").ok_or("invalid_cursor")?;
                let at = messages.iter().position(|it| it.ts == last);
                at.ok_or("invalid_cursor")? + 1
            }
        };
        let end = begin.saturating_add(limit).min(messages.len());
        let metadata = if self.is_set("include_all_metadata") {
            WithMetadata::Yes
        } else {
            WithMetadata::No
        };
        let page = messages[begin..end]
            .iter()
            .map(|it| self.state.rendered(it, metadata));
        let has_more = end < messages.len();
        let mut answer =
            json!({"ok": true, "messages": page.collect::<Vec<_>>(), "has_more": has_more});
        if let (true, Some(last)) = (has_more, messages[..end].last()) {
            answer["response_metadata"] = json!({"next_cursor": format!("bmV4dDo{}", last.ts)});
        }
        Ok(answer)
    }
}

/// Returns the microseconds of `1767225600.000001`, so that times with fewer digits compare as numbers.
fn micros(ts: &str) -> u128 {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let fraction = format!("{fraction:0<6}");
    let number = |text: &str| text.parse::<u128>().unwrap_or_default();
    number(seconds) * 1_000_000 + number(fraction.get(..6).unwrap_or("0"))
}
