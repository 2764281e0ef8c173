//! Local ("wall clock") time of a zone at an instant.

use std::ops::Range;

use jiff::Timestamp;

use crate::civil::{MINUTES_PER_DAY, Month, weekday};
use crate::schedule::LONG_GAP;
use crate::zone::{Zone, second_of};
use crate::{CronExpr, CronField};

/// A minute of local time, as the value of each of the five fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallMinute {
    values: [u32; 5],
}

impl WallMinute {
    pub(crate) fn new(minute: u32) -> Self {
        let day = minute / MINUTES_PER_DAY;
        let time = minute % MINUTES_PER_DAY;
        let month = Month::of(day);
        let of_month = day - month.first() + 1;
        Self {
            values: [
                time % 60,
                time / 60,
                of_month,
                u32::from(month.entry().of_year),
                weekday(day),
            ],
        }
    }

    /// Returns the value of a field; Sunday is 0.
    pub const fn get(&self, field: CronField) -> u32 {
        self.values[field as usize]
    }
}

/// The local time of a zone at an instant, for testing many expressions at once.
///
/// An interval fires if it matches `shown`. A fixed-time expression fires if it matches `shown` and
/// the minute is not repeated, or if it matches a [`skipped`](Self::skipped) minute.
///
/// # Examples
///
/// ```
/// use daemon_cron::{CronExpr, Zone};
/// use jiff::tz::TimeZone;
///
/// let berlin = Zone::new(TimeZone::get("Europe/Berlin")?);
/// // The clocks go from 01:59 to 03:00: the skipped minutes fire now.
/// let wall = berlin.wall_time_at("2026-03-29T01:00:00Z".parse()?).expect("a year in the domain");
/// for (text, fires) in [("0 3 * * *", true), ("30 2 * * *", true), ("*/30 2 * * *", false)] {
///     assert_eq!(wall.fires(&text.parse::<CronExpr>()?), fires, "{text}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallTime {
    /// The local minute that begins at the instant. `None` if no minute begins there: the instant is
    /// not a whole minute, or the offset of the zone has seconds.
    pub shown: Option<WallMinute>,
    /// Whether the local clock shows this minute for the second time, after it went back.
    pub is_repeated: bool,
    skipped: Range<u32>,
}

impl WallTime {
    /// Returns the local minutes that the clocks skipped just before the instant.
    ///
    /// Empty if no gap ends at the instant, or if the gap has three hours or more.
    pub fn skipped(&self) -> impl Iterator<Item = WallMinute> {
        self.skipped.clone().map(WallMinute::new)
    }

    /// Returns `true` if the expression fires at the instant.
    pub fn fires(&self, expr: &CronExpr) -> bool {
        let is_shown = self.shown.is_some_and(|shown| expr.matches(shown));
        if expr.is_fixed_time() {
            is_shown && !self.is_repeated || self.skipped().any(|skipped| expr.matches(skipped))
        } else {
            is_shown
        }
    }
}

impl Zone {
    /// Returns the local minute of the hour, from 0 to 59. This is a cheap pre-check for a minute in
    /// which no expression can fire.
    ///
    /// Returns `None` if the clocks changed shortly before, if no local minute begins at the instant,
    /// and outside the table of the zone. [`wall_time_at`](Self::wall_time_at) covers these cases.
    pub fn minute_at(&self, instant: Timestamp) -> Option<u32> {
        let second = second_of(instant)?;
        let stretch = self.tabulated(second)?;
        let wall = second + stretch.offset;
        let is_plain = second >= stretch.settled && wall % 60 == 0;
        u32::try_from(wall / 60 % 60).ok().filter(|_| is_plain)
    }

    /// Returns the local time at an instant, or `None` outside the years 1972 to 9998.
    pub fn wall_time_at(&self, instant: Timestamp) -> Option<WallTime> {
        let second = second_of(instant)?;
        let stretch = self.stretch_at(second);
        let wall = second + stretch.offset;
        let shown = u32::try_from(wall / 60)
            .ok()
            .filter(|_| wall % 60 == 0)
            .map(WallMinute::new);
        let is_repeated = stretch.before > stretch.offset && wall < stretch.start + stretch.before;
        // A gap is made up at the second that ends it and at no other, or a scheduler that looks at
        // every minute would fire twice.
        let gap = stretch.offset - stretch.before;
        let skipped = if second == stretch.start && 0 < gap && gap < LONG_GAP {
            minute_at(stretch.start + stretch.before)..minute_at(wall)
        } else {
            0..0
        };
        Some(WallTime {
            shown,
            is_repeated,
            skipped,
        })
    }
}

fn minute_at(wall: i64) -> u32 {
    u32::try_from((wall as u64).div_ceil(60)).expect("local minutes of the domain fit in 32 bits")
}

impl CronExpr {
    /// Returns `true` if the expression matches a local minute.
    pub fn matches(&self, wall: WallMinute) -> bool {
        let has = |field| self.mask(field) >> wall.get(field) & 1 != 0;
        let (day, weekday) = (has(CronField::DayOfMonth), has(CronField::DayOfWeek));
        has(CronField::Minute)
            && has(CronField::Hour)
            && has(CronField::Month)
            && if self.is_either_day() {
                day || weekday
            } else {
                day && weekday
            }
    }
}
