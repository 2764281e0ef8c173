//! Both clocks at one instant.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// What the clocks of a host showed as an event was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The wall clock, which can be set; what is stored goes by it.
    pub wall: Timestamp,
    /// The time since the machine was booted, which nothing sets; deadlines go by it.
    pub since_boot: Duration,
}

impl Now {
    /// Returns the deadline that is reached after a while.
    pub(crate) fn after(self, wait: Duration) -> Duration {
        self.since_boot + wait
    }

    /// Returns the deadline for an instant of the wall clock, `longest` from now at the latest.
    pub(crate) fn until(self, at: Option<Timestamp>, longest: Duration) -> Duration {
        let wait = at.map_or(longest, |at| {
            // Bounded, since a step of the wall clock changes when the instant comes, and no event reports that here.
            let left = at.duration_since(self.wall).max(SignedDuration::ZERO);
            left.unsigned_abs().min(longest)
        });
        self.after(wait)
    }
}
