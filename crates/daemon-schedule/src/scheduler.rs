//! The scheduler: keys go in with their schedules, `now` goes in, due keys come out.

mod load;

use std::hash::{BuildHasher as _, Hash};

use daemon_cron::{CronExpr, Schedule, Zone};
use hashbrown::{DefaultHashBuilder, HashTable};
use jiff::Timestamp;

use crate::group::{Group, OddCursors};
use crate::index::ZoneIndex;

/// A longer absence is searched expression by expression instead of minute by minute.
const MAX_STEPS: i64 = 64;
/// Fewer keys are sorted faster than all groups are gone through.
const MANY: usize = 64;

/// Knows the schedules of many keys and tells which are due.
///
/// Keys with the same expression and zone share one entry. There is no timer per key and no next
/// instant is computed: each minute the distinct expressions are tested at once, and the rest of
/// the work is proportional to what is due.
///
/// Each key has a *cursor*, the instant up to which its ticks are recorded by whoever records
/// them. [`advance`](Self::advance) moves it when it reports the key; when recording fails,
/// [`set_cursor`](Self::set_cursor) puts it back and the key is reported again.
#[derive(Debug)]
pub struct Scheduler<K> {
    slots: Vec<Slot<K>>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
    groups: Vec<Group>,
    vacant: Vec<u32>,
    by_schedule: HashTable<u32>,
    zones: Vec<ZoneIndex>,
    /// Slots whose cursor may lie before a tick that has passed.
    behind: Vec<u32>,
    /// Cursors that differ from their group's: those set since the group last fired.
    odd_cursors: OddCursors,
    /// The minute up to which every key has been reported.
    reached: Option<i64>,
}

#[derive(Debug)]
struct Slot<K> {
    key: K,
    group: u32,
}

/// A key with ticks to record.
#[derive(Debug, PartialEq, Eq)]
pub struct Due<'a, K> {
    /// The key.
    pub key: &'a K,
    /// Its schedule.
    pub schedule: &'a Schedule,
    /// The cursor as it was set, to compare with the one that is stored.
    pub from: Timestamp,
    /// The instant after which ticks are to be recorded: the cursor, or an earlier one when the
    /// cursor lay in the future.
    pub after: Timestamp,
    /// The cursor once the ticks are recorded.
    pub to: Timestamp,
}

/// Which way the clock went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Onward, or back by less than two minutes, which is waited out.
    Onward,
    /// Back: recorded ticks later than now are to be retracted, and cursors were set to now.
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
    /// Makes a scheduler without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Tells whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Registers a key, replacing what it had: ticks later than `cursor` are reported.
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
            // A quarter more, where doubling would leave a third of the memory unused.
            members.reserve_exact(members.len() / 4 + 1);
        }
        members.push(slot);
        self.put_cursor(slot, cursor);
        self.behind.push(slot);
    }

    /// Forgets a key and returns its cursor.
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

    /// Returns a key's schedule.
    pub fn schedule(&self, key: &K) -> Option<&Schedule> {
        let slot = self.slot_of(key)?;
        Some(&self.groups[at(self.slots[at(slot)].group)].schedule)
    }

    /// Returns a key's cursor.
    pub fn cursor(&self, key: &K) -> Option<Timestamp> {
        self.slot_of(key).map(|slot| self.cursor_of(slot))
    }

    /// Sets a key's cursor to what is stored; ticks later than it are reported (again).
    ///
    /// To be called when recording failed or somebody else was faster. Unknown keys are ignored:
    /// they were removed meanwhile.
    pub fn set_cursor(&mut self, key: &K, cursor: Timestamp) {
        if let Some(slot) = self.slot_of(key) {
            self.put_cursor(slot, cursor);
            self.behind.push(slot);
        }
    }

    /// Returns when to call [`advance`](Self::advance) again at the latest; none without keys.
    ///
    /// That is the next whole minute, or at once after a change. Calling earlier is harmless.
    pub fn deadline(&self) -> Option<Timestamp> {
        if self.slots.is_empty() {
            return None;
        }
        match self.reached {
            Some(reached) if self.behind.is_empty() => Some(instant(reached + 1)),
            _ => Some(Timestamp::UNIX_EPOCH),
        }
    }

    /// Moves to `now` and reports every key with a tick that is not recorded, once.
    ///
    /// Before 1972 and after 9998 nothing is due.
    pub fn advance(&mut self, now: Timestamp, mut report: impl FnMut(Due<'_, K>)) -> Passage {
        let minute = now.as_second().div_euclid(60);
        let mut passage = Passage::Onward;
        match self.reached {
            Some(reached) if minute + 1 < reached => {
                self.step_back(now);
                passage = Passage::SteppedBack;
            }
            // A clock that is disciplined back over the edge of a minute is waited for.
            Some(reached) if minute < reached => return Passage::Onward,
            _ => {}
        }
        let since = self.reached.unwrap_or(minute);
        self.reached = Some(minute);
        self.report_behind(minute, &mut report);
        for group in self.groups_due(since, minute) {
            self.report_group(group, since, minute, &mut report);
        }
        passage
    }

    /// Sets every cursor later than `now` to it: the clock stepped back.
    ///
    /// [`advance`](Self::advance) does so itself when it sees time run back by two minutes; a
    /// driver that notices smaller steps calls this.
    pub fn step_back(&mut self, now: Timestamp) {
        let minute = now.as_second().div_euclid(60);
        self.reached = self.reached.map(|reached| reached.min(minute));
        let odd = self.odd_cursors.values_mut();
        let shared = self.groups.iter_mut().map(|group| &mut group.cursor);
        odd.chain(shared)
            .for_each(|cursor| *cursor = (*cursor).min(now));
    }

    /// Reports those whose cursor was set, by their own cursor.
    fn report_behind(&mut self, minute: i64, report: &mut impl FnMut(Due<'_, K>)) {
        let to = instant(minute);
        let mut behind = std::mem::take(&mut self.behind);
        if behind.len() >= MANY && behind.len() > self.slots.len() / 8 {
            self.report_many_behind(&behind, to, report);
            return;
        }
        let slots = &self.slots;
        let group_of = |slot: &u32| slots[at(*slot)].group;
        behind.sort_unstable_by_key(|slot| (group_of(slot), *slot));
        behind.dedup();
        let mut rest = &behind[..];
        while let Some(first) = rest.first() {
            let group = self.slots[at(*first)].group;
            let n_alike = rest.partition_point(|slot| self.slots[at(*slot)].group == group);
            let (alike, others) = rest.split_at(n_alike);
            self.report_members(group, alike, to, report);
            rest = others;
        }
    }

    /// The lists of the groups are in order already: going through them costs less than sorting.
    fn report_many_behind(
        &mut self,
        behind: &[u32],
        to: Timestamp,
        report: &mut impl FnMut(Due<'_, K>),
    ) {
        let mut is_behind = vec![false; self.slots.len()];
        behind.iter().for_each(|slot| is_behind[at(*slot)] = true);
        for position in 0..self.groups.len() {
            let group = &self.groups[position];
            if group.members.is_empty() || group.is_recorded_until(to) {
                continue;
            }
            let members = group.members.iter().copied();
            let slots: Vec<u32> = members.filter(|slot| is_behind[at(*slot)]).collect();
            self.report_members(index(position), &slots, to, report);
        }
    }

    /// Reports those members of a group that have a tick later than their cursor.
    fn report_members(
        &mut self,
        group: u32,
        slots: &[u32],
        to: Timestamp,
        report: &mut impl FnMut(Due<'_, K>),
    ) {
        let Self {
            slots: entries,
            groups,
            odd_cursors,
            ..
        } = self;
        let group = &mut groups[at(group)];
        let Some(latest) = group.schedule.latest_until(to) else {
            return;
        };
        let mut due = Vec::new();
        for slot in slots {
            let from = group.cursor_of(*slot, odd_cursors);
            if latest > from {
                let (key, schedule) = (&entries[at(*slot)].key, &group.schedule);
                report(Due {
                    key,
                    schedule,
                    from,
                    after: from,
                    to,
                });
                due.push(*slot);
            }
        }
        group.record(&due, to, odd_cursors);
    }

    /// Reports the members of a group that fires later than minute `since`.
    fn report_group(
        &mut self,
        group: u32,
        since: i64,
        minute: i64,
        report: &mut impl FnMut(Due<'_, K>),
    ) {
        let Self {
            slots,
            groups,
            odd_cursors,
            ..
        } = self;
        let group = &mut groups[at(group)];
        let (start, to) = (instant(since), instant(minute));
        // One in the future must not mute its key; one in between was set after `since` and was
        // reported by itself.
        let after = |from: Timestamp| match from.as_second().div_euclid(60) {
            cursor if cursor <= since => Some(from),
            cursor if cursor > minute => Some(start),
            _ => None,
        };
        if group.n_odd == 0 {
            let Some(after) = after(group.cursor) else {
                return;
            };
            let (schedule, from) = (&group.schedule, group.cursor);
            for slot in &group.members {
                report(Due {
                    key: &slots[at(*slot)].key,
                    schedule,
                    from,
                    after,
                    to,
                });
            }
            group.cursor = to;
            return;
        }
        let mut due = Vec::new();
        for slot in &group.members {
            let from = group.cursor_of(*slot, odd_cursors);
            if let Some(after) = after(from) {
                let (key, schedule) = (&slots[at(*slot)].key, &group.schedule);
                report(Due {
                    key,
                    schedule,
                    from,
                    after,
                    to,
                });
                due.push(*slot);
            }
        }
        group.record(&due, to, odd_cursors);
    }

    /// Finds the groups that fire later than minute `since` and not later than `minute`.
    fn groups_due(&self, since: i64, minute: i64) -> Vec<u32> {
        let mut due = Vec::new();
        if minute - since > MAX_STEPS {
            let fires = |group: &Group| {
                !group.members.is_empty()
                    && group.schedule.latest_until(instant(minute)) > Some(instant(since))
            };
            due.extend(
                (0..)
                    .zip(&self.groups)
                    .filter(|(_, group)| fires(group))
                    .map(|(at, _)| at),
            );
            return due;
        }
        for zone in &self.zones {
            for minute in since + 1..=minute {
                zone.due_at(instant(minute), &mut due);
            }
        }
        if minute - since > 1 {
            due.sort_unstable();
            due.dedup();
        }
        due
    }

    fn group_of(&mut self, expr: CronExpr, zone: &Zone, cursor: Timestamp) -> u32 {
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
        let is_it = |group: &Group| group.zone == zone_index && group.schedule.expr() == expr;
        if let Some(group) = by_schedule.find(hash, |group| is_it(&groups[at(*group)])) {
            return *group;
        }
        let group = self.vacant.pop().unwrap_or_else(|| index(groups.len()));
        let entry = Group {
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

    /// Follows a slot that was moved to another place.
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

fn at(index: u32) -> usize {
    usize::try_from(index).expect("indices are counted in 32 bits")
}

fn index(at: usize) -> u32 {
    u32::try_from(at).expect("keys are counted in 32 bits")
}
