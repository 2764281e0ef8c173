//! The scheduler: it stores the schedules of many keys and reports the keys that are due.

mod load;
mod report;

use std::hash::{BuildHasher as _, Hash};

use daemon_cron::{CronExpr, Schedule, Zone};
use hashbrown::{DefaultHashBuilder, HashTable};
use jiff::Timestamp;

use crate::group::{KeyGroup, OddCursors};
use crate::index::ZoneIndex;

/// The schedules of many keys.
///
/// Keys with the same expression and zone share one entry. There is no timer per key, and no next
/// instant is computed: each minute the distinct expressions are tested at once, and the rest of
/// the work is proportional to the number of due keys. The price is a wake-up each minute.
///
/// Each key has a *cursor*: the instant up to which the caller has recorded its ticks.
/// [`advance`](Self::advance) moves the cursor when it reports the key. If recording fails,
/// [`set_cursor`](Self::set_cursor) sets it back, and the key is reported again.
///
/// # Examples
///
/// ```
/// use daemon_cron::Zone;
/// use daemon_schedule::Scheduler;
///
/// let mut scheduler = Scheduler::new();
/// let eight = "2026-11-20T08:00:00Z".parse()?;
/// scheduler.insert("nine", "0 9 * * *".parse()?, &Zone::utc(), eight);
/// scheduler.insert("ten", "0 10 * * *".parse()?, &Zone::utc(), eight);
///
/// let mut due = Vec::new();
/// scheduler.advance("2026-11-20T09:00:00Z".parse()?, |it| due.push(*it.key));
/// assert_eq!(due, ["nine"]);
/// assert_eq!(scheduler.deadline(), Some("2026-11-20T09:01:00Z".parse()?));
/// assert_eq!(scheduler.remove(&"ten"), Some(eight));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scheduler<K> {
    slots: Vec<Slot<K>>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
    groups: Vec<KeyGroup>,
    vacant: Vec<u32>,
    by_schedule: HashTable<u32>,
    zones: Vec<ZoneIndex>,
    /// Slots whose cursor was set, so that it may be earlier than a tick that has passed.
    behind: Vec<u32>,
    /// Cursors that differ from the cursor of their group because they were set after it fired.
    odd_cursors: OddCursors,
    /// The minute up to which every key was reported. `None` before the first `advance`.
    reached: Option<i64>,
}

#[derive(Debug)]
struct Slot<K> {
    key: K,
    group: u32,
}

/// A key with ticks to record, as [`Scheduler::advance`] reports it.
#[derive(Debug, PartialEq, Eq)]
pub struct Due<'a, K> {
    /// The key as it was inserted.
    pub key: &'a K,
    /// The schedule of the key, for [`TickPolicy::plan`](crate::TickPolicy::plan).
    pub schedule: &'a Schedule,
    /// The cursor before the report. Compare it with the stored cursor before recording.
    pub from: Timestamp,
    /// The instant after which ticks are to be recorded. Equal to `from`, or earlier if the cursor
    /// was in the future.
    pub after: Timestamp,
    /// The new cursor, once the ticks are recorded.
    pub to: Timestamp,
}

/// The direction in which the clock moved between two calls of [`Scheduler::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDirection {
    /// Forward, or back by less than two minutes. After such a step back nothing is reported until
    /// the clock has caught up.
    Forward,
    /// Back by two minutes or more. Cursors later than now were set to now; the caller retracts
    /// recorded ticks that are later than now.
    SteppedBack,
}

impl<K> Default for Scheduler<K> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            by_key: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            groups: Vec::new(),
            vacant: Vec::new(),
            by_schedule: HashTable::new(),
            zones: Vec::new(),
            behind: Vec::new(),
            odd_cursors: OddCursors::new(),
            reached: None,
        }
    }
}

impl<K: Hash + Eq> Scheduler<K> {
    /// Creates a scheduler without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns `true` if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Inserts a key with its schedule. Ticks later than `cursor` will be reported.
    ///
    /// A key that exists already is replaced. [`insert_all`](Self::insert_all) is faster for many
    /// keys.
    ///
    /// # Panics
    ///
    /// Panics if the number of keys exceeds `u32::MAX`.
    pub fn insert(&mut self, key: K, expr: CronExpr, zone: &Zone, cursor: Timestamp) {
        self.remove(&key);
        let group = self.group_of(expr, zone, cursor);
        let slot = index(self.slots.len());
        let hash = self.hasher.hash_one(&key);
        self.slots.push(Slot { key, group });
        let Self {
            by_key,
            slots,
            hasher,
            ..
        } = self;
        by_key.insert_unique(hash, slot, |slot| hasher.hash_one(&slots[at(*slot)].key));
        let members = &mut self.groups[at(group)].members;
        if members.len() == members.capacity() {
            // Grow by a quarter: doubling would leave a third of the memory unused.
            members.reserve_exact(members.len() / 4 + 1);
        }
        members.push(slot);
        self.put_cursor(slot, cursor);
        self.behind.push(slot);
    }

    /// Removes a key and returns its cursor, or `None` if the key does not exist.
    pub fn remove(&mut self, key: &K) -> Option<Timestamp> {
        let hash = self.hasher.hash_one(key);
        let entry = self
            .by_key
            .find_entry(hash, |slot| self.slots[at(*slot)].key == *key)
            .ok()?;
        let (slot, _) = entry.remove();
        let cursor = self.cursor_of(slot);
        self.forget_odd(slot);
        self.leave_group(slot);
        self.behind.retain(|behind| *behind != slot);
        self.slots.swap_remove(at(slot));
        let moved = index(self.slots.len());
        if moved != slot {
            self.rename(moved, slot);
        }
        Some(cursor)
    }

    /// Returns the schedule of a key.
    pub fn schedule(&self, key: &K) -> Option<&Schedule> {
        let slot = self.slot_of(key)?;
        Some(&self.groups[at(self.slots[at(slot)].group)].schedule)
    }

    /// Returns the cursor of a key.
    pub fn cursor(&self, key: &K) -> Option<Timestamp> {
        self.slot_of(key).map(|slot| self.cursor_of(slot))
    }

    /// Sets the cursor of a key. Ticks later than it are reported again.
    ///
    /// Call it with the stored cursor when recording failed or another process recorded first. A key
    /// that does not exist is ignored, because it may have been removed in the meantime.
    pub fn set_cursor(&mut self, key: &K, cursor: Timestamp) {
        if let Some(slot) = self.slot_of(key) {
            self.put_cursor(slot, cursor);
            self.behind.push(slot);
        }
    }

    /// Returns the instant at which to call [`advance`](Self::advance) next, or `None` without keys.
    ///
    /// This is the next whole minute, or [`Timestamp::UNIX_EPOCH`] after a change, which means at
    /// once. Calling `advance` earlier is harmless.
    pub fn deadline(&self) -> Option<Timestamp> {
        if self.slots.is_empty() {
            return None;
        }
        match self.reached {
            Some(reached) if self.behind.is_empty() => Some(instant(reached + 1)),
            _ => Some(Timestamp::UNIX_EPOCH),
        }
    }

    /// Moves to `now` and reports every key with unrecorded ticks, each key once.
    ///
    /// The order of the reports is unspecified. Before 1972 and after 9998 nothing is due.
    pub fn advance(
        &mut self,
        now: Timestamp,
        mut report: impl FnMut(Due<'_, K>),
    ) -> ClockDirection {
        let minute = now.as_second().div_euclid(60);
        let mut direction = ClockDirection::Forward;
        match self.reached {
            Some(reached) if minute + 1 < reached => {
                self.step_back(now);
                direction = ClockDirection::SteppedBack;
            }
            // Time synchronisation can set a clock back across the start of a minute. The minute was
            // reported already, so nothing is due until the clock is past it.
            Some(reached) if minute < reached => return ClockDirection::Forward,
            _ => {}
        }
        let since = self.reached.unwrap_or(minute);
        self.reached = Some(minute);
        // Keys with a cursor of their own go first: their reports move the cursors, so that the
        // groups below do not report them a second time.
        self.report_behind(minute, &mut report);
        for group in self.groups_due(since, minute) {
            self.report_group(group, since, minute, &mut report);
        }
        direction
    }

    /// Sets every cursor that is later than `now` to `now`, after the clock stepped back.
    ///
    /// [`advance`](Self::advance) does this when time runs back by two minutes or more. A driver that
    /// notices smaller steps calls it.
    pub fn step_back(&mut self, now: Timestamp) {
        let minute = now.as_second().div_euclid(60);
        self.reached = self.reached.map(|reached| reached.min(minute));
        let odd = self.odd_cursors.values_mut();
        let shared = self.groups.iter_mut().map(|group| &mut group.cursor);
        odd.chain(shared)
            .for_each(|cursor| *cursor = (*cursor).min(now));
    }

    fn group_of(&mut self, expr: CronExpr, zone: &Zone, cursor: Timestamp) -> u32 {
        // A scan suffices: zones are few, and clones of the same zone are equal by their pointer.
        let zone_at = match self.zones.iter().position(|index| index.zone() == zone) {
            Some(position) => position,
            None => {
                self.zones.push(ZoneIndex::new(zone.clone()));
                self.zones.len() - 1
            }
        };
        let zone_index = index(zone_at);
        let Self {
            groups,
            hasher,
            by_schedule,
            ..
        } = self;
        let hash = hasher.hash_one((expr, zone_index));
        let is_it = |group: &KeyGroup| group.zone == zone_index && group.schedule.expr() == expr;
        if let Some(group) = by_schedule.find(hash, |group| is_it(&groups[at(*group)])) {
            return *group;
        }
        let group = self.vacant.pop().unwrap_or_else(|| index(groups.len()));
        let entry = KeyGroup {
            schedule: Schedule::new(expr, zone.clone()),
            zone: zone_index,
            position: self.zones[zone_at].insert(&expr, group),
            members: Vec::new(),
            cursor,
            n_odd: 0,
        };
        match groups.get_mut(at(group)) {
            Some(vacant) => *vacant = entry,
            None => groups.push(entry),
        }
        by_schedule.insert_unique(hash, group, |group| groups[at(*group)].hash(hasher));
        group
    }

    fn leave_group(&mut self, slot: u32) {
        let group_at = self.slots[at(slot)].group;
        let group = &mut self.groups[at(group_at)];
        if let Some(position) = group.members.iter().position(|member| *member == slot) {
            group.members.swap_remove(position);
        }
        if group.members.is_empty() {
            let (zone, position, hash) = (group.zone, group.position, group.hash(&self.hasher));
            self.zones[at(zone)].remove(position);
            if let Ok(entry) = self
                .by_schedule
                .find_entry(hash, |group| *group == group_at)
            {
                entry.remove();
            }
            self.vacant.push(group_at);
        }
    }

    /// Updates every reference to a slot that moved from `old` to `new`.
    fn rename(&mut self, old: u32, new: u32) {
        let hash = self.hasher.hash_one(&self.slots[at(new)].key);
        if let Some(slot) = self.by_key.find_mut(hash, |slot| *slot == old) {
            *slot = new;
        }
        let members = &mut self.groups[at(self.slots[at(new)].group)].members;
        members
            .iter_mut()
            .filter(|member| **member == old)
            .for_each(|member| *member = new);
        self.behind
            .iter_mut()
            .filter(|slot| **slot == old)
            .for_each(|slot| *slot = new);
        if let Some(cursor) = self.odd_cursors.remove(&old) {
            self.odd_cursors.insert(new, cursor);
        }
    }

    fn slot_of(&self, key: &K) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.by_key
            .find(hash, |slot| self.slots[at(*slot)].key == *key)
            .copied()
    }

    fn cursor_of(&self, slot: u32) -> Timestamp {
        self.groups[at(self.slots[at(slot)].group)].cursor_of(slot, &self.odd_cursors)
    }

    fn put_cursor(&mut self, slot: u32, cursor: Timestamp) {
        let group = &mut self.groups[at(self.slots[at(slot)].group)];
        group.put_cursor(slot, cursor, &mut self.odd_cursors);
    }

    fn forget_odd(&mut self, slot: u32) {
        let group = &mut self.groups[at(self.slots[at(slot)].group)];
        group.forget_odd(slot, &mut self.odd_cursors);
    }
}

fn instant(minute: i64) -> Timestamp {
    Timestamp::from_second(minute.saturating_mul(60)).unwrap_or(Timestamp::MAX)
}

// Slots and groups are stored as 32-bit indices, which take half the memory of `usize`.
fn at(index: u32) -> usize {
    usize::try_from(index).expect("indices are counted in 32 bits")
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("keys are counted in 32 bits")
}
