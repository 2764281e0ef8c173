//! Upkeep: expired leases, expired activations, retention.

use std::sync::Arc;
use std::time::Duration;

use daemon_engine::Activation;
use daemon_store::StoreError;

use super::Inner;
use crate::config::Retention;
use crate::random;

/// How often leases and waiting activations are looked at.
const SWEEP: Duration = Duration::from_secs(15);
/// How many sweeps lie between two rounds of forgetting.
const SWEEPS_PER_RETENTION: u32 = 240;
/// How long identities of events are kept.
const IDENTITIES: jiff::SignedDuration = jiff::SignedDuration::from_hours(30 * 24);

/// Keeps the store in order until told to stop.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut sweeps = 0_u32;
    loop {
        tokio::select! {
            () = inner.stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP) => {}
        }
        sweeps = sweeps.wrapping_add(1);
        if let Err(error) = sweep(&inner, sweeps).await {
            inner.trouble("upkeep cannot reach the store", &error);
        }
    }
}

async fn sweep(inner: &Inner, sweeps: u32) -> Result<(), StoreError> {
    take_back(inner).await?;
    let now = random::now();
    let expired = inner.store.expire(now).await?;
    if expired > 0 {
        tracing::warn!(expired, "activations waited for a day and expired");
    }
    if sweeps % SWEEPS_PER_RETENTION == 1 {
        let retain = inner.config().retain.clone();
        let before = |retention: Retention| match retention {
            Retention::For(period) => now - period.signed(),
            Retention::Forever => jiff::Timestamp::UNIX_EPOCH,
        };
        inner
            .store
            .retain(
                before(retain.payloads),
                now - IDENTITIES,
                before(retain.ticks),
            )
            .await?;
    }
    Ok(())
}

/// Ends what is left of attempts whose host or lease is gone, then takes them back.
pub(super) async fn take_back(inner: &Inner) -> Result<(), StoreError> {
    let now = random::now();
    let left = inner.store.reclaimable(inner.epoch, now).await?;
    if left.is_empty() {
        return Ok(());
    }
    for activation in &left {
        end_remains(inner, activation).await?;
    }
    for taken in inner.store.reclaim(inner.epoch, now).await? {
        tracing::warn!(activation = %taken.id, state = taken.state.as_str(), "an attempt was taken back");
    }
    inner.signals.claims.notify_one();
    Ok(())
}

/// Ends the process tree of an attempt, and removes its worktree.
async fn end_remains(inner: &Inner, activation: &Activation) -> Result<(), StoreError> {
    for run in inner.store.runs_of(&activation.id).await? {
        if run.finished_at.is_none() {
            crate::runs::end_orphan(&inner.home.runs(), &run, random::now()).await;
        }
    }
    if let Some(repo) = inner.repo(&activation.daemon.repo) {
        let dir = inner.worktree(&activation.id, activation.run_lease);
        crate::execute::remove_worktree(&repo, &dir).await;
    }
    Ok(())
}
