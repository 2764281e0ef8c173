//! The keys that share an expression and a zone, and the cursor they share.

use std::hash::BuildHasher as _;

use daemon_cron::Schedule;
use hashbrown::{DefaultHashBuilder, HashMap};
use jiff::Timestamp;

/// Cursors by slot.
pub(crate) type OddCursors = HashMap<u32, Timestamp>;

/// The keys of one expression in one zone.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) schedule: Schedule,
    pub(crate) zone: u32,
    pub(crate) position: u32,
    pub(crate) members: Vec<u32>,
    /// The cursor of every member without an odd one: they fire together.
    pub(crate) cursor: Timestamp,
    pub(crate) n_odd: u32,
}

impl Group {
    pub(crate) fn hash(&self, hasher: &DefaultHashBuilder) -> u64 {
        hasher.hash_one((self.schedule.expr(), self.zone))
    }

    /// Tells that no member has a tick between its cursor and an instant.
    pub(crate) fn is_recorded_until(&self, to: Timestamp) -> bool {
        let latest = self.schedule.latest_until(to);
        latest.is_none_or(|latest| self.n_odd == 0 && latest <= self.cursor)
    }

    pub(crate) fn cursor_of(&self, slot: u32, odd: &OddCursors) -> Timestamp {
        if self.n_odd == 0 {
            return self.cursor;
        }
        odd.get(&slot).copied().unwrap_or(self.cursor)
    }

    pub(crate) fn put_cursor(&mut self, slot: u32, cursor: Timestamp, odd: &mut OddCursors) {
        self.forget_odd(slot, odd);
        if cursor != self.cursor {
            odd.insert(slot, cursor);
            self.n_odd += 1;
        }
    }

    pub(crate) fn forget_odd(&mut self, slot: u32, odd: &mut OddCursors) {
        if self.n_odd > 0 && odd.remove(&slot).is_some() {
            self.n_odd -= 1;
        }
    }

    /// Moves the cursors of some members; when it is all of them, they are alike again.
    pub(crate) fn record(&mut self, slots: &[u32], to: Timestamp, odd: &mut OddCursors) {
        if slots.len() == self.members.len() {
            slots.iter().for_each(|slot| self.forget_odd(*slot, odd));
            self.cursor = to;
        } else {
            slots
                .iter()
                .for_each(|slot| self.put_cursor(*slot, to, odd));
        }
    }
}
