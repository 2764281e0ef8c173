//! Slack: messages, replies, mentions, reactions, channels and members.

use super::Noun as N;
use super::RowGuard::Is;
use super::Verb as V;
use super::{ActionRow, EventKind, FieldPath, at, plain, raw};
use crate::event::Source;
use crate::field::Field as F;

pub(super) const COMMON: &[FieldPath] = &[
    raw("type"),
    raw("event.type"),
    at("event.user", F::Actor),
    raw("event.bot_id"),
    at("event.channel", F::ChannelId),
    at("event.channel_type", F::ChannelKind),
    at("event.subtype", F::Subtype),
];
pub(super) const CHANNEL_OBJECT: &[FieldPath] = &[
    raw("event.type"),
    at("event.user", F::Actor),
    at("event.channel.id", F::ChannelId),
    at("event.channel.name", F::Channel),
    at("event.channel.creator", F::Actor),
];
const TEXT: &[FieldPath] = &[
    at("event.text", F::Comment),
    at("event.ts", F::Key),
    at("event.thread_ts", F::Thread),
    raw("event.message.text"),
    raw("event.message.user"),
    raw("event.files[].id"),
];

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

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "message",
        &["event"],
        &[COMMON, TEXT],
        &[
            plain(
                N::Message,
                &[V::Post, V::Create, V::Add],
                &[Is(F::MessageKind, &["posted"])],
            ),
            plain(
                N::Reply,
                &[V::Post, V::Create, V::Add],
                &[Is(F::MessageKind, &["reply"])],
            ),
            plain(N::Message, &[V::Reply], &[Is(F::MessageKind, &["reply"])]),
            plain(
                N::DirectMessage,
                &[V::Post, V::Create, V::Add, V::MessageDirectly],
                &[
                    Is(F::MessageKind, &["posted", "reply"]),
                    Is(F::ChannelKind, &["im"]),
                ],
            ),
            plain(
                N::Message,
                &[V::Edit, V::Update, V::Change],
                &[Is(F::MessageKind, &["edited"])],
            ),
            plain(
                N::Message,
                &[V::Delete, V::Remove],
                &[Is(F::MessageKind, &["deleted"])],
            ),
            plain(
                N::SharedFile,
                &[V::Create, V::Post, V::Add, V::Upload],
                &[Is(F::Subtype, &["file_share"])],
            ),
            plain(
                N::ChannelTopic,
                &[V::Change, V::Update, V::Edit, V::Move, V::Create, V::Add],
                &[Is(F::Subtype, &["channel_topic", "group_topic"])],
            ),
            plain(
                N::ChannelPurpose,
                &[V::Change, V::Update, V::Edit, V::Move, V::Create, V::Add],
                &[Is(F::Subtype, &["channel_purpose", "group_purpose"])],
            ),
            plain(
                N::Huddle,
                &[V::Start, V::Create],
                &[Is(F::Subtype, &["huddle_thread"])],
            ),
            plain(
                N::Canvas,
                &[V::Update, V::Change, V::Edit],
                &[Is(F::Subtype, &["channel_canvas_updated"])],
            ),
            plain(
                N::SlackApp,
                &[V::Add, V::Join],
                &[Is(F::Subtype, &["bot_add"])],
            ),
            plain(
                N::SlackApp,
                &[V::Remove, V::Leave],
                &[Is(F::Subtype, &["bot_remove"])],
            ),
            plain(
                N::Reminder,
                &[V::Add, V::Create],
                &[Is(F::Subtype, &["reminder_add"])],
            ),
            plain(
                N::Channel,
                &[V::MakePrivate],
                &[Is(F::Subtype, &["channel_convert_to_private"])],
            ),
            plain(
                N::Channel,
                &[V::MakePublic],
                &[Is(F::Subtype, &["channel_convert_to_public"])],
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
            plain(N::Reaction, &[V::Remove, V::Delete, V::Unreact], &[]),
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
        "file_shared",
        &["event"],
        &[
            COMMON,
            &[
                at("event.file_id", F::Key),
                at("event.user_id", F::Actor),
                at("event.channel_id", F::ChannelId),
            ],
        ],
        &[plain(
            N::SharedFile,
            &[V::Create, V::Post, V::Add, V::Upload],
            &[],
        )],
    ),
    &kind(
        "file_public",
        &["event"],
        &[
            COMMON,
            &[
                at("event.file_id", F::Key),
                at("event.user_id", F::Actor),
                at("event.channel_id", F::ChannelId),
            ],
        ],
        &[plain(N::SharedFile, &[V::MakePublic], &[])],
    ),
    &kind(
        "file_unshared",
        &["event"],
        &[
            COMMON,
            &[
                at("event.file_id", F::Key),
                at("event.user_id", F::Actor),
                at("event.channel_id", F::ChannelId),
            ],
        ],
        &[plain(N::SharedFile, &[V::Unshare], &[])],
    ),
    &kind(
        "file_change",
        &["event"],
        &[
            COMMON,
            &[
                at("event.file_id", F::Key),
                at("event.user_id", F::Actor),
                at("event.channel_id", F::ChannelId),
            ],
        ],
        &[plain(N::SharedFile, &[V::Change, V::Update, V::Edit], &[])],
    ),
    &kind(
        "file_deleted",
        &["event"],
        &[
            COMMON,
            &[
                at("event.file_id", F::Key),
                at("event.user_id", F::Actor),
                at("event.channel_id", F::ChannelId),
            ],
        ],
        &[plain(N::SharedFile, &[V::Delete, V::Remove], &[])],
    ),
    &kind(
        "file_created",
        &["event"],
        &[
            COMMON,
            &[at("event.file_id", F::Key), at("event.user_id", F::Actor)],
        ],
        &[plain(N::UploadedFile, &[V::Create], &[])],
    ),
    &kind(
        "link_shared",
        &["event"],
        &[
            COMMON,
            &[
                at("event.links[].domain", F::Name),
                at("event.message_ts", F::Key),
                at("event.thread_ts", F::Thread),
            ],
        ],
        &[plain(N::Attachment, &[V::Post], &[])],
    ),
    &kind(
        "star_added",
        &["event"],
        &[
            COMMON,
            &[
                at("event.item.channel", F::ChannelId),
                at("event.item.message.ts", F::Key),
            ],
        ],
        &[plain(N::Message, &[V::StarIt], &[])],
    ),
    &kind(
        "star_removed",
        &["event"],
        &[
            COMMON,
            &[
                at("event.item.channel", F::ChannelId),
                at("event.item.message.ts", F::Key),
            ],
        ],
        &[plain(N::Message, &[V::Unstar], &[])],
    ),
    &kind(
        "message_metadata_posted",
        &["event"],
        &[
            COMMON,
            &[
                at("event.metadata.event_type", F::Name),
                at("event.channel_id", F::ChannelId),
                at("event.user_id", F::Actor),
                at("event.message_ts", F::Key),
            ],
        ],
        &[plain(
            N::MessageMetadata,
            &[V::Post, V::Create, V::Add],
            &[],
        )],
    ),
    &kind(
        "message_metadata_updated",
        &["event"],
        &[
            COMMON,
            &[
                at("event.metadata.event_type", F::Name),
                at("event.channel_id", F::ChannelId),
                at("event.user_id", F::Actor),
                at("event.message_ts", F::Key),
            ],
        ],
        &[plain(
            N::MessageMetadata,
            &[V::Update, V::Change, V::Edit],
            &[],
        )],
    ),
    &kind(
        "message_metadata_deleted",
        &["event"],
        &[
            COMMON,
            &[
                at("event.metadata.event_type", F::Name),
                at("event.channel_id", F::ChannelId),
                at("event.user_id", F::Actor),
                at("event.message_ts", F::Key),
            ],
        ],
        &[plain(N::MessageMetadata, &[V::Delete, V::Remove], &[])],
    ),
];
