//! GitHub: checks, workflows, deployments and the merge queue.

use super::Noun as N;
use super::RowGuard::Is;
use super::Verb as V;
use super::github::{COMMON, kind};
use super::{ActionRow, EventKind, Portability, RowGuard, at, common, plain, raw, row};
use crate::field::Field as F;

const FAILED: &[RowGuard] = &[Is(F::Conclusion, &["failure", "timed_out"])];
const TIMED_OUT: &[RowGuard] = &[Is(F::Conclusion, &["timed_out"])];
const PASSED: &[RowGuard] = &[Is(F::Conclusion, &["success"])];
const CANCELLED: &[RowGuard] = &[Is(F::Conclusion, &["cancelled"])];
const STATUS_FAILED: &[RowGuard] = &[Is(F::Conclusion, &["failure", "error"])];
const STATUS_ENDED: &[RowGuard] = &[Is(F::Conclusion, &["success", "failure", "error"])];
const DEPLOY_FAILED: &[RowGuard] = &[Is(F::Conclusion, &["failure", "error"])];

pub(super) static KINDS: &[&EventKind] = &[
    &kind(
        "check_run",
        &["action", "check_run"],
        &[
            COMMON,
            &[
                at("check_run.name", F::Check),
                at("check_run.conclusion", F::Conclusion),
                at("check_run.status", F::State),
                at("check_run.head_sha", F::After),
                at("check_run.check_suite.head_branch", F::Branch),
                at("check_run.pull_requests[].number", F::PullRequests),
                at("check_run.pull_requests[].base.ref", F::Base),
                at("check_run.pull_requests[].head.ref", F::Head),
            ],
        ],
        &["check_run.completed_at", "check_run.started_at"],
        &[
            row("completed", N::CheckRun, &[V::Complete], &[]),
            row("completed", N::CheckRun, &[V::Fail], FAILED),
            row("completed", N::CheckRun, &[V::TimeOut], TIMED_OUT),
            row("completed", N::CheckRun, &[V::Succeed], PASSED),
            row("completed", N::CheckRun, &[V::Cancel], CANCELLED),
            row("created", N::CheckRun, &[V::Create, V::Start], &[]),
            row("rerequested", N::CheckRun, &[V::Rerequest], &[]),
            common("completed", N::CheckRun, &[V::Change, V::Update], &[]),
            common("created", N::CheckRun, &[V::Change, V::Update], &[]),
            common("rerequested", N::CheckRun, &[V::Change, V::Update], &[]),
            row("completed", N::Check, &[V::Complete], &[]),
            row("completed", N::Check, &[V::Fail], FAILED),
            row("completed", N::Check, &[V::TimeOut], TIMED_OUT),
            row("completed", N::Check, &[V::Succeed], PASSED),
            row("completed", N::Check, &[V::Cancel], CANCELLED),
            row("completed", N::Ci, &[V::Complete], &[]),
            row("completed", N::Ci, &[V::Fail], FAILED),
            row("completed", N::Ci, &[V::TimeOut], TIMED_OUT),
            row("completed", N::Ci, &[V::Succeed], PASSED),
            common("completed", N::Check, &[V::Change, V::Update], &[]),
            row(
                "created",
                N::Check,
                &[V::Change, V::Update, V::Create, V::Start],
                &[],
            ),
            row(
                "rerequested",
                N::Check,
                &[V::Change, V::Update, V::Rerequest],
                &[],
            ),
            row("requested_action", N::CheckRun, &[V::RequestAction], &[]),
            row("requested_action", N::Check, &[V::RequestAction], &[]),
        ],
    ),
    &kind(
        "check_suite",
        &["action", "check_suite"],
        &[
            COMMON,
            &[
                at("check_suite.conclusion", F::Conclusion),
                at("check_suite.status", F::State),
                at("check_suite.head_sha", F::After),
                at("check_suite.head_branch", F::Branch),
                at("check_suite.pull_requests[].number", F::PullRequests),
                at("check_suite.app.slug", F::Name),
            ],
        ],
        &["check_suite.updated_at"],
        &[
            row(
                "completed",
                N::CheckSuite,
                &[V::Complete, V::Change, V::Update],
                &[],
            ),
            row("completed", N::CheckSuite, &[V::Fail], FAILED),
            row("completed", N::CheckSuite, &[V::TimeOut], TIMED_OUT),
            row("completed", N::CheckSuite, &[V::Succeed], PASSED),
            row("completed", N::CheckSuite, &[V::Cancel], CANCELLED),
            row(
                "requested",
                N::CheckSuite,
                &[V::Request, V::Start, V::Create, V::Change, V::Update],
                &[],
            ),
            row("rerequested", N::CheckSuite, &[V::Rerequest], &[]),
        ],
    ),
    &kind(
        "status",
        &["state", "context", "sha"],
        &[
            COMMON,
            &[
                at("state", F::Conclusion),
                at("context", F::Check),
                at("sha", F::After),
                at("branches[].name", F::Branch),
            ],
        ],
        &["updated_at"],
        &[
            ActionRow {
                portability: Portability::Common,
                ..plain(
                    N::Status,
                    &[V::Change, V::Update, V::Create, V::Post, V::Add],
                    &[],
                )
            },
            plain(N::Status, &[V::Complete], STATUS_ENDED),
            plain(N::Status, &[V::Fail], STATUS_FAILED),
            plain(N::Status, &[V::Succeed], PASSED),
            plain(N::Check, &[V::Change, V::Update], &[]),
            plain(N::Check, &[V::Complete], STATUS_ENDED),
            plain(N::Check, &[V::Fail], STATUS_FAILED),
            plain(N::Check, &[V::Succeed], PASSED),
            plain(N::Ci, &[V::Complete], STATUS_ENDED),
            plain(N::Ci, &[V::Fail], STATUS_FAILED),
            plain(N::Ci, &[V::Succeed], PASSED),
        ],
    ),
    &kind(
        "workflow_run",
        &["action", "workflow_run"],
        &[
            COMMON,
            &[
                at("workflow_run.name", F::Workflow),
                at("workflow_run.conclusion", F::Conclusion),
                at("workflow_run.status", F::State),
                at("workflow_run.head_branch", F::Branch),
                at("workflow_run.head_sha", F::After),
                at("workflow_run.pull_requests[].number", F::PullRequests),
                at("workflow_run.pull_requests[].base.ref", F::Base),
                at("workflow_run.pull_requests[].head.ref", F::Head),
            ],
        ],
        &["workflow_run.updated_at"],
        &[
            row("completed", N::Workflow, &[V::Complete], &[]),
            row("completed", N::Workflow, &[V::Fail], FAILED),
            row("completed", N::Workflow, &[V::TimeOut], TIMED_OUT),
            row("completed", N::Workflow, &[V::Succeed], PASSED),
            row("completed", N::Workflow, &[V::Cancel], CANCELLED),
            row(
                "requested",
                N::Workflow,
                &[V::Start, V::Request, V::Create],
                &[],
            ),
            row("in_progress", N::Workflow, &[V::Start], &[]),
            row("completed", N::Ci, &[V::Complete], &[]),
            row("completed", N::Ci, &[V::Fail], FAILED),
            row("completed", N::Ci, &[V::TimeOut], TIMED_OUT),
            row("completed", N::Ci, &[V::Succeed], PASSED),
            row("completed", N::Ci, &[V::Cancel], CANCELLED),
            row("requested", N::Ci, &[V::Start], &[]),
            row("completed", N::Workflow, &[V::Change, V::Update], &[]),
            row("requested", N::Ci, &[V::Request, V::Create], &[]),
            row("in_progress", N::Ci, &[V::Start], &[]),
        ],
    ),
    &kind(
        "workflow_job",
        &["action", "workflow_job"],
        &[
            COMMON,
            &[
                at("workflow_job.name", F::Check),
                at("workflow_job.workflow_name", F::Workflow),
                at("workflow_job.conclusion", F::Conclusion),
                at("workflow_job.status", F::State),
                at("workflow_job.head_branch", F::Branch),
                at("workflow_job.head_sha", F::After),
            ],
        ],
        &["workflow_job.completed_at", "workflow_job.started_at"],
        &[
            row("completed", N::Job, &[V::Complete], &[]),
            row("completed", N::Job, &[V::Fail], FAILED),
            row("completed", N::Job, &[V::TimeOut], TIMED_OUT),
            row("completed", N::Job, &[V::Succeed], PASSED),
            row("completed", N::Job, &[V::Cancel], CANCELLED),
            row(
                "queued",
                N::Job,
                &[V::Enqueue, V::Request, V::Create, V::Start],
                &[],
            ),
            row("in_progress", N::Job, &[V::Start], &[]),
            row("waiting", N::Job, &[V::Wait], &[]),
            row("completed", N::Job, &[V::Change, V::Update], &[]),
        ],
    ),
    &kind(
        "deployment",
        &["deployment"],
        &[
            COMMON,
            &[
                at("deployment.environment", F::Environment),
                at("deployment.sha", F::After),
                at("deployment.ref", F::Branch),
                at("deployment.creator.login", F::Author),
                at("deployment.creator.type", F::AuthorKind),
            ],
        ],
        &["deployment.updated_at"],
        &[row(
            "created",
            N::Deployment,
            &[V::Create, V::Start, V::Request],
            &[],
        )],
    ),
    &kind(
        "deployment_status",
        &["deployment_status", "deployment"],
        &[
            COMMON,
            &[
                at("deployment_status.state", F::Conclusion),
                at("deployment_status.environment", F::Environment),
                at("deployment_status.creator.login", F::Author),
                at("deployment_status.creator.type", F::AuthorKind),
                at("deployment.sha", F::After),
                at("deployment.ref", F::Branch),
            ],
        ],
        &["deployment_status.updated_at"],
        &[
            row(
                "created",
                N::DeploymentStatus,
                &[V::Change, V::Update, V::Create, V::Post],
                &[],
            ),
            row("created", N::Deployment, &[V::Change, V::Update], &[]),
            row("created", N::Deployment, &[V::Fail], DEPLOY_FAILED),
            row(
                "created",
                N::Deployment,
                &[V::Succeed, V::Complete, V::Publish],
                PASSED,
            ),
            row("created", N::DeploymentStatus, &[V::Fail], DEPLOY_FAILED),
            row("created", N::DeploymentStatus, &[V::Succeed], PASSED),
            row(
                "created",
                N::Deployment,
                &[V::Cancel],
                &[Is(F::Conclusion, &["inactive"])],
            ),
            row(
                "created",
                N::DeploymentStatus,
                &[V::Complete],
                &[Is(F::Conclusion, &["success", "failure", "error"])],
            ),
        ],
    ),
    &kind(
        "deployment_review",
        &["action", "workflow_run"],
        &[
            COMMON,
            &[
                at("workflow_run.name", F::Workflow),
                at("workflow_run.head_branch", F::Branch),
                at("workflow_run.head_sha", F::After),
                at("workflow_run.pull_requests[].number", F::PullRequests),
                at("environment", F::Environment),
                at("workflow_job_run.environment", F::Environment),
                at("approver.login", F::Author),
                at("comment", F::Comment),
            ],
        ],
        &["workflow_run.updated_at"],
        &[
            row(
                "requested",
                N::DeploymentReview,
                &[V::Request, V::Create],
                &[],
            ),
            row(
                "approved",
                N::DeploymentReview,
                &[V::Approve, V::Accept],
                &[],
            ),
            row("rejected", N::DeploymentReview, &[V::Reject], &[]),
            row("approved", N::Deployment, &[V::Approve], &[]),
            row("rejected", N::Deployment, &[V::Reject], &[]),
        ],
    ),
    &kind(
        "deployment_protection_rule",
        &["action"],
        &[
            COMMON,
            &[
                at("environment", F::Environment),
                at("deployment.sha", F::After),
                at("deployment.ref", F::Branch),
                at("pull_requests[].number", F::PullRequests),
            ],
        ],
        &[],
        &[row(
            "requested",
            N::DeploymentProtection,
            &[V::Request, V::Create, V::Fire, V::Start],
            &[],
        )],
    ),
    &kind(
        "workflow_dispatch",
        &["workflow"],
        &[COMMON, &[at("workflow", F::Workflow), at("ref", F::Ref)]],
        &[],
        &[
            plain(
                N::WorkflowDispatch,
                &[V::Create, V::Fire, V::Request, V::Post, V::Start],
                &[],
            ),
            plain(N::Workflow, &[V::Dispatch], &[]),
        ],
    ),
    &kind(
        "merge_group",
        &["action", "merge_group"],
        &[
            COMMON,
            &[
                at("merge_group.head_sha", F::After),
                raw("merge_group.base_ref"),
            ],
        ],
        &[],
        &[
            row(
                "checks_requested",
                N::MergeGroup,
                &[V::Request, V::Create, V::Start],
                &[],
            ),
            row("destroyed", N::MergeGroup, &[V::Delete, V::Cancel], &[]),
        ],
    ),
];
