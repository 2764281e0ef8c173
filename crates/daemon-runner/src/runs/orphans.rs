//! Ending runs whose host died.

use std::path::Path;

use daemon_process::{ProcessId, end_orphans};
use daemon_records::error::chain;
use daemon_records::{RecordedRun, RunObject, folder_of};
use daemon_run_folder::{Document, DocumentReading, FinishError, Folder, Writer};
use daemon_store::{RunEnd, RunRow, Store, StoreError};
use jiff::Timestamp;

use super::row;

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

/// Ends what dead hosts left of a run: its processes, its folder and its row.
///
/// # Errors
/// The row could not be written.
pub async fn end_orphan(
    store: &dyn Store,
    runs: &Path,
    row: &RunRow,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(folder) = folder_of(runs, &row.id) else {
        return Ok(());
    };
    let of_orphan = folder.clone();
    let ended = tokio::task::spawn_blocking(move || end_folder(of_orphan, now));
    if let Err(error) = ended.await {
        tracing::error!(%error, "ending an orphan panicked");
    }
    follow_folder(store, folder, row, now).await
}

/// Ends the processes of a run whose host died, and records the end in the folder.
fn end_folder(folder: Folder, now: Timestamp) {
    let id = folder.id().to_string();
    let document = known(&folder);
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
}

/// Stores the end that the folder of a run has in its row; nothing if the folder has none.
///
/// # Errors
/// The row could not be written.
pub(crate) async fn follow_folder(
    store: &dyn Store,
    folder: Folder,
    row: &RunRow,
    now: Timestamp,
) -> Result<(), StoreError> {
    // The cost of the model calls that the provider made itself is in no folder.
    let spent = RunObject::from_row(row).cost_usd;
    let end = tokio::task::spawn_blocking(move || {
        let document = known(&folder).filter(|document| document.state.is_terminal())?;
        let run = RecordedRun::new(&folder, document);
        Some(RunEnd {
            state: run.document().state.as_str().to_owned(),
            finished_at: run.document().finished_at.unwrap_or(now),
            object: row::json(&run, spent, now),
        })
    });
    match end.await {
        Ok(Some(end)) => store.end_run(&row.id, end).await,
        Ok(None) => Ok(()),
        Err(error) => {
            tracing::error!(%error, "reading a run folder panicked");
            Ok(())
        }
    }
}

/// Returns the document of a folder, if it is of this version.
fn known(folder: &Folder) -> Option<Document> {
    match folder.read() {
        Ok(DocumentReading::Known(document)) => Some(*document),
        Ok(DocumentReading::Newer(_) | DocumentReading::Broken(_)) | Err(_) => None,
    }
}
