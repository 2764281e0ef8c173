//! Linear: customers, people, agents and related objects.

use super::Noun as N;
use super::Verb as V;
use super::linear::{COMMON, kind};
use super::{EventKind, at, raw, row};
use crate::field::Field as F;

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "Customer",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.name", F::Name),
                at("data.status.name", F::State),
                at("data.tier.name", F::Severity),
            ],
        ],
        &[
            row("create", N::Customer, &[V::Create, V::Add], &[]),
            row("update", N::Customer, &[V::Update, V::Change, V::Edit], &[]),
            row("remove", N::Customer, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "CustomerNeed",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.body", F::Body),
                at("data.customer.name", F::Name),
                raw("data.issue.identifier"),
                at("data.project.name", F::Project),
            ],
        ],
        &[
            row(
                "create",
                N::CustomerNeed,
                &[V::Create, V::Add, V::Post],
                &[],
            ),
            row(
                "update",
                N::CustomerNeed,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row("remove", N::CustomerNeed, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "InitiativeUpdate",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.body", F::Body),
                at("data.health", F::Health),
                at("data.initiative.name", F::Name),
                at("data.user.name", F::Author),
            ],
        ],
        &[
            row(
                "create",
                N::InitiativeUpdate,
                &[V::Create, V::Add, V::Post, V::Publish],
                &[],
            ),
            row(
                "update",
                N::InitiativeUpdate,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row("remove", N::InitiativeUpdate, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "ProjectLabel",
        &["action", "data"],
        &[COMMON, &[at("data.name", F::Name)]],
        &[
            row("create", N::ProjectLabel, &[V::Create, V::Add], &[]),
            row(
                "update",
                N::ProjectLabel,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row("remove", N::ProjectLabel, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "User",
        &["action", "data"],
        &[
            COMMON,
            &[at("data.name", F::Name), at("data.email", F::Key)],
        ],
        &[
            row(
                "create",
                N::WorkspaceMember,
                &[V::Create, V::Add, V::Join],
                &[],
            ),
            row("create", N::Workspace, &[V::Join], &[]),
            row(
                "update",
                N::WorkspaceMember,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row(
                "remove",
                N::WorkspaceMember,
                &[V::Delete, V::Remove, V::Leave],
                &[],
            ),
        ],
    ),
    &kind(
        "AuditEntry",
        &["action", "data"],
        &[COMMON, &[at("data.type", F::Subtype)]],
        &[row("create", N::AuditEntry, &[V::Create, V::Add], &[])],
    ),
    &kind(
        "OAuthApp",
        &["action"],
        &[COMMON, &[at("oauthClientId", F::Name)]],
        &[row(
            "revoked",
            N::AppAuthorization,
            &[V::Revoke, V::Delete, V::Remove],
            &[],
        )],
    ),
    &kind(
        "PermissionChange",
        &["action"],
        &[COMMON],
        &[row(
            "teamAccessChanged",
            N::TeamAccess,
            &[V::Change, V::Update, V::Edit],
            &[],
        )],
    ),
    &kind(
        "AppUserNotification",
        &["action", "notification"],
        &[
            COMMON,
            &[
                raw("notification.issue.identifier"),
                at("notification.issue.title", F::Title),
                at("notification.comment.body", F::Comment),
                at("notification.actor.name", F::Actor),
            ],
        ],
        &[
            row(
                "issueMention",
                N::Mention,
                &[V::Create, V::Post, V::Add],
                &[],
            ),
            row(
                "issueCommentMention",
                N::Mention,
                &[V::Create, V::Post, V::Add],
                &[],
            ),
            row(
                "documentMention",
                N::Mention,
                &[V::Create, V::Post, V::Add],
                &[],
            ),
            row("issueAssignedToYou", N::Notification, &[V::Assign], &[]),
            row(
                "issueUnassignedFromYou",
                N::Notification,
                &[V::Unassign],
                &[],
            ),
            row("issueNewComment", N::Notification, &[V::Comment], &[]),
            row("issueStatusChanged", N::Notification, &[V::Move], &[]),
            row("issueEmojiReaction", N::Notification, &[V::React], &[]),
            row("issueCommentReaction", N::Notification, &[V::React], &[]),
        ],
    ),
    &kind(
        "AgentSessionEvent",
        &["action", "agentSession"],
        &[
            COMMON,
            &[
                at("agentSession.id", F::Key),
                raw("agentSession.issue.identifier"),
                at("agentSession.issue.title", F::Title),
                at("agentSession.creator.name", F::Author),
                at("agentActivity.content.body", F::Comment),
            ],
        ],
        &[
            row("created", N::AgentSession, &[V::Create, V::Start], &[]),
            row("prompted", N::AgentSession, &[V::Prompt], &[]),
        ],
    ),
];
