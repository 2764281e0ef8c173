//! Stored events that wait to be matched.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use daemon_event::EventId;
use daemon_store::{Accepted, Freshness};

use super::signals::Signals;

/// How many stored events wait to be matched, and which became due again. The store has the truth: a host that starts counts
/// again, so nothing here has to survive.
#[derive(Debug)]
pub(crate) struct Backlog {
    signals: Arc<Signals>,
    n_waiting: AtomicU64,
    /// Events that a later report made due again after matching had passed them.
    due_again: Mutex<Vec<EventId>>,
}

impl Backlog {
    pub(super) fn new(signals: &Arc<Signals>) -> Self {
        Self {
            signals: Arc::clone(signals),
            n_waiting: AtomicU64::new(0),
            due_again: Mutex::default(),
        }
    }

    /// Counts events that were stored, and wakes matching.
    pub(crate) fn add(&self, accepted: &[Accepted]) {
        let mut n_new = 0;
        for one in accepted {
            match one.freshness {
                Freshness::New => n_new += 1,
                Freshness::Report => self.due_again().push(one.id.clone()),
                Freshness::Duplicate => {}
            }
        }
        // Relaxed, because the number is an estimate and no other memory depends on it.
        self.n_waiting.fetch_add(n_new, Ordering::Relaxed);
        self.signals.matches.notify_one();
    }

    /// Removes and returns the events that became due again.
    pub(super) fn take_due_again(&self) -> Vec<EventId> {
        std::mem::take(&mut *self.due_again())
    }

    /// Replaces the count with that of the store.
    pub(super) fn set(&self, waiting: u64) {
        self.n_waiting.store(waiting, Ordering::Relaxed);
    }

    /// Subtracts events that were matched.
    pub(super) fn subtract(&self, n_matched: u64) {
        // Matching may have read an event before `add` has counted it.
        self.set(self.n_waiting().saturating_sub(n_matched));
    }

    /// Returns about how many events wait to be matched.
    pub(crate) fn n_waiting(&self) -> u64 {
        self.n_waiting.load(Ordering::Relaxed)
    }

    fn due_again(&self) -> std::sync::MutexGuard<'_, Vec<EventId>> {
        self.due_again.lock().expect("no holder panics")
    }
}
