//! Whether schedules are evaluated, for the roster: a daemon whose schedule nothing evaluates must not look alive.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Schedules that nothing has looked at for this long are not evaluated. The loop looks every second.
const SILENT: Duration = Duration::from_secs(60);

/// What the tick loop did last.
#[derive(Debug)]
pub(crate) struct TickHealth(Mutex<LastRound>);

#[derive(Debug)]
struct LastRound {
    at: Instant,
    /// Why the round evaluated nothing.
    waits: Option<&'static str>,
}

impl Default for TickHealth {
    /// The loop is about to begin.
    fn default() -> Self {
        Self(Mutex::new(LastRound {
            at: Instant::now(),
            waits: None,
        }))
    }
}

impl TickHealth {
    /// Notes a round that evaluated all schedules, or none for a reason.
    pub(super) fn note(&self, waits: Option<&'static str>) {
        let at = Instant::now();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = LastRound { at, waits };
    }

    /// Returns why schedules are not evaluated.
    pub(crate) fn trouble(&self) -> Option<&'static str> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.at.elapsed() > SILENT {
            return Some(
                "schedules are not evaluated: no round of the scheduler ended for a minute",
            );
        }
        last.waits
    }
}

#[cfg(test)]
mod tests {
    use super::{SILENT, TickHealth};

    #[test]
    fn a_scheduler_that_waits_or_is_silent_has_a_trouble() {
        let health = TickHealth::default();
        assert_eq!(health.trouble(), None);
        health.note(Some("it waits"));
        assert_eq!(health.trouble(), Some("it waits"));
        health.note(None);
        assert_eq!(health.trouble(), None);
        let long_ago = health.0.lock().unwrap().at.checked_sub(SILENT * 2);
        health.0.lock().unwrap().at = long_ago.expect("the machine runs for longer");
        assert!(health.trouble().is_some_and(|why| why.contains("a minute")));
    }
}
