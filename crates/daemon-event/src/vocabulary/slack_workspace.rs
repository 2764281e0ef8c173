//! Slack: the workspace, its domains, access, invitations, emoji and migrations.

use super::Noun as N;
use super::RowGuard::Is;
use super::Verb as V;
use super::slack::{COMMON, kind};
use super::{EventKind, at, plain, raw};
use crate::field::Field as F;

pub(super) static KINDS: &[&EventKind] = &[
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
    &kind(
        "team_rename",
        &["event"],
        &[COMMON, &[at("event.name", F::Name)]],
        &[plain(N::Workspace, &[V::Rename], &[])],
    ),
    &kind(
        "team_domain_change",
        &["event"],
        &[COMMON, &[at("event.domain", F::Name)]],
        &[plain(
            N::WorkspaceDomain,
            &[V::Change, V::Update, V::Rename],
            &[],
        )],
    ),
    &kind(
        "email_domain_changed",
        &["event"],
        &[COMMON, &[at("event.email_domain", F::Name)]],
        &[plain(N::EmailDomain, &[V::Change, V::Update], &[])],
    ),
    &kind(
        "team_access_granted",
        &["event"],
        &[COMMON],
        &[plain(N::WorkspaceAccess, &[V::Add, V::Grant], &[])],
    ),
    &kind(
        "team_access_revoked",
        &["event"],
        &[COMMON],
        &[plain(N::WorkspaceAccess, &[V::Revoke, V::Remove], &[])],
    ),
    &kind(
        "invite_requested",
        &["event"],
        &[COMMON],
        &[plain(N::WorkspaceInvite, &[V::Request, V::Create], &[])],
    ),
    &kind(
        "grid_migration_started",
        &["event"],
        &[COMMON],
        &[plain(N::GridMigration, &[V::Start], &[])],
    ),
    &kind(
        "grid_migration_finished",
        &["event"],
        &[COMMON],
        &[plain(N::GridMigration, &[V::Complete], &[])],
    ),
];
