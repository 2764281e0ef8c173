//! Slots: which earlier output of a daemon the next one in the same slot replaces.
//!
//! A run plans its outputs before those of earlier runs are delivered, so the object in a slot is known only when an output is sent.

use daemon_engine::{Output, OutputState, Settlement, SurfaceError, SurfaceErrorKind};
use daemon_records::error::chain;
use daemon_runner::planner::OutputPlanner;
use daemon_store::{MAX_PAGE, Query, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

/// How long after the next step of an earlier output the next one in its slot is tried.
const AFTER: SignedDuration = SignedDuration::from_secs(2);

/// What is in the slot of an output.
enum InSlot {
    /// Nothing, or the output has no slot.
    Nothing,
    /// The object with this id of the surface.
    Object(String),
    /// An earlier output, which is still to be delivered.
    Awaited(Box<Output>),
}

async fn in_slot(
    store: &dyn Store,
    planner: &dyn OutputPlanner,
    output: &Output,
) -> Result<InSlot, StoreError> {
    let Some(slot) = planner.slot(output) else {
        return Ok(InSlot::Nothing);
    };
    let query = Query {
        limit: MAX_PAGE,
        daemon: Some(output.daemon.id.to_string()),
        repo: Some(output.daemon.repo.clone()),
        ..Query::default()
    };
    let newest = store.outputs(&query).await?.rows;
    let earlier = newest
        .into_iter()
        .skip_while(|known| known.key != output.key);
    for known in earlier.skip(1) {
        let is_there =
            known.surface == output.surface && known.target.eq_ignore_ascii_case(&output.target);
        if !is_there || planner.slot(&known).as_ref() != Some(&slot) {
            continue;
        }
        match (known.state, &known.remote_id) {
            (OutputState::Planned | OutputState::Sending | OutputState::Ambiguous, _) => {
                return Ok(InSlot::Awaited(Box::new(known)));
            }
            (OutputState::Confirmed, Some(id)) => return Ok(InSlot::Object(id.clone())),
            // Nothing of it is known to be there; an older one may be.
            (OutputState::Confirmed, None)
            | (OutputState::Refused | OutputState::GaveUp | OutputState::Unknown, _) => {}
        }
    }
    Ok(InSlot::Nothing)
}

/// Returns the due outputs without those that wait for an earlier one in their slot, which are made due after that one.
///
/// # Errors
/// If the store fails.
pub(super) async fn without_waiting(
    store: &dyn Store,
    planner: &dyn OutputPlanner,
    due: Vec<Output>,
    now: Timestamp,
) -> Result<Vec<Output>, StoreError> {
    let mut ready = Vec::with_capacity(due.len());
    for output in due {
        match in_slot(store, planner, &output).await? {
            InSlot::Awaited(earlier) if output.state == OutputState::Planned => {
                let waits = Settlement {
                    state: OutputState::Planned,
                    remote: None,
                    error: Some(awaited(&earlier)),
                    not_before: Some(earlier.not_before.max(now) + AFTER),
                    at: now,
                };
                match store.settle(&output.key, waits).await {
                    // It was sent, or its activation was cancelled, since it was read.
                    Ok(_) | Err(StoreError::Conflict { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            _ => ready.push(output),
        }
    }
    Ok(ready)
}

/// Returns an output with the object of its slot, the newest that an earlier output of its daemon wrote; without a slot it is unchanged.
///
/// # Errors
/// An earlier output in the slot is still to be delivered, or the store fails. The output is tried again.
pub(super) async fn filled(
    store: &dyn Store,
    planner: &dyn OutputPlanner,
    output: &Output,
) -> Result<Output, SurfaceError> {
    let later = |why: String| SurfaceError::new(SurfaceErrorKind::Retryable, why);
    match in_slot(store, planner, output).await {
        Ok(InSlot::Nothing) => Ok(output.clone()),
        Ok(InSlot::Object(id)) => Ok(planner.replacing(output, &id)),
        Ok(InSlot::Awaited(earlier)) => Err(later(awaited(&earlier))),
        Err(error) => Err(later(chain(&error))),
    }
}

fn awaited(earlier: &Output) -> String {
    format!(
        "the earlier output `{}` for its slot is not delivered yet",
        earlier.key
    )
}
