//! What daemons do on GitHub, and the events of it.

use super::{RUN, Scene};
use crate::serve_github::REPO;

/// Something that a daemon does.
pub(super) struct Row {
    /// The proposals of its runs; `COMMIT` is the head of the pull request, `OUTPUT` the key of the output before.
    pub(super) runs: &'static [&'static str],
    /// What the account does outside of the API.
    pub(super) outside: fn(&Scene),
    /// The events that are the daemon's own.
    pub(super) own: &'static [&'static str],
    /// The events that follow from it, and wake its own daemon one level deeper.
    pub(super) follow: &'static [&'static str],
}

pub(super) const QUIET: Row = Row {
    runs: &[],
    outside: |_| (),
    own: &[],
    follow: &[],
};

pub(super) const ROWS: &[Row] = &[
    Row {
        runs: &[r#"{"v":1,"verb":"comment","body":"Noted."}"#],
        own: &["issue_comment.created"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"comment","body":"Noted."}"#,
            r#"{"v":1,"verb":"edit_comment","output":"OUTPUT","body":"Noted twice."}"#,
        ],
        own: &["issue_comment.created", "issue_comment.edited"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"comment","slot":"s","body":"Noted."}"#,
            r#"{"v":1,"verb":"comment","slot":"s","body":"Noted twice."}"#,
        ],
        own: &["issue_comment.created", "issue_comment.edited"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"review","event":"comment","body":"Two remarks.","comments":[{"path":"docs/a.md","line":1,"body":"One?"},{"path":"docs/a.md","line":2,"body":"Two?"}]}"#,
        ],
        own: &[
            "pull_request_review.submitted",
            "pull_request_review_comment.created",
        ],
        ..QUIET
    },
    Row {
        runs: &[r#"{"v":1,"verb":"review_comment","path":"docs/a.md","line":2,"body":"Two?"}"#],
        own: &[
            "pull_request_review.submitted",
            "pull_request_review_comment.created",
        ],
        ..QUIET
    },
    Row {
        runs: &[r#"{"v":1,"verb":"push_branch"}"#],
        outside: |scene| scene.pushed(&scene.branch(), None),
        own: &["create", "push"],
        ..QUIET
    },
    Row {
        runs: &[r#"{"v":1,"verb":"push_pull_request"}"#],
        outside: |scene| scene.pushed("topic", Some(&scene.head)),
        own: &["push", "pull_request.synchronize"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"open_pull_request","title":"Repair","body":"One.","labels":["docs","Fresh"]}"#,
        ],
        own: &["pull_request.opened", "pull_request.labeled"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"edit_pull_request","title":"A better title","body":"More.","draft":true}"#,
        ],
        own: &["pull_request.edited", "pull_request.converted_to_draft"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"open_issue","title":"Stale","body":"A page.","labels":["docs","Fresh"]}"#,
        ],
        own: &["issues.opened", "issues.labeled"],
        ..QUIET
    },
    Row {
        runs: &[
            r#"{"v":1,"verb":"label","add":["docs","Fresh"]}"#,
            r#"{"v":1,"verb":"label","remove":["docs"]}"#,
        ],
        own: &["pull_request.labeled", "pull_request.unlabeled"],
        ..QUIET
    },
    Row {
        runs: &[r#"{"v":1,"verb":"assign","add":["bob"],"reviewers":["bob"]}"#],
        own: &["pull_request.assigned", "pull_request.review_requested"],
        ..QUIET
    },
    Row {
        runs: &[r#"{"v":1,"verb":"retry_check","target":"github:o/r","run":77}"#],
        outside: |scene| {
            let login = scene.acts.login();
            scene.api.end_workflow_run(REPO, login, RUN, "failure");
        },
        own: &[
            "workflow_run.requested",
            "workflow_job.queued",
            "check_run.created",
        ],
        follow: &[
            "check_run.completed",
            "check_suite.completed",
            "workflow_job.completed",
            "workflow_run.completed",
        ],
    },
];

/// What only an App can do.
pub(super) const OF_APPS: &[Row] = &[Row {
    runs: &[
        r#"{"v":1,"verb":"check_run","target":"github:o/r@COMMIT","name":"links","conclusion":"failure","title":"One","summary":"A link is broken."}"#,
    ],
    own: &[
        "check_run.created",
        "check_run.completed",
        "check_suite.completed",
    ],
    ..QUIET
}];
