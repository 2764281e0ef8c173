//! The five actions, with a host and without one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daemon_provider::StopReason;
use daemon_store::Query;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::call::{self, Call, Caller, Check, List};
use super::find::{self, unreadable};
use super::list::Room;
use super::shelf::{self, Index, Keeper, Known};
use super::{ask, check, dispatch, fault, list, reclaim};
use crate::driver::Inner;
use crate::ops::{OpError, OpErrorKind};
use crate::random;

/// The most rows of one page of the index.
const PAGE: u32 = 500;

/// Answers a call with the reply object of the `daemon` tool.
///
/// # Errors
/// Says in the contract's words why it was not done.
pub(crate) async fn answer(
    inner: &Arc<Inner>,
    mut map: Map<String, Value>,
) -> Result<Map<String, Value>, OpError> {
    let mut faults = Vec::new();
    let own = format!("cli:{}", rustix::process::geteuid().as_raw());
    let caller = call::caller(&mut map, &own, &mut faults);
    let now = random::now();
    let advisory = inner.emanations.note_call(&caller.parent, &map, now);
    let read = call::read(map, &caller, &mut faults);
    let mut reply = match read {
        Some(Call::Emanate(batch)) => dispatch::emanate(inner, &caller, batch, faults).await?,
        read => {
            fault::refuse(&faults)?;
            match read {
                Some(Call::List(list)) => listed(inner, list, now).await?,
                Some(Call::Check(check)) => checked(inner, caller, check, now).await?,
                Some(Call::Ask(message)) => ask::ask(inner, &caller, &message).await?,
                Some(Call::Reclaim(which)) => reclaim::reclaim(inner, &caller, &which).await?,
                Some(Call::Emanate(_)) | None => return Err(OpError::invalid("no action")),
            }
        }
    };
    if let Some(why) = inner.pause() {
        reply.insert("pause".to_owned(), why.into());
    }
    if let Some(advisory) = advisory {
        reply.insert("_advisory".to_owned(), advisory);
    }
    Ok(reply)
}

/// Answers `list` and `check` from the run folders alone.
///
/// `runs` is the directory of run folders, `most` the configured `limits.emanations`.
///
/// # Errors
/// The call makes no sense, names no run, or needs a host.
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
        Some(Call::List(list)) => {
            let read = shelf::entries(runs, &Index::new(), Keeper::Nobody, now)
                .map_err(|error| unreadable(&error))?;
            let room = Room {
                running: None,
                most,
            };
            Ok(list::reply(&read, &list, room))
        }
        Some(Call::Check(check)) => {
            let found = find::find(runs, &check.id, &caller.parent, |_| None)?;
            check::reply(&found, &check, Keeper::Nobody, now)
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
    inner: &Arc<Inner>,
    list: List,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    // One list at a time reads what none has read before.
    let mut known = inner.emanations.known.lock().await;
    let index = match known.take() {
        Some(index) => index,
        None => stored(inner).await?,
    };
    let runs = inner.home.runs();
    let room = Room {
        running: Some(inner.emanations.running()),
        most: inner.config().limits.emanations,
    };
    let (reply, index) = blocking(move || {
        let read =
            shelf::entries(&runs, &index, Keeper::Host, now).map_err(|error| unreadable(&error))?;
        Ok((list::reply(&read, &list, room), shelf::index(&read)))
    })
    .await?;
    *known = Some(index);
    Ok(reply)
}

/// Reads what the store remembers of every run.
async fn stored(inner: &Inner) -> Result<Index, OpError> {
    let runs = inner.home.runs();
    let mut index = Index::new();
    let mut query = Query {
        limit: PAGE,
        ..Query::default()
    };
    loop {
        let page = inner.store.runs(&query).await?;
        let rows = page.rows.iter();
        index.extend(rows.filter_map(|row| Known::of_row(&runs, &row.id, &row.object)));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(index),
        }
    }
}

async fn checked(
    inner: &Arc<Inner>,
    caller: Caller,
    check: Check,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    let inner = Arc::clone(inner);
    blocking(move || {
        let runs = inner.home.runs();
        let live = |name| inner.emanations.find(&caller.parent, name);
        let found = find::find(&runs, &check.id, &caller.parent, live)?;
        check::reply(&found, &check, Keeper::Host, now)
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OpError> + Send + 'static,
) -> Result<T, OpError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?
}

/// Waits for the stop, then lets runs go on for the drain, then ends them.
pub(crate) async fn drain(inner: Arc<Inner>) {
    inner.stop.cancelled().await;
    let tasks = &inner.emanations.tasks;
    tasks.close();
    let drain = inner.config().host.drain.unsigned();
    let gentle = drain.saturating_sub(Duration::from_secs(5));
    if tokio::time::timeout(gentle, tasks.wait()).await.is_ok() {
        return;
    }
    inner.emanations.stop_all(StopReason::AgentStop);
    let last = tokio::time::timeout(Duration::from_secs(10), tasks.wait()).await;
    if last.is_err() {
        tracing::warn!("runs did not end in time; the next start takes them back");
    }
}
