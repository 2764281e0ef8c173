//! Steps of the wall clock, told by a clock that never steps.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// How far the wall clock may drift from the boot-time clock before it has stepped.
pub const MAX_DRIFT: SignedDuration = SignedDuration::from_secs(60);

/// Compares the wall clock with the time since boot, suspend included.
///
/// The boot-time clock runs evenly, so the difference of the two is constant until somebody sets the
/// wall clock. Small corrections add up until together they are a step.
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
    /// The wall clock when the machine was booted, as it was last believed.
    booted: Option<SignedDuration>,
}

/// A step of the wall clock, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockStep {
    /// Onward: time that nobody was awake in.
    Forward(SignedDuration),
    /// Back: instants come a second time.
    Backward(SignedDuration),
}

impl ClockWatch {
    /// Takes one look at both clocks; to be called about once a second.
    pub fn observe(&mut self, wall: Timestamp, since_boot: Duration) -> Option<ClockStep> {
        let since_boot = SignedDuration::try_from(since_boot).unwrap_or(SignedDuration::MAX);
        let booted = wall.as_duration().saturating_sub(since_boot);
        let Some(believed) = self.booted else {
            self.booted = Some(booted);
            return None;
        };
        let drift = booted.saturating_sub(believed);
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
