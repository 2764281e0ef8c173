//! Many keys at once: everything is sized before it is filled.

use std::hash::{BuildHasher as _, Hash};

use daemon_cron::{CronExpr, Schedule, Zone};
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
        for (key, expr, zone, cursor) in entries {
            let slot = index(self.slots.len());
            let group = self.group_of(expr, zone, cursor);
            self.slots.push(Slot { key, group });
            self.put_cursor(slot, cursor);
            self.behind.push(slot);
        }
        let repeated = self.find_places(first);
        let repeated = self.take_back(repeated);
        self.fill_groups(first);
        // Replacing a key looks for it among those behind its expression.
        for (key, schedule, cursor) in repeated {
            self.insert(key, schedule.expr(), schedule.zone(), cursor);
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

    /// Adds the keys of the slots from `first` on to the table, and returns the slots whose key another slot has.
    fn find_places(&mut self, first: usize) -> Vec<u32> {
        let n_new = self.slots.len() - first;
        let Self {
            by_key,
            slots,
            hasher,
            ..
        } = self;
        by_key.reserve(n_new, |slot| hasher.hash_one(&slots[at(*slot)].key));
        // The table is filled one part after the other: a part fits the cache, the whole table does not.
        let part_of = parts(by_key.num_buckets());
        let new = (first..slots.len()).map(index);
        let hashed = new.map(|slot| (hasher.hash_one(&slots[at(slot)].key), slot));
        let mut repeated = Vec::new();
        for (hash, slot) in by_part(hashed.collect(), part_of) {
            let key = &slots[at(slot)].key;
            let place = by_key.entry(
                hash,
                |other| slots[at(*other)].key == *key,
                |other| hasher.hash_one(&slots[at(*other)].key),
            );
            match place {
                Entry::Vacant(place) => {
                    place.insert(slot);
                }
                Entry::Occupied(_) => repeated.push(slot),
            }
        }
        repeated.sort_unstable();
        repeated
    }

    /// Removes slots whose key another one has, and returns what they held.
    fn take_back(&mut self, repeated: Vec<u32>) -> Vec<(K, Schedule, Timestamp)> {
        let mut acc = Vec::with_capacity(repeated.len());
        for slot in repeated.into_iter().rev() {
            let cursor = self.cursor_of(slot);
            self.forget_odd(slot);
            let last = index(self.slots.len() - 1);
            // The new slots are the last ones of `behind` too, and are not in the lists of their groups yet.
            self.behind.pop();
            let Slot { key, group } = self.slots.swap_remove(at(slot));
            if slot != last {
                self.rename(last, slot);
            }
            acc.push((key, self.groups[at(group)].schedule.clone(), cursor));
        }
        acc.reverse();
        acc
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

/// The number of parts a table is filled in; with a million keys a part has 40 KiB.
const N_PARTS: usize = 256;

/// Returns a function from a hash to its part of a table with this many buckets.
fn parts(n_buckets: usize) -> impl Fn(u64) -> usize {
    let mask = n_buckets.saturating_sub(1);
    let shift = n_buckets
        .checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(N_PARTS.ilog2());
    // The lowest bits of a hash choose the bucket.
    move |hash| (usize::try_from(hash & u64::from(u32::MAX)).expect("32 bits fit") & mask) >> shift
}

/// Orders hashed slots by their part; within a part they stay in their order.
fn by_part(hashed: Vec<(u64, u32)>, part_of: impl Fn(u64) -> usize) -> Vec<(u64, u32)> {
    let mut starts = vec![0; N_PARTS + 1];
    for (hash, _) in &hashed {
        starts[part_of(*hash) + 1] += 1;
    }
    for part in 1..starts.len() {
        starts[part] += starts[part - 1];
    }
    let mut acc = vec![(0, 0); hashed.len()];
    for (hash, slot) in hashed {
        let next = &mut starts[part_of(hash)];
        acc[*next] = (hash, slot);
        *next += 1;
    }
    acc
}
