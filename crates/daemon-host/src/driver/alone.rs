//! One activation by itself, without the loops of a host.

use std::sync::Arc;
use std::time::Duration;

use daemon_dispatch::{Concern, HostEvent};
use daemon_engine::{ActivationState, Missing};
use daemon_event::ActivationId;

use super::Inner;
use super::dispatch::{Driver, settings};
use daemon_runner::error::{OpError, OpErrorKind};

/// Executes one activation to its end, outputs included, without the loops of a host; or until something that it needs is
/// missing.
///
/// # Errors
/// If the store fails.
pub async fn run_one(
    inner: &Arc<Inner>,
    id: &ActivationId,
    provider: Option<&str>,
) -> Result<(), OpError> {
    let concerns = [Concern::Leases, Concern::Outputs];
    let mut driver = Driver::new(inner, &concerns).with_provider(provider);
    loop {
        if let Some(why) = inner.pause() {
            return Err(OpError::new(OpErrorKind::Busy, "paused", why));
        }
        let request = settings(inner, &inner.config()).claim_request(inner.clock.now());
        let claimed = inner.store.claim_one(id, &request).await?;
        driver.handle(match claimed {
            Some(activation) => HostEvent::Claimed(Some(Box::new(activation))),
            None => HostEvent::Time,
        });
        driver.until_quiet().await?;
        let found = inner.store.activation(id).await?;
        let activation = found.ok_or_else(|| OpError::not_found("activation", id.as_str()))?;
        // What is missing comes in its own time; a host goes on looking for it.
        let missing = activation.reason.as_deref().and_then(Missing::of_reason);
        if activation.state.is_final() || missing.is_some() {
            return Ok(());
        }
        let wait = match activation.state {
            ActivationState::Pending => activation
                .not_before
                .duration_since(inner.clock.now())
                .try_into()
                .unwrap_or_default(),
            _ => driver.wait().unwrap_or_default(),
        };
        tokio::time::sleep(wait.max(Duration::from_millis(20))).await;
    }
}
