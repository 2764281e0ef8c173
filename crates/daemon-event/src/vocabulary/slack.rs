//! Slack: messages, replies, mentions, reactions, channels and members.

use super::RowGuard::Is;
use super::{ActionRow, EventKind, FieldPath};
use crate::event::Source;
use crate::field::Field as F;

pub(super) const COMMON: &[FieldPath] = paths! {
    "type",
    "event.type",
    "event.user" Actor,
    "event.bot_id",
    "event.channel" ChannelId,
    "event.channel_type" ChannelKind,
    "event.subtype" Subtype,
};
pub(super) const CHANNEL_OBJECT: &[FieldPath] = paths! {
    "event.type",
    "event.user" Actor,
    "event.channel.id" ChannelId,
    "event.channel.name" Channel,
    "event.channel.creator" Actor,
};
const TEXT: &[FieldPath] = paths! {
    "event.text" Comment,
    "event.ts" Key,
    "event.thread_ts" Thread,
    "event.message.text",
    "event.message.user",
    "event.files[].id",
};

/// Returns a kind of Slack's.
pub(super) const fn kind(
    name: &'static str,
    required: &'static [&'static str],
    reads: &'static [&'static [FieldPath]],
    rows: &'static [ActionRow],
) -> EventKind {
    EventKind {
        source: Source::Slack,
        name,
        required,
        reads,
        times: &["event.event_ts", "event_time"],
        rows,
    }
}

pub(super) static KINDS: &[&EventKind] = kinds! {
    "message" ["event"]
    reads [COMMON, TEXT]
    rows {
        plain: Message [Post Create Add] if &[Is(F::MessageKind, &["posted"])];
        plain: Reply [Post Create Add] if &[Is(F::MessageKind, &["reply"])];
        plain: Message [Reply] if &[Is(F::MessageKind, &["reply"])];
        plain: DirectMessage [Post Create Add MessageDirectly] if &[Is(F::MessageKind, &["posted", "reply"]), Is(F::ChannelKind, &["im"])];
        plain: Message [Edit Update Change] if &[Is(F::MessageKind, &["edited"])];
        plain: Message [Delete Remove] if &[Is(F::MessageKind, &["deleted"])];
        plain: SharedFile [Create Post Add Upload] if &[Is(F::Subtype, &["file_share"])];
        plain: ChannelTopic [Change Update Edit Move Create Add] if &[Is(F::Subtype, &["channel_topic", "group_topic"])];
        plain: ChannelPurpose [Change Update Edit Move Create Add] if &[Is(F::Subtype, &["channel_purpose", "group_purpose"])];
        plain: Huddle [Start Create] if &[Is(F::Subtype, &["huddle_thread"])];
        plain: Canvas [Update Change Edit] if &[Is(F::Subtype, &["channel_canvas_updated"])];
        plain: SlackApp [Add Join] if &[Is(F::Subtype, &["bot_add"])];
        plain: SlackApp [Remove Leave] if &[Is(F::Subtype, &["bot_remove"])];
        plain: Reminder [Add Create] if &[Is(F::Subtype, &["reminder_add"])];
        plain: Channel [MakePrivate] if &[Is(F::Subtype, &["channel_convert_to_private"])];
        plain: Channel [MakePublic] if &[Is(F::Subtype, &["channel_convert_to_public"])];
    }

    "app_mention" ["event"]
    reads [COMMON, TEXT]
    rows {
        plain: Mention [Create Post Add];
    }

    "reaction_added" ["event"]
    reads [COMMON] {
        "event.reaction" Reaction,
        "event.item.channel" ChannelId,
        "event.item.ts" Key,
        "event.item_user" ParentAuthor,
    }
    rows {
        plain: Reaction [Add Create Post];
        plain: Message [React];
    }

    "reaction_removed" ["event"]
    reads [COMMON] {
        "event.reaction" Reaction,
        "event.item.channel" ChannelId,
        "event.item.ts" Key,
    }
    rows {
        plain: Reaction [Remove Delete Unreact];
        plain: Message [Unreact];
    }

    "pin_added" ["event"]
    reads [COMMON] {
        "event.channel_id" ChannelId,
    }
    rows {
        plain: Message [Pin];
        plain: Pin [Add Create];
    }

    "pin_removed" ["event"]
    reads [COMMON] {
        "event.channel_id" ChannelId,
    }
    rows {
        plain: Message [Unpin];
        plain: Pin [Remove Delete];
    }

    "file_shared" ["event"]
    reads [COMMON] {
        "event.file_id" Key,
        "event.user_id" Actor,
        "event.channel_id" ChannelId,
    }
    rows {
        plain: SharedFile [Create Post Add Upload];
    }

    "file_public" ["event"]
    reads [COMMON] {
        "event.file_id" Key,
        "event.user_id" Actor,
        "event.channel_id" ChannelId,
    }
    rows {
        plain: SharedFile [MakePublic];
    }

    "file_unshared" ["event"]
    reads [COMMON] {
        "event.file_id" Key,
        "event.user_id" Actor,
        "event.channel_id" ChannelId,
    }
    rows {
        plain: SharedFile [Unshare];
    }

    "file_change" ["event"]
    reads [COMMON] {
        "event.file_id" Key,
        "event.user_id" Actor,
        "event.channel_id" ChannelId,
    }
    rows {
        plain: SharedFile [Change Update Edit];
    }

    "file_deleted" ["event"]
    reads [COMMON] {
        "event.file_id" Key,
        "event.user_id" Actor,
        "event.channel_id" ChannelId,
    }
    rows {
        plain: SharedFile [Delete Remove];
    }

    "file_created" ["event"]
    reads [COMMON] {
        "event.file_id" Key,
        "event.user_id" Actor,
    }
    rows {
        plain: UploadedFile [Create];
    }

    "link_shared" ["event"]
    reads [COMMON] {
        "event.links[].domain" Name,
        "event.message_ts" Key,
        "event.thread_ts" Thread,
    }
    rows {
        plain: Attachment [Post];
    }

    "star_added" ["event"]
    reads [COMMON] {
        "event.item.channel" ChannelId,
        "event.item.message.ts" Key,
    }
    rows {
        plain: Message [StarIt];
    }

    "star_removed" ["event"]
    reads [COMMON] {
        "event.item.channel" ChannelId,
        "event.item.message.ts" Key,
    }
    rows {
        plain: Message [Unstar];
    }

    "message_metadata_posted" ["event"]
    reads [COMMON] {
        "event.metadata.event_type" Name,
        "event.channel_id" ChannelId,
        "event.user_id" Actor,
        "event.message_ts" Key,
    }
    rows {
        plain: MessageMetadata [Post Create Add];
    }

    "message_metadata_updated" ["event"]
    reads [COMMON] {
        "event.metadata.event_type" Name,
        "event.channel_id" ChannelId,
        "event.user_id" Actor,
        "event.message_ts" Key,
    }
    rows {
        plain: MessageMetadata [Update Change Edit];
    }

    "message_metadata_deleted" ["event"]
    reads [COMMON] {
        "event.metadata.event_type" Name,
        "event.channel_id" ChannelId,
        "event.user_id" Actor,
        "event.message_ts" Key,
    }
    rows {
        plain: MessageMetadata [Delete Remove];
    }
};
