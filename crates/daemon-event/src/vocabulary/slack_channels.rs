//! Slack: channels, private channels, direct messages, and invitations to shared channels.

use super::Noun as N;
use super::Verb as V;
use super::slack::{CHANNEL_OBJECT, COMMON, kind};
use super::{EventKind, FieldPath, at, plain, raw};
use crate::field::Field as F;

const INVITED_CHANNEL: &[FieldPath] = &[
    raw("event.type"),
    at("event.channel.id", F::ChannelId),
    at("event.channel.name", F::Channel),
];

pub(super) static KINDS: &[&EventKind] = &[
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
        "channel_shared",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::ShareIt], &[])],
    ),
    &kind(
        "channel_unshared",
        &["event"],
        &[COMMON],
        &[plain(N::Channel, &[V::Unshare], &[])],
    ),
    &kind(
        "channel_left",
        &["event"],
        &[COMMON],
        &[plain(N::SlackApp, &[V::Leave, V::Remove], &[])],
    ),
    &kind(
        "channel_id_changed",
        &["event"],
        &[COMMON, &[raw("event.old_channel_id")]],
        &[plain(N::ChannelId, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "channel_history_changed",
        &["event"],
        &[COMMON],
        &[plain(N::ChannelHistory, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "group_archive",
        &["event"],
        &[COMMON],
        &[
            plain(N::Channel, &[V::Archive, V::Close], &[]),
            plain(N::PrivateChannel, &[V::Archive, V::Close], &[]),
        ],
    ),
    &kind(
        "group_unarchive",
        &["event"],
        &[COMMON],
        &[
            plain(N::Channel, &[V::Unarchive, V::Reopen], &[]),
            plain(N::PrivateChannel, &[V::Unarchive, V::Reopen], &[]),
        ],
    ),
    &kind(
        "group_deleted",
        &["event"],
        &[COMMON],
        &[
            plain(N::Channel, &[V::Delete, V::Remove], &[]),
            plain(N::PrivateChannel, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "group_rename",
        &["event"],
        &[CHANNEL_OBJECT],
        &[
            plain(N::Channel, &[V::Rename], &[]),
            plain(N::PrivateChannel, &[V::Rename], &[]),
        ],
    ),
    &kind(
        "group_left",
        &["event"],
        &[COMMON],
        &[plain(N::PrivateChannel, &[V::Leave], &[])],
    ),
    &kind(
        "group_open",
        &["event"],
        &[COMMON],
        &[plain(N::PrivateChannel, &[V::Reopen], &[])],
    ),
    &kind(
        "group_close",
        &["event"],
        &[COMMON],
        &[plain(N::PrivateChannel, &[V::Close], &[])],
    ),
    &kind(
        "group_history_changed",
        &["event"],
        &[COMMON],
        &[plain(N::ChannelHistory, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "im_created",
        &["event"],
        &[&[
            raw("event.type"),
            at("event.user", F::Actor),
            at("event.channel.id", F::ChannelId),
        ]],
        &[plain(N::DirectMessageChannel, &[V::Create, V::Start], &[])],
    ),
    &kind(
        "im_open",
        &["event"],
        &[COMMON],
        &[plain(N::DirectMessageChannel, &[V::Reopen], &[])],
    ),
    &kind(
        "im_close",
        &["event"],
        &[COMMON],
        &[plain(N::DirectMessageChannel, &[V::Close], &[])],
    ),
    &kind(
        "im_history_changed",
        &["event"],
        &[COMMON],
        &[plain(N::ChannelHistory, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "shared_channel_invite_accepted",
        &["event"],
        &[INVITED_CHANNEL],
        &[plain(N::ChannelInvite, &[V::Accept], &[])],
    ),
    &kind(
        "shared_channel_invite_approved",
        &["event"],
        &[INVITED_CHANNEL],
        &[plain(N::ChannelInvite, &[V::Approve], &[])],
    ),
    &kind(
        "shared_channel_invite_declined",
        &["event"],
        &[INVITED_CHANNEL],
        &[plain(N::ChannelInvite, &[V::Reject], &[])],
    ),
    &kind(
        "shared_channel_invite_received",
        &["event"],
        &[INVITED_CHANNEL],
        &[plain(N::ChannelInvite, &[V::Create], &[])],
    ),
    &kind(
        "shared_channel_invite_requested",
        &["event"],
        &[INVITED_CHANNEL],
        &[plain(N::ChannelInvite, &[V::Request], &[])],
    ),
];
