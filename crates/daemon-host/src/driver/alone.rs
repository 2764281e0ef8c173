//! One activation by itself, without the loops of a host.

use std::sync::Arc;
use std::time::Duration;

use daemon_dispatch::{Concern, HostEvent};
use daemon_engine::{ActivationState, Missing};
use daemon_event::ActivationId;
use daemon_records::error::{OpError, OpErrorKind};

use super::Host;
use super::dispatch::{Driver, settings};

/// Executes one activation to its end, outputs included, without the loops of a host; or until something that it needs is
/// missing.
///
/// # Errors
/// If the store fails.
pub async fn run_one(
    host: &Arc<Host>,
    id: &ActivationId,
    provider: Option<&str>,
) -> Result<(), OpError> {
    // Without `Concern::Claims`, which would start other activations too.
    let concerns = [Concern::Leases, Concern::Outputs];
    let mut driver = Driver::new(host, &concerns).with_provider(provider);
    loop {
        if let Some(why) = host.pause() {
            return Err(OpError::new(OpErrorKind::Busy, "paused", why));
        }
        let request = settings(host, &host.runtime().config).claim_request(host.now());
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
