//! GitHub: people, teams, organizations, applications and money.

use super::EventKind;
use super::github::{COMMON, kind};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "member" ["action", "member"] at []
    reads [COMMON] {
        "member.login" Name,
    }
    rows {
        row "added": Collaborator [Add Join Invite];
        row "removed": Collaborator [Remove Leave];
        row "edited": Collaborator [Edit Update Change];
    }

    "team" ["action", "team"] at []
    reads [COMMON] {
        "team.name" Team,
        "team.slug" Team,
        "changes.*" Changed,
    }
    rows {
        row "created": Team [Create];
        row "edited": Team [Edit Update Change Rename];
        row "deleted": Team [Delete];
        row "added_to_repository": Team [Add];
        row "removed_from_repository": Team [Remove];
    }

    "team_add" ["team"] at []
    reads [COMMON] {
        "team.name" Team,
        "team.slug" Team,
    }
    rows {
        plain: Team [Add];
    }

    "membership" ["action", "member", "team"] at []
    reads [COMMON] {
        "team.name" Team,
        "team.slug" Team,
        "member.login" Name,
    }
    rows {
        row "added": TeamMember [Add Create Join];
        row "removed": TeamMember [Remove Delete Leave];
        row "added": Team [Join];
        row "removed": Team [Leave];
    }

    "organization" ["action", "organization"] at []
    reads [COMMON] {
        "organization.login" Name,
        "membership.user.login" Assignee,
        "invitation.login" Assignee,
    }
    rows {
        row "member_added": OrganizationMember [Add Create Join];
        row "member_removed": OrganizationMember [Remove Delete Leave];
        row "member_invited": OrganizationMember [Invite];
        row "member_added": Organization [Join];
        row "member_removed": Organization [Leave];
        row "member_invited": Organization [Invite];
        row "renamed": Organization [Rename];
        row "deleted": Organization [Delete];
    }

    "org_block" ["action", "blocked_user"] at []
    reads [COMMON] {
        "blocked_user.login" Name,
    }
    rows {
        row "blocked": OrganizationMember [Block];
        row "blocked": Organization [Block];
        row "unblocked": OrganizationMember [Unblock];
        row "unblocked": Organization [Unblock];
    }

    "installation" ["action", "installation"] at ["installation.updated_at"]
    reads [COMMON] {
        "installation.account.login" Name,
    }
    rows {
        row "created": Installation [Create Install Add];
        row "deleted": Installation [Delete Uninstall Remove];
        row "suspend": Installation [Suspend];
        row "unsuspend": Installation [Unsuspend];
        row "new_permissions_accepted": Installation [Accept];
    }

    "installation_repositories" ["action", "installation"] at []
    reads [COMMON] {
        "installation.account.login" Name,
    }
    rows {
        row "added": InstallationRepository [Add];
        row "removed": InstallationRepository [Remove];
    }

    "installation_target" ["action", "account"] at []
    reads [COMMON] {
        "account.login" Name,
    }
    rows {
        row "renamed": Organization [Rename];
    }

    "github_app_authorization" ["action"] at []
    reads [COMMON]
    rows {
        row "revoked": AppAuthorization [Revoke Delete Remove];
    }

    "sponsorship" ["action", "sponsorship"] at ["sponsorship.created_at"]
    reads [COMMON] {
        "sponsorship.sponsor.login" Author,
        "sponsorship.tier.name" Name,
    }
    rows {
        row "created": Sponsorship [Create Start Add];
        row "edited": Sponsorship [Edit Update];
        row "cancelled": Sponsorship [Cancel Complete];
        row "pending_cancellation": Sponsorship [CancelLater];
        row "tier_changed": Sponsorship [Change];
        row "tier_changed": SponsorshipTier [Change Update Edit];
        row "pending_tier_change": SponsorshipTier [ChangeLater];
    }

    "marketplace_purchase" ["action", "marketplace_purchase"] at ["effective_date"]
    reads [COMMON] {
        "marketplace_purchase.account.login" Author,
        "marketplace_purchase.plan.name" Name,
    }
    rows {
        row "purchased": MarketplacePurchase [Create Post Complete];
        row "changed": MarketplacePurchase [Change Update Edit];
        row "cancelled": MarketplacePurchase [Cancel];
        row "pending_change": MarketplacePurchase [ChangeLater];
        row "pending_change_cancelled": MarketplacePurchase [CancelChange];
    }

    "meta" ["action", "hook_id"] at []
    reads [COMMON]
    rows {
        row "deleted": Webhook [Delete Remove];
    }

    "custom_property" ["action", "definition"] at []
    reads [COMMON] {
        "definition.property_name" Name,
    }
    rows {
        row "created": CustomProperty [Create Add];
        row "updated": CustomProperty [Update Edit Change];
        row "deleted": CustomProperty [Delete Remove];
        row "promote_to_enterprise": CustomProperty [Promote];
    }

    "custom_property_values" ["action"] at []
    reads [COMMON] {
        "new_property_values[].property_name" Name,
    }
    rows {
        row "updated": CustomPropertyValue [Update Edit Change];
    }
};
