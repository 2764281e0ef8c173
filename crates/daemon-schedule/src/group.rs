//! Groups: the keys that share an expression and a zone, with a common cursor.

use std::hash::BuildHasher as _;

use daemon_cron::Schedule;
use hashbrown::{DefaultHashBuilder, HashMap};
use jiff::Timestamp;

/// The cursors that differ from the cursor of their group, by slot.
pub(crate) type OddCursors = HashMap<u32, Timestamp>;

/// The keys with the same expression and zone.
#[derive(Debug)]
pub(crate) struct KeyGroup {
    pub(crate) schedule: Schedule,
    pub(crate) zone: u32,
    pub(crate) position: u32,
    pub(crate) members: Vec<u32>,
    /// The cursor of every member without an entry in [`OddCursors`]. Members fire together, so one
    /// common cursor replaces a write per key.
    pub(crate) cursor: Timestamp,
    pub(crate) n_odd: u32,
}

impl KeyGroup {
    pub(crate) fn hash(&self, hasher: &DefaultHashBuilder) -> u64 {
        hasher.hash_one((self.schedule.expr(), self.zone))
    }

    /// Returns `true` if no member has a tick later than its cursor and not later than `to`.
    pub(crate) fn is_recorded_until(&self, to: Timestamp) -> bool {
        // With odd cursors the answer is `false`: checking each costs as much as reporting them.
        let latest = self.schedule.latest_until(to);
        latest.is_none_or(|latest| self.n_odd == 0 && latest <= self.cursor)
    }

    // `n_odd` spares the hash lookup for most groups, which have no odd cursors.
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

    /// Moves the cursors of some members to `to`. If these are all members, the cursor of the group
    /// moves and no member has an odd cursor.
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
