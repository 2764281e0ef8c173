//! GitHub: projects, relations between issues.

use super::Noun as N;
use super::Verb as V;
use super::github::{COMMON, kind};
use super::{EventKind, at, row};
use crate::field::Field as F;

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "projects_v2_item",
        &["action", "projects_v2_item"],
        &[COMMON, &[at("changes.*", F::Changed)]],
        &["projects_v2_item.updated_at"],
        &[
            row("created", N::ProjectItem, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::ProjectItem,
                &[V::Edit, V::Update, V::Change, V::Move],
                &[],
            ),
            row("archived", N::ProjectItem, &[V::Archive], &[]),
            row("deleted", N::ProjectItem, &[V::Delete, V::Remove], &[]),
            row("restored", N::ProjectItem, &[V::Unarchive], &[]),
            row("converted", N::ProjectItem, &[V::Convert], &[]),
            row("reordered", N::ProjectItem, &[V::Reorder], &[]),
        ],
    ),
    &kind(
        "projects_v2",
        &["action", "projects_v2"],
        &[
            COMMON,
            &[
                at("projects_v2.title", F::Title),
                at("projects_v2.number", F::Number),
                at("projects_v2.description", F::Body),
                at("projects_v2.creator.login", F::Author),
                at("changes.*", F::Changed),
            ],
        ],
        &["projects_v2.updated_at"],
        &[
            row("created", N::GithubProject, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::GithubProject,
                &[V::Edit, V::Update, V::Change, V::Rename],
                &[],
            ),
            row("closed", N::GithubProject, &[V::Close, V::Complete], &[]),
            row("reopened", N::GithubProject, &[V::Reopen], &[]),
            row("deleted", N::GithubProject, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "projects_v2_status_update",
        &["action", "projects_v2_status_update"],
        &[
            COMMON,
            &[
                at("projects_v2_status_update.body", F::Body),
                at("projects_v2_status_update.status", F::Health),
                at("projects_v2_status_update.creator.login", F::Author),
                at("changes.*", F::Changed),
            ],
        ],
        &["projects_v2_status_update.updated_at"],
        &[
            row(
                "created",
                N::ProjectStatusUpdate,
                &[V::Create, V::Post, V::Add, V::Publish],
                &[],
            ),
            row(
                "edited",
                N::ProjectStatusUpdate,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row(
                "deleted",
                N::ProjectStatusUpdate,
                &[V::Delete, V::Remove],
                &[],
            ),
        ],
    ),
    &kind(
        "project",
        &["action", "project"],
        &[
            COMMON,
            &[
                at("project.name", F::Title),
                at("project.number", F::Number),
                at("project.body", F::Body),
                at("project.state", F::State),
                at("project.creator.login", F::Author),
            ],
        ],
        &["project.updated_at"],
        &[
            row("created", N::ClassicProject, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::ClassicProject,
                &[V::Edit, V::Update, V::Change, V::Rename],
                &[],
            ),
            row("closed", N::ClassicProject, &[V::Close, V::Complete], &[]),
            row("reopened", N::ClassicProject, &[V::Reopen], &[]),
            row("deleted", N::ClassicProject, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "project_card",
        &["action", "project_card"],
        &[
            COMMON,
            &[
                at("project_card.note", F::Body),
                at("project_card.creator.login", F::Author),
            ],
        ],
        &["project_card.updated_at"],
        &[
            row("created", N::ProjectCard, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::ProjectCard,
                &[V::Edit, V::Update, V::Change],
                &[],
            ),
            row("moved", N::ProjectCard, &[V::Move, V::Reorder], &[]),
            row("converted", N::ProjectCard, &[V::Convert], &[]),
            row("deleted", N::ProjectCard, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "project_column",
        &["action", "project_column"],
        &[COMMON, &[at("project_column.name", F::Name)]],
        &["project_column.updated_at"],
        &[
            row("created", N::ProjectColumn, &[V::Create, V::Add], &[]),
            row(
                "edited",
                N::ProjectColumn,
                &[V::Edit, V::Update, V::Change, V::Rename],
                &[],
            ),
            row("moved", N::ProjectColumn, &[V::Move, V::Reorder], &[]),
            row("deleted", N::ProjectColumn, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "sub_issues",
        &["action"],
        &[
            COMMON,
            &[
                at("sub_issue.number", F::Number),
                at("sub_issue.title", F::Title),
                at("sub_issue.state", F::State),
                at("sub_issue.labels[].name", F::Labels),
                at("sub_issue.user.login", F::Author),
            ],
        ],
        &[],
        &[
            row("sub_issue_added", N::SubIssue, &[V::Add, V::Create], &[]),
            row(
                "sub_issue_removed",
                N::SubIssue,
                &[V::Remove, V::Delete],
                &[],
            ),
            row(
                "parent_issue_added",
                N::ParentIssue,
                &[V::Add, V::Create],
                &[],
            ),
            row(
                "parent_issue_removed",
                N::ParentIssue,
                &[V::Remove, V::Delete],
                &[],
            ),
        ],
    ),
    &kind(
        "issue_dependencies",
        &["action"],
        &[
            COMMON,
            &[
                at("blocked_issue.number", F::Number),
                at("blocked_issue.title", F::Title),
                at("blocked_issue.state", F::State),
            ],
        ],
        &[],
        &[
            row("blocked_by_added", N::BlockedBy, &[V::Add, V::Create], &[]),
            row(
                "blocked_by_removed",
                N::BlockedBy,
                &[V::Remove, V::Delete],
                &[],
            ),
            row("blocking_added", N::Blocking, &[V::Add, V::Create], &[]),
            row(
                "blocking_removed",
                N::Blocking,
                &[V::Remove, V::Delete],
                &[],
            ),
            row("blocked_by_added", N::Issue, &[V::Block], &[]),
            row("blocked_by_removed", N::Issue, &[V::Unblock], &[]),
            row(
                "blocked_by_added",
                N::IssueDependency,
                &[V::Add, V::Create],
                &[],
            ),
            row(
                "blocked_by_removed",
                N::IssueDependency,
                &[V::Remove, V::Delete],
                &[],
            ),
        ],
    ),
];
