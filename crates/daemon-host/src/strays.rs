//! Processes that the runs of a dead host left behind.

use daemon_process::end_strays;

/// Ends every process of this machine whose host is dead, whatever tied it to its run, and logs how many there were.
///
/// What cannot be ended is logged too: it keeps no host from starting.
pub async fn end() {
    match tokio::task::spawn_blocking(end_strays).await {
        Ok(Ok(ended)) if ended.is_empty() => {}
        Ok(Ok(ended)) => {
            tracing::warn!(
                processes = ended.len(),
                "ended what runs of a dead host left running"
            );
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "what runs of a dead host left running could not be looked for");
        }
        Err(error) => tracing::error!(%error, "looking for what a dead host left panicked"),
    }
}
