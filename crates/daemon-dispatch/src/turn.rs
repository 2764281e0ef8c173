//! When a concern of the dispatcher acts next.

use std::time::Duration;

use crate::now::Now;

/// One of the things that a dispatcher does side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Concern {
    /// Watches how much room the disk has.
    Disk,
    /// Claims ready activations and has them executed.
    Claims,
    /// Renews the leases of what is executed.
    Leases,
    /// Has stored events matched.
    Matching,
    /// Sends, looks up and settles outputs.
    Outputs,
    /// Takes back expired leases, expires activations and forgets old rows.
    Sweeps,
}

impl Concern {
    /// Every concern.
    pub const ALL: [Self; 6] = [
        Self::Disk,
        Self::Claims,
        Self::Leases,
        Self::Matching,
        Self::Outputs,
        Self::Sweeps,
    ];
}

/// Whether a concern waits for an effect or for a deadline.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None` while an effect is under way.
    rests_until: Option<Duration>,
    is_nudged: bool,
}

impl Turn {
    /// Makes a turn that begins at a deadline.
    pub(crate) fn at(deadline: Duration) -> Self {
        Self {
            rests_until: Some(deadline),
            is_nudged: false,
        }
    }

    /// Ends the rest at once; while an effect is under way, the rest that follows it does not take place.
    pub(crate) fn nudge(&mut self) {
        self.is_nudged = true;
    }

    pub(crate) fn is_due(&self, now: Now) -> bool {
        self.deadline()
            .is_some_and(|deadline| deadline <= now.since_boot)
    }

    /// Notes that an effect is under way; what nudged before is served by it.
    pub(crate) fn begin(&mut self) {
        self.rests_until = None;
        self.is_nudged = false;
    }

    pub(crate) fn rest_until(&mut self, deadline: Duration) {
        self.rests_until = Some(deadline);
    }

    /// Makes it due at once.
    pub(crate) fn again(&mut self) {
        // Zero is past on a clock that counts from the boot, so that no reading of the clock is needed.
        self.rests_until = Some(Duration::ZERO);
    }

    /// Returns when it is due; `None` while an effect is under way.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let until = self.rests_until?;
        Some(if self.is_nudged {
            Duration::ZERO
        } else {
            until
        })
    }
}
