//! Inserting many keys at once. All tables and lists are sized before they are filled.

use std::hash::{BuildHasher as _, Hash};

use daemon_cron::{CronExpr, Schedule, Zone};
use hashbrown::hash_table::Entry;
use jiff::Timestamp;

use super::{Scheduler, Slot, at, index};

/// A key with its expression, zone and cursor.
type KeyEntry<'z, K> = (K, CronExpr, &'z Zone, Timestamp);

impl<K: Hash + Eq> Scheduler<K> {
    /// Inserts many keys, each with its expression, zone and cursor.
    ///
    /// The result is the same as calling [`insert`](Self::insert) for each, but it takes a fraction
    /// of the time, because no list is moved while it grows. If a key occurs more than once, the last
    /// entry counts.
    pub fn insert_all<'z>(&mut self, entries: impl IntoIterator<Item = KeyEntry<'z, K>>) {
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
        // `insert` removes the old entry from the list of its group, so the lists come first.
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

    /// Adds the keys of the slots from `first` on to the hash table. Returns the slots whose key
    /// another slot already has.
    fn find_places(&mut self, first: usize) -> Vec<u32> {
        let n_new = self.slots.len() - first;
        let Self {
            by_key,
            slots,
            hasher,
            ..
        } = self;
        by_key.reserve(n_new, |slot| hasher.hash_one(&slots[at(*slot)].key));
        // The table is filled part by part: a part fits into the cache, the whole table does not.
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

    /// Removes slots whose key another slot has, and returns their contents in insertion order.
    fn take_back(&mut self, repeated: Vec<u32>) -> Vec<(K, Schedule, Timestamp)> {
        let mut acc = Vec::with_capacity(repeated.len());
        // From the highest slot down, so that `swap_remove` never moves a slot still to be removed.
        for slot in repeated.into_iter().rev() {
            let cursor = self.cursor_of(slot);
            self.forget_odd(slot);
            let last = index(self.slots.len() - 1);
            // The new slots are also the last ones of `behind`, so the highest is popped. No group
            // lists them yet.
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

    /// Adds the slots from `first` on to the member lists of their groups.
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

// With a million keys a part of the table has 40 KiB.
const N_PARTS: usize = 256;

/// Returns a function that maps a hash to its part of a table with `n_buckets` buckets.
fn parts(n_buckets: usize) -> impl Fn(u64) -> usize {
    let mask = n_buckets.saturating_sub(1);
    let shift = n_buckets
        .checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(N_PARTS.ilog2());
    // `hashbrown` selects the bucket by the lowest bits of the hash.
    move |hash| (usize::try_from(hash & u64::from(u32::MAX)).expect("32 bits fit") & mask) >> shift
}

/// Sorts hashed slots by part, with a stable counting sort.
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
