//! What the clocks of a zone show at an instant.

use std::ops::Range;

use jiff::Timestamp;

use crate::civil::{MINUTES_PER_DAY, Month, weekday};
use crate::schedule::LONG_GAP;
use crate::zone::{Zone, second_of};
use crate::{CronExpr, Field};

/// A minute on the wall: its value in each of the five fields.
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
                u32::from(month.page().of_year),
                weekday(day),
            ],
        }
    }

    /// Returns the value of a field; Sunday is 0.
    pub const fn get(&self, field: Field) -> u32 {
        self.values[field as usize]
    }
}

/// What an instant means on the clocks of a zone, for whoever tests many expressions at once.
///
/// An expression fires at the instant when it matches `shown`, unless it is fixed-time and the
/// minute `is_repeated`; a fixed-time one also fires when it matches a `skipped` minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walls {
    /// The minute shown; none in the rare zone whose offset then had seconds.
    pub shown: Option<WallMinute>,
    /// The clocks show it for the second time.
    pub is_repeated: bool,
    skipped: Range<u32>,
}

impl Walls {
    /// Returns the minutes of a gap that ends at the instant and is made up for.
    pub fn skipped(&self) -> impl Iterator<Item = WallMinute> {
        self.skipped.clone().map(WallMinute::new)
    }

    /// Tells whether an expression fires.
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
    /// Returns the minute of the hour that the clocks show, for whoever asks whether to look closer.
    ///
    /// None where clocks changed just then, where the offset has seconds, and outside the table of the zone: there
    /// [`walls_at`](Self::walls_at) is to be asked.
    pub fn minute_at(&self, instant: Timestamp) -> Option<u32> {
        let second = second_of(instant)?;
        let stretch = self.tabulated(second)?;
        let wall = second + stretch.offset;
        let is_plain = second >= stretch.settled && wall % 60 == 0;
        u32::try_from(wall / 60 % 60).ok().filter(|_| is_plain)
    }

    /// Tells what the clocks show in the minute an instant begins; none outside 1972 to 9998.
    pub fn walls_at(&self, instant: Timestamp) -> Option<Walls> {
        let second = second_of(instant)?;
        let stretch = self.stretch_at(second);
        let wall = second + stretch.offset;
        let shown = u32::try_from(wall / 60)
            .ok()
            .filter(|_| wall % 60 == 0)
            .map(WallMinute::new);
        let is_repeated = stretch.before > stretch.offset && wall < stretch.start + stretch.before;
        let gap = stretch.offset - stretch.before;
        let skipped = if second == stretch.start && 0 < gap && gap < LONG_GAP {
            minute_at(stretch.start + stretch.before)..minute_at(wall)
        } else {
            0..0
        };
        Some(Walls {
            shown,
            is_repeated,
            skipped,
        })
    }
}

fn minute_at(wall: i64) -> u32 {
    u32::try_from((wall as u64).div_ceil(60)).expect("wall clocks of the domain fit")
}

impl CronExpr {
    /// Tells whether the expression matches a minute on the wall.
    pub fn matches(&self, wall: WallMinute) -> bool {
        let has = |field| self.mask(field) >> wall.get(field) & 1 != 0;
        let (day, weekday) = (has(Field::DayOfMonth), has(Field::DayOfWeek));
        has(Field::Minute)
            && has(Field::Hour)
            && has(Field::Month)
            && if self.is_either_day() {
                day || weekday
            } else {
                day && weekday
            }
    }
}
