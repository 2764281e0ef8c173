//! GitHub: people, teams, organizations, applications and money.

use super::Noun as N;
use super::Verb as V;
use super::github::{COMMON, kind};
use super::{EventKind, at, plain, row};
use crate::field::Field as F;

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "member",
        &["action", "member"],
        &[COMMON, &[at("member.login", F::Name)]],
        &[],
        &[
            row("added", N::Collaborator, &[V::Add, V::Join, V::Invite], &[]),
            row("removed", N::Collaborator, &[V::Remove, V::Leave], &[]),
            row(
                "edited",
                N::Collaborator,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
        ],
    ),
    &kind(
        "team",
        &["action", "team"],
        &[
            COMMON,
            &[
                at("team.name", F::Team),
                at("team.slug", F::Team),
                at("changes.*", F::Changed),
            ],
        ],
        &[],
        &[
            row("created", N::Team, &[V::Create], &[]),
            row(
                "edited",
                N::Team,
                &[V::Edit, V::Update, V::Change, V::Rename],
                &[],
            ),
            row("deleted", N::Team, &[V::Delete], &[]),
            row("added_to_repository", N::Team, &[V::Add], &[]),
            row("removed_from_repository", N::Team, &[V::Remove], &[]),
        ],
    ),
    &kind(
        "team_add",
        &["team"],
        &[
            COMMON,
            &[at("team.name", F::Team), at("team.slug", F::Team)],
        ],
        &[],
        &[plain(N::Team, &[V::Add], &[])],
    ),
    &kind(
        "membership",
        &["action", "member", "team"],
        &[
            COMMON,
            &[
                at("team.name", F::Team),
                at("team.slug", F::Team),
                at("member.login", F::Name),
            ],
        ],
        &[],
        &[
            row("added", N::TeamMember, &[V::Add, V::Create, V::Join], &[]),
            row(
                "removed",
                N::TeamMember,
                &[V::Remove, V::Delete, V::Leave],
                &[],
            ),
            row("added", N::Team, &[V::Join], &[]),
            row("removed", N::Team, &[V::Leave], &[]),
        ],
    ),
    &kind(
        "organization",
        &["action", "organization"],
        &[
            COMMON,
            &[
                at("organization.login", F::Name),
                at("membership.user.login", F::Assignee),
                at("invitation.login", F::Assignee),
            ],
        ],
        &[],
        &[
            row(
                "member_added",
                N::OrganizationMember,
                &[V::Add, V::Create, V::Join],
                &[],
            ),
            row(
                "member_removed",
                N::OrganizationMember,
                &[V::Remove, V::Delete, V::Leave],
                &[],
            ),
            row("member_invited", N::OrganizationMember, &[V::Invite], &[]),
            row("member_added", N::Organization, &[V::Join], &[]),
            row("member_removed", N::Organization, &[V::Leave], &[]),
            row("member_invited", N::Organization, &[V::Invite], &[]),
            row("renamed", N::Organization, &[V::Rename], &[]),
            row("deleted", N::Organization, &[V::Delete], &[]),
        ],
    ),
    &kind(
        "org_block",
        &["action", "blocked_user"],
        &[COMMON, &[at("blocked_user.login", F::Name)]],
        &[],
        &[
            row("blocked", N::OrganizationMember, &[V::Block], &[]),
            row("blocked", N::Organization, &[V::Block], &[]),
            row("unblocked", N::OrganizationMember, &[V::Unblock], &[]),
            row("unblocked", N::Organization, &[V::Unblock], &[]),
        ],
    ),
    &kind(
        "installation",
        &["action", "installation"],
        &[COMMON, &[at("installation.account.login", F::Name)]],
        &["installation.updated_at"],
        &[
            row(
                "created",
                N::Installation,
                &[V::Create, V::Install, V::Add],
                &[],
            ),
            row(
                "deleted",
                N::Installation,
                &[V::Delete, V::Uninstall, V::Remove],
                &[],
            ),
            row("suspend", N::Installation, &[V::Suspend], &[]),
            row("unsuspend", N::Installation, &[V::Unsuspend], &[]),
            row(
                "new_permissions_accepted",
                N::Installation,
                &[V::Accept],
                &[],
            ),
        ],
    ),
    &kind(
        "installation_repositories",
        &["action", "installation"],
        &[COMMON, &[at("installation.account.login", F::Name)]],
        &[],
        &[
            row("added", N::InstallationRepository, &[V::Add], &[]),
            row("removed", N::InstallationRepository, &[V::Remove], &[]),
        ],
    ),
    &kind(
        "installation_target",
        &["action", "account"],
        &[COMMON, &[at("account.login", F::Name)]],
        &[],
        &[row("renamed", N::Organization, &[V::Rename], &[])],
    ),
    &kind(
        "github_app_authorization",
        &["action"],
        &[COMMON],
        &[],
        &[row(
            "revoked",
            N::AppAuthorization,
            &[V::Revoke, V::Delete, V::Remove],
            &[],
        )],
    ),
    &kind(
        "sponsorship",
        &["action", "sponsorship"],
        &[
            COMMON,
            &[
                at("sponsorship.sponsor.login", F::Author),
                at("sponsorship.tier.name", F::Name),
            ],
        ],
        &["sponsorship.created_at"],
        &[
            row(
                "created",
                N::Sponsorship,
                &[V::Create, V::Start, V::Add],
                &[],
            ),
            row("edited", N::Sponsorship, &[V::Edit, V::Update], &[]),
            row("cancelled", N::Sponsorship, &[V::Cancel, V::Complete], &[]),
            row(
                "pending_cancellation",
                N::Sponsorship,
                &[V::CancelLater],
                &[],
            ),
            row("tier_changed", N::Sponsorship, &[V::Change], &[]),
            row(
                "tier_changed",
                N::SponsorshipTier,
                &[V::Change, V::Update, V::Edit],
                &[],
            ),
            row(
                "pending_tier_change",
                N::SponsorshipTier,
                &[V::ChangeLater],
                &[],
            ),
        ],
    ),
    &kind(
        "marketplace_purchase",
        &["action", "marketplace_purchase"],
        &[
            COMMON,
            &[
                at("marketplace_purchase.account.login", F::Author),
                at("marketplace_purchase.plan.name", F::Name),
            ],
        ],
        &["effective_date"],
        &[
            row(
                "purchased",
                N::MarketplacePurchase,
                &[V::Create, V::Post, V::Complete],
                &[],
            ),
            row(
                "changed",
                N::MarketplacePurchase,
                &[V::Change, V::Update, V::Edit],
                &[],
            ),
            row("cancelled", N::MarketplacePurchase, &[V::Cancel], &[]),
            row(
                "pending_change",
                N::MarketplacePurchase,
                &[V::ChangeLater],
                &[],
            ),
            row(
                "pending_change_cancelled",
                N::MarketplacePurchase,
                &[V::CancelChange],
                &[],
            ),
        ],
    ),
    &kind(
        "meta",
        &["action", "hook_id"],
        &[COMMON],
        &[],
        &[row("deleted", N::Webhook, &[V::Delete, V::Remove], &[])],
    ),
    &kind(
        "custom_property",
        &["action", "definition"],
        &[COMMON, &[at("definition.property_name", F::Name)]],
        &[],
        &[
            row("created", N::CustomProperty, &[V::Create, V::Add], &[]),
            row(
                "updated",
                N::CustomProperty,
                &[V::Update, V::Edit, V::Change],
                &[],
            ),
            row("deleted", N::CustomProperty, &[V::Delete, V::Remove], &[]),
            row(
                "promote_to_enterprise",
                N::CustomProperty,
                &[V::Promote],
                &[],
            ),
        ],
    ),
    &kind(
        "custom_property_values",
        &["action"],
        &[
            COMMON,
            &[at("new_property_values[].property_name", F::Name)],
        ],
        &[],
        &[row(
            "updated",
            N::CustomPropertyValue,
            &[V::Update, V::Edit, V::Change],
            &[],
        )],
    ),
];
