//! Check runs of Apps, and their suites.

use serde_json::{Value, json};

use super::call::{GithubCall, GithubError};
use super::state::GithubCheckRun;
use crate::http::HttpResponse;

const MAX_ANNOTATIONS: usize = 50;
const CONCLUSIONS: [&str; 8] = [
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "skipped",
    "stale",
    "success",
    "timed_out",
];

type Answer = Result<HttpResponse, GithubError>;

pub(crate) fn create(call: &mut GithubCall<'_>) -> Answer {
    let app = app_of(call)?;
    let name = call
        .text("name")?
        .ok_or_else(|| GithubError::missing("name"))?;
    let head_sha = call
        .text("head_sha")?
        .ok_or_else(|| GithubError::missing("head_sha"))?;
    if head_sha.len() != 40 || !head_sha.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(GithubError::new(
            422,
            format!("No commit found for SHA: {head_sha}"),
        ));
    }
    let run = GithubCheckRun {
        id: call.state.next_id(),
        name,
        head_sha,
        app,
        status: "queued".to_owned(),
        conclusion: None,
        external_id: None,
        title: None,
        summary: None,
        annotations: Vec::new(),
        started_at: call.now,
        completed_at: None,
    };
    let run = changed(call, run)?;
    let id = run.id;
    call.repo_mut()?.check_runs.push(run);
    announce(call, "created", id)?;
    Ok(HttpResponse::json(201, &rendered(call, id)?))
}

pub(crate) fn edit(call: &mut GithubCall<'_>) -> Answer {
    let (app, id) = (app_of(call)?, call.number("id")?);
    let run = call.check_run(id)?.clone();
    if run.app != app {
        let message = "Invalid app_id `app_id` - check run can only be modified by the GitHub App that created it.";
        return Err(GithubError::new(403, message));
    }
    let run = changed(call, run)?;
    let runs = call.repo_mut()?.check_runs.iter_mut();
    for stored in runs.filter(|stored| stored.id == id) {
        stored.clone_from(&run);
    }
    Ok(HttpResponse::json(200, &rendered(call, id)?))
}

/// Returns the App of the caller. Check runs belong to Apps.
fn app_of(call: &GithubCall<'_>) -> Result<String, GithubError> {
    let app = call
        .caller
        .installation
        .and(call.caller.login.strip_suffix("[bot]"));
    let refused = || GithubError::new(403, "You must authenticate via a GitHub App.");
    app.map(str::to_owned).ok_or_else(refused)
}

/// Applies the body to a run.
fn changed(call: &GithubCall<'_>, mut run: GithubCheckRun) -> Result<GithubCheckRun, GithubError> {
    run.status = call.text("status")?.unwrap_or(run.status);
    run.external_id = call.text("external_id")?.or(run.external_id);
    run.name = call.text("name")?.unwrap_or(run.name);
    if let Some(conclusion) = call.text("conclusion")? {
        if !CONCLUSIONS.contains(&conclusion.as_str()) {
            return Err(GithubError::request(&format!(
                "\"{conclusion}\" is not a possible value of `conclusion`."
            )));
        }
        run.status = "completed".to_owned();
        run.conclusion = Some(conclusion);
        run.completed_at = Some(call.now);
    }
    if run.status == "completed" && run.conclusion.is_none() {
        return Err(GithubError::missing("conclusion"));
    }
    if !call.body["output"].is_null() {
        add_output(&call.body["output"], &mut run)?;
    }
    Ok(run)
}

/// Applies an output. Its annotations are added to those of earlier requests.
fn add_output(output: &Value, run: &mut GithubCheckRun) -> Result<(), GithubError> {
    let text = |name: &str| output[name].as_str().map(str::to_owned);
    run.title = Some(
        text("title")
            .or(run.title.take())
            .ok_or_else(|| GithubError::missing("title"))?,
    );
    run.summary = Some(text("summary").ok_or_else(|| GithubError::missing("summary"))?);
    if run.summary.as_deref().is_some_and(super::call::is_too_long) {
        return Err(GithubError::request("Only 65535 characters are allowed."));
    }
    let annotations = output["annotations"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if annotations.len() > MAX_ANNOTATIONS {
        let message = format!(
            "No more than 50 items are allowed; {} were supplied.",
            annotations.len()
        );
        return Err(GithubError::request(&message));
    }
    let fields = [
        "path",
        "start_line",
        "end_line",
        "annotation_level",
        "message",
    ];
    for annotation in &annotations {
        if let Some(field) = fields
            .into_iter()
            .find(|field| annotation[*field].is_null())
        {
            return Err(GithubError::missing(field));
        }
    }
    run.annotations.extend(annotations);
    Ok(())
}

pub(crate) fn get(call: &mut GithubCall<'_>) -> Answer {
    let id = call.number("id")?;
    Ok(HttpResponse::json(200, &rendered(call, id)?))
}

pub(crate) fn annotations(call: &mut GithubCall<'_>) -> Answer {
    let run = call.check_run(call.number("id")?)?;
    Ok(call.page(&run.annotations))
}

/// Lists the runs of a commit or a branch.
pub(crate) fn list(call: &mut GithubCall<'_>) -> Answer {
    let (repo, view) = (call.repo()?, call.view());
    let named = call.param("ref");
    let sha = repo.branch(named).unwrap_or_else(|| named.to_owned());
    let parameter = |name: &str| call.request.parameter(name);
    let runs = repo.check_runs.iter().filter(|run| {
        run.head_sha == sha
            && parameter("check_name").is_none_or(|name| name == run.name)
            && parameter("status").is_none_or(|status| status == run.status)
    });
    let items: Vec<Value> = runs.map(|run| view.check_run(repo, run)).collect();
    let n_items = items.len();
    Ok(call.page_in(
        &items,
        |page| json!({"total_count": n_items, "check_runs": page}),
    ))
}

pub(crate) fn rerequest(call: &mut GithubCall<'_>) -> Answer {
    let id = call.check_run(call.number("id")?)?.id;
    announce(call, "rerequested", id)?;
    Ok(HttpResponse::json(201, &json!({})))
}

fn announce(call: &mut GithubCall<'_>, action: &str, id: u64) -> Result<(), GithubError> {
    let run = rendered(call, id)?;
    let is_completed = run["status"] == "completed" && action == "created";
    call.emit("check_run", json!({"action": action, "check_run": run}));
    if is_completed {
        call.emit(
            "check_run",
            json!({"action": "completed", "check_run": run}),
        );
        announce_suite(call, id)?;
    }
    Ok(())
}

/// Sends the end of the suite of a check run, once all of its runs have ended.
fn announce_suite(call: &mut GithubCall<'_>, id: u64) -> Result<(), GithubError> {
    let run = call.check_run(id)?.clone();
    let (app, sha) = (&run.app, &run.head_sha);
    let runs = call.repo()?.check_runs.iter();
    let mut runs = runs.filter(|it| it.app == *app && it.head_sha == *sha);
    if runs.all(|it| it.status == "completed") {
        let suite = call.view().check_suite(call.repo()?, &run);
        call.emit(
            "check_suite",
            json!({"action": "completed", "check_suite": suite}),
        );
    }
    Ok(())
}

fn rendered(call: &GithubCall<'_>, id: u64) -> Result<Value, GithubError> {
    Ok(call.view().check_run(call.repo()?, call.check_run(id)?))
}

impl GithubCall<'_> {
    fn check_run(&self, id: u64) -> Result<&GithubCheckRun, GithubError> {
        let found = self.repo()?.check_runs.iter().find(|run| run.id == id);
        found.ok_or_else(GithubError::not_found)
    }
}
