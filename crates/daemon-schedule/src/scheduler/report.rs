//! Reporting the keys that are due.

use std::hash::Hash;

use jiff::Timestamp;

use super::{Due, Scheduler, at, index, instant};
use crate::group::KeyGroup;

// After a longer pause one search per expression costs less than a test of every minute.
const MAX_MINUTES: i64 = 64;
// Fewer keys are sorted faster than all groups are visited.
const MANY: usize = 64;

impl<K: Hash + Eq> Scheduler<K> {
    /// Reports the keys whose cursor was set, each by its own cursor.
    pub(super) fn report_behind(&mut self, minute: i64, report: &mut impl FnMut(Due<'_, K>)) {
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

    /// Does the work of [`report_behind`](Self::report_behind) for many keys. The member lists are
    /// grouped already, so visiting all of them costs less than sorting the keys.
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

    /// Reports the members of a group that have a tick later than their cursor.
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

    /// Reports the members of a group that fires after the minute `since`.
    pub(super) fn report_group(
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
        // A cursor in the future must not silence its key. A cursor between `since` and `minute` was
        // set in the meantime, and its key was reported by `report_behind`.
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

    /// Returns the groups that fire after the minute `since` and not after `minute`.
    pub(super) fn groups_due(&self, since: i64, minute: i64) -> Vec<u32> {
        let mut due = Vec::new();
        if minute - since > MAX_MINUTES {
            let fires = |group: &KeyGroup| {
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
        // A group can fire in several minutes, but within one minute a zone lists it once.
        if minute - since > 1 {
            due.sort_unstable();
            due.dedup();
        }
        due
    }
}
