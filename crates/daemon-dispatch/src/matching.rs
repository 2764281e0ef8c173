//! When stored events are matched, and how far.

use std::time::Duration;

use crate::claims::Loan;
use crate::effect::HostEffect;
use crate::event::MatchedBatch;
use crate::now::Now;
use crate::turn::Turn;

/// How long nothing is matched unless something wakes the dispatcher; also after the store failed.
const IDLE: Duration = Duration::from_secs(5);

/// How far the waiting events were read that belong to repositories of which nothing is known yet.
#[derive(Debug)]
pub(crate) struct MatchProgress {
    pub(crate) turn: Turn,
    passed: u64,
    n_waiting: u64,
    view: u64,
    waits_for_disk: bool,
}

impl MatchProgress {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            turn: Turn::at(now.since_boot),
            passed: 0,
            n_waiting: 0,
            view: 0,
            waits_for_disk: false,
        }
    }

    /// Matches once it is due, and claims in the same transaction if `lend` permits it.
    pub(crate) fn act(
        &mut self,
        now: Now,
        lend: impl FnOnce(&mut Vec<HostEffect>) -> Loan,
        effects: &mut Vec<HostEffect>,
    ) {
        if !self.turn.is_due(now) {
            return;
        }
        self.turn.begin();
        let claim = match lend(effects) {
            Loan::AfterReading => {
                self.waits_for_disk = true;
                return;
            }
            Loan::No => None,
            Loan::Yes(request) => Some(request),
        };
        effects.push(HostEffect::Match {
            after: self.passed,
            view: self.view,
            claim,
        });
    }

    pub(crate) fn disk_was_read(&mut self) {
        if std::mem::take(&mut self.waits_for_disk) {
            self.turn.again();
        }
    }

    pub(crate) fn matched(&mut self, batch: MatchedBatch, now: Now, effects: &mut Vec<HostEffect>) {
        if batch.view != self.view {
            (self.passed, self.n_waiting, self.view) = (0, 0, batch.view);
        }
        let Some(last) = batch.last else {
            effects.push(HostEffect::NoteBacklog(self.n_waiting));
            return self.turn.rest_until(now.after(IDLE));
        };
        let n_left = batch.n_read - batch.n_matched;
        self.n_waiting += n_left;
        // What was matched is no longer read; only what waits has to be passed over.
        if n_left > 0 || self.passed > 0 {
            self.passed = last;
        }
        self.turn.again();
    }

    /// Begins from the first event again: what became due again was passed to the round that failed.
    pub(crate) fn failed(&mut self, now: Now) {
        (self.passed, self.n_waiting) = (0, 0);
        self.turn.rest_until(now.after(IDLE));
    }
}
