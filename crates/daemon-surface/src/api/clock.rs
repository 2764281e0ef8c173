//! The wall clock of a client: limits of services end at an instant of it, and tokens expire.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// The wall clock that a client reads; libraries do not read that of the machine.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl WallClock {
    /// Makes a clock from a function that returns the time.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}
