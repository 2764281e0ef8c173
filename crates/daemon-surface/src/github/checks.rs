//! Check runs of a GitHub App, and retries of workflow runs.

use daemon_engine::proposal::ProposalFields;
use daemon_engine::{Found, RemoteId};
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::rows::UserRow;
use super::{Job, refused};
use crate::api::{ApiError, AppCredentials, Credentials};
use crate::text::MAX_TEXT;

/// How many annotations one request may have.
const ANNOTATIONS: usize = 50;
/// How far the clocks of this host and of GitHub may differ.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug, Deserialize)]
struct CheckRows {
    check_runs: Vec<CheckRow>,
}

#[derive(Debug, Deserialize)]
struct CheckRow {
    id: u64,
    html_url: Option<String>,
    external_id: Option<String>,
    app: Option<AppRow>,
    output: Option<OutputRow>,
    check_suite: Option<SuiteRow>,
}

#[derive(Debug, Deserialize)]
struct SuiteRow {
    id: u64,
}

#[derive(Debug, Deserialize)]
struct AppRow {
    id: u64,
}

#[derive(Debug, Deserialize)]
struct OutputRow {
    #[serde(default)]
    annotations_count: usize,
}

impl CheckRow {
    fn remote(&self) -> RemoteId {
        RemoteId {
            id: format!("check_run:{}", self.id),
            url: self.html_url.clone(),
            // The service reports its end, too, and does not say of which run.
            revision: self.check_suite.as_ref().map(|suite| suite_name(suite.id)),
        }
    }

    fn n_annotations(&self) -> usize {
        self.output
            .as_ref()
            .map_or(0, |output| output.annotations_count)
    }
}

/// Returns the App, without which GitHub makes no check run.
fn app<'j>(job: &'j Job<'_>) -> Result<&'j AppCredentials, ApiError> {
    match job.api.credentials() {
        Credentials::App(app) => Ok(app),
        Credentials::Token(_) => Err(refused(
            "a check run needs a GitHub App: set `surfaces.github.app_id`",
        )),
    }
}

/// Returns the check run that this output made.
async fn own_run(job: &Job<'_>) -> Result<Option<CheckRow>, ApiError> {
    let app = app(job)?.id();
    let path = job.path(&["commits", &job.object, "check-runs"]);
    let query = [
        ("check_name", job.text("name")),
        ("filter", "all"),
        ("per_page", "100"),
    ];
    let rows: CheckRows = job.api.get(&path, &query).await?.json()?;
    let key = job.output.key.as_str();
    Ok(rows.check_runs.into_iter().find(|row| {
        let is_own = row.app.as_ref().is_some_and(|row| row.id == app);
        is_own && row.external_id.as_deref() == Some(key)
    }))
}

pub(super) async fn find(job: &Job<'_>) -> Result<Found, ApiError> {
    let total = job.act.fields.rows("annotations").count();
    Ok(match own_run(job).await? {
        Some(run) if run.n_annotations() >= total => Found::At(run.remote()),
        // Also a run without all of its annotations: a send adds those and makes no second run.
        Some(_) | None => Found::Absent,
    })
}

pub(super) async fn deliver(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let annotations: Vec<Value> = job
        .act
        .fields
        .rows("annotations")
        .map(|row| annotation(&row))
        .collect();
    let run = match own_run(job).await? {
        Some(run) => run,
        None => {
            let first = &annotations[..annotations.len().min(ANNOTATIONS)];
            let body = json!({
                "name": job.text("name"),
                "head_sha": job.object,
                "external_id": job.output.key.as_str(),
                "status": "completed",
                "conclusion": job.text("conclusion"),
                "output": report(job, first),
            });
            job.api
                .write(Method::POST, &job.path(&["check-runs"]), &body)
                .await?
                .json()?
        }
    };
    let id = run.id.to_string();
    let done = run.n_annotations().min(annotations.len());
    for page in annotations[done..].chunks(ANNOTATIONS) {
        let path = job.path(&["check-runs", &id]);
        let body = json!({"output": report(job, page)});
        job.api.write(Method::PATCH, &path, &body).await?;
    }
    Ok(run.remote())
}

fn report(job: &Job<'_>, annotations: &[Value]) -> Value {
    json!({
        "title": job.text("title"),
        // The limit of a summary is a character below that of a comment.
        "summary": job.mark.around(job.text("summary"), MAX_TEXT - 1),
        "annotations": annotations,
    })
}

fn annotation(fields: &ProposalFields) -> Value {
    let line = fields.number("line");
    json!({
        "path": fields.text("path"),
        "start_line": line,
        "end_line": fields.number("end_line").or(line),
        "annotation_level": fields.text("level"),
        "message": fields.text("message"),
    })
}

#[derive(Debug, Deserialize)]
struct WorkflowRow {
    id: u64,
    html_url: Option<String>,
    check_suite_id: Option<u64>,
    run_attempt: Option<u64>,
    run_started_at: Option<String>,
    triggering_actor: Option<UserRow>,
}

impl WorkflowRow {
    fn remote(self) -> RemoteId {
        RemoteId {
            id: format!("workflow_run:{}", self.id),
            url: self.html_url,
            revision: self.check_suite_id.map(suite_name),
        }
    }
}

/// Finds the retry of a workflow run: a second or later attempt that we started after the output was proposed.
pub(super) async fn find_retry(job: &Job<'_>) -> Result<Found, ApiError> {
    let (actor, id) = (job.surface.actor().await?, run_id(job));
    let row: WorkflowRow = job
        .api
        .get(&job.path(&["actions", "runs", &id]), &[])
        .await?
        .json()?;
    let Some(starter) = &row.triggering_actor else {
        // Who started the newest attempt is the only sign of a retry.
        return Ok(Found::Unreadable);
    };
    let started = row.run_started_at.as_deref();
    let started = started.and_then(|text| text.parse::<Timestamp>().ok());
    let is_recent = started.is_none_or(|started| started >= job.output.created_at - SKEW);
    let is_retry = row.run_attempt.is_none_or(|attempt| attempt > 1);
    let is_own = starter.login.eq_ignore_ascii_case(&actor);
    Ok(match is_own && is_recent && is_retry {
        true => Found::At(row.remote()),
        false => Found::Absent,
    })
}

pub(super) async fn retry(job: &Job<'_>) -> Result<RemoteId, ApiError> {
    let id = run_id(job);
    let row: WorkflowRow = job
        .api
        .get(&job.path(&["actions", "runs", &id]), &[])
        .await?
        .json()?;
    let path = job.path(&["actions", "runs", &id, "rerun-failed-jobs"]);
    job.api.write(Method::POST, &path, &json!({})).await?;
    Ok(row.remote())
}

fn run_id(job: &Job<'_>) -> String {
    job.act.fields.number("run").unwrap_or_default().to_string()
}

/// Returns the name of a check suite in revisions.
fn suite_name(id: u64) -> String {
    format!("check_suite:{id}")
}
