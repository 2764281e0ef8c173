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

    /// Returns how long a timer of the system has to run for this time to pass on the clocks.
    fn timer(&self, wait: Duration) -> Duration {
        wait
    }
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
        #[cfg(feature = "internal-testing")]
        let now = fast::wall(now);
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn since_boot(&self) -> Duration {
        let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // `CLOCK_BOOTTIME` is never negative, so that the conversions cannot fail.
        let since = Duration::new(
            u64::try_from(since.tv_sec).unwrap_or(0),
            u32::try_from(since.tv_nsec).unwrap_or(0),
        );
        #[cfg(feature = "internal-testing")]
        let since = since * fast::rate();
        since
    }

    #[cfg(feature = "internal-testing")]
    fn timer(&self, wait: Duration) -> Duration {
        // A clock that does not move has the timers of the machine.
        wait / fast::rate().max(1)
    }
}

/// Clocks that go faster than those of the machine, so that a test of hours takes minutes.
#[cfg(feature = "internal-testing")]
mod fast {
    use std::sync::OnceLock;

    use jiff::Timestamp;

    /// Returns how many seconds pass in one, and since which instant: `DAEMON_TEST_CLOCK=10:1764000000`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test reaches into a process that it started by nothing but its environment"
    )]
    fn asked() -> Option<(u32, Timestamp)> {
        static ASKED: OnceLock<Option<(u32, Timestamp)>> = OnceLock::new();
        *ASKED.get_or_init(|| {
            let asked = std::env::var("DAEMON_TEST_CLOCK").ok()?;
            let (rate, since) = asked.split_once(':')?;
            let since = Timestamp::from_second(since.parse().ok()?).ok()?;
            Some((rate.parse().ok()?, since))
        })
    }

    pub(super) fn rate() -> u32 {
        asked().map_or(1, |(rate, _)| rate)
    }

    pub(super) fn wall(now: Timestamp) -> Timestamp {
        asked().map_or(now, |(rate, since)| {
            let passed = now.duration_since(since);
            since + passed * i32::try_from(rate).expect("a test asks for less")
        })
    }
}

/// Returns the time of this machine's wall clock, for commands that run without a host. A host reads the clock that it was given.
pub fn now() -> Timestamp {
    SystemClock.now()
}
