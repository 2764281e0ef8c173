//! The clocks of the machine, behind a seam.

use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;

/// The two clocks that a host goes by.
pub trait Clock: Debug + Send + Sync {
    /// Returns the instant by the wall clock, which people and time servers may set; in microseconds, as stores keep it.
    fn now(&self) -> Timestamp;

    /// Returns the time since the machine was booted, suspend included; nothing sets it.
    fn since_boot(&self) -> Duration;
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "every other clock is this one or a test's"
    )]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn since_boot(&self) -> Duration {
        let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(
            u64::try_from(since.tv_sec).unwrap_or(0),
            u32::try_from(since.tv_nsec).unwrap_or(0),
        )
    }
}
