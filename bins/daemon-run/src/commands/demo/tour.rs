//! The steps of the tour.

use std::sync::Arc;
use std::time::Instant;

use daemon_engine::ActivationState;
use daemon_event::EventId;
use daemon_host::driver::{Host, run_one};
use daemon_host::serve::Compose as _;
use daemon_records::clock;
use daemon_records::error::{OpError, chain};
use daemon_records::random;
use daemon_store::{Freshness, Query, Store};
use serde_json::{Value, json};

use super::TourStep;
use super::scratch::move_setup;
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::offline::OfflineHost;
use crate::out::Out;
use crate::place::Place;
use crate::scratch::Scratch;

/// The daemon that wakes.
const DAEMON: &str = "link-janitor";

/// Collects the steps, and prints each as it ends.
struct Tour {
    steps: Vec<TourStep>,
    out: Out,
}

impl Tour {
    fn step(
        &mut self,
        name: &'static str,
        is_ok: bool,
        detail: String,
        ids: Value,
    ) -> Result<(), CommandFailure> {
        if !self.out.is_json() {
            let mark = if is_ok { "" } else { "FAILED  " };
            self.out.text(&format!("{name:<13} {mark}{detail}"))?;
        }
        self.steps.push(TourStep {
            name,
            is_ok,
            detail,
            ids,
        });
        Ok(())
    }
}

/// Runs the steps in order.
pub(crate) async fn walk(
    scratch: &Scratch,
    place: &Place,
    out: Out,
) -> Result<Vec<TourStep>, CommandFailure> {
    let mut tour = Tour {
        steps: Vec::new(),
        out,
    };
    let place = scratch.place(place);
    let overrides = Overrides {
        repos: vec![scratch.repository()],
        ..Overrides::default()
    };
    let composer = Composer::new(&place, overrides);
    let config = composer.load()?;
    let alone = OfflineHost::begin(&place, &composer, config).await?;
    let (host, store) = (&alone.host, &*alone.store);
    // The daemons must be registered before the commit, so that its event is matched against them.
    host.read_first().await.map_err(OpError::from)?;

    repository(&mut tour, host)?;
    lint(&mut tour, host)?;
    let commit = move_setup(scratch)?;
    host.read_repos().await;
    let event = event(&mut tour, store, &commit).await?;
    explain(&mut tour, host, store, event.as_ref()).await?;
    let activation = activate(&mut tour, &alone).await?;
    output(&mut tour, scratch, activation.as_ref())?;
    again(&mut tour, host, store, event.as_ref()).await?;
    tour.step(
        "next",
        true,
        "daemon-run new pr-helper".to_owned(),
        json!({}),
    )?;
    Ok(tour.steps)
}

fn repository(tour: &mut Tour, host: &Host) -> Result<(), CommandFailure> {
    let registry = host.registry().get();
    let daemons: Vec<String> = registry
        .iter()
        .map(|daemon| daemon.row.key.id.to_string())
        .collect();
    let detail = format!(
        "scratch, {} daemons      store sqlite   provider builtin (no model)",
        daemons.len()
    );
    tour.step(
        "repository",
        daemons.len() == 2,
        detail,
        json!({"daemons": daemons}),
    )
}

/// Reports whether the linter found an error or a warning in a file.
fn has_findings(diagnostics: &str) -> bool {
    let found: Vec<Value> = serde_json::from_str(diagnostics).unwrap_or_default();
    found.iter().any(|one| one["severity"] != "advice")
}

fn lint(tour: &mut Tour, host: &Host) -> Result<(), CommandFailure> {
    let registry = host.registry().get();
    let files = registry.iter().count();
    let dirty: Vec<String> = registry
        .iter()
        .filter(|daemon| has_findings(&daemon.row.diagnostics))
        .map(|daemon| daemon.row.path.clone())
        .collect();
    let detail = match dirty.len() {
        0 => format!("{files} files clean"),
        _ => format!("not clean: {}", dirty.join(", ")),
    };
    tour.step("lint", dirty.is_empty(), detail, json!({}))
}

async fn event(
    tour: &mut Tour,
    store: &dyn Store,
    commit: &str,
) -> Result<Option<EventId>, CommandFailure> {
    let page = store
        .events(&Query {
            limit: 10,
            ..Query::default()
        })
        .await
        .map_err(OpError::from)?;
    let push = page.rows.iter().find(|row| row.event.kind == "push");
    let detail = format!(
        "commit {} on main: docs/setup.md moved",
        &commit[..commit.len().min(7)]
    );
    let ids = json!({"commit": commit, "event_id": push.map(|row| row.event.id.as_str())});
    tour.step("event", push.is_some(), detail, ids)?;
    Ok(push.map(|row| row.event.id.clone()))
}

async fn explain(
    tour: &mut Tour,
    host: &Host,
    store: &dyn Store,
    event: Option<&EventId>,
) -> Result<(), CommandFailure> {
    let Some(id) = event else {
        return tour.step("explain", false, "there is no event".to_owned(), json!({}));
    };
    let row = store.event(id).await.map_err(OpError::from)?;
    let registry = host.registry().get();
    let daemon = registry.find(DAEMON, None).map_err(OpError::from)?;
    let met = row.map_or_else(Vec::new, |row| daemon.met_by(&row.event));
    let words = met
        .first()
        .and_then(|index| daemon.definition.watch.get(usize::try_from(*index).ok()?));
    let detail = match words {
        Some(words) => format!("{DAEMON} wakes: \"{words}\""),
        None => format!("{DAEMON} does not wake"),
    };
    tour.step(
        "explain",
        words.is_some(),
        detail,
        json!({"daemon_id": DAEMON, "conditions": met}),
    )
}

/// Matches the event, claims the activation and runs it. Returns its activation, runs and outputs.
async fn activate(
    tour: &mut Tour,
    alone: &OfflineHost,
) -> Result<Option<(Value, Value, Value)>, CommandFailure> {
    let (host, operations) = (&alone.host, &alone.operations);
    let begun = Instant::now();
    host.match_events().await.map_err(OpError::from)?;
    let waiting = alone
        .store
        .activations(&Query {
            limit: 10,
            ..Query::default()
        })
        .await
        .map_err(OpError::from)?;
    let Some(activation) = waiting.rows.first() else {
        tour.step(
            "activation",
            false,
            "no activation was created".to_owned(),
            json!({}),
        )?;
        return Ok(None);
    };
    run_one(host, &activation.id, None, std::future::pending()).await?;
    let whole = operations.activation_whole(&activation.id).await?;
    let state = whole.0["state"].as_str().unwrap_or_default().to_owned();
    let seconds = begun.elapsed().as_secs_f64();
    // The commit must wake exactly one of the two daemons.
    let is_ok = state == ActivationState::Succeeded.as_str() && waiting.rows.len() == 1;
    let runtime = host.runtime();
    let sandbox = runtime.parts.sandboxes.of("builtin");
    let detail = format!(
        "{}  {state} in {seconds:.1} s   sandbox: level {} ({})",
        activation.id, sandbox.level, sandbox.detail
    );
    tour.step(
        "activation",
        is_ok,
        detail,
        json!({"activation_id": activation.id.as_str(), "run": whole.1[0]["id"]}),
    )?;
    Ok(Some(whole))
}

fn output(
    tour: &mut Tour,
    scratch: &Scratch,
    whole: Option<&(Value, Value, Value)>,
) -> Result<(), CommandFailure> {
    let Some((_, runs, outputs)) = whole else {
        return tour.step("output", false, "there is no output".to_owned(), json!({}));
    };
    let target = outputs[0]["target"].as_str().unwrap_or_default().to_owned();
    let branch = target
        .strip_prefix("refs/heads/")
        .unwrap_or(&target)
        .to_owned();
    let stat = scratch
        .git(["diff", "--numstat", "main", &format!("refs/heads/{branch}")])
        .unwrap_or_default();
    let (mut added, mut removed) = (0_u64, 0_u64);
    for line in stat.lines() {
        let mut columns = line.split_whitespace();
        added += columns
            .next()
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0);
        removed += columns
            .next()
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0);
    }
    let left = counted(runs);
    let is_ok = outputs[0]["state"] == "confirmed" && added > 0;
    let detail = format!("branch {branch}  +{added} −{removed}   {left}");
    tour.step(
        "output",
        is_ok,
        detail,
        json!({"key": outputs[0]["key"], "branch": branch, "remote_id": outputs[0]["remote_id"]}),
    )
}

/// Returns the line of the run's result about links that it could not repair.
fn counted(runs: &Value) -> String {
    let path = runs[0]["result_path"].as_str().unwrap_or_default();
    let result = std::fs::read_to_string(path).unwrap_or_default();
    let line = result
        .lines()
        .find(|line| line.contains("left for a human"));
    line.map_or_else(|| "see the run".to_owned(), |line| line.trim().to_owned())
}

/// Delivers the same event again, with a new id but the same delivery id.
async fn again(
    tour: &mut Tour,
    host: &Arc<Host>,
    store: &dyn Store,
    event: Option<&EventId>,
) -> Result<(), CommandFailure> {
    let before = counts(store).await?;
    let Some(row) = (match event {
        Some(id) => store.event(id).await.map_err(OpError::from)?,
        None => None,
    }) else {
        return tour.step(
            "same event",
            false,
            "there is no event".to_owned(),
            json!({}),
        );
    };
    let mut event = row.event;
    event.id = random::event_id(clock::now());
    let accepted = store
        .accept(vec![daemon_api::intake::new_event(
            event,
            daemon_store::Matching::Due,
        )])
        .await
        .map_err(|error| CommandFailure::bug(chain(&error)))?;
    // A duplicate that was accepted as new would create an activation here.
    host.match_events().await.map_err(OpError::from)?;
    let is_duplicate = accepted.iter().all(|one| one.freshness != Freshness::New);
    let is_ok = is_duplicate && counts(store).await? == before;
    let detail = if is_ok {
        "duplicate: no activation, no output"
    } else {
        "it was accepted as a new event"
    };
    tour.step(
        "same event",
        is_ok,
        detail.to_owned(),
        json!({"duplicate": is_duplicate}),
    )
}

async fn counts(store: &dyn Store) -> Result<(usize, usize), CommandFailure> {
    let all = Query {
        limit: 500,
        ..Query::default()
    };
    let activations = store.activations(&all).await.map_err(OpError::from)?;
    let outputs = store.outputs(&all).await.map_err(OpError::from)?;
    Ok((activations.rows.len(), outputs.rows.len()))
}
