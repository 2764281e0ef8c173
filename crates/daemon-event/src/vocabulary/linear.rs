//! Linear: issues, comments, projects, cycles and related objects.

use super::RowGuard::{Absent, Is, Present};
use super::{ActionRow, EventKind, FieldPath};
use crate::event::Source;
use crate::field::Field as F;

pub(super) const COMMON: &[FieldPath] = paths! {
    "type",
    "actor.name",
    "actor.service",
    "actor.id",
    "actor.type" ActorKind,
    "data.id" Key,
    "updatedFrom.*" Changed,
};

/// Returns a kind of Linear's.
pub(super) const fn kind(
    name: &'static str,
    required: &'static [&'static str],
    reads: &'static [&'static [FieldPath]],
    rows: &'static [ActionRow],
) -> EventKind {
    EventKind {
        source: Source::Linear,
        name,
        required,
        reads,
        times: &["createdAt"],
        rows,
    }
}

const NAMED: &[FieldPath] = paths! {
    "data.name" Name,
};
const TITLED: &[FieldPath] = paths! {
    "data.title" Title,
};
const ENDED: &[super::RowGuard] = &[
    Is(F::Changed, &["state"]),
    Is(F::StateType, &["completed", "canceled"]),
];

pub(super) static KINDS: &[&EventKind] = kinds! {
    "Issue" ["action", "data"]
    reads [COMMON, TITLED] {
        "data.identifier",
        "data.number" Number,
        "data.description" Body,
        "data.priority",
        "data.team.name" Team,
        "data.team.key" Team,
        "data.state.name" State,
        "data.state.type" StateType,
        "data.labels[].name" Labels,
        "data.labels[].id",
        "updatedFrom.labelIds[]",
        "data.assignee.name",
        "data.assigneeId",
        "data.project.name" Project,
        "data.cycle.name" Cycle,
        "data.creatorId",
        "data.creator.name",
        "updatedFrom.archivedAt",
        "data.estimate" Estimate,
        "data.projectMilestone.name" Milestone,
        "data.dueDate" DueDate,
    }
    rows {
        common "create": Issue [Create Add];
        common "update": Issue [Update Change];
        row "update": Issue [Edit] if &[Is(F::Changed, &["title", "body"])];
        row "update": Issue [Close Resolve] if ENDED;
        row "update": Issue [Complete Succeed] if &[Is(F::Changed, &["state"]), Is(F::StateType, &["completed"])];
        row "update": Issue [Cancel] if &[Is(F::Changed, &["state"]), Is(F::StateType, &["canceled"])];
        row "update": Issue [Start] if &[Is(F::Changed, &["state"]), Is(F::StateType, &["started"])];
        row "update": Issue [Move] if &[Is(F::Changed, &["state"])];
        common "update": Issue [Label] if &[Present(F::LabelAdded)];
        row "update": Issue [Unlabel] if &[Present(F::LabelRemovedId)];
        row "update": Issue [Relabel] if &[Is(F::Changed, &["labels"])];
        row "update": Issue [Assign] if &[Is(F::Changed, &["assignee"]), Present(F::Assignee)];
        row "update": Issue [Unassign] if &[Is(F::Changed, &["assignee"]), Absent(F::Assignee)];
        row "update": Issue [Reassign] if &[Is(F::Changed, &["assignee"])];
        row "update": Issue [Prioritize] if &[Is(F::Changed, &["priority"])];
        row "update": Issue [Estimate] if &[Is(F::Changed, &["estimate"])];
        row "update": Issue [Archive] if &[Is(F::Changed, &["archived"]), Is(F::Archived, &["true"])];
        row "remove": Issue [Delete Remove];
        row "update": Issue [Unarchive] if &[Is(F::Changed, &["archived"]), Is(F::Archived, &["false"])];
        row "update": Issue [Reopen] if &[Is(F::Changed, &["state"]), Is(F::Changed, &["completed", "canceled"]), super::RowGuard::IsNot(F::StateType, &["completed", "canceled"])];
        row "update": Issue [Transfer] if &[Is(F::Changed, &["team"])];
        row "update": Issue [Rename] if &[Is(F::Changed, &["title"])];
        row "update": Issue [Snooze] if &[Is(F::Changed, &["snoozed"])];
    }

    "Comment" ["action", "data"]
    reads [COMMON] {
        "data.body" Comment,
        "data.user.name" Author,
        "data.issue.identifier",
        "data.issue.title" Title,
        "data.parentId",
        "data.resolvedAt",
    }
    rows {
        common "create": Comment [Create Add Post];
        row "update": Comment [Edit Update Change] if &[Is(F::Changed, &["body"])];
        row "remove": Comment [Delete Remove];
        row "update": Comment [Resolve] if &[Is(F::Changed, &["resolved"]), Is(F::StateType, &["resolved"])];
        row "update": Comment [Unresolve] if &[Is(F::Changed, &["resolved"]), Is(F::StateType, &["unresolved"])];
    }

    "IssueSLA" ["action"]
    reads [COMMON] {
        "issueData.identifier",
        "issueData.title" Title,
    }
    rows {
        row "breached": Sla [Breach];
        row "breached": Issue [Breach];
        row "highRisk": Sla [GoWarning];
        row "set": Sla [Create Add];
        row "highRisk": Sla [GoHighRisk];
    }

    "Project" ["action", "data"]
    reads [COMMON, NAMED] {
        "data.status.name" State,
        "data.status.type" StateType,
        "data.health" Health,
        "updatedFrom.archivedAt",
        "data.lead.name",
    }
    rows {
        row "create": Project [Create Add];
        row "update": Project [Update Change Edit];
        row "update": Project [Move] if &[Is(F::Changed, &["state"])];
        row "update": Project [Complete Close] if &[Is(F::Changed, &["state"]), Is(F::StateType, &["completed"])];
        row "update": Project [Start] if &[Is(F::Changed, &["state"]), Is(F::StateType, &["started"])];
        row "update": Project [Cancel] if &[Is(F::Changed, &["state"]), Is(F::StateType, &["canceled"])];
        row "update": Project [Rename] if &[Is(F::Changed, &["name"])];
        row "remove": Project [Delete Remove];
        row "update": Project [Archive] if &[Is(F::Changed, &["archived"]), Is(F::Archived, &["true"])];
        row "update": Project [Unarchive] if &[Is(F::Changed, &["archived"]), Is(F::Archived, &["false"])];
        row "update": Project [Prioritize] if &[Is(F::Changed, &["priority"])];
    }

    "ProjectUpdate" ["action", "data"]
    reads [COMMON] {
        "data.body" Body,
        "data.health" Health,
        "data.project.name" Project,
        "data.user.name" Author,
    }
    rows {
        row "create": ProjectUpdate [Create Post Add Publish];
        row "update": ProjectUpdate [Update Edit Change];
        row "remove": ProjectUpdate [Delete Remove];
    }

    "Cycle" ["action", "data"]
    reads [COMMON, NAMED] {
        "data.completedAt",
    }
    rows {
        row "create": Cycle [Create Add];
        row "update": Cycle [Update Change Edit];
        row "update": Cycle [Complete Close] if &[Is(F::Changed, &["completed"]), Is(F::StateType, &["completed"])];
        row "remove": Cycle [Delete Remove];
        row "update": Cycle [Rename] if &[Is(F::Changed, &["name"])];
    }

    "Document" ["action", "data"]
    reads [COMMON, TITLED]
    rows {
        row "create": Document [Create Add];
        row "update": Document [Update Change Edit];
        row "remove": Document [Delete Remove];
        row "update": Document [Rename] if &[Is(F::Changed, &["title"])];
    }

    "Initiative" ["action", "data"]
    reads [COMMON, NAMED] {
        "data.status" State,
        "data.health" Health,
    }
    rows {
        row "create": Initiative [Create Add];
        row "update": Initiative [Update Change Edit];
        row "remove": Initiative [Delete Remove];
        row "update": Initiative [Rename] if &[Is(F::Changed, &["name"])];
        row "update": Initiative [Move] if &[Is(F::Changed, &["state"])];
        row "update": Initiative [Complete Close] if &[Is(F::Changed, &["state"]), Is(F::State, &["completed"])];
    }

    "Attachment" ["action", "data"]
    reads [COMMON, TITLED] {
        "data.issueId",
    }
    rows {
        row "create": Attachment [Create Add Post];
        row "update": Attachment [Update Change Edit];
        row "remove": Attachment [Delete Remove];
    }

    "IssueLabel" ["action", "data"]
    reads [COMMON, NAMED]
    rows {
        row "create": IssueLabel [Create Add];
        row "create": RepositoryLabel [Create Add];
        row "update": IssueLabel [Update Change Edit Rename];
        row "remove": IssueLabel [Delete Remove];
        row "update": RepositoryLabel [Rename] if &[Is(F::Changed, &["name"])];
        row "remove": RepositoryLabel [Delete Remove];
    }

    "Reaction" ["action", "data"]
    reads [COMMON] {
        "data.emoji" Reaction,
    }
    rows {
        row "create": Reaction [Create Add Post];
        row "create": Comment [React];
        row "remove": Reaction [Delete Remove];
    }
};
