//! Ending runs whose host died.

use std::path::Path;

use daemon_process::{ProcessId, end_orphans};
use daemon_run_folder::{DocumentReading, FinishError, Writer};
use daemon_store::RunRow;
use jiff::Timestamp;

use daemon_records::error::chain;
use daemon_records::folder_of;

/// Ends the processes of a run whose host died, and logs the number of ended ones and of survivors.
///
/// # Errors
/// The table of processes could not be read.
pub(crate) fn end_processes(child: Option<ProcessId>, run: &str) -> std::io::Result<()> {
    let orphans = end_orphans(child, run)?;
    let (ended, survivors) = (orphans.ended.len(), orphans.survivors.len());
    if survivors > 0 {
        let pids: Vec<i32> = orphans.survivors.iter().map(|id| id.pid).collect();
        tracing::error!(
            run,
            ended,
            survivors,
            ?pids,
            "what a dead host left running outlived SIGKILL"
        );
    } else if ended > 0 {
        tracing::warn!(run, ended, survivors, "ended what a dead host left running");
    }
    Ok(())
}

/// Ends the processes of a run whose host died, and records the end of the run.
pub async fn end_orphan(runs: &Path, row: &RunRow, now: Timestamp) {
    let (runs, id) = (runs.to_owned(), row.id.clone());
    let ended = tokio::task::spawn_blocking(move || {
        let Some(folder) = folder_of(&runs, &id) else {
            return;
        };
        let document = match folder.read() {
            Ok(DocumentReading::Known(document)) => Some(document),
            Ok(DocumentReading::Newer(_) | DocumentReading::Broken(_)) | Err(_) => None,
        };
        // The recorded child is checked by its start time. Descendants are found by their marker, also without a document.
        let child = document
            .as_ref()
            .and_then(|document| document.child)
            .map(|child| ProcessId {
                pid: child.pid,
                start: child.start,
            });
        if let Err(error) = end_processes(child, &id) {
            tracing::error!(run = id, %error, "what a dead host left running could not be ended");
        }
        if document.is_some_and(|document| !document.state.is_terminal()) {
            let finished = Writer::adopt(folder, now)
                .map_err(FinishError::from)
                .and_then(|mut writer| writer.finish_orphaned(now));
            if let Err(error) = finished {
                tracing::warn!(
                    run = id,
                    error = chain(&error),
                    "an orphaned run could not be recorded"
                );
            }
        }
    });
    if let Err(error) = ended.await {
        tracing::error!(%error, "ending an orphan panicked");
    }
}
