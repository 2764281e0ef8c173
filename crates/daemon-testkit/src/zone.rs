//! A time zone as the list of its changes, with a slow conversion from and to local time.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A zone as stretches of constant offset, in seconds since 1970.
#[derive(Clone, Debug)]
pub struct SlowZone {
    /// The beginning and the offset of each stretch; the first begins long before all simulated times.
    stretches: Vec<(i64, i64)>,
}

/// The instants of a local minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The minute occurred at these instants, oldest first.
    At(Vec<i64>),
    /// Clocks skipped it: the instant at which the gap ended, and the seconds it left out.
    Skipped(i64, i64),
}

impl SlowZone {
    /// Lists the changes of a zone until the end of a year, from two years before the first one asked about.
    pub fn new(zone: &TimeZone, first_year: i16, last_year: i16) -> Self {
        let start = new_year(first_year - 2);
        let end = new_year(last_year + 2);
        let at = |second| Timestamp::from_second(second).expect("the years are in range");
        let offset = |second| i64::from(zone.to_offset(at(second)).seconds());
        let mut stretches = vec![(i64::MIN / 4, offset(start))];
        for change in zone.following(at(start)) {
            let second = change.timestamp().as_second();
            if second >= end {
                break;
            }
            let new = i64::from(change.offset().seconds());
            if stretches.last().is_some_and(|(_, old)| *old != new) {
                stretches.push((second, new));
            }
        }
        Self { stretches }
    }

    /// Makes the same zone with one offset for good from an instant on.
    pub(crate) fn settled(&self, from: i64, offset: i64) -> Self {
        let mut stretches = self.stretches.clone();
        stretches.retain(|(start, _)| *start < from);
        if stretches.last().is_some_and(|(_, old)| *old != offset) {
            stretches.push((from, offset));
        }
        Self { stretches }
    }

    /// Returns when each stretch begins, and its offset.
    pub(crate) fn stretches(&self) -> &[(i64, i64)] {
        &self.stretches
    }

    /// Returns what clocks show at an instant, as seconds of a wall that knows no zone.
    pub(crate) fn wall(&self, instant: i64) -> i64 {
        let after = self
            .stretches
            .partition_point(|(start, _)| *start <= instant);
        instant + self.stretches[after - 1].1
    }

    /// Returns when clocks show a minute.
    pub(crate) fn shown(&self, wall: i64) -> Shown {
        const DAYS: i64 = 2 * 86_400;
        let first = self
            .stretches
            .partition_point(|(start, _)| *start <= wall - DAYS);
        let mut instants = Vec::new();
        let mut gap = None;
        for place in first - 1..self.stretches.len() {
            let (start, offset) = self.stretches[place];
            if start > wall + DAYS {
                break;
            }
            let end = self
                .stretches
                .get(place + 1)
                .map_or(i64::MAX, |next| next.0);
            let instant = wall - offset;
            if start <= instant && instant < end {
                instants.push(instant);
            }
            if let Some((_, before)) = place.checked_sub(1).map(|one| self.stretches[one])
                && start + before <= wall
                && wall < start + offset
            {
                gap = Some((start, offset - before));
            }
        }
        match gap {
            Some((end, length)) if instants.is_empty() => Shown::Skipped(end, length),
            _ => Shown::At(instants),
        }
    }
}

/// Returns the first second of a year.
pub(crate) fn new_year(year: i16) -> i64 {
    let date = jiff::civil::date(year, 1, 1);
    date.since((jiff::Unit::Day, jiff::civil::date(1970, 1, 1)))
        .map_or(0, |span| i64::from(span.get_days()) * 86_400)
}
