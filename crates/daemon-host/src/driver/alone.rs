//! One activation by itself, without the loops of a host.

use std::sync::Arc;
use std::time::Duration;

use daemon_api::ops::CANCELLED_BY_PERSON;
use daemon_dispatch::{Concern, HostEvent};
use daemon_engine::{ActivationState, Missing};
use daemon_event::ActivationId;
use daemon_provider::StopReason;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_store::StoreError;

use super::Host;
use super::dispatch::{Driver, settings};

/// How [`run_one`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// The activation has ended, or something that it needs is missing.
    Finished,
    /// It was interrupted, and the activation is cancelled unless it had ended.
    Interrupted,
}

/// Executes one activation to its end, outputs included, without the loops of a host; or until something that it needs is
/// missing. When `interrupted` is ready, the activation is cancelled and its run ends with all its processes.
///
/// # Errors
/// If the store fails.
pub async fn run_one(
    host: &Arc<Host>,
    id: &ActivationId,
    provider: Option<&str>,
    interrupted: impl Future<Output = ()>,
) -> Result<Execution, OpError> {
    // Without `Concern::Claims`, which would start other activations too.
    let concerns = [Concern::Leases, Concern::Outputs];
    let mut driver = Driver::new(host, &concerns).with_provider(provider);
    tokio::select! {
        ended = to_its_end(host, id, &mut driver) => return ended.map(|()| Execution::Finished),
        () = interrupted => {}
    }
    // The store first: the attempt then has no lease and stores no end, so that its stop cannot be retried.
    match host.store.cancel(id, CANCELLED_BY_PERSON, host.now()).await {
        Ok(_) | Err(StoreError::Conflict { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    host.runs().stop(id, StopReason::Reclaim);
    driver.until_quiet().await?;
    Ok(Execution::Interrupted)
}

/// Claims and executes one activation until it has ended or misses something.
async fn to_its_end(
    host: &Arc<Host>,
    id: &ActivationId,
    driver: &mut Driver,
) -> Result<(), OpError> {
    loop {
        if let Some(why) = host.pause() {
            return Err(OpError::new(OpErrorKind::Busy, "paused", why));
        }
        let request = settings(host, &host.runtime().config).claim_request(host.now());
        let request = host.runs().within_day(request);
        let claimed = host.store.claim_one(id, &request).await?;
        driver.handle(match claimed {
            Some(activation) => HostEvent::Claimed(Some(Box::new(activation))),
            None => HostEvent::Time,
        });
        driver.until_quiet().await?;
        let found = host.store.activation(id).await?;
        let activation = found.ok_or_else(|| OpError::not_found("activation", id.as_str()))?;
        // Missing facts may arrive later; only a running host continues to fetch them.
        let missing = activation.reason.as_deref().and_then(Missing::of_reason);
        if activation.state.is_final() || missing.is_some() {
            return Ok(());
        }
        let wait = match activation.state {
            ActivationState::Pending => activation
                .not_before
                .duration_since(host.now())
                .try_into()
                .unwrap_or_default(),
            _ => driver.wait().unwrap_or_default(),
        };
        // At least 20 ms: an activation that is due can still be held back, and the loop would spin.
        tokio::time::sleep(wait.max(Duration::from_millis(20))).await;
    }
}
