//! Ends the processes that runs of a dead host left.

use daemon_process::end_strays;

/// Kills every process of this machine that a run of a dead host left, and logs their number.
///
/// Failures are only logged, because they must not prevent the start of the host.
pub async fn end() {
    match tokio::task::spawn_blocking(end_strays).await {
        Ok(Ok(ended)) if ended.is_empty() => {}
        Ok(Ok(ended)) => {
            tracing::warn!(
                processes = ended.len(),
                "ended processes that runs of a dead host left"
            );
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the search for processes of a dead host failed");
        }
        Err(error) => tracing::error!(%error, "the search for processes of a dead host panicked"),
    }
}
