//! Zones as stretches of constant offset, tabulated so that finding one costs a lookup.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::civil::{FIRST_SECOND, LAST_SECOND};

/// A time zone with its transitions at hand.
///
/// Cloning shares the table. The table reaches to the year 2100; later instants are looked up in
/// the zone's rules.
#[derive(Clone)]
pub struct Zone(Arc<Table>);

struct Table {
    name: Box<str>,
    zone: TimeZone,
    /// Consecutive from the start of the domain; the last reaches `TABLE_END` or beyond.
    stretches: Box<[Stretch]>,
    /// For each span of 2²⁴ seconds the stretch its first second lies in.
    index: Box<[u16]>,
}

/// A stretch of time in which the zone keeps one offset. All values are seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) offset: i64,
    /// The offset before `start`.
    pub(crate) before: i64,
    /// The offset from `end` on.
    pub(crate) after: i64,
    /// From here on no minute is a second pass and no gap has just ended.
    pub(crate) settled: i64,
}

const TABLE_END: i64 = 4_102_444_800;
const SPAN_BITS: u32 = 24;

impl Zone {
    /// Tabulates the transitions of a zone.
    ///
    /// Where zones come from is the caller's choice; jiff's `TimeZone::get` reads the system's
    /// time zone database.
    pub fn new(zone: TimeZone) -> Self {
        let name = match zone.iana_name() {
            Some(name) => name.into(),
            None => zone
                .to_offset(Timestamp::UNIX_EPOCH)
                .to_string()
                .into_boxed_str(),
        };
        let mut stretches = Vec::new();
        let mut at = FIRST_SECOND;
        while at < TABLE_END {
            let stretch = stretch_of(&zone, at);
            at = stretch.end;
            stretches.push(stretch);
        }
        let index = index_of(&stretches);
        Self(Arc::new(Table {
            name,
            zone,
            stretches: stretches.into(),
            index,
        }))
    }

    /// Returns coordinated universal time.
    pub fn utc() -> Self {
        Self::new(TimeZone::UTC)
    }

    /// Returns the IANA name, or the offset of a zone that has none.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the zone as jiff knows it.
    pub fn time_zone(&self) -> &TimeZone {
        &self.0.zone
    }

    /// Tells whether the offset never changes.
    pub fn is_fixed(&self) -> bool {
        self.0.stretches.len() == 1
    }

    /// Returns the stretch `second` lies in.
    pub(crate) fn stretch_at(&self, second: i64) -> Stretch {
        match self.tabulated(second) {
            Some(stretch) => *stretch,
            None => stretch_of(&self.0.zone, second),
        }
    }

    /// Returns the stretch `second` lies in unless it is beyond the table.
    #[inline]
    pub(crate) fn tabulated(&self, second: i64) -> Option<&Stretch> {
        let Table {
            stretches, index, ..
        } = &*self.0;
        let span = usize::try_from((second - FIRST_SECOND) >> SPAN_BITS).unwrap_or(0);
        let first = index
            .get(span)
            .map_or(stretches.len() - 1, |at| usize::from(*at));
        stretches[first..]
            .iter()
            .find(|stretch| second < stretch.end)
    }
}

fn index_of(stretches: &[Stretch]) -> Box<[u16]> {
    let n_spans = (TABLE_END - FIRST_SECOND) >> SPAN_BITS;
    (0..=n_spans)
        .map(|span| {
            let second = FIRST_SECOND + (span << SPAN_BITS);
            let at = stretches.partition_point(|stretch| stretch.end <= second);
            u16::try_from(at.min(stretches.len() - 1)).expect("a zone has few transitions")
        })
        .collect()
}

/// Looks the stretch around `second` up in the zone's rules. Transitions that keep the offset
/// (a new abbreviation) do not bound it.
fn stretch_of(zone: &TimeZone, second: i64) -> Stretch {
    let at = timestamp(second);
    let offset = i64::from(zone.to_offset(at).seconds());
    let offset_at = |second: i64| i64::from(zone.to_offset(timestamp(second)).seconds());
    let changed = |transition: &i64| offset_at(*transition) != offset_at(*transition - 1);
    // `preceding` is strict: a transition at this very second must be seen.
    let start = zone
        .preceding(timestamp(second + 1))
        .map(|transition| transition.timestamp().as_second())
        .take_while(|transition| *transition > FIRST_SECOND - 366 * 86_400)
        .find(changed);
    // A compiled zone without a rule for later years repeats its last transition for ever.
    let mut last = second;
    let mut is_onward = |transition: &i64| *transition > std::mem::replace(&mut last, *transition);
    let end = zone
        .following(at)
        .map(|transition| transition.timestamp().as_second())
        .take_while(|transition| is_onward(transition) && *transition <= LAST_SECOND)
        .find(changed);
    let before = start.map_or(offset, |start| offset_at(start - 1));
    Stretch {
        start: start.unwrap_or(i64::MIN),
        end: end.unwrap_or(i64::MAX),
        offset,
        before,
        after: end.map_or(offset, offset_at),
        settled: start.map_or(i64::MIN, |start| start + 1 + (before - offset).max(0)),
    }
}

fn timestamp(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("the domain and a second beside it are representable")
}

/// Returns the second an instant lies in; none outside the years 1972 to 9998.
#[inline]
pub(crate) fn second_of(instant: Timestamp) -> Option<i64> {
    // `as_second` truncates, and the domain is after the epoch, where that is the floor.
    let second = instant.as_second();
    (FIRST_SECOND..=LAST_SECOND)
        .contains(&second)
        .then_some(second)
}

/// Returns the instant a second begins with; none outside the domain.
#[inline]
pub(crate) fn in_domain(second: i64) -> Option<Timestamp> {
    if !(FIRST_SECOND..=LAST_SECOND).contains(&second) {
        return None;
    }
    Timestamp::from_second(second).ok()
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.name == other.0.name && self.0.stretches == other.0.stretches)
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name()).finish()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
