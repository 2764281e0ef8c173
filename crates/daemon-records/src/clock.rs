//! The clocks of a host, which tests replace.

use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;

/// The two clocks that a host uses.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time of the wall clock, which people and time servers may set. It is cut to microseconds, the resolution of
    /// the stores, so that a time in memory equals the one that is read back.
    fn now(&self) -> Timestamp;

    /// Returns the time since the machine was booted, suspend included. Nothing sets this clock.
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
        // `CLOCK_BOOTTIME` is never negative, so that the conversions cannot fail.
        Duration::new(
            u64::try_from(since.tv_sec).unwrap_or(0),
            u32::try_from(since.tv_nsec).unwrap_or(0),
        )
    }
}

/// Returns the time of this machine's wall clock, for commands that run without a host. A host reads the clock that it was given.
pub fn now() -> Timestamp {
    SystemClock.now()
}
