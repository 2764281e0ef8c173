//! Check runs, runs of workflows and Apps.

use serde_json::{Value, json};

use super::{GithubView, time};
use crate::github::state::{GithubApp, GithubCheckRun, GithubRepo, GithubWorkflowRun};

/// What the ids of suites are greater than those of their first runs.
const SUITES: u64 = 1_000_000_000;

fn status(run: &GithubWorkflowRun) -> &'static str {
    match run.conclusion {
        Some(_) => "completed",
        None => "queued",
    }
}

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
            "check_suite": self.check_suite(repo, run),
            "app": {"slug": run.app, "name": run.app, "id": self.state.app.as_ref().map(|app| app.id)},
            "pull_requests": pulls.collect::<Vec<_>>(),
        })
    }

    /// Returns the suite of a check run: that of all runs of its App on the commit, with the id of the first.
    pub(crate) fn check_suite(&self, repo: &GithubRepo, run: &GithubCheckRun) -> Value {
        let mut runs = repo.check_runs.iter();
        let first = runs.find(|it| it.app == run.app && it.head_sha == run.head_sha);
        json!({
            "id": first.map_or(run.id, |first| first.id) + SUITES, "head_sha": run.head_sha, "head_branch": null,
            "status": run.status, "conclusion": run.conclusion, "pull_requests": [],
            "app": {"slug": run.app, "id": self.state.app.as_ref().map(|app| app.id)},
        })
    }

    /// Returns the suite of a run of a workflow.
    pub(crate) fn workflow_suite(&self, run: &GithubWorkflowRun) -> Value {
        json!({
            "id": run.id + SUITES, "head_sha": run.head_sha, "head_branch": run.head_branch,
            "status": status(run), "conclusion": run.conclusion, "pull_requests": [],
            "created_at": run.begun_at.map(time),
            "app": {"slug": "github-actions", "id": 15368},
        })
    }

    /// Returns a job of a run of a workflow.
    pub(crate) fn workflow_job(
        &self,
        repo: &GithubRepo,
        (run, job): (&GithubWorkflowRun, u64),
    ) -> Value {
        let name = repo.full_name();
        json!({
            "id": job, "run_id": run.id, "run_attempt": run.attempt, "workflow_name": run.name, "name": "job",
            "head_branch": run.head_branch, "head_sha": run.head_sha,
            "status": status(run), "conclusion": run.conclusion, "created_at": run.begun_at.map(time),
            "run_url": format!("{}/repos/{name}/actions/runs/{}", self.base, run.id),
            "html_url": format!("{}/{name}/actions/runs/{}/job/{job}", self.base, run.id),
        })
    }

    /// Returns the check run of a job. Each attempt has one of its own.
    pub(crate) fn check_of_job(
        &self,
        repo: &GithubRepo,
        (run, job): (&GithubWorkflowRun, u64),
    ) -> Value {
        let page = format!(
            "{}/{}/actions/runs/{}/job/{job}",
            self.base,
            repo.full_name(),
            run.id
        );
        json!({
            "id": job * 1000 + u64::from(run.attempt), "name": "job", "head_sha": run.head_sha,
            "status": status(run), "conclusion": run.conclusion, "details_url": page, "html_url": page,
            "started_at": run.begun_at.map(time),
            "output": {"title": null, "summary": null, "text": null, "annotations_count": 0},
            "check_suite": self.workflow_suite(run), "pull_requests": [],
            "app": {"slug": "github-actions", "id": 15368},
        })
    }

    pub(crate) fn workflow_run(&self, repo: &GithubRepo, run: &GithubWorkflowRun) -> Value {
        let (id, name) = (run.id, repo.full_name());
        let url = format!("{}/repos/{name}/actions/runs/{id}", self.base);
        json!({
            "id": id, "node_id": format!("WFR_kw{id}"), "name": run.name, "event": "push",
            "head_branch": run.head_branch, "head_sha": run.head_sha, "run_number": 1,
            "run_attempt": run.attempt, "run_started_at": run.begun_at.map(time), "conclusion": run.conclusion,
            "status": status(run), "check_suite_id": run.id + SUITES, "pull_requests": [],
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
