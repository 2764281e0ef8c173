//! Slack: the workspace, its domains, access, invitations, emoji and migrations.

use super::EventKind;
use super::RowGuard::Is;
use super::slack::{COMMON, kind};
use crate::field::Field as F;

pub(super) static KINDS: &[&EventKind] = kinds! {
    "emoji_changed" ["event"]
    reads [] {
        "event.type",
        "event.subtype" Subtype,
        "event.name" Name,
    }
    rows {
        plain: Emoji [Add Create] if &[Is(F::Subtype, &["add"])];
        plain: Emoji [Remove Delete] if &[Is(F::Subtype, &["remove"])];
        plain: Emoji [Change Update];
    }

    "team_rename" ["event"]
    reads [COMMON] {
        "event.name" Name,
    }
    rows {
        plain: Workspace [Rename];
    }

    "team_domain_change" ["event"]
    reads [COMMON] {
        "event.domain" Name,
    }
    rows {
        plain: WorkspaceDomain [Change Update Rename];
    }

    "email_domain_changed" ["event"]
    reads [COMMON] {
        "event.email_domain" Name,
    }
    rows {
        plain: EmailDomain [Change Update];
    }

    "team_access_granted" ["event"]
    reads [COMMON]
    rows {
        plain: WorkspaceAccess [Add Grant];
    }

    "team_access_revoked" ["event"]
    reads [COMMON]
    rows {
        plain: WorkspaceAccess [Revoke Remove];
    }

    "invite_requested" ["event"]
    reads [COMMON]
    rows {
        plain: WorkspaceInvite [Request Create];
    }

    "grid_migration_started" ["event"]
    reads [COMMON]
    rows {
        plain: GridMigration [Start];
    }

    "grid_migration_finished" ["event"]
    reads [COMMON]
    rows {
        plain: GridMigration [Complete];
    }
};
