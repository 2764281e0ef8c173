//! Runs of workflows, which can be started again.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::state::GithubWorkflowRun;
use crate::http::HttpResponse;

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn workflow_run(call: &mut GithubCall<'_>) -> Answer {
    let (repo, run) = (call.repo()?, call.workflow_run(call.number("id")?)?);
    Ok(HttpResponse::json(
        200,
        &call.view().workflow_run(repo, run),
    ))
}

pub(crate) fn workflow_runs(call: &mut GithubCall<'_>) -> Answer {
    let (repo, view) = (call.repo()?, call.view());
    let sha = call.request.parameter("head_sha");
    let runs = repo.workflow_runs.iter();
    let runs = runs.filter(|run| sha.is_none_or(|sha| sha == run.head_sha));
    let items: Vec<Value> = runs.map(|run| view.workflow_run(repo, run)).collect();
    let n_items = items.len();
    Ok(call.page_in(
        &items,
        |page| json!({"total_count": n_items, "workflow_runs": page}),
    ))
}

/// Starts the failed jobs of a completed run again.
pub(crate) fn rerun_failed(call: &mut GithubCall<'_>) -> Answer {
    let id = call.number("id")?;
    call.workflow_run(id)?;
    rerun(call, |run| run.id == id)
}

/// Starts one job again, which starts its run again.
pub(crate) fn rerun_job(call: &mut GithubCall<'_>) -> Answer {
    let id = call.number("id")?;
    rerun(call, |run| run.jobs.contains(&id))
}

fn rerun(call: &mut GithubCall<'_>, is_asked: impl Fn(&GithubWorkflowRun) -> bool) -> Answer {
    let mut runs = call.repo_mut()?.workflow_runs.iter_mut();
    let run = runs
        .find(|run| is_asked(run))
        .ok_or_else(GithubError::not_found)?;
    if run.conclusion.is_none() {
        return Err(GithubError::new(
            403,
            "This workflow run is already running",
        ));
    }
    run.conclusion = None;
    run.attempt += 1;
    let (id, jobs) = (run.id, run.jobs.clone());
    for job in jobs {
        call.announce_job("queued", (id, job))?;
        call.announce_check("created", (id, job))?;
    }
    call.announce_run("requested", id)?;
    Ok(HttpResponse::json(201, &json!({})))
}

/// Ends a run that is under way, with all of its jobs.
pub(crate) fn end(call: &mut GithubCall<'_>, id: u64, conclusion: &str) -> Result<(), GithubError> {
    let mut runs = call.repo_mut()?.workflow_runs.iter_mut();
    let run = runs.find(|run| run.id == id);
    let run = run.ok_or_else(GithubError::not_found)?;
    run.conclusion = Some(conclusion.to_owned());
    for job in run.jobs.clone() {
        call.announce_check("completed", (id, job))?;
        call.announce_job("completed", (id, job))?;
    }
    let suite = call.view().workflow_suite(call.workflow_run(id)?);
    call.emit(
        "check_suite",
        json!({"action": "completed", "check_suite": suite}),
    );
    call.announce_run("completed", id)
}

impl GithubCall<'_> {
    fn workflow_run(&self, id: u64) -> Result<&GithubWorkflowRun, GithubError> {
        let found = self.repo()?.workflow_runs.iter().find(|run| run.id == id);
        found.ok_or_else(GithubError::not_found)
    }

    fn announce_run(&mut self, action: &str, id: u64) -> Result<(), GithubError> {
        let mut run = self
            .view()
            .workflow_run(self.repo()?, self.workflow_run(id)?);
        run["triggering_actor"] = self.view().user(&self.caller.login);
        self.emit(
            "workflow_run",
            json!({"action": action, "workflow_run": run}),
        );
        Ok(())
    }

    fn announce_job(&mut self, action: &str, (id, job): (u64, u64)) -> Result<(), GithubError> {
        let job = self
            .view()
            .workflow_job(self.repo()?, (self.workflow_run(id)?, job));
        self.emit(
            "workflow_job",
            json!({"action": action, "workflow_job": job}),
        );
        Ok(())
    }

    fn announce_check(&mut self, action: &str, (id, job): (u64, u64)) -> Result<(), GithubError> {
        let run = self
            .view()
            .check_of_job(self.repo()?, (self.workflow_run(id)?, job));
        self.emit("check_run", json!({"action": action, "check_run": run}));
        Ok(())
    }
}
