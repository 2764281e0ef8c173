//! An expression in a zone, with the rules for gaps and folds.

use jiff::Timestamp;

use crate::CronExpr;
use crate::civil::{FIRST_SECOND, LAST_SECOND};
use crate::zone::{Stretch, Zone, in_domain, second_of};

/// A gap of this length or more is a correction of the zone, not daylight saving.
pub(crate) const LONG_GAP: i64 = 3 * 3600;

/// An expression in a zone: it knows its instants in UTC.
///
/// When clocks skip, a *fixed-time* expression (neither minute nor hour contains `*`) fires once
/// as the gap ends, unless the gap is three hours or longer; when clocks repeat, it fires in the
/// first pass only. An *interval* follows the clock on the wall: nothing in a gap, both passes
/// of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    expr: CronExpr,
    zone: Zone,
}

impl Schedule {
    /// Joins an expression and a zone.
    pub const fn new(expr: CronExpr, zone: Zone) -> Self {
        Self { expr, zone }
    }

    /// Returns the expression.
    pub const fn expr(&self) -> CronExpr {
        self.expr
    }

    /// Returns the zone.
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the earliest tick strictly later than `after`.
    ///
    /// None when the expression never fires, and outside the years 1972 to 9998.
    #[inline]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.expr.next_after_in(&self.zone, after)
    }

    /// Returns the latest tick that is not later than `until`.
    ///
    /// None when there is none since 1972, and outside the years 1972 to 9998.
    pub fn latest_until(&self, until: Timestamp) -> Option<Timestamp> {
        if self.expr.never_fires() {
            return None;
        }
        let second = second_of(until)?;
        let mut stretch = self.zone.stretch_at(second);
        let mut last = second;
        loop {
            let clock = Clock::new(self.expr, stretch);
            if let Some(tick) = clock.last_until(last) {
                return in_domain(tick);
            }
            if clock.is_made_up_at_start() {
                return in_domain(stretch.start);
            }
            last = stretch.start.checked_sub(1)?;
            if last < FIRST_SECOND {
                return None;
            }
            stretch = self.zone.stretch_at(last);
        }
    }

    /// Counts the ticks later than `after` and not later than `until`.
    ///
    /// The cost grows with the months between the two, not with the ticks. Instants before 1972
    /// count as its beginning, instants after 9998 as its end.
    pub fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        let first = (after.as_second() + 1).max(FIRST_SECOND);
        let end = until.as_second().min(LAST_SECOND) + 1;
        if self.expr.never_fires() {
            return 0;
        }
        let mut at = first;
        let mut count = 0;
        while at < end {
            let stretch = self.zone.stretch_at(at);
            let clock = Clock::new(self.expr, stretch);
            count += clock.count(at, end.min(stretch.end));
            if at == stretch.start && clock.is_made_up_at_start() && !clock.fires_at(at) {
                count += 1;
            }
            at = stretch.end;
        }
        count
    }
}

impl CronExpr {
    /// Returns the earliest tick in a zone strictly later than `after`; see [`Schedule`].
    ///
    /// None when it never fires, and outside the years 1972 to 9998.
    #[inline]
    pub fn next_after_in(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        // The tick strictly later than an instant lies on a later second.
        let second = second_of(after)? + 1;
        // Nearly every tick lies in the stretch of the instant, away from changes of the clocks.
        if let Some(stretch) = zone.tabulated(second)
            && second >= stretch.settled
        {
            let found = self.first_from(minute_from(second + stretch.offset));
            let tick = i64::from(found) * 60 - stretch.offset;
            if tick < stretch.end {
                return in_domain(tick);
            }
        }
        self.next_across_changes(zone, second)
    }

    fn next_across_changes(&self, zone: &Zone, second: i64) -> Option<Timestamp> {
        let mut stretch = zone.stretch_at(second);
        if second == stretch.start && Clock::new(*self, stretch).is_made_up_at_start() {
            return in_domain(second);
        }
        let mut from = second + stretch.offset;
        let mut searched = i64::MAX;
        let mut found = i64::MAX;
        loop {
            from = from.max(Clock::new(*self, stretch).opening);
            // What was found before still is the first match from here unless the clocks went
            // back behind the start of that search, or forward beyond what it found.
            if from < searched || from > found {
                searched = from;
                found = i64::from(self.first_from(minute_from(from))) * 60;
            }
            if found - stretch.offset < stretch.end {
                return in_domain(found - stretch.offset);
            }
            let at = stretch.end;
            if at > LAST_SECOND {
                return None;
            }
            stretch = zone.stretch_at(at);
            from = at + stretch.offset;
            if found < from && self.makes_up(&stretch) {
                return in_domain(at);
            }
        }
    }

    /// Tells whether the expression fires as the gap before a stretch ends when it fell into it.
    fn makes_up(&self, stretch: &Stretch) -> bool {
        let gap = stretch.offset - stretch.before;
        0 < gap && gap < LONG_GAP && self.is_fixed_time()
    }
}

/// The wall clock of one stretch: turns instants into wall minutes and back.
struct Clock {
    expr: CronExpr,
    stretch: Stretch,
    /// The first wall second that counts: in a fold a fixed time has had its first pass.
    opening: i64,
}

impl Clock {
    #[inline]
    fn new(expr: CronExpr, stretch: Stretch) -> Self {
        let opening = if stretch.before > stretch.offset && expr.is_fixed_time() {
            stretch.start + stretch.before
        } else {
            i64::MIN
        };
        Self {
            expr,
            stretch,
            opening,
        }
    }

    /// Returns the last tick of the stretch that is not after `second`.
    fn last_until(&self, second: i64) -> Option<i64> {
        let minute = u32::try_from((second + self.stretch.offset).div_euclid(60)).ok()?;
        let wall = i64::from(self.expr.last_until(minute)?) * 60;
        let tick = wall - self.stretch.offset;
        (tick >= self.stretch.start && wall >= self.opening).then_some(tick)
    }

    /// Counts the ticks of the stretch from second `from` until just before second `until`.
    fn count(&self, from: i64, until: i64) -> u64 {
        let from = (from + self.stretch.offset).max(self.opening);
        self.expr
            .count_between(minute_from(from), minute_from(until + self.stretch.offset))
    }

    fn fires_at(&self, second: i64) -> bool {
        let wall = second + self.stretch.offset;
        wall >= self.opening && wall % 60 == 0 && self.expr.matches_minute(minute_from(wall))
    }

    /// Tells whether a fixed time fell into the gap that ended as the stretch began.
    fn is_made_up_at_start(&self) -> bool {
        let Stretch {
            start,
            offset,
            before,
            ..
        } = self.stretch;
        if !self.expr.makes_up(&self.stretch) {
            return false;
        }
        let skipped = self.expr.first_from(minute_from(start + before));
        i64::from(skipped) * 60 < start + offset
    }
}

/// Returns the first whole wall minute that is not before a wall second.
#[inline]
fn minute_from(wall: i64) -> u32 {
    u32::try_from((wall as u64).saturating_add(59) / 60).unwrap_or(u32::MAX)
}
