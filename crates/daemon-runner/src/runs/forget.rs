//! Removing runs that ended before the retention time of the configuration.

use std::path::Path;

use daemon_records::error::chain;
use daemon_run_folder::{Document, DocumentReading, Folder, Removal, RunState};
use daemon_store::StoreError;
use jiff::Timestamp;

use crate::run_context::RunContext;

/// Removes the folders of runs that ended before an instant, with their rows.
///
/// The row goes first: a crash in between leaves a folder, which the next round removes. A run stays if it has a writer, if its
/// end was not published, or if a later release wrote it.
///
/// # Errors
/// The store could not be written.
pub async fn forget(run_context: &RunContext, before: Timestamp) -> Result<(), StoreError> {
    let runs = run_context.paths.runs.clone();
    let old = tokio::task::spawn_blocking(move || old(&runs, before)).await;
    let old = old.unwrap_or_else(|error| {
        tracing::error!(%error, "looking for old runs panicked");
        Vec::new()
    });
    let mut n_removed = 0_u32;
    for folder in old {
        run_context
            .store
            .forget_run(&folder.id().to_string())
            .await?;
        let id = folder.id();
        match tokio::task::spawn_blocking(move || folder.remove()).await {
            Ok(Ok(Removal::Removed)) => n_removed += 1,
            Ok(Ok(Removal::Absent | Removal::Live)) => {}
            Ok(Err(error)) => {
                let error = chain(&error);
                tracing::warn!(run = %id, error, "an old run folder could not be removed");
            }
            Err(error) => tracing::error!(run = %id, %error, "removing a run folder panicked"),
        }
    }
    if n_removed > 0 {
        tracing::info!(runs = n_removed, "old runs were removed");
    }
    Ok(())
}

/// Lists the folders to remove, and removes the remains of folders whose removal a crash interrupted.
fn old(runs: &Path, before: Timestamp) -> Vec<Folder> {
    if let Err(error) = Folder::remove_leavings(runs) {
        let error = chain(&error);
        tracing::warn!(error, "what is left of a run folder could not be removed");
    }
    let mut folders = Folder::list(runs).unwrap_or_else(|error| {
        let error = chain(&error);
        tracing::warn!(error, "run folders could not be listed");
        Vec::new()
    });
    folders.retain(|folder| folder.id().started() < before && is_over(folder, before));
    folders
}

fn is_over(folder: &Folder, before: Timestamp) -> bool {
    match folder.read() {
        Ok(DocumentReading::Known(document)) => has_ended(&document, before),
        // `Folder::remove` refuses a folder with a writer. Without a document, only the heartbeat shows the age.
        Ok(DocumentReading::Broken(_)) => folder.last_heartbeat().is_none_or(|last| last < before),
        Ok(DocumentReading::Newer(_)) | Err(_) => false,
    }
}

fn has_ended(document: &Document, before: Timestamp) -> bool {
    // Ends of attempts are not published.
    let is_published = document.activation.is_some() || document.terminal_notified;
    let is_answered = document
        .followups
        .iter()
        .all(|reply| reply.state != RunState::Running);
    let replies = document
        .followups
        .iter()
        .filter_map(|reply| reply.finished_at);
    let last = replies.chain(document.finished_at).max();
    document.state.is_terminal()
        && is_published
        && is_answered
        && last.is_some_and(|last| last < before)
}

#[cfg(test)]
mod tests;
