//! Slack: members of the workspace, their profiles, and user groups.

use super::slack::{COMMON, kind};
use super::{EventKind, FieldPath};

const USER: &[FieldPath] = paths! {
    "event.type",
    "event.user.id" Actor,
    "event.user.name" Name,
    "event.user.profile.status_text" State,
};
const USER_GROUP: &[FieldPath] = paths! {
    "event.type",
    "event.subteam.id" Key,
    "event.subteam.name" Name,
    "event.subteam.handle" Team,
    "event.subteam_id" Key,
};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "team_join" ["event"]
    reads [] {
        "event.type",
        "event.user.id" Actor,
        "event.user.name" Name,
    }
    rows {
        plain: Workspace [Join];
    }

    "subteam_created" ["event"]
    reads [USER_GROUP]
    rows {
        plain: UserGroup [Create Add];
    }

    "subteam_updated" ["event"]
    reads [USER_GROUP]
    rows {
        plain: UserGroup [Update Change Edit Rename];
    }

    "subteam_members_changed" ["event"]
    reads [USER_GROUP]
    rows {
        plain: UserGroupMember [Change Update Add Remove];
    }

    "subteam_self_added" ["event"]
    reads [USER_GROUP]
    rows {
        plain: UserGroup [Join];
    }

    "subteam_self_removed" ["event"]
    reads [USER_GROUP]
    rows {
        plain: UserGroup [Leave];
    }

    "user_change" ["event"]
    reads [USER]
    rows {
        plain: WorkspaceMember [Update Change Edit];
    }

    "user_profile_changed" ["event"]
    reads [USER]
    rows {
        plain: UserProfile [Update Change Edit];
    }

    "user_status_changed" ["event"]
    reads [USER]
    rows {
        plain: UserStatus [Update Change Edit Move];
    }

    "user_huddle_changed" ["event"]
    reads [USER]
    rows {
        plain: Huddle [Join Leave Change];
    }

    "user_connection" ["event"]
    reads [USER]
    rows {
        plain: UserConnection [Change Update];
    }

    "dnd_updated" ["event"]
    reads [COMMON]
    rows {
        plain: DoNotDisturb [Update Change];
    }

    "dnd_updated_user" ["event"]
    reads [COMMON]
    rows {
        plain: DoNotDisturb [Update Change];
    }
};
