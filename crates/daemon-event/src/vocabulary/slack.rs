//! Slack: messages, replies, mentions, reactions, channels and members.

use super::Guard::{Is, IsNot};
use super::Noun as N;
use super::Verb as V;
use super::{EventKind, Guard, Read, Row, at, plain, raw};
use crate::event::Source;
use crate::field::Field as F;

const COMMON: &[Read] = &[
    raw("type"),
    raw("event.type"),
    at("event.user", F::Actor),
    raw("event.bot_id"),
    at("event.channel", F::ChannelId),
    at("event.channel_type", F::ChannelKind),
    at("event.subtype", F::Subtype),
];
const CHANNEL_OBJECT: &[Read] = &[
    raw("event.type"),
    at("event.user", F::Actor),
    at("event.channel.id", F::ChannelId),
    at("event.channel.name", F::Channel),
    at("event.channel.creator", F::Actor),
];
const TEXT: &[Read] = &[
    at("event.text", F::Comment),
    at("event.ts", F::Key),
    at("event.thread_ts", F::Thread),
    raw("event.message.text"),
    raw("event.message.user"),
    raw("event.files[].id"),
];

/// A message that somebody wrote: neither a notice of the channel nor a change of an older message.
const WRITTEN: Guard = IsNot(
    F::Subtype,
    &[
        "message_changed",
        "message_deleted",
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
    ],
);

const fn kind(
    name: &'static str,
    required: &'static [&'static str],
    reads: &'static [&'static [Read]],
    rows: &'static [Row],
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

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "message",
        &["event"],
        &[COMMON, TEXT],
        &[
            plain(
                N::Message,
                &[V::Post, V::Create, V::Add],
                &[WRITTEN, Is(F::Reply, &["false"])],
            ),
            plain(
                N::Reply,
                &[V::Post, V::Create, V::Add],
                &[WRITTEN, Is(F::Reply, &["true"])],
            ),
            plain(N::Message, &[V::Reply], &[WRITTEN, Is(F::Reply, &["true"])]),
            plain(
                N::DirectMessage,
                &[V::Post, V::Create, V::Add],
                &[WRITTEN, Is(F::ChannelKind, &["im"])],
            ),
            plain(
                N::Message,
                &[V::Edit, V::Update, V::Change],
                &[Is(F::Subtype, &["message_changed"])],
            ),
            plain(
                N::Message,
                &[V::Delete, V::Remove],
                &[Is(F::Subtype, &["message_deleted"])],
            ),
            plain(
                N::SharedFile,
                &[V::Create, V::Post, V::Add],
                &[Is(F::Subtype, &["file_share"])],
            ),
        ],
    ),
    &kind(
        "app_mention",
        &["event"],
        &[COMMON, TEXT],
        &[plain(N::Mention, &[V::Create, V::Post, V::Add], &[])],
    ),
    &kind(
        "reaction_added",
        &["event"],
        &[
            COMMON,
            &[
                at("event.reaction", F::Reaction),
                at("event.item.channel", F::ChannelId),
                at("event.item.ts", F::Key),
                at("event.item_user", F::ParentAuthor),
            ],
        ],
        &[
            plain(N::Reaction, &[V::Add, V::Create, V::Post], &[]),
            plain(N::Message, &[V::React], &[]),
        ],
    ),
    &kind(
        "reaction_removed",
        &["event"],
        &[
            COMMON,
            &[
                at("event.reaction", F::Reaction),
                at("event.item.channel", F::ChannelId),
                at("event.item.ts", F::Key),
            ],
        ],
        &[
            plain(N::Reaction, &[V::Remove, V::Delete], &[]),
            plain(N::Message, &[V::Unreact], &[]),
        ],
    ),
    &kind(
        "pin_added",
        &["event"],
        &[COMMON, &[at("event.channel_id", F::ChannelId)]],
        &[
            plain(N::Message, &[V::Pin], &[]),
            plain(N::Pin, &[V::Add, V::Create], &[]),
        ],
    ),
    &kind(
        "pin_removed",
        &["event"],
        &[COMMON, &[at("event.channel_id", F::ChannelId)]],
        &[
            plain(N::Message, &[V::Unpin], &[]),
            plain(N::Pin, &[V::Remove, V::Delete], &[]),
        ],
    ),
    &kind(
        "channel_created",
        &["event"],
        &[CHANNEL_OBJECT],
        &[plain(N::Channel, &[V::Create, V::Add], &[])],
    ),
    &kind(
        "channel_rename",
        &["event"],
        &[CHANNEL_OBJECT],
        &[plain(N::Channel, &[V::Rename], &[])],
    ),
    &kind(
        "channel_archive",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::Archive, V::Close], &[])],
    ),
    &kind(
        "channel_unarchive",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::Unarchive, V::Reopen], &[])],
    ),
    &kind(
        "channel_deleted",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::Delete, V::Remove], &[])],
    ),
    &kind(
        "member_joined_channel",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::Join], &[])],
    ),
    &kind(
        "member_left_channel",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::Leave], &[])],
    ),
    &kind(
        "team_join",
        &["event"],
        &[&[
            raw("event.type"),
            at("event.user.id", F::Actor),
            at("event.user.name", F::Name),
        ]],
        &[plain(N::Workspace, &[V::Join], &[])],
    ),
    &kind(
        "emoji_changed",
        &["event"],
        &[&[
            raw("event.type"),
            at("event.subtype", F::Subtype),
            at("event.name", F::Name),
        ]],
        &[
            plain(N::Emoji, &[V::Add, V::Create], &[Is(F::Subtype, &["add"])]),
            plain(
                N::Emoji,
                &[V::Remove, V::Delete],
                &[Is(F::Subtype, &["remove"])],
            ),
            plain(N::Emoji, &[V::Change, V::Update], &[]),
        ],
    ),
];
