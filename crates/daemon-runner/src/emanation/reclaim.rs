//! `reclaim`: stops runs, and replies when their processes are dead.

use std::sync::Arc;
use std::time::Duration;

use daemon_provider::StopReason;
use daemon_records::error::OpError;
use daemon_run_folder::{Folder, RunId, RunState};
use serde_json::{Map, Value, json};

use super::ask::{document, refuse_activation};
use super::call::{Caller, Rank, Which};
use super::fault;
use super::find;
use super::live::Stopping;
use crate::run_context::RunContext;
use crate::runs::filled;

/// The time that runs of a caller have to end before the reply counts them as pending.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(8);

/// The result of stopping a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopResult {
    Cancelled,
    /// It ended by itself before the stop took effect.
    Natural,
    /// It has not ended yet.
    Pending,
}

/// Stops runs; those that have not ended after `grace` are pending.
///
/// # Errors
/// The run does not exist, belongs to another parent, or is an attempt at an activation.
pub(super) async fn reclaim(
    run_context: &Arc<RunContext>,
    caller: &Caller,
    which: &Which,
    grace: Duration,
) -> Result<Map<String, Value>, OpError> {
    let runs = targets(run_context, caller, which)?;
    // All runs are asked to stop at once, so that one deadline is enough.
    let deadline = tokio::time::Instant::now() + grace;
    let stopping: Vec<Option<Stopping>> = runs
        .iter()
        .map(|id| run_context.emanations.stop(*id, StopReason::Reclaim))
        .collect();
    let mut results = Vec::with_capacity(stopping.len());
    for one in stopping {
        results.push(match one {
            Some(stopping) => stop_result(stopping, deadline).await,
            None => StopResult::Natural,
        });
    }
    // Short names start again only now: a reclaim of one run among several must not give two live runs one name.
    if !run_context.emanations.has_running(&caller.parent) {
        run_context.handles.reset(&caller.parent);
    }
    let count = |wanted| results.iter().filter(|result| **result == wanted).count();
    Ok(filled([
        ("status", json!("reclaimed")),
        ("cancelled", json!(count(StopResult::Cancelled))),
        ("natural_terminal", json!(count(StopResult::Natural))),
        ("pending", json!(count(StopResult::Pending))),
    ]))
}

fn targets(
    run_context: &RunContext,
    caller: &Caller,
    which: &Which,
) -> Result<Vec<RunId>, OpError> {
    match which {
        Which::OfCaller => Ok(run_context.emanations.of_parent(&caller.parent)),
        Which::Group(group) => {
            let runs = run_context.emanations.of_group(group);
            for id in &runs {
                refuse_others(
                    run_context,
                    caller,
                    &Folder::new(&run_context.paths.runs.clone(), *id),
                )?;
            }
            Ok(runs)
        }
        Which::One(id) => {
            let runs = run_context.paths.runs.clone();
            let live = |name| run_context.emanations.find(&caller.parent, name);
            let found = find::find(&runs, id, &caller.parent, live)?;
            let folder = found.unambiguous(id)?;
            refuse_others(run_context, caller, &folder)?;
            Ok(vec![folder.id()])
        }
    }
}

/// Refuses a run of another parent, and one that is an attempt at an activation.
fn refuse_others(
    run_context: &RunContext,
    caller: &Caller,
    folder: &Folder,
) -> Result<(), OpError> {
    // The parent of a live run is in memory, which also works if its folder was deleted.
    let parent = match run_context.emanations.parent(folder.id()) {
        Some(parent) => parent,
        None => {
            let document = document(folder)?;
            refuse_activation(&document)?;
            document.parent_addr
        }
    };
    match caller.rank {
        Rank::Parent if parent != caller.parent => {
            Err(fault::belongs(&folder.id().to_string(), &parent))
        }
        Rank::Parent | Rank::Owner => Ok(()),
    }
}

/// Waits for the end of a stopped run.
async fn stop_result(stopping: Stopping, deadline: tokio::time::Instant) -> StopResult {
    let Stopping {
        mut ended,
        had_ended,
    } = stopping;
    if had_ended {
        // Only the answer to a message is stopped. The channel closes when its process is dead.
        let gone = async { while ended.changed().await.is_ok() {} };
        return match tokio::time::timeout_at(deadline, gone).await {
            Ok(()) => StopResult::Natural,
            Err(_) => StopResult::Pending,
        };
    }
    let state = tokio::time::timeout_at(deadline, ended.wait_for(Option::is_some)).await;
    match state {
        Err(_) => StopResult::Pending,
        Ok(Ok(state)) if *state == Some(RunState::Cancelled) => StopResult::Cancelled,
        Ok(_) => StopResult::Natural,
    }
}
