//! Checks that outputs made or started again.
//!
//! The checks of a commit say nothing about an output, because the commit may be a person's. A retry is recognised by its workflow run, or by
//! the check suite that the run is part of; the suite of an App's own check run by the same id.

use daemon_engine::Output;
use daemon_event::{Event, Field, Source};
use daemon_store::{OutputPlace, Store, StoreError};
use jiff::Timestamp;
use serde::Deserialize;

use super::proposed::Proposed;
use super::{Tie, account, authored};

/// What precedes the id of a run in the address of one of its jobs.
const RUNS: &str = "/actions/runs/";
const RETRY: &str = "workflow_run:";
const CHECK_RUN: &str = "check_run:";

/// The members of a payload about a check.
#[derive(Deserialize)]
struct Payload {
    check_run: Option<CheckRun>,
    check_suite: Option<CheckSuite>,
    workflow_run: Option<WorkflowRun>,
    workflow_job: Option<WorkflowJob>,
    sender: Option<Account>,
}

#[derive(Deserialize)]
struct CheckRun {
    details_url: Option<String>,
    check_suite: Option<CheckSuite>,
    started_at: Option<String>,
}

#[derive(Deserialize)]
struct CheckSuite {
    id: Option<u64>,
    app: Option<App>,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct App {
    slug: Option<String>,
}

#[derive(Deserialize)]
struct WorkflowRun {
    id: u64,
    check_suite_id: Option<u64>,
    run_attempt: Option<u64>,
    triggering_actor: Option<Account>,
    run_started_at: Option<String>,
}

#[derive(Deserialize)]
struct WorkflowJob {
    run_id: u64,
    run_attempt: Option<u64>,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Account {
    login: String,
}

/// The check of an event.
#[derive(Default)]
struct Check {
    /// The id of its workflow run.
    run: Option<u64>,
    /// The id of its suite.
    suite: Option<u64>,
    attempt: Option<u64>,
    /// Who started the attempt, if the payload says it.
    starter: Option<String>,
    /// The slug of the App whose suite ended.
    app: Option<String>,
    /// When it began, if the payload says it.
    begun_at: Option<Timestamp>,
}

impl Check {
    fn read(event: &Event) -> Option<Self> {
        let kind = event.kind.as_str();
        let is_check = matches!(
            kind,
            "check_run" | "check_suite" | "workflow_run" | "workflow_job"
        );
        if event.source != Source::Github || !is_check {
            return None;
        }
        let payload: Payload = serde_json::from_slice(&event.payload).ok()?;
        Some(match kind {
            "check_run" => {
                let run = payload.check_run?;
                Self {
                    run: run.details_url.as_deref().and_then(run_in),
                    begun_at: instant(run.started_at),
                    suite: run.check_suite.and_then(|suite| suite.id),
                    ..Self::default()
                }
            }
            "check_suite" => {
                let suite = payload.check_suite?;
                Self {
                    suite: suite.id,
                    app: suite.app.and_then(|app| app.slug),
                    begun_at: instant(suite.created_at),
                    ..Self::default()
                }
            }
            "workflow_run" => {
                let run = payload.workflow_run?;
                Self {
                    run: Some(run.id),
                    suite: run.check_suite_id,
                    attempt: run.run_attempt,
                    starter: run.triggering_actor.map(|account| account.login),
                    app: None,
                    begun_at: instant(run.run_started_at),
                }
            }
            _ => {
                let job = payload.workflow_job?;
                Self {
                    run: Some(job.run_id),
                    attempt: job.run_attempt,
                    starter: payload.sender.map(|account| account.login),
                    begun_at: instant(job.created_at),
                    ..Self::default()
                }
            }
        })
    }

    fn suite_name(&self) -> Option<OutputPlace> {
        let id = self.suite?;
        Some(OutputPlace::Revision(format!("check_suite:{id}")))
    }
}

fn instant(text: Option<String>) -> Option<Timestamp> {
    text?.parse().ok()
}

/// Reads the id of the run in the address of a job: 77 of `https://github.com/o/r/actions/runs/77/job/5`.
fn run_in(url: &str) -> Option<u64> {
    let (_, rest) = url.split_once(RUNS)?;
    rest.split('/').next()?.parse().ok()
}

/// Returns the output that made the check of an event, or started it again.
///
/// # Errors
/// If the store fails.
pub(super) async fn find(
    store: &dyn Store,
    event: &Event,
) -> Result<Option<(Output, Tie)>, StoreError> {
    let Some(check) = Check::read(event) else {
        return Ok(None);
    };
    let is_end = event.action.as_deref() == Some("completed");
    if let Some((retry, starter)) = retry(store, event, &check).await? {
        // The new attempt is the output; what comes of it is not.
        let tie = match starter {
            Starter::Host if !is_end => Tie::Output,
            Starter::Host | Starter::Unknown => Tie::Consequence,
        };
        return Ok(Some((retry, tie)));
    }
    if event.kind == "check_suite" && is_end {
        let own = own_suite(store, event, &check).await?;
        return Ok(own.map(|output| (output, Tie::Output)));
    }
    Ok(None)
}

/// Returns the newest output before a check that the host's own account caused, if the check began soon after it, as a workflow does
/// that waits for comments.
///
/// # Errors
/// If the store fails.
pub(super) async fn followed(
    store: &dyn Store,
    event: &Event,
) -> Result<Option<Output>, StoreError> {
    let Some(check) = Check::read(event) else {
        return Ok(None);
    };
    let begun_at = check.begun_at.unwrap_or(event.time);
    // The account first, because it costs less.
    if account::caused(store, event).await? != Some(true) {
        return Ok(None);
    }
    let newest = account::newest(store, event).await?;
    Ok(newest
        .into_iter()
        .find(|output| account::is_near(output, begun_at)))
}

/// Who started a run again.
enum Starter {
    /// The host's account.
    Host,
    /// The payload does not say it.
    Unknown,
}

/// Returns the newest output that started the run of a check again.
async fn retry(
    store: &dyn Store,
    event: &Event,
    check: &Check,
) -> Result<Option<(Output, Starter)>, StoreError> {
    // The first attempt is older than any retry of it.
    if check.attempt == Some(1) {
        return Ok(None);
    }
    let is_retry = |output: &Output| {
        let id = output.remote_id.as_deref();
        id.is_some_and(|id| id.starts_with(RETRY))
            && authored::is_of(output, event)
            && account::is_after(event, output)
    };
    let by_id = check
        .run
        .map(|run| OutputPlace::RemoteId(format!("{RETRY}{run}")));
    let mut found = None;
    for place in by_id.into_iter().chain(check.suite_name()) {
        let known = store.outputs_at("github", &place).await?;
        found = found.or_else(|| known.into_iter().find(is_retry));
    }
    let is_own = match &check.starter {
        Some(login) => account::is_own(store, event.source, login).await?,
        // The sender of such an event may be who pushed the commit.
        None => {
            let caused = account::caused(store, event).await?;
            caused.filter(|is_own| *is_own)
        }
    };
    Ok(match (found, is_own) {
        // A person started it again.
        (_, Some(false)) | (None, None) => None,
        (Some(found), Some(true)) => Some((found, Starter::Host)),
        (Some(found), None) => Some((found, Starter::Unknown)),
        (None, Some(true)) => {
            let sent = under_way(store, event, check).await?;
            sent.map(|output| (output, Starter::Host))
        }
    })
}

/// Returns the retry of a run whose response is not stored yet, or was stored only after a search for it.
async fn under_way(
    store: &dyn Store,
    event: &Event,
    check: &Check,
) -> Result<Option<Output>, StoreError> {
    let Some(run) = check.run else {
        return Ok(None);
    };
    let name = format!("{RETRY}{run}");
    for repo in authored::repos(event) {
        let place = OutputPlace::Target(format!("github:{repo}"));
        let outputs = store.outputs_at("github", &place).await?;
        let is_it = |output: &Output| {
            (authored::is_open(output) || output.remote_id.as_ref() == Some(&name))
                && Proposed::of(output).retries(run)
        };
        if let Some(output) = outputs.into_iter().find(is_it) {
            return Ok(Some(output));
        }
    }
    Ok(None)
}

/// Returns the newest output whose check run is in the suite that ended.
async fn own_suite(
    store: &dyn Store,
    event: &Event,
    check: &Check,
) -> Result<Option<Output>, StoreError> {
    let is_check = |output: &Output| {
        let id = output.remote_id.as_deref();
        id.map_or(authored::is_open(output), |id| id.starts_with(CHECK_RUN))
            && authored::is_of(output, event)
    };
    if let Some(place) = check.suite_name() {
        let known = store.outputs_at("github", &place).await?;
        if let Some(output) = known.into_iter().find(is_check) {
            return Ok(Some(output));
        }
    }
    // The webhook may come before the response to the creation is stored.
    let commit = event.facts.text(Field::After);
    let (Some(commit), Some(slug)) = (commit, &check.app) else {
        return Ok(None);
    };
    let login = format!("{slug}[bot]");
    if account::is_own(store, event.source, &login).await? != Some(true) {
        return Ok(None);
    }
    for repo in authored::repos(event) {
        let place = OutputPlace::Target(format!("github:{repo}@{commit}"));
        let outputs = store.outputs_at("github", &place).await?;
        if let Some(output) = outputs.into_iter().find(is_check) {
            return Ok(Some(output));
        }
    }
    Ok(None)
}
