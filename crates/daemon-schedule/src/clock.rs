//! Detection of steps of the wall clock, by comparison with a clock that does not step.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The largest drift between the wall clock and the boot-time clock that is not a step: 60 seconds.
pub const MAX_DRIFT: SignedDuration = SignedDuration::from_secs(60);

/// Detects steps of the wall clock by comparing it with the time since boot.
///
/// The boot-time clock includes suspend and runs evenly, so the difference between the two clocks is
/// constant until the wall clock is set. Small corrections add up: when their sum exceeds
/// [`MAX_DRIFT`], it is reported as one step.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use daemon_schedule::{ClockStep, ClockWatch};
/// use jiff::{SignedDuration, Timestamp};
///
/// let at = |second| Timestamp::from_second(second).unwrap();
/// let mut watch = ClockWatch::default();
/// assert_eq!(watch.observe(at(1_000), Duration::from_secs(5)), None);
/// assert_eq!(watch.observe(at(1_041), Duration::from_secs(6)), None);
/// let back = ClockStep::Backward(SignedDuration::from_secs(3_600));
/// assert_eq!(watch.observe(at(1_002 - 3_600), Duration::from_secs(7)), Some(back));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ClockWatch {
    /// The wall-clock time of boot as of the first call or the last step. `None` before the first
    /// call.
    booted: Option<SignedDuration>,
}

/// A step of the wall clock. The duration is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockStep {
    /// The clock was set forward. The skipped time is treated like downtime.
    Forward(SignedDuration),
    /// The clock was set back. Instants occur a second time.
    Backward(SignedDuration),
}

impl ClockWatch {
    /// Compares a reading of both clocks with the previous one, and returns a step if there was one.
    ///
    /// Call it about once a second, with the clocks read one right after the other.
    pub fn observe(&mut self, wall: Timestamp, since_boot: Duration) -> Option<ClockStep> {
        let since_boot = SignedDuration::try_from(since_boot).unwrap_or(SignedDuration::MAX);
        let booted = wall.as_duration().saturating_sub(since_boot);
        let Some(believed) = self.booted else {
            self.booted = Some(booted);
            return None;
        };
        let drift = booted.saturating_sub(believed);
        // `booted` stays at its old value, so that a clock which is slewed in small corrections is
        // noticed too.
        if drift.abs() <= MAX_DRIFT {
            return None;
        }
        self.booted = Some(booted);
        Some(if drift.is_positive() {
            ClockStep::Forward(drift)
        } else {
            ClockStep::Backward(-drift)
        })
    }
}
