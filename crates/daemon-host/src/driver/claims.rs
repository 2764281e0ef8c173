//! The pause of claims after a crash loop.

use std::time::Duration;

use daemon_engine::{CRASH_LOOP_WINDOW, HostEnd, pause_of_claims};
use daemon_store::StoreError;

use super::Inner;

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
}
