//! Many keys at once: everything is sized before it is filled.

use std::hash::{BuildHasher as _, Hash};

use daemon_cron::{CronExpr, Zone};
use hashbrown::hash_table::Entry;
use jiff::Timestamp;

use super::{Scheduler, Slot, at, index};

/// A key with its expression, its zone and its cursor.
type Loaded<'z, K> = (K, CronExpr, &'z Zone, Timestamp);

impl<K: Hash + Eq> Scheduler<K> {
    /// Registers many keys, as [`insert`](Self::insert) would one after the other.
    ///
    /// It takes a fraction of the time, since neither the keys nor the lists behind the expressions
    /// move while they grow.
    pub fn insert_all<'z>(&mut self, entries: impl IntoIterator<Item = Loaded<'z, K>>) {
        let entries = entries.into_iter();
        let (n_expected, _) = entries.size_hint();
        self.reserve(n_expected);
        let first = self.slots.len();
        let mut known = Vec::new();
        for entry in entries {
            known.extend(self.take_in(entry));
        }
        self.fill_groups(first);
        // Replacing a key looks for it among those behind its expression.
        for (key, expr, zone, cursor) in known {
            self.insert(key, expr, zone, cursor);
        }
    }

    fn reserve(&mut self, n_more: usize) {
        let Self {
            slots,
            by_key,
            hasher,
            behind,
            ..
        } = self;
        slots.reserve_exact(n_more);
        behind.reserve_exact(n_more);
        by_key.reserve(n_more, |slot| hasher.hash_one(&slots[at(*slot)].key));
    }

    /// Gives a key a slot, or returns the entry if it has one.
    fn take_in<'z>(&mut self, entry: Loaded<'z, K>) -> Option<Loaded<'z, K>> {
        let (key, expr, zone, cursor) = entry;
        let slot = index(self.slots.len());
        let hash = self.hasher.hash_one(&key);
        let Self {
            by_key,
            slots,
            hasher,
            ..
        } = self;
        let place = by_key.entry(
            hash,
            |slot| slots[at(*slot)].key == key,
            |slot| hasher.hash_one(&slots[at(*slot)].key),
        );
        let Entry::Vacant(place) = place else {
            return Some((key, expr, zone, cursor));
        };
        place.insert(slot);
        let group = self.group_of(expr, zone, cursor);
        self.slots.push(Slot { key, group });
        self.put_cursor(slot, cursor);
        self.behind.push(slot);
        None
    }

    /// Puts the slots from `first` on into the lists of their groups.
    fn fill_groups(&mut self, first: usize) {
        let mut n_joining = vec![0_usize; self.groups.len()];
        for slot in &self.slots[first..] {
            n_joining[at(slot.group)] += 1;
        }
        for (group, n_joining) in self.groups.iter_mut().zip(n_joining) {
            group.members.reserve_exact(n_joining);
        }
        for (position, slot) in self.slots.iter().enumerate().skip(first) {
            self.groups[at(slot.group)].members.push(index(position));
        }
    }
}
