//! How a host stops: runs continue for a while, are asked to stop, and are left to the next host.

use std::time::Duration;

use crate::effect::HostEffect;
use crate::now::Now;

/// How much of the drain is kept for runs that were asked to stop.
const FOR_STOPPING: Duration = Duration::from_secs(5);
/// How long runs that were asked to stop are waited for; longer than what is kept, since each stores its end.
const LAST: Duration = Duration::from_secs(10);

/// How far a host has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopProgress {
    /// It was not asked to.
    No,
    /// Runs continue until the deadline.
    Draining(Duration),
    /// Runs were asked to stop, and are waited for until the deadline.
    Asked(Duration),
    /// Nothing is executed any more.
    Done,
}

impl StopProgress {
    pub(crate) fn begin(&mut self, drain: Duration, now: Now) {
        if *self == Self::No {
            // The time for stopping is part of the drain, so that both together end when the configuration says.
            *self = Self::Draining(now.after(drain.saturating_sub(FOR_STOPPING)));
        }
    }

    pub(crate) fn act(&mut self, is_executing: bool, now: Now, effects: &mut Vec<HostEffect>) {
        match *self {
            Self::No | Self::Done => {}
            Self::Draining(_) | Self::Asked(_) if !is_executing => *self = Self::Done,
            Self::Draining(deadline) if deadline <= now.since_boot => {
                effects.push(HostEffect::StopRuns);
                *self = Self::Asked(now.after(LAST));
            }
            Self::Asked(deadline) if deadline <= now.since_boot => {
                effects.push(HostEffect::AbandonRuns);
                *self = Self::Done;
            }
            Self::Draining(_) | Self::Asked(_) => {}
        }
    }

    pub(crate) fn deadline(self) -> Option<Duration> {
        match self {
            Self::Draining(deadline) | Self::Asked(deadline) => Some(deadline),
            Self::No | Self::Done => None,
        }
    }
}
