//! The pause of claims after a crash loop.

use std::time::Duration;

use daemon_engine::{CRASH_LOOP_WINDOW, HostEnd, pause_of_claims};
use daemon_records::clock::Clock;
use daemon_store::{Store, StoreError};
use jiff::Timestamp;
use tokio::time::Instant;

/// How long nothing is claimed after a start that follows a crash loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClaimsPause {
    until: Option<PauseEnd>,
}

/// The end of a pause: by the clock that cannot be set, and as it is shown.
#[derive(Clone, Copy, Debug)]
struct PauseEnd {
    instant: Instant,
    shown: Timestamp,
}

impl ClaimsPause {
    /// Returns no pause.
    pub const fn none() -> Self {
        Self { until: None }
    }

    /// Decides about a start, given how the previous host of the home ended: hosts that crash again and again would otherwise
    /// carry out the activation that crashes them at every start.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn at_start(
        previous: HostEnd,
        store: &dyn Store,
        clock: &dyn Clock,
    ) -> Result<Self, StoreError> {
        if !previous.is_crash() {
            return Ok(Self::none());
        }
        let since = clock.now() - CRASH_LOOP_WINDOW;
        let n_recent = store.starts_after_crashes(since).await?;
        let Some(pause) = pause_of_claims(n_recent) else {
            return Ok(Self::none());
        };
        let pause = pause.unsigned_abs();
        tracing::error!(
            starts = n_recent,
            pause_s = pause.as_secs(),
            "the host crashed again and again within a minute: claims pause, intake and reads are served"
        );
        Ok(Self {
            until: Some(PauseEnd {
                instant: Instant::now() + pause,
                shown: clock.now() + pause,
            }),
        })
    }

    /// Returns how much longer nothing is claimed.
    pub(crate) fn left(self) -> Option<Duration> {
        let left = self
            .until?
            .instant
            .saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Returns why no activation starts and until when, while the pause lasts. One-off runs are not paused: a parent agent
    /// waits for them, and none of them is started again by itself.
    pub(crate) fn reason(self) -> Option<String> {
        self.left()?;
        let until = self.until?.shown.strftime("%Y-%m-%dT%H:%M:%SZ");
        Some(format!(
            "crash loop: hosts of this home crashed again and again; paused until {until}"
        ))
    }
}
