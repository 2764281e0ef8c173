//! `reclaim`: runs are stopped, and the reply comes when they are dead.

use std::sync::Arc;
use std::time::Duration;

use daemon_provider::StopReason;
use daemon_run_folder::{Folder, RunId, RunState};
use serde_json::{Map, Value, json};

use super::ask::{document, refuse_activation};
use super::call::{Caller, Rank, Which};
use super::fault;
use super::find;
use super::live::Stopping;
use crate::error::OpError;
use crate::run_context::RunContext;
use crate::runs::filled;

/// How long deaths are waited for.
const PATIENCE: Duration = Duration::from_secs(8);

/// How a run that was to be stopped ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Cancelled,
    /// It ended by itself, before or meanwhile.
    Natural,
    /// It has not ended yet.
    Pending,
}

/// Stops runs.
///
/// # Errors
/// There is no such run, or it belongs to an activation.
pub(super) async fn reclaim(
    run_context: &Arc<RunContext>,
    caller: &Caller,
    which: &Which,
) -> Result<Map<String, Value>, OpError> {
    let runs = targets(run_context, caller, which)?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let stopping: Vec<Option<Stopping>> = runs
        .iter()
        .map(|id| run_context.emanations.stop(*id, StopReason::Reclaim))
        .collect();
    let mut fates = Vec::with_capacity(stopping.len());
    for one in stopping {
        fates.push(match one {
            Some(stopping) => fate(stopping, deadline).await,
            None => Fate::Natural,
        });
    }
    if !run_context.emanations.has_running(&caller.parent) {
        run_context.handles.reset(&caller.parent);
    }
    let count = |wanted| fates.iter().filter(|fate| **fate == wanted).count();
    Ok(filled([
        ("status", json!("reclaimed")),
        ("cancelled", json!(count(Fate::Cancelled))),
        ("natural_terminal", json!(count(Fate::Natural))),
        ("pending", json!(count(Fate::Pending))),
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
    // What is known of a live run does not need its folder.
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

/// Waits until a run is dead.
async fn fate(stopping: Stopping, deadline: tokio::time::Instant) -> Fate {
    let Stopping {
        mut ended,
        had_ended,
    } = stopping;
    if had_ended {
        // What is stopped is the answer to a message; the run is forgotten when that is dead.
        let gone = async { while ended.changed().await.is_ok() {} };
        return match tokio::time::timeout_at(deadline, gone).await {
            Ok(()) => Fate::Natural,
            Err(_) => Fate::Pending,
        };
    }
    let state = tokio::time::timeout_at(deadline, ended.wait_for(Option::is_some)).await;
    match state {
        Err(_) => Fate::Pending,
        Ok(Ok(state)) if *state == Some(RunState::Cancelled) => Fate::Cancelled,
        Ok(_) => Fate::Natural,
    }
}
