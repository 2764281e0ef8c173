//! Slack: channels, private channels, direct messages, and invitations to shared channels.

use super::slack::{CHANNEL_OBJECT, COMMON, kind};
use super::{EventKind, FieldPath};

const INVITED_CHANNEL: &[FieldPath] = paths! {
    "event.type",
    "event.channel.id" ChannelId,
    "event.channel.name" Channel,
};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "channel_created" ["event"]
    reads [CHANNEL_OBJECT]
    rows {
        plain: Channel [Create Add];
    }

    "channel_rename" ["event"]
    reads [CHANNEL_OBJECT]
    rows {
        plain: Channel [Rename];
    }

    "channel_archive" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Archive Close];
    }

    "channel_unarchive" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Unarchive Reopen];
    }

    "channel_deleted" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Delete Remove];
    }

    "member_joined_channel" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Join];
    }

    "member_left_channel" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Leave];
    }

    "channel_shared" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [ShareIt];
    }

    "channel_unshared" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Unshare];
    }

    "channel_left" ["event"]
    reads [COMMON]
    rows {
        plain: SlackApp [Leave Remove];
    }

    "channel_id_changed" ["event"]
    reads [COMMON] {
        "event.old_channel_id",
    }
    rows {
        plain: ChannelId [Change Update];
    }

    "channel_history_changed" ["event"]
    reads [COMMON]
    rows {
        plain: ChannelHistory [Change Update];
    }

    "group_archive" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Archive Close];
        plain: PrivateChannel [Archive Close];
    }

    "group_unarchive" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Unarchive Reopen];
        plain: PrivateChannel [Unarchive Reopen];
    }

    "group_deleted" ["event"]
    reads [COMMON]
    rows {
        plain: Channel [Delete Remove];
        plain: PrivateChannel [Delete Remove];
    }

    "group_rename" ["event"]
    reads [CHANNEL_OBJECT]
    rows {
        plain: Channel [Rename];
        plain: PrivateChannel [Rename];
    }

    "group_left" ["event"]
    reads [COMMON]
    rows {
        plain: PrivateChannel [Leave];
    }

    "group_open" ["event"]
    reads [COMMON]
    rows {
        plain: PrivateChannel [Reopen];
    }

    "group_close" ["event"]
    reads [COMMON]
    rows {
        plain: PrivateChannel [Close];
    }

    "group_history_changed" ["event"]
    reads [COMMON]
    rows {
        plain: ChannelHistory [Change Update];
    }

    "im_created" ["event"]
    reads [] {
        "event.type",
        "event.user" Actor,
        "event.channel.id" ChannelId,
    }
    rows {
        plain: DirectMessageChannel [Create Start];
    }

    "im_open" ["event"]
    reads [COMMON]
    rows {
        plain: DirectMessageChannel [Reopen];
    }

    "im_close" ["event"]
    reads [COMMON]
    rows {
        plain: DirectMessageChannel [Close];
    }

    "im_history_changed" ["event"]
    reads [COMMON]
    rows {
        plain: ChannelHistory [Change Update];
    }

    "shared_channel_invite_accepted" ["event"]
    reads [INVITED_CHANNEL]
    rows {
        plain: ChannelInvite [Accept];
    }

    "shared_channel_invite_approved" ["event"]
    reads [INVITED_CHANNEL]
    rows {
        plain: ChannelInvite [Approve];
    }

    "shared_channel_invite_declined" ["event"]
    reads [INVITED_CHANNEL]
    rows {
        plain: ChannelInvite [Reject];
    }

    "shared_channel_invite_received" ["event"]
    reads [INVITED_CHANNEL]
    rows {
        plain: ChannelInvite [Create];
    }

    "shared_channel_invite_requested" ["event"]
    reads [INVITED_CHANNEL]
    rows {
        plain: ChannelInvite [Request];
    }
};
