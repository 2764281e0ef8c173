//! GitHub: checks, workflows, deployments and the merge queue.

use super::RowGuard::Is;
use super::github::{COMMON, kind};
use super::{EventKind, RowGuard};
use crate::field::Field as F;

const FAILED: &[RowGuard] = &[Is(F::Conclusion, &["failure", "timed_out"])];
const TIMED_OUT: &[RowGuard] = &[Is(F::Conclusion, &["timed_out"])];
const PASSED: &[RowGuard] = &[Is(F::Conclusion, &["success"])];
const CANCELLED: &[RowGuard] = &[Is(F::Conclusion, &["cancelled"])];
const STATUS_FAILED: &[RowGuard] = &[Is(F::Conclusion, &["failure", "error"])];
const STATUS_ENDED: &[RowGuard] = &[Is(F::Conclusion, &["success", "failure", "error"])];
const DEPLOY_FAILED: &[RowGuard] = &[Is(F::Conclusion, &["failure", "error"])];

pub(super) static KINDS: &[&EventKind] = kinds! {
    "check_run" ["action", "check_run"] at ["check_run.completed_at", "check_run.started_at"]
    reads [COMMON] {
        "check_run.name" Check,
        "check_run.conclusion" Conclusion,
        "check_run.status" State,
        "check_run.head_sha" After,
        "check_run.check_suite.head_branch" Branch,
        "check_run.pull_requests[].number" PullRequests,
        "check_run.pull_requests[].base.ref" Base,
        "check_run.pull_requests[].head.ref" Head,
    }
    rows {
        row "completed": CheckRun [Complete];
        row "completed": CheckRun [Fail] if FAILED;
        row "completed": CheckRun [TimeOut] if TIMED_OUT;
        row "completed": CheckRun [Succeed] if PASSED;
        row "completed": CheckRun [Cancel] if CANCELLED;
        row "created": CheckRun [Create Start];
        row "rerequested": CheckRun [Rerequest];
        common "completed": CheckRun [Change Update];
        common "created": CheckRun [Change Update];
        common "rerequested": CheckRun [Change Update];
        row "completed": Check [Complete];
        row "completed": Check [Fail] if FAILED;
        row "completed": Check [TimeOut] if TIMED_OUT;
        row "completed": Check [Succeed] if PASSED;
        row "completed": Check [Cancel] if CANCELLED;
        row "completed": Ci [Complete];
        row "completed": Ci [Fail] if FAILED;
        row "completed": Ci [TimeOut] if TIMED_OUT;
        row "completed": Ci [Succeed] if PASSED;
        common "completed": Check [Change Update];
        row "created": Check [Change Update Create Start];
        row "rerequested": Check [Change Update Rerequest];
        row "requested_action": CheckRun [RequestAction];
        row "requested_action": Check [RequestAction];
    }

    "check_suite" ["action", "check_suite"] at ["check_suite.updated_at"]
    reads [COMMON] {
        "check_suite.conclusion" Conclusion,
        "check_suite.status" State,
        "check_suite.head_sha" After,
        "check_suite.head_branch" Branch,
        "check_suite.pull_requests[].number" PullRequests,
        "check_suite.app.slug" Name,
    }
    rows {
        row "completed": CheckSuite [Complete Change Update];
        row "completed": CheckSuite [Fail] if FAILED;
        row "completed": CheckSuite [TimeOut] if TIMED_OUT;
        row "completed": CheckSuite [Succeed] if PASSED;
        row "completed": CheckSuite [Cancel] if CANCELLED;
        row "requested": CheckSuite [Request Start Create Change Update];
        row "rerequested": CheckSuite [Rerequest];
    }

    "status" ["state", "context", "sha"] at ["updated_at"]
    reads [COMMON] {
        "state" Conclusion,
        "context" Check,
        "sha" After,
        "branches[].name" Branch,
    }
    rows {
        common_plain: Status [Change Update Create Post Add];
        plain: Status [Complete] if STATUS_ENDED;
        plain: Status [Fail] if STATUS_FAILED;
        plain: Status [Succeed] if PASSED;
        plain: Check [Change Update];
        plain: Check [Complete] if STATUS_ENDED;
        plain: Check [Fail] if STATUS_FAILED;
        plain: Check [Succeed] if PASSED;
        plain: Ci [Complete] if STATUS_ENDED;
        plain: Ci [Fail] if STATUS_FAILED;
        plain: Ci [Succeed] if PASSED;
    }

    "workflow_run" ["action", "workflow_run"] at ["workflow_run.updated_at"]
    reads [COMMON] {
        "workflow_run.name" Workflow,
        "workflow_run.conclusion" Conclusion,
        "workflow_run.status" State,
        "workflow_run.head_branch" Branch,
        "workflow_run.head_sha" After,
        "workflow_run.pull_requests[].number" PullRequests,
        "workflow_run.pull_requests[].base.ref" Base,
        "workflow_run.pull_requests[].head.ref" Head,
    }
    rows {
        row "completed": Workflow [Complete];
        row "completed": Workflow [Fail] if FAILED;
        row "completed": Workflow [TimeOut] if TIMED_OUT;
        row "completed": Workflow [Succeed] if PASSED;
        row "completed": Workflow [Cancel] if CANCELLED;
        row "requested": Workflow [Start Request Create];
        row "in_progress": Workflow [Start];
        row "completed": Ci [Complete];
        row "completed": Ci [Fail] if FAILED;
        row "completed": Ci [TimeOut] if TIMED_OUT;
        row "completed": Ci [Succeed] if PASSED;
        row "completed": Ci [Cancel] if CANCELLED;
        row "requested": Ci [Start];
        row "completed": Workflow [Change Update];
        row "requested": Ci [Request Create];
        row "in_progress": Ci [Start];
    }

    "workflow_job" ["action", "workflow_job"] at ["workflow_job.completed_at", "workflow_job.started_at"]
    reads [COMMON] {
        "workflow_job.name" Check,
        "workflow_job.workflow_name" Workflow,
        "workflow_job.conclusion" Conclusion,
        "workflow_job.status" State,
        "workflow_job.head_branch" Branch,
        "workflow_job.head_sha" After,
    }
    rows {
        row "completed": Job [Complete];
        row "completed": Job [Fail] if FAILED;
        row "completed": Job [TimeOut] if TIMED_OUT;
        row "completed": Job [Succeed] if PASSED;
        row "completed": Job [Cancel] if CANCELLED;
        row "queued": Job [Enqueue Request Create Start];
        row "in_progress": Job [Start];
        row "waiting": Job [Wait];
        row "completed": Job [Change Update];
    }

    "deployment" ["deployment"] at ["deployment.updated_at"]
    reads [COMMON] {
        "deployment.environment" Environment,
        "deployment.sha" After,
        "deployment.ref" Branch,
        "deployment.creator.login" Author,
        "deployment.creator.type" AuthorKind,
    }
    rows {
        row "created": Deployment [Create Start Request];
    }

    "deployment_status" ["deployment_status", "deployment"] at ["deployment_status.updated_at"]
    reads [COMMON] {
        "deployment_status.state" Conclusion,
        "deployment_status.environment" Environment,
        "deployment_status.creator.login" Author,
        "deployment_status.creator.type" AuthorKind,
        "deployment.sha" After,
        "deployment.ref" Branch,
    }
    rows {
        row "created": DeploymentStatus [Change Update Create Post];
        row "created": Deployment [Change Update];
        row "created": Deployment [Fail] if DEPLOY_FAILED;
        row "created": Deployment [Succeed Complete Publish] if PASSED;
        row "created": DeploymentStatus [Fail] if DEPLOY_FAILED;
        row "created": DeploymentStatus [Succeed] if PASSED;
        row "created": Deployment [Cancel] if &[Is(F::Conclusion, &["inactive"])];
        row "created": DeploymentStatus [Complete] if &[Is(F::Conclusion, &["success", "failure", "error"])];
    }

    "deployment_review" ["action", "workflow_run"] at ["workflow_run.updated_at"]
    reads [COMMON] {
        "workflow_run.name" Workflow,
        "workflow_run.head_branch" Branch,
        "workflow_run.head_sha" After,
        "workflow_run.pull_requests[].number" PullRequests,
        "environment" Environment,
        "workflow_job_run.environment" Environment,
        "approver.login" Author,
        "comment" Comment,
    }
    rows {
        row "requested": DeploymentReview [Request Create];
        row "approved": DeploymentReview [Approve Accept];
        row "rejected": DeploymentReview [Reject];
        row "approved": Deployment [Approve];
        row "rejected": Deployment [Reject];
    }

    "deployment_protection_rule" ["action"] at []
    reads [COMMON] {
        "environment" Environment,
        "deployment.sha" After,
        "deployment.ref" Branch,
        "pull_requests[].number" PullRequests,
    }
    rows {
        row "requested": DeploymentProtection [Request Create Fire Start];
    }

    "workflow_dispatch" ["workflow"] at []
    reads [COMMON] {
        "workflow" Workflow,
        "ref" Ref,
    }
    rows {
        plain: WorkflowDispatch [Create Fire Request Post Start];
        plain: Workflow [Dispatch];
    }

    "merge_group" ["action", "merge_group"] at []
    reads [COMMON] {
        "merge_group.head_sha" After,
        "merge_group.base_ref",
    }
    rows {
        row "checks_requested": MergeGroup [Request Create Start];
        row "destroyed": MergeGroup [Delete Cancel];
    }
};
