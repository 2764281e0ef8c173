//! Sentry: issues, alerts, errors and comments.

use super::Noun as N;
use super::RowGuard::Is;
use super::Verb as V;
use super::{ActionRow, EventKind, FieldPath, Portability, RowGuard, at, common, raw, row};
use crate::event::Source;
use crate::field::Field as F;

const COMMON: &[FieldPath] = &[raw("actor.name"), at("actor.type", F::ActorKind)];

const fn kind(
    name: &'static str,
    required: &'static [&'static str],
    reads: &'static [&'static [FieldPath]],
    times: &'static [&'static str],
    rows: &'static [ActionRow],
) -> EventKind {
    EventKind {
        source: Source::Sentry,
        name,
        required,
        reads,
        times,
        rows,
    }
}

/// Returns a row for a threshold of a metric alert.
const fn threshold(action: &'static str, noun: N, guards: &'static [RowGuard]) -> ActionRow {
    ActionRow {
        action: Some(action),
        noun,
        verbs: &[V::Fire, V::Create],
        guards,
        portability: Portability::Common,
    }
}

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "issue",
        &["action", "data.issue"],
        &[
            COMMON,
            &[
                at("data.issue.id", F::Key),
                at("data.issue.title", F::Title),
                at("data.issue.level", F::Level),
                at("data.issue.status", F::State),
                at("data.issue.substatus", F::Substatus),
                at("data.issue.project.slug", F::Project),
                at("data.issue.project.name", F::Project),
                at("data.issue.assignedTo.name", F::Assignee),
                at("data.issue.priority", F::Priority),
                at("data.issue.platform", F::Subtype),
                raw("data.issue.shortId"),
            ],
        ],
        &["data.issue.lastSeen"],
        &[
            row("created", N::Issue, &[V::Create, V::Add], &[]),
            row("resolved", N::Issue, &[V::Resolve, V::Close, V::Fix], &[]),
            row("assigned", N::Issue, &[V::Assign], &[]),
            row("archived", N::Issue, &[V::Archive, V::Ignore], &[]),
            row("unresolved", N::Issue, &[V::Reopen, V::Unresolve], &[]),
            row(
                "unresolved",
                N::Issue,
                &[V::Regress],
                &[Is(F::Substatus, &["regressed"])],
            ),
            row(
                "unresolved",
                N::Issue,
                &[V::Escalate],
                &[Is(F::Substatus, &["escalating"])],
            ),
            row("ignored", N::Issue, &[V::Archive, V::Ignore], &[]),
        ],
    ),
    &kind(
        "event_alert",
        &["action", "data.event"],
        &[
            COMMON,
            &[
                at("data.event.issue_id", F::Key),
                at("data.event.title", F::Title),
                at("data.event.level", F::Level),
                at("data.event.environment", F::Environment),
                at("data.event.project_slug", F::Project),
                at("data.triggered_rule", F::Name),
            ],
        ],
        &["data.event.datetime"],
        &[
            common("triggered", N::Alert, &[V::Fire, V::Create], &[]),
            common("triggered", N::IssueAlert, &[V::Fire, V::Create], &[]),
        ],
    ),
    &kind(
        "metric_alert",
        &["action", "data.metric_alert"],
        &[
            COMMON,
            &[
                at("data.metric_alert.id", F::Key),
                at("data.metric_alert.title", F::Title),
                at("data.metric_alert.alert_rule.name", F::Name),
                at("data.metric_alert.projects[]", F::Project),
                at("data.metric_alert.alert_rule.environment", F::Environment),
            ],
        ],
        &["data.metric_alert.date_detected"],
        &[
            threshold("critical", N::Alert, &[]),
            threshold("warning", N::Alert, &[]),
            threshold("critical", N::MetricAlert, &[]),
            threshold("warning", N::MetricAlert, &[]),
            row("critical", N::MetricAlert, &[V::GoCritical], &[]),
            row("warning", N::MetricAlert, &[V::GoWarning], &[]),
            row("critical", N::Alert, &[V::GoCritical], &[]),
            row("warning", N::Alert, &[V::GoWarning], &[]),
            row("resolved", N::MetricAlert, &[V::Resolve, V::Close], &[]),
            row("resolved", N::Alert, &[V::Resolve, V::Close], &[]),
        ],
    ),
    &kind(
        "error",
        &["action", "data.error"],
        &[
            COMMON,
            &[
                at("data.error.issue_id", F::Key),
                at("data.error.title", F::Title),
                at("data.error.level", F::Level),
                at("data.error.environment", F::Environment),
                at("data.error.project_slug", F::Project),
            ],
        ],
        &["data.error.datetime"],
        &[row(
            "created",
            N::ErrorEvent,
            &[V::Create, V::Fire, V::Add],
            &[],
        )],
    ),
    &kind(
        "comment",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.comment", F::Comment),
                at("data.issue_id", F::Key),
                at("data.project_slug", F::Project),
            ],
        ],
        &["data.timestamp"],
        &[
            row("created", N::Comment, &[V::Create, V::Add, V::Post], &[]),
            row("updated", N::Comment, &[V::Edit, V::Update, V::Change], &[]),
            row("deleted", N::Comment, &[V::Delete, V::Remove], &[]),
        ],
    ),
    &kind(
        "installation",
        &["action"],
        &[COMMON, &[at("data.installation.app.slug", F::Name)]],
        &[],
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
        ],
    ),
    &kind(
        "activity_alert",
        &["action", "data"],
        &[
            COMMON,
            &[
                at("data.issue.id", F::Key),
                at("data.issue.title", F::Title),
                at("data.issue.level", F::Level),
                at("data.issue.project.slug", F::Project),
                at("data.alert.title", F::Name),
            ],
        ],
        &["data.issue.lastSeen"],
        &[
            row("triggered", N::ActivityAlert, &[V::Fire, V::Create], &[]),
            common("triggered", N::Alert, &[V::Fire, V::Create], &[]),
        ],
    ),
    &kind(
        "seer",
        &["action"],
        &[
            COMMON,
            &[at("data.group_id", F::Key), at("data.issue_id", F::Key)],
        ],
        &[],
        &[
            row(
                "root_cause_started",
                N::RootCause,
                &[V::Start, V::Create],
                &[],
            ),
            row(
                "root_cause_completed",
                N::RootCause,
                &[V::Complete, V::Succeed],
                &[],
            ),
            row(
                "solution_started",
                N::SeerSolution,
                &[V::Start, V::Create],
                &[],
            ),
            row(
                "solution_completed",
                N::SeerSolution,
                &[V::Complete, V::Succeed],
                &[],
            ),
            row("coding_started", N::SeerCoding, &[V::Start, V::Create], &[]),
            row(
                "coding_completed",
                N::SeerCoding,
                &[V::Complete, V::Succeed],
                &[],
            ),
            row("pr_created", N::SeerPullRequest, &[V::Create], &[]),
        ],
    ),
];
