//! Check runs, runs of workflows and Apps.

use serde_json::{Value, json};

use super::{GithubView, time};
use crate::github::state::{GithubApp, GithubCheckRun, GithubRepo, GithubWorkflowRun};

impl GithubView<'_> {
    pub(crate) fn check_run(&self, repo: &GithubRepo, run: &GithubCheckRun) -> Value {
        let (id, name) = (run.id, repo.full_name());
        let url = format!("{}/repos/{name}/check-runs/{id}", self.base);
        let page = format!("{}/{name}/runs/{id}", self.base);
        let has_head = |issue: &&_| super::head_of(issue).is_some_and(|sha| sha == run.head_sha);
        let pulls = repo.issues.iter().filter(has_head).map(|issue| {
            let url = format!("{}/repos/{name}/pulls/{}", self.base, issue.number);
            let pull = issue.pull.as_ref();
            json!({
                "id": issue.id, "number": issue.number, "url": url,
                "head": {"ref": pull.map(|pull| &pull.head), "sha": pull.map(|pull| &pull.head_sha)},
                "base": {"ref": pull.map(|pull| &pull.base), "sha": pull.map(|pull| &pull.base_sha)},
            })
        });
        json!({
            "id": id, "node_id": format!("CR_kw{id}"), "name": run.name, "head_sha": run.head_sha,
            "external_id": run.external_id, "url": url, "html_url": page, "details_url": page,
            "status": run.status, "conclusion": run.conclusion,
            "started_at": time(run.started_at), "completed_at": run.completed_at.map(time),
            "output": {
                "title": run.title, "summary": run.summary, "text": null,
                "annotations_count": run.annotations.len(), "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": {"id": id, "head_sha": run.head_sha, "head_branch": null},
            "app": {"slug": run.app, "name": run.app, "id": self.state.app.as_ref().map(|app| app.id)},
            "pull_requests": pulls.collect::<Vec<_>>(),
        })
    }

    pub(crate) fn workflow_run(&self, repo: &GithubRepo, run: &GithubWorkflowRun) -> Value {
        let (id, name) = (run.id, repo.full_name());
        let url = format!("{}/repos/{name}/actions/runs/{id}", self.base);
        json!({
            "id": id, "node_id": format!("WFR_kw{id}"), "name": run.name, "event": "push",
            "head_branch": run.head_branch, "head_sha": run.head_sha, "run_number": 1,
            "run_attempt": run.attempt, "conclusion": run.conclusion,
            "status": if run.conclusion.is_some() { "completed" } else { "queued" },
            "url": url, "html_url": format!("{}/{name}/actions/runs/{id}", self.base),
            "jobs_url": format!("{url}/jobs"), "rerun_url": format!("{url}/rerun"),
        })
    }

    pub(crate) fn app(&self, app: &GithubApp) -> Value {
        json!({
            "id": app.id, "slug": app.slug, "name": app.slug, "node_id": format!("A_kw{}", app.id),
            "html_url": format!("{}/apps/{}", self.base, app.slug),
            "permissions": permissions(), "events": [],
        })
    }
}

pub(crate) fn permissions() -> Value {
    json!({
        "checks": "write", "contents": "write", "issues": "write", "metadata": "read",
        "pull_requests": "write", "actions": "write",
    })
}
