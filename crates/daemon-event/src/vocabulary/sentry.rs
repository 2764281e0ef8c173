//! Sentry: issues, alerts, errors and comments.

use super::RowGuard::Is;
use super::{ActionRow, EventKind, FieldPath};
use crate::event::Source;
use crate::field::Field as F;

const COMMON: &[FieldPath] = paths! {
    "actor.name",
    "actor.type" ActorKind,
};

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

pub(super) static KINDS: &[&EventKind] = kinds! {
    "issue" ["action", "data.issue"] at ["data.issue.lastSeen"]
    reads [COMMON] {
        "data.issue.id" Key,
        "data.issue.title" Title,
        "data.issue.level" Level,
        "data.issue.status" State,
        "data.issue.substatus" Substatus,
        "data.issue.project.slug" Project,
        "data.issue.project.name" Project,
        "data.issue.assignedTo.name" Assignee,
        "data.issue.priority" Priority,
        "data.issue.platform" Subtype,
        "data.issue.shortId",
    }
    rows {
        row "created": Issue [Create Add];
        row "resolved": Issue [Resolve Close Fix];
        row "assigned": Issue [Assign];
        row "archived": Issue [Archive Ignore];
        row "unresolved": Issue [Reopen Unresolve];
        row "unresolved": Issue [Regress] if &[Is(F::Substatus, &["regressed"])];
        row "unresolved": Issue [Escalate] if &[Is(F::Substatus, &["escalating"])];
        row "ignored": Issue [Archive Ignore];
    }

    "event_alert" ["action", "data.event"] at ["data.event.datetime"]
    reads [COMMON] {
        "data.event.issue_id" Key,
        "data.event.title" Title,
        "data.event.level" Level,
        "data.event.environment" Environment,
        "data.event.project_slug" Project,
        "data.triggered_rule" Name,
    }
    rows {
        common "triggered": Alert [Fire Create];
        common "triggered": IssueAlert [Fire Create];
    }

    "metric_alert" ["action", "data.metric_alert"] at ["data.metric_alert.date_detected"]
    reads [COMMON] {
        "data.metric_alert.id" Key,
        "data.metric_alert.title" Title,
        "data.metric_alert.alert_rule.name" Name,
        "data.metric_alert.projects[]" Project,
        "data.metric_alert.alert_rule.environment" Environment,
    }
    rows {
        common "critical": Alert [Fire Create];
        common "warning": Alert [Fire Create];
        common "critical": MetricAlert [Fire Create];
        common "warning": MetricAlert [Fire Create];
        row "critical": MetricAlert [GoCritical];
        row "warning": MetricAlert [GoWarning];
        row "critical": Alert [GoCritical];
        row "warning": Alert [GoWarning];
        row "resolved": MetricAlert [Resolve Close];
        row "resolved": Alert [Resolve Close];
    }

    "error" ["action", "data.error"] at ["data.error.datetime"]
    reads [COMMON] {
        "data.error.issue_id" Key,
        "data.error.title" Title,
        "data.error.level" Level,
        "data.error.environment" Environment,
        "data.error.project_slug" Project,
    }
    rows {
        row "created": ErrorEvent [Create Fire Add];
    }

    "comment" ["action", "data"] at ["data.timestamp"]
    reads [COMMON] {
        "data.comment" Comment,
        "data.issue_id" Key,
        "data.project_slug" Project,
    }
    rows {
        row "created": Comment [Create Add Post];
        row "updated": Comment [Edit Update Change];
        row "deleted": Comment [Delete Remove];
    }

    "installation" ["action"] at []
    reads [COMMON] {
        "data.installation.app.slug" Name,
    }
    rows {
        row "created": Installation [Create Install Add];
        row "deleted": Installation [Delete Uninstall Remove];
    }

    "activity_alert" ["action", "data"] at ["data.issue.lastSeen"]
    reads [COMMON] {
        "data.issue.id" Key,
        "data.issue.title" Title,
        "data.issue.level" Level,
        "data.issue.project.slug" Project,
        "data.alert.title" Name,
    }
    rows {
        row "triggered": ActivityAlert [Fire Create];
        common "triggered": Alert [Fire Create];
    }

    "seer" ["action"] at []
    reads [COMMON] {
        "data.group_id" Key,
        "data.issue_id" Key,
    }
    rows {
        row "root_cause_started": RootCause [Start Create];
        row "root_cause_completed": RootCause [Complete Succeed];
        row "solution_started": SeerSolution [Start Create];
        row "solution_completed": SeerSolution [Complete Succeed];
        row "coding_started": SeerCoding [Start Create];
        row "coding_completed": SeerCoding [Complete Succeed];
        row "pr_created": SeerPullRequest [Create];
    }
};
