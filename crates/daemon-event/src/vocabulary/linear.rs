//! Linear: issues, comments, projects, cycles and related objects.

use super::Noun as N;
use super::RowGuard::{Absent, Is, Present};
use super::Verb as V;
use super::{ActionRow, EventKind, FieldPath, at, common, raw, row};
use crate::event::Source;
use crate::field::Field as F;

pub(super) const COMMON: &[FieldPath] = &[
    raw("type"),
    raw("actor.name"),
    raw("actor.service"),
    raw("actor.id"),
    at("actor.type", F::ActorKind),
    at("data.id", F::Key),
    at("updatedFrom.*", F::Changed),
];

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

const NAMED: &[FieldPath] = &[at("data.name", F::Name)];
const TITLED: &[FieldPath] = &[at("data.title", F::Title)];
const ENDED: &[super::RowGuard] = &[
    Is(F::Changed, &["state"]),
    Is(F::StateType, &["completed", "canceled"]),
];

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "Issue",
        &["action", "data"],
        &[
            COMMON,
            TITLED,
            &[
                raw("data.identifier"),
                at("data.number", F::Number),
                at("data.description", F::Body),
                raw("data.priority"),
                at("data.team.name", F::Team),
                at("data.team.key", F::Team),
                at("data.state.name", F::State),
                at("data.state.type", F::StateType),
                at("data.labels[].name", F::Labels),
                raw("data.labels[].id"),
                raw("updatedFrom.labelIds[]"),
                raw("data.assignee.name"),
                raw("data.assigneeId"),
                at("data.project.name", F::Project),
                at("data.cycle.name", F::Cycle),
                raw("data.creatorId"),
                raw("data.creator.name"),
                raw("updatedFrom.archivedAt"),
                at("data.estimate", F::Estimate),
                at("data.projectMilestone.name", F::Milestone),
                at("data.dueDate", F::DueDate),
            ],
        ],
        &[
            common("create", N::Issue, &[V::Create, V::Add], &[]),
            common("update", N::Issue, &[V::Update, V::Change], &[]),
            row(
                "update",
                N::Issue,
                &[V::Edit],
                &[Is(F::Changed, &["title", "body"])],
            ),
            row("update", N::Issue, &[V::Close, V::Resolve], ENDED),
            row(
                "update",
                N::Issue,
                &[V::Complete, V::Succeed],
                &[Is(F::Changed, &["state"]), Is(F::StateType, &["completed"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Cancel],
                &[Is(F::Changed, &["state"]), Is(F::StateType, &["canceled"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Start],
                &[Is(F::Changed, &["state"]), Is(F::StateType, &["started"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Move],
                &[Is(F::Changed, &["state"])],
            ),
            common("update", N::Issue, &[V::Label], &[Present(F::LabelAdded)]),
            row(
                "update",
                N::Issue,
                &[V::Unlabel],
                &[Present(F::LabelRemovedId)],
            ),
            row(
                "update",
                N::Issue,
                &[V::Relabel],
                &[Is(F::Changed, &["labels"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Assign],
                &[Is(F::Changed, &["assignee"]), Present(F::Assignee)],
            ),
            row(
                "update",
                N::Issue,
                &[V::Unassign],
                &[Is(F::Changed, &["assignee"]), Absent(F::Assignee)],
            ),
            row(
                "update",
                N::Issue,
                &[V::Reassign],
                &[Is(F::Changed, &["assignee"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Prioritize],
                &[Is(F::Changed, &["priority"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Estimate],
                &[Is(F::Changed, &["estimate"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Archive],
                &[Is(F::Changed, &["archived"]), Is(F::Archived, &["true"])],
            ),
            row("remove", N::Issue, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::Issue,
                &[V::Unarchive],
                &[Is(F::Changed, &["archived"]), Is(F::Archived, &["false"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Reopen],
                &[
                    Is(F::Changed, &["state"]),
                    Is(F::Changed, &["completed", "canceled"]),
                    super::RowGuard::IsNot(F::StateType, &["completed", "canceled"]),
                ],
            ),
            row(
                "update",
                N::Issue,
                &[V::Transfer],
                &[Is(F::Changed, &["team"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Rename],
                &[Is(F::Changed, &["title"])],
            ),
            row(
                "update",
                N::Issue,
                &[V::Snooze],
                &[Is(F::Changed, &["snoozed"])],
            ),
        ],
    ),
    &kind(
        "Comment",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.body", F::Comment),
                at("data.user.name", F::Author),
                raw("data.issue.identifier"),
                at("data.issue.title", F::Title),
                raw("data.parentId"),
                raw("data.resolvedAt"),
            ],
        ],
        &[
            common("create", N::Comment, &[V::Create, V::Add, V::Post], &[]),
            row(
                "update",
                N::Comment,
                &[V::Edit, V::Update, V::Change],
                &[Is(F::Changed, &["body"])],
            ),
            row("remove", N::Comment, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::Comment,
                &[V::Resolve],
                &[
                    Is(F::Changed, &["resolved"]),
                    Is(F::StateType, &["resolved"]),
                ],
            ),
            row(
                "update",
                N::Comment,
                &[V::Unresolve],
                &[
                    Is(F::Changed, &["resolved"]),
                    Is(F::StateType, &["unresolved"]),
                ],
            ),
        ],
    ),
    &kind(
        "IssueSLA",
        &["action"],
        &[
            COMMON,
            &[raw("issueData.identifier"), at("issueData.title", F::Title)],
        ],
        &[
            row("breached", N::Sla, &[V::Breach], &[]),
            row("breached", N::Issue, &[V::Breach], &[]),
            row("highRisk", N::Sla, &[V::GoWarning], &[]),
            row("set", N::Sla, &[V::Create, V::Add], &[]),
            row("highRisk", N::Sla, &[V::GoHighRisk], &[]),
        ],
    ),
    &kind(
        "Project",
        &["action", "data"],
        &[
            COMMON,
            NAMED,
            &[
                at("data.status.name", F::State),
                at("data.status.type", F::StateType),
                at("data.health", F::Health),
                raw("updatedFrom.archivedAt"),
                raw("data.lead.name"),
            ],
        ],
        &[
            row("create", N::Project, &[V::Create, V::Add], &[]),
            row("update", N::Project, &[V::Update, V::Change, V::Edit], &[]),
            row(
                "update",
                N::Project,
                &[V::Move],
                &[Is(F::Changed, &["state"])],
            ),
            row(
                "update",
                N::Project,
                &[V::Complete, V::Close],
                &[Is(F::Changed, &["state"]), Is(F::StateType, &["completed"])],
            ),
            row(
                "update",
                N::Project,
                &[V::Start],
                &[Is(F::Changed, &["state"]), Is(F::StateType, &["started"])],
            ),
            row(
                "update",
                N::Project,
                &[V::Cancel],
                &[Is(F::Changed, &["state"]), Is(F::StateType, &["canceled"])],
            ),
            row(
                "update",
                N::Project,
                &[V::Rename],
                &[Is(F::Changed, &["name"])],
            ),
            row("remove", N::Project, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::Project,
                &[V::Archive],
                &[Is(F::Changed, &["archived"]), Is(F::Archived, &["true"])],
            ),
            row(
                "update",
                N::Project,
                &[V::Unarchive],
                &[Is(F::Changed, &["archived"]), Is(F::Archived, &["false"])],
            ),
            row(
                "update",
                N::Project,
                &[V::Prioritize],
                &[Is(F::Changed, &["priority"])],
            ),
        ],
    ),
    &kind(
        "ProjectUpdate",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.body", F::Body),
                at("data.health", F::Health),
                at("data.project.name", F::Project),
                at("data.user.name", F::Author),
            ],
        ],
        &[
            row(
                "create",
                N::ProjectUpdate,
                &[V::Create, V::Post, V::Add, V::Publish],
                &[],
            ),
            row(
                "update",
                N::ProjectUpdate,
                &[V::Update, V::Edit, V::Change],
                &[],
            ),
            row("remove", N::ProjectUpdate, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "Cycle",
        &["action", "data"],
        &[COMMON, NAMED, &[raw("data.completedAt")]],
        &[
            row("create", N::Cycle, &[V::Create, V::Add], &[]),
            row("update", N::Cycle, &[V::Update, V::Change, V::Edit], &[]),
            row(
                "update",
                N::Cycle,
                &[V::Complete, V::Close],
                &[
                    Is(F::Changed, &["completed"]),
                    Is(F::StateType, &["completed"]),
                ],
            ),
            row("remove", N::Cycle, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::Cycle,
                &[V::Rename],
                &[Is(F::Changed, &["name"])],
            ),
        ],
    ),
    &kind(
        "Document",
        &["action", "data"],
        &[COMMON, TITLED],
        &[
            row("create", N::Document, &[V::Create, V::Add], &[]),
            row("update", N::Document, &[V::Update, V::Change, V::Edit], &[]),
            row("remove", N::Document, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::Document,
                &[V::Rename],
                &[Is(F::Changed, &["title"])],
            ),
        ],
    ),
    &kind(
        "Initiative",
        &["action", "data"],
        &[
            COMMON,
            NAMED,
            &[at("data.status", F::State), at("data.health", F::Health)],
        ],
        &[
            row("create", N::Initiative, &[V::Create, V::Add], &[]),
            row(
                "update",
                N::Initiative,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row("remove", N::Initiative, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::Initiative,
                &[V::Rename],
                &[Is(F::Changed, &["name"])],
            ),
            row(
                "update",
                N::Initiative,
                &[V::Move],
                &[Is(F::Changed, &["state"])],
            ),
            row(
                "update",
                N::Initiative,
                &[V::Complete, V::Close],
                &[Is(F::Changed, &["state"]), Is(F::State, &["completed"])],
            ),
        ],
    ),
    &kind(
        "Attachment",
        &["action", "data"],
        &[COMMON, TITLED, &[raw("data.issueId")]],
        &[
            row("create", N::Attachment, &[V::Create, V::Add, V::Post], &[]),
            row(
                "update",
                N::Attachment,
                &[V::Update, V::Change, V::Edit],
                &[],
            ),
            row("remove", N::Attachment, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "IssueLabel",
        &["action", "data"],
        &[COMMON, NAMED],
        &[
            row("create", N::IssueLabel, &[V::Create, V::Add], &[]),
            row("create", N::RepositoryLabel, &[V::Create, V::Add], &[]),
            row(
                "update",
                N::IssueLabel,
                &[V::Update, V::Change, V::Edit, V::Rename],
                &[],
            ),
            row("remove", N::IssueLabel, &[V::Delete, V::Remove], &[]),
            row(
                "update",
                N::RepositoryLabel,
                &[V::Rename],
                &[Is(F::Changed, &["name"])],
            ),
            row("remove", N::RepositoryLabel, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "Reaction",
        &["action", "data"],
        &[COMMON, &[at("data.emoji", F::Reaction)]],
        &[
            row("create", N::Reaction, &[V::Create, V::Add, V::Post], &[]),
            row("create", N::Comment, &[V::React], &[]),
            row("remove", N::Reaction, &[V::Delete, V::Remove], &[]),
        ],
    ),
];
