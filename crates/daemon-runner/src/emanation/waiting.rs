//! Waiting for the ends of runs, so that a caller need not poll.

use std::sync::Arc;
use std::time::Duration;

use daemon_records::RecordedRun;
use daemon_records::error::OpError;
use daemon_run_folder::{Folder, RunId, RunState};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::call::{Caller, CheckCall};
use super::dispatch::seconds;
use super::serve;
use crate::run_context::RunContext;
use crate::runs::{HostPresence, list_entry};

/// The members of a reply that are about the call, and not about the run.
const OF_THE_CALL: [&str; 3] = ["limits", "pause", "_advisory"];

/// The reply to a call, and what it waits for.
pub struct CallReply {
    /// The reply at once.
    pub reply: Map<String, Value>,
    /// The wait, if the call waits for runs that have not ended.
    pub wait: Option<RunWait>,
}

/// The runs that a call waits for. Dropping it ends the waiting, and no run.
pub struct RunWait {
    run_context: Arc<RunContext>,
    limit: Duration,
    ends: Vec<watch::Receiver<Option<RunState>>>,
    reply: Map<String, Value>,
    about: Awaited,
}

/// The call that waits.
pub(super) enum Awaited {
    /// A dispatch of runs.
    Batch,
    /// A check of one run.
    Run(Caller, CheckCall),
}

/// Adds the time that a call waits to the limits of its reply.
pub(super) fn show_limit(reply: &mut Map<String, Value>, limit: Duration) {
    let limits = reply.entry("limits").or_insert_with(|| json!({}));
    if let Some(limits) = limits.as_object_mut() {
        limits.insert("wait".to_owned(), seconds(limit));
    }
}

impl RunWait {
    /// Begins to wait for the runs that a reply names; `None` if all have ended.
    pub(super) fn begin(
        run_context: &Arc<RunContext>,
        limit: Duration,
        reply: &Map<String, Value>,
        about: Awaited,
    ) -> Option<Self> {
        let ids = ids(reply, &about);
        let ends = ids
            .iter()
            .filter_map(|id| run_context.emanations.end_of(*id));
        let ends: Vec<_> = ends.collect();
        // The end of a batch is its entries, which a reply without a wait does not have. A run that ended since the reply was
        // made is read again.
        let is_over = ids.is_empty() && matches!(about, Awaited::Run(..));
        (!is_over).then(|| Self {
            run_context: Arc::clone(run_context),
            limit,
            ends,
            reply: reply.clone(),
            about,
        })
    }

    /// Waits for the ends of all runs, at most for the time of the call, and returns the reply.
    ///
    /// # Errors
    /// A run could not be read.
    pub async fn end(self) -> Result<Map<String, Value>, OpError> {
        let Self {
            run_context,
            limit,
            ends,
            mut reply,
            about,
        } = self;
        let all = async {
            for mut end in ends {
                // Without its sender a run was forgotten, which is an end, too.
                drop(end.wait_for(Option::is_some).await);
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(limit, all) => {}
            () = run_context.lifetime.finished.cancelled() => {}
        }
        match about {
            Awaited::Run(caller, check) => {
                let now = run_context.now();
                let mut checked = serve::checked(&run_context, caller, check, now).await?;
                for name in OF_THE_CALL {
                    let kept = reply.remove(name);
                    checked.extend(kept.map(|value| (name.to_owned(), value)));
                }
                Ok(checked)
            }
            Awaited::Batch => {
                let ids = ids(&reply, &Awaited::Batch);
                let entries = serve::blocking(move || Ok(entries(&run_context, ids))).await?;
                reply.insert("emanations".to_owned(), Value::Array(entries));
                Ok(reply)
            }
        }
    }
}

/// Returns the ids of the runs in a reply; the entry of a run that has ended names none.
fn ids(reply: &Map<String, Value>, about: &Awaited) -> Vec<RunId> {
    let named = match about {
        Awaited::Batch => reply.get("run_ids").and_then(Value::as_array).cloned(),
        Awaited::Run(..) => {
            let is_running = reply
                .get("status")
                .is_some_and(|status| status == "running");
            let id = reply.get("run_id").filter(|_| is_running);
            id.map(|id| vec![id.clone()])
        }
    };
    let named = named.unwrap_or_default();
    let named = named.iter().filter_map(Value::as_str);
    named.filter_map(|id| id.parse().ok()).collect()
}

/// Returns the entries of runs, as `list` shows them.
fn entries(run_context: &RunContext, ids: Vec<RunId>) -> Vec<Value> {
    let now = run_context.now();
    let entries = ids.into_iter().filter_map(|id| {
        let run = RecordedRun::read(&Folder::new(&run_context.paths.runs, id), now)?;
        Some(Value::Object(list_entry(&run, HostPresence::Present, now)))
    });
    entries.collect()
}
