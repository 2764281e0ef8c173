//! Linear: customers, people, agents and related objects.

use super::EventKind;
use super::linear::{COMMON, kind};

pub(super) static KINDS: &[&EventKind] = kinds! {
    "Customer" ["action", "data"]
    reads [COMMON] {
        "data.name" Name,
        "data.status.name" State,
        "data.tier.name" Severity,
    }
    rows {
        row "create": Customer [Create Add];
        row "update": Customer [Update Change Edit];
        row "remove": Customer [Delete Remove];
    }

    "CustomerNeed" ["action", "data"]
    reads [COMMON] {
        "data.body" Body,
        "data.customer.name" Name,
        "data.issue.identifier",
        "data.project.name" Project,
    }
    rows {
        row "create": CustomerNeed [Create Add Post];
        row "update": CustomerNeed [Update Change Edit];
        row "remove": CustomerNeed [Delete Remove];
    }

    "InitiativeUpdate" ["action", "data"]
    reads [COMMON] {
        "data.body" Body,
        "data.health" Health,
        "data.initiative.name" Name,
        "data.user.name" Author,
    }
    rows {
        row "create": InitiativeUpdate [Create Add Post Publish];
        row "update": InitiativeUpdate [Update Change Edit];
        row "remove": InitiativeUpdate [Delete Remove];
    }

    "ProjectLabel" ["action", "data"]
    reads [COMMON] {
        "data.name" Name,
    }
    rows {
        row "create": ProjectLabel [Create Add];
        row "update": ProjectLabel [Update Change Edit];
        row "remove": ProjectLabel [Delete Remove];
    }

    "User" ["action", "data"]
    reads [COMMON] {
        "data.name" Name,
        "data.email" Key,
    }
    rows {
        row "create": WorkspaceMember [Create Add Join];
        row "create": Workspace [Join];
        row "update": WorkspaceMember [Update Change Edit];
        row "remove": WorkspaceMember [Delete Remove Leave];
    }

    "AuditEntry" ["action", "data"]
    reads [COMMON] {
        "data.type" Subtype,
    }
    rows {
        row "create": AuditEntry [Create Add];
    }

    "OAuthApp" ["action"]
    reads [COMMON] {
        "oauthClientId" Name,
    }
    rows {
        row "revoked": AppAuthorization [Revoke Delete Remove];
    }

    "PermissionChange" ["action"]
    reads [COMMON]
    rows {
        row "teamAccessChanged": TeamAccess [Change Update Edit];
    }

    "AppUserNotification" ["action", "notification"]
    reads [COMMON] {
        "notification.issue.identifier",
        "notification.issue.title" Title,
        "notification.comment.body" Comment,
        "notification.actor.name" Actor,
    }
    rows {
        row "issueMention": Mention [Create Post Add];
        row "issueCommentMention": Mention [Create Post Add];
        row "documentMention": Mention [Create Post Add];
        row "issueAssignedToYou": Notification [Assign];
        row "issueUnassignedFromYou": Notification [Unassign];
        row "issueNewComment": Notification [Comment];
        row "issueStatusChanged": Notification [Move];
        row "issueEmojiReaction": Notification [React];
        row "issueCommentReaction": Notification [React];
    }

    "AgentSessionEvent" ["action", "agentSession"]
    reads [COMMON] {
        "agentSession.id" Key,
        "agentSession.issue.identifier",
        "agentSession.issue.title" Title,
        "agentSession.creator.name" Author,
        "agentActivity.content.body" Comment,
    }
    rows {
        row "created": AgentSession [Create Start];
        row "prompted": AgentSession [Prompt];
    }
};
