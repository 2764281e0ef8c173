//! Facts derived from Slack's events.

use super::PathValues;
use super::derive::copy_kind;
use crate::facts::EventFacts;
use crate::field::{Field, FieldValue};

/// Subtypes of messages that the service writes to report a change of a channel or of an older message.
const NOTICES: &[&str] = &[
    "channel_join",
    "channel_leave",
    "channel_topic",
    "channel_purpose",
    "channel_name",
    "channel_archive",
    "channel_unarchive",
    "group_join",
    "group_leave",
    "group_topic",
    "group_purpose",
    "group_name",
    "pinned_item",
    "message_replied",
    "bot_add",
    "bot_remove",
    "reminder_add",
    "channel_posting_permissions",
    "group_archive",
    "group_unarchive",
    "channel_convert_to_private",
    "channel_convert_to_public",
    "channel_canvas_updated",
    "unpinned_item",
    "huddle_thread",
    "assistant_app_thread",
    "ekm_access_denied",
    "tombstone",
    "sh_room_created",
    "file_comment",
];

/// Classifies a Slack message by its subtype and its thread.
fn message_kind(subtype: Option<&str>, is_reply: bool) -> &'static str {
    match subtype {
        Some("message_changed") => "edited",
        Some("message_deleted") => "deleted",
        Some(subtype) if NOTICES.contains(&subtype) => "notice",
        Some(_) | None if is_reply => "reply",
        Some(_) | None => "posted",
    }
}

/// Adds the facts derived from several parts of a Slack event.
pub(super) fn slack(kind: &str, raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    let is_bot = raw.has("event.bot_id") || facts.text(Field::Subtype) == Some("bot_message");
    if facts.text(Field::Actor).is_none()
        && let Some(name) = raw
            .text("event.message.user")
            .or_else(|| raw.text("event.bot_id"))
    {
        facts.set_text(Field::Actor, name);
    }
    if facts.text(Field::Actor).is_some() {
        facts.set_text(Field::ActorKind, if is_bot { "bot" } else { "human" });
    }
    if kind != "message" && kind != "app_mention" {
        return;
    }
    if let Some(actor) = facts.text(Field::Actor).map(str::to_owned) {
        facts.set_text(Field::Author, &actor);
        copy_kind(facts);
    }
    let is_reply = facts
        .text(Field::Thread)
        .is_some_and(|thread| facts.text(Field::Key) != Some(thread));
    facts.set(Field::Reply, FieldValue::Flag(is_reply));
    let kind = message_kind(facts.text(Field::Subtype), is_reply);
    facts.set_text(Field::MessageKind, kind);
    if facts.text(Field::Subtype).is_none() {
        facts.set_text(
            Field::Subtype,
            if raw.has("event.files[].id") {
                "file_share"
            } else {
                "plain"
            },
        );
    }
    if facts.text(Field::Comment).is_none()
        && let Some(text) = raw.text("event.message.text")
    {
        facts.set_text(Field::Comment, text);
    }
}
