//! The five actions of the `daemon` tool, with a host and without one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daemon_provider::StopReason;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_store::Query;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::call::{self, Caller, CheckCall, DaemonCall, List};
use super::find::{self, unreadable};
use super::list::Room;
use super::waiting::{Awaited, CallReply, RunWait};
use super::{ask, check, dispatch, fault, list, reclaim, waiting};
use crate::run_context::RunContext;
use crate::runs::{CachedEntry, HostPresence, RunIndex, entries, index};

/// The rows of one page of the store.
const PAGE: u32 = 500;

/// Executes a call of the `daemon` tool and returns its reply object, and what the call waits for.
///
/// # Errors
/// The call is invalid, or the action failed; the code and the message are those of the contract.
pub async fn answer(
    run_context: &Arc<RunContext>,
    mut map: Map<String, Value>,
) -> Result<CallReply, OpError> {
    let mut faults = Vec::new();
    let own = format!("cli:{}", rustix::process::geteuid().as_raw());
    let caller = call::caller(&mut map, &own, &mut faults);
    let now = run_context.now();
    // Before the call is validated, because a repeated invalid call is a repetition, too. One that waits does not poll.
    let advisory = match call::waits(&map) {
        true => None,
        false => run_context.emanations.note_call(&caller.parent, &map, now),
    };
    let read = call::read(map, &caller, &mut faults);
    let mut wait = None;
    let mut reply = match read {
        Some(DaemonCall::Emanate(batch)) => {
            wait = batch.wait.map(|limit| (limit, Awaited::Batch));
            dispatch::emanate(run_context, &caller, batch, faults).await?
        }
        read => {
            fault::refuse(&faults)?;
            match read {
                Some(DaemonCall::List(list)) => listed(run_context, list, now).await?,
                Some(DaemonCall::Check(check)) => {
                    let again = Awaited::Run(caller.clone(), check.clone());
                    wait = check.wait.map(|limit| (limit, again));
                    checked(run_context, caller, check, now).await?
                }
                Some(DaemonCall::Ask(message)) => ask::ask(run_context, &caller, &message).await?,
                Some(DaemonCall::Reclaim(which)) => {
                    reclaim::reclaim(run_context, &caller, &which, reclaim::STOP_TIMEOUT).await?
                }
                Some(DaemonCall::Emanate(_)) | None => return Err(OpError::invalid("no action")),
            }
        }
    };
    if let Some(why) = run_context.host.pause() {
        reply.insert("pause".to_owned(), why.into());
    }
    if let Some(advisory) = advisory {
        reply.insert("_advisory".to_owned(), advisory);
    }
    if let Some((limit, _)) = &wait {
        waiting::show_limit(&mut reply, *limit);
    }
    let wait = wait.and_then(|(limit, about)| RunWait::begin(run_context, limit, &reply, about));
    Ok(CallReply { reply, wait })
}

/// Answers `list` and `check` from the run folders alone.
///
/// `runs` is the directory of run folders, `most` the configured `limits.emanations`.
///
/// # Errors
/// The call is invalid, its run does not exist, or the action needs a host.
pub fn offline(
    runs: &Path,
    most: u32,
    mut map: Map<String, Value>,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    let mut faults = Vec::new();
    let own = format!("cli:{}", rustix::process::geteuid().as_raw());
    let caller = call::caller(&mut map, &own, &mut faults);
    let read = call::read(map, &caller, &mut faults);
    fault::refuse(&faults)?;
    match read {
        Some(DaemonCall::List(list)) => {
            let read = entries(runs, &RunIndex::new(), HostPresence::Absent, now)
                .map_err(|error| unreadable(&error))?;
            let room = Room {
                running: None,
                most,
            };
            Ok(list::reply(&read, &list, room))
        }
        Some(DaemonCall::Check(check)) => {
            let found = find::find(runs, &check.id, &caller.parent, |_| None)?;
            check::reply(&found, &check, HostPresence::Absent, now)
        }
        _ => Err(OpError::new(
            OpErrorKind::Unavailable,
            "no-host",
            "No host is running for this home",
        )
        .with_help("daemon-run serve")),
    }
}

async fn listed(
    run_context: &Arc<RunContext>,
    list: List,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    // The lock is held for the whole listing, so that of several listings only the first reads new folders.
    let mut known = run_context.emanations.known.lock().await;
    let cached = match known.take() {
        Some(cached) => cached,
        None => stored(run_context).await?,
    };
    let runs = run_context.paths.runs.clone();
    let room = Room {
        running: Some(run_context.emanations.running()),
        most: run_context.host.settings().bounds.emanations,
    };
    let (reply, cached) = blocking(move || {
        let read = entries(&runs, &cached, HostPresence::Present, now)
            .map_err(|error| unreadable(&error))?;
        Ok((list::reply(&read, &list, room), index(&read)))
    })
    .await?;
    *known = Some(cached);
    Ok(reply)
}

/// Reads the entries of all rows of the store.
async fn stored(run_context: &RunContext) -> Result<RunIndex, OpError> {
    let runs = run_context.paths.runs.clone();
    let mut index = RunIndex::new();
    let mut query = Query {
        limit: PAGE,
        ..Query::default()
    };
    loop {
        let page = run_context.store.runs(&query).await?;
        let rows = page.rows.iter();
        index.extend(rows.filter_map(|row| CachedEntry::of_row(&runs, &row.id, &row.object)));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(index),
        }
    }
}

pub(super) async fn checked(
    run_context: &Arc<RunContext>,
    caller: Caller,
    check: CheckCall,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    let (context, id) = (Arc::clone(run_context), check.id.clone());
    let checked = blocking(move || {
        let runs = context.paths.runs.clone();
        let live = |name| context.emanations.find(&caller.parent, name);
        let found = find::find(&runs, &check.id, &caller.parent, live)?;
        check::reply(&found, &check, HostPresence::Present, now)
    });
    match checked.await {
        Err(error) => Err(fault::without_folder(error, &id, &*run_context.store).await?),
        reply => reply,
    }
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OpError> + Send + 'static,
) -> Result<T, OpError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?
}

/// Waits for the stop of the host, gives runs the drain time to end, and stops the others.
pub async fn drain(run_context: Arc<RunContext>) {
    run_context.lifetime.stop.cancelled().await;
    let tasks = &run_context.emanations.tasks;
    tasks.close();
    let drain = run_context.host.settings().bounds.drain;
    // The last five seconds are for the processes to die of their signals.
    let gentle = drain.saturating_sub(Duration::from_secs(5));
    if tokio::time::timeout(gentle, tasks.wait()).await.is_ok() {
        return;
    }
    run_context.emanations.stop_all(StopReason::AgentStop);
    let last = tokio::time::timeout(Duration::from_secs(10), tasks.wait()).await;
    if last.is_err() {
        tracing::warn!("runs did not end in time; the next start ends them as orphans");
    }
}
