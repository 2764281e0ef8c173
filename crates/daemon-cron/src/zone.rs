//! Time zones as a table of stretches with a constant offset.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::civil::{FIRST_SECOND, LAST_SECOND};

/// A time zone with a table of its offset transitions.
///
/// Clones share the table, so create one `Zone` per time zone and clone it for each schedule. The
/// table covers 1972 to 2100; for later instants the rules of the zone are evaluated.
///
/// Two zones are equal if they have the same name and the same transitions until 2100.
///
/// # Examples
///
/// ```
/// use daemon_cron::Zone;
///
/// let tokyo = Zone::new(jiff::tz::TimeZone::get("Asia/Tokyo")?);
/// assert_eq!(tokyo.name(), "Asia/Tokyo");
/// assert!(tokyo.is_fixed());
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Clone)]
pub struct Zone(Arc<Table>);

struct Table {
    name: Box<str>,
    zone: TimeZone,
    /// Consecutive from the start of the domain. The last one ends at `TABLE_END` or later.
    stretches: Box<[Stretch]>,
    /// For each span of 2²⁴ seconds the stretch that contains its first second.
    index: Box<[u16]>,
}

/// A stretch of time in which the offset of a zone is constant. All values are seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) offset: i64,
    /// The offset before `start`.
    pub(crate) before: i64,
    /// The offset from `end` on.
    pub(crate) after: i64,
    /// The first second after the gap or the repeated time that begins the stretch.
    pub(crate) settled: i64,
}

/// 2100-01-01T00:00:00Z.
const TABLE_END: i64 = 4_102_444_800;

// 2²⁴ seconds are 194 days. Few transitions fall into one span, so the scan that follows the lookup
// is short, and the index of 128 years stays small.
const SPAN_BITS: u32 = 24;

impl Zone {
    /// Creates a zone from a `jiff` time zone, and computes the table of its transitions.
    ///
    /// `jiff`'s [`TimeZone::get`] reads a zone from the time zone database of the system; a zone can
    /// also come from TZif data or a POSIX string.
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

    /// Returns Coordinated Universal Time (UTC).
    pub fn utc() -> Self {
        Self::new(TimeZone::UTC)
    }

    /// Returns the IANA name, or the offset if the zone has no name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the `jiff` time zone, for printing ticks in local time.
    pub fn time_zone(&self) -> &TimeZone {
        &self.0.zone
    }

    /// Returns `true` if the offset is the same from 1972 on.
    pub fn is_fixed(&self) -> bool {
        self.0.stretches.len() == 1
    }

    /// Returns the stretch that contains `second`.
    pub(crate) fn stretch_at(&self, second: i64) -> Stretch {
        match self.tabulated(second) {
            Some(stretch) => *stretch,
            None => stretch_of(&self.0.zone, second),
        }
    }

    /// Returns the stretch that contains `second`, or `None` if `second` is after the table.
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

/// Computes the stretch that contains `second` from the rules of the zone. Transitions that keep the
/// offset, such as a new abbreviation, do not end a stretch.
fn stretch_of(zone: &TimeZone, second: i64) -> Stretch {
    let at = timestamp(second);
    let offset = i64::from(zone.to_offset(at).seconds());
    let offset_at = |second: i64| i64::from(zone.to_offset(timestamp(second)).seconds());
    let changed = |transition: &i64| offset_at(*transition) != offset_at(*transition - 1);
    // `preceding` is strict, but a transition at `second` itself begins the stretch.
    let start = zone
        .preceding(timestamp(second + 1))
        .map(|transition| transition.timestamp().as_second())
        // Transitions over a year before the domain cannot affect a tick in it.
        .take_while(|transition| *transition > FIRST_SECOND - 366 * 86_400)
        .find(changed);
    // For a TZif file without a rule for later years, `following` repeats the last transition without
    // end. The search stops at the first transition that is not later than the one before it.
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
    Timestamp::from_second(second).expect("the domain and its adjacent seconds are representable")
}

/// Returns the whole second of an instant, or `None` outside the years 1972 to 9998.
#[inline]
pub(crate) fn second_of(instant: Timestamp) -> Option<i64> {
    // `as_second` truncates towards zero. In the domain, which is after the epoch, this is the floor.
    let second = instant.as_second();
    (FIRST_SECOND..=LAST_SECOND)
        .contains(&second)
        .then_some(second)
}

/// Returns the instant at which a second begins, or `None` outside the domain.
#[inline]
pub(crate) fn in_domain(second: i64) -> Option<Timestamp> {
    if !(FIRST_SECOND..=LAST_SECOND).contains(&second) {
        return None;
    }
    Timestamp::from_second(second).ok()
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        // The name alone does not identify a zone: two versions of the time zone database can give it
        // different transitions. Clones, the common case, are recognised by the pointer.
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
