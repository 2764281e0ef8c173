//! An expression in a time zone, with the rules for gaps and folds.

use jiff::Timestamp;

use crate::CronExpr;
use crate::civil::{FIRST_SECOND, LAST_SECOND};
use crate::zone::{Stretch, Zone, in_domain, second_of};

// Daylight saving moves the clocks by two hours at most. A gap of three hours or more is a correction
// of the zone: Apia skipped a whole day in 2011, and a made-up tick would belong to no local day.
pub(crate) const LONG_GAP: i64 = 3 * 3600;

/// An expression in a time zone. It computes ticks as instants in UTC.
///
/// | | fixed-time: neither minute nor hour contains `*` | interval: all others |
/// |---|---|---|
/// | the clocks skip a matching minute | fires once, as the gap ends | does not fire |
/// | the clocks skip three hours or more | does not fire | does not fire |
/// | the clocks repeat a matching minute | fires in the first pass | fires in both passes |
///
/// # Examples
///
/// ```
/// use daemon_cron::{Schedule, Zone};
///
/// let schedule = Schedule::new("0 9 * * 1-5".parse()?, Zone::utc());
/// let friday = "2026-11-20T09:00:00Z".parse()?;
/// let monday = "2026-11-23T09:00:00Z".parse()?;
/// assert_eq!(schedule.next_after(friday), Some(monday));
/// assert_eq!(schedule.latest_until("2026-11-22T00:00:00Z".parse()?), Some(friday));
/// assert_eq!(schedule.count(friday, "2027-11-20T09:00:00Z".parse()?), 260);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    expr: CronExpr,
    zone: Zone,
}

impl Schedule {
    /// Creates the schedule of an expression in a zone.
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

    /// Returns the earliest tick that is strictly later than `after`.
    ///
    /// Returns `None` if the expression never fires, and outside the years 1972 to 9998.
    #[inline]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.expr.next_after_in(&self.zone, after)
    }

    /// Returns the latest tick at or before `until`.
    ///
    /// Returns `None` if there is no such tick since 1972, and outside the years 1972 to 9998.
    pub fn latest_until(&self, until: Timestamp) -> Option<Timestamp> {
        if self.expr.never_fires() {
            return None;
        }
        let second = second_of(until)?;
        let mut stretch = self.zone.stretch_at(second);
        let mut last = second;
        loop {
            let clock = LocalClock::new(self.expr, stretch);
            if let Some(tick) = clock.last_until(last) {
                return in_domain(tick);
            }
            // The made-up tick is the first of its stretch, so it is the last one found.
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

    /// Returns the number of ticks later than `after` and not later than `until`.
    ///
    /// The cost grows with the number of months between the two, not with the number of ticks. An
    /// instant outside the years 1972 to 9998 counts as the nearest instant within them.
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
            let clock = LocalClock::new(self.expr, stretch);
            count += clock.count(at, end.min(stretch.end));
            // A tick of its own at the end of the gap and the made-up one are the same tick.
            if at == stretch.start && clock.is_made_up_at_start() && !clock.fires_at(at) {
                count += 1;
            }
            at = stretch.end;
        }
        count
    }
}

impl CronExpr {
    /// Returns the earliest tick in a zone that is strictly later than `after`; see [`Schedule`].
    ///
    /// Returns `None` if the expression never fires, and outside the years 1972 to 9998.
    #[inline]
    pub fn next_after_in(&self, zone: &Zone, after: Timestamp) -> Option<Timestamp> {
        // Ticks are whole minutes, so the first one after `after` is at the next second or later.
        let second = second_of(after)? + 1;
        // Nearly every tick is in the same stretch, away from a change of the clocks.
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
        if second == stretch.start && LocalClock::new(*self, stretch).is_made_up_at_start() {
            return in_domain(second);
        }
        let mut from = second + stretch.offset;
        let mut searched = i64::MAX;
        let mut found = i64::MAX;
        loop {
            from = from.max(LocalClock::new(*self, stretch).opening);
            // The last match is still the first from here, unless the clocks went back to before the
            // start of its search or forward past it.
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

    /// Returns `true` if a match that falls into the gap before `stretch` fires as the gap ends.
    fn makes_up(&self, stretch: &Stretch) -> bool {
        let gap = stretch.offset - stretch.before;
        0 < gap && gap < LONG_GAP && self.is_fixed_time()
    }
}

/// The local clock of one stretch. It converts instants to local minutes and back.
struct LocalClock {
    expr: CronExpr,
    stretch: Stretch,
    /// The first local second at which the expression can fire. After a fold a fixed time skips the
    /// second pass.
    opening: i64,
}

impl LocalClock {
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

    /// Returns the last tick of the stretch at or before `second`.
    fn last_until(&self, second: i64) -> Option<i64> {
        let minute = u32::try_from((second + self.stretch.offset).div_euclid(60)).ok()?;
        let wall = i64::from(self.expr.last_until(minute)?) * 60;
        let tick = wall - self.stretch.offset;
        (tick >= self.stretch.start && wall >= self.opening).then_some(tick)
    }

    /// Counts the ticks of the stretch in the seconds `from..until`.
    fn count(&self, from: i64, until: i64) -> u64 {
        let from = (from + self.stretch.offset).max(self.opening);
        self.expr
            .count_between(minute_from(from), minute_from(until + self.stretch.offset))
    }

    fn fires_at(&self, second: i64) -> bool {
        let wall = second + self.stretch.offset;
        wall >= self.opening && wall % 60 == 0 && self.expr.matches_minute(minute_from(wall))
    }

    /// Returns `true` if a fixed time falls into the gap that ends as the stretch begins.
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

/// Returns the first local minute that begins at or after a local second.
#[inline]
fn minute_from(wall: i64) -> u32 {
    u32::try_from((wall as u64).saturating_add(59) / 60).unwrap_or(u32::MAX)
}
