//! The claim loop: ready activations are leased and executed, as many at once as there are slots.

use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Activation, CRASH_LOOP_WINDOW, HostEnd, LEASE, pause_of_claims};
use daemon_provider::StopReason;
use daemon_store::{ClaimRequest, StoreError};
use tokio::task::JoinSet;

use super::Inner;
use crate::disk;

/// How often leases are renewed.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long the loop sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(15);
/// How long the loop waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Claims and executes until told to stop, then waits for what is running.
pub(super) async fn run(inner: Arc<Inner>) {
    let mut attempts = JoinSet::new();
    while !inner.stop.is_cancelled() {
        let pause = match claim_ready(&inner, &mut attempts).await {
            Ok(pause) => pause,
            Err(error) => {
                inner.trouble("claims cannot reach the store", &error);
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = inner.stop.cancelled() => {}
            () = inner.signals.claims.notified() => {}
            Some(ended) = attempts.join_next() => report(ended),
            () = tokio::time::sleep(pause) => {}
        }
    }
    drain(&inner, &mut attempts).await;
}

async fn claim_ready(
    inner: &Arc<Inner>,
    attempts: &mut JoinSet<()>,
) -> Result<Duration, StoreError> {
    while let Some(ended) = attempts.try_join_next() {
        report(ended);
    }
    if let Some(left) = inner.claims_pause() {
        return Ok(left);
    }
    let config = inner.config();
    let slots = usize::try_from(config.limits.host).expect("a limit fits");
    while attempts.len() < slots && !inner.stop.is_cancelled() {
        if inner.pause().is_some() {
            return Ok(disk::LOOK);
        }
        drop(inner.recording.lock().await);
        let Some(activation) = inner.store.claim(&inner.claim_request(&config)).await? else {
            break;
        };
        crate::failpoint::hit("R1");
        let inner = Arc::clone(inner);
        attempts.spawn(async move { execute(&inner, activation).await });
    }
    let now = inner.clock.now();
    Ok(match inner.store.next_claim_at(now).await? {
        Some(at) => at.duration_since(now).unsigned_abs().min(IDLE),
        None => IDLE,
    })
}

async fn execute(inner: &Arc<Inner>, activation: Activation) {
    let id = activation.id.clone();
    if let Err(error) = crate::execute::attempt(inner, activation, None).await {
        tracing::error!(activation = %id, error = %crate::ops::chain(&error), "an attempt could not be ended");
    }
    inner.signals.claims.notify_one();
    inner.signals.outputs.notify_one();
    inner.signals.ended.notify_waiters();
}

/// What panics outside of the work of an attempt cannot commit its end.
fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "the end of an attempt panicked; its lease will expire");
    }
}

/// Lets runs go on for the drain, then ends them.
async fn drain(inner: &Inner, attempts: &mut JoinSet<()>) {
    let drain = inner.config().host.drain.unsigned();
    let gentle = drain.saturating_sub(Duration::from_secs(5));
    let wait = async |attempts: &mut JoinSet<()>| while attempts.join_next().await.is_some() {};
    if tokio::time::timeout(gentle, wait(attempts)).await.is_ok() {
        return;
    }
    inner.stop_runs(StopReason::AgentStop);
    if tokio::time::timeout(Duration::from_secs(10), wait(attempts))
        .await
        .is_err()
    {
        tracing::warn!("runs did not end in time; the next start takes them back");
        attempts.abort_all();
    }
}

/// Renews the leases of what is running until told to stop, and a little longer, while runs drain.
pub(super) async fn heartbeat(inner: Arc<Inner>) {
    loop {
        tokio::select! {
            () = inner.finished.cancelled() => return,
            () = tokio::time::sleep(HEARTBEAT) => {}
        }
        let leases = inner.leases();
        if leases.is_empty() {
            continue;
        }
        match inner.store.renew(leases, inner.clock.now() + LEASE).await {
            Ok(lost) => {
                for id in lost {
                    inner.stop_run(&id, StopReason::LostLease);
                }
            }
            Err(error) => tracing::warn!(%error, "leases could not be renewed"),
        }
    }
}

/// When claims begin after a crash loop: by the clock that cannot be set, and as it is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaimsFrom {
    instant: tokio::time::Instant,
    shown: jiff::Timestamp,
}

impl Inner {
    /// Lets nothing be claimed for a while at the start that follows a crash, where hosts of this home began again and
    /// again after crashes.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn pause_claims_in_a_crash_loop(
        &self,
        previous: HostEnd,
    ) -> Result<(), StoreError> {
        if !previous.is_crash() {
            return Ok(());
        }
        let since = self.clock.now() - CRASH_LOOP_WINDOW;
        let n_recent = self.store.starts_after_crashes(since).await?;
        if let Some(pause) = pause_of_claims(n_recent) {
            let pause = pause.unsigned_abs();
            tracing::error!(
                starts = n_recent,
                pause_s = pause.as_secs(),
                "the host crashed again and again within a minute: claims pause, intake and reads are served"
            );
            self.claims_from.get_or_init(|| ClaimsFrom {
                instant: tokio::time::Instant::now() + pause,
                shown: self.clock.now() + pause,
            });
        }
        Ok(())
    }

    /// Returns how much longer nothing is claimed, since hosts of this home crashed again and again.
    pub(crate) fn claims_pause(&self) -> Option<Duration> {
        let from = self.claims_from.get()?.instant;
        let left = from.saturating_duration_since(tokio::time::Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Says why no activation may start, if so, and until when if that is known. A crash loop does not pause one-off runs:
    /// see [`Self::pause`].
    pub(crate) fn activations_pause(&self) -> Option<String> {
        let crash_loop = || {
            self.claims_pause()?;
            let until = self.claims_from.get()?.shown.strftime("%Y-%m-%dT%H:%M:%SZ");
            Some(format!(
                "crash loop: hosts of this home crashed again and again; no activation starts until {until}"
            ))
        };
        self.pause().or_else(crash_loop)
    }

    /// Asks for one activation under this host's slots and lease.
    pub(crate) fn claim_request(&self, config: &crate::config::Config) -> ClaimRequest {
        let now = self.clock.now();
        ClaimRequest {
            owner: self.epoch,
            now,
            lease_until: now + LEASE,
            host_slots: config.limits.host,
            daemon_slots: config.limits.daemon,
            rates: config.limits.rates(),
            day_usd: config.budget.day_usd,
        }
    }
}
