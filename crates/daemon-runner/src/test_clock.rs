//! A clock for tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_records::clock::Clock;
use jiff::Timestamp;

/// A clock that shows the time that a test sets.
#[derive(Debug, Default)]
pub(crate) struct TestClock(Mutex<Timestamp>);

impl TestClock {
    pub(crate) fn at(now: Timestamp) -> Arc<Self> {
        Arc::new(Self(Mutex::new(now)))
    }

    pub(crate) fn set(&self, now: Timestamp) {
        *self.0.lock().expect("no holder panics") = now;
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no holder panics")
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}
