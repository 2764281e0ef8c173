//! The expression itself: five masks and what its stars mean.

use std::str::FromStr;

use jiff::Timestamp;

use crate::civil::{FIRST_MINUTE, LAST_MINUTE};
use crate::problem::Error;
use crate::{Field, parse};

/// A five-field cron expression.
///
/// Two expressions are equal when they fire alike: `MON-FRI` equals `1-5`, and `0,30` equals
/// `30,0`. A star is part of the meaning where the format says so: `*/60` in the minute makes an
/// expression an interval, `0` does not; `1-31` in the day-of-month restricts it, `*` does not.
///
/// It is a small `Copy` value (24 bytes) without the author's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CronExpr {
    pub(crate) minutes: u64,
    pub(crate) hours: u32,
    /// The days that fire by their number; none when that field is `*`, and weekdays decide.
    pub(crate) days: u32,
    pub(crate) months: u16,
    /// The weekdays that fire; none when that field is `*` and numbers decide.
    pub(crate) weekdays: u8,
    flags: u8,
    /// The first of `minutes`.
    pub(crate) first_minute: u8,
    /// The first minute of a day on which it fires.
    pub(crate) earliest: u16,
    pub(crate) rhythm: Rhythm,
}

/// The longest cycle of the calendar that matters to an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Rhythm {
    /// Every hour of every day is alike.
    Hourly,
    /// Every day is alike.
    Daily,
    /// The weekday alone decides about a day.
    Weekly,
    /// Days and months matter.
    Dated,
}

const MINUTE_STAR: u8 = 1;
const HOUR_STAR: u8 = 2;
const ANY_DAY_OF_MONTH: u8 = 4;
const ANY_WEEKDAY: u8 = 8;
const NEVER: u8 = 16;

/// One field as read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldSet {
    pub(crate) mask: u64,
    /// Some item is `*` or `*/n`.
    pub(crate) has_star: bool,
    /// The text is exactly `*`.
    pub(crate) is_star: bool,
}

impl Rhythm {
    fn of([hour, day, month, weekday]: [FieldSet; 4]) -> Self {
        if !day.is_star || month.mask != Field::Month.full() {
            Self::Dated
        } else if weekday.mask != Field::DayOfWeek.full() {
            Self::Weekly
        } else if hour.mask != Field::Hour.full() {
            Self::Daily
        } else {
            Self::Hourly
        }
    }
}

impl CronExpr {
    pub(crate) fn from_sets([minute, hour, day, month, weekday]: [FieldSet; 5]) -> Self {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let is_by_number_only = weekday.is_star && !day.is_star;
        let mut expr = Self {
            minutes: minute.mask,
            hours: narrow(hour.mask),
            days: if day.is_star { 0 } else { narrow(day.mask) },
            months: u16::try_from(month.mask).expect("months are bits 1 to 12"),
            weekdays: match is_by_number_only {
                true => 0,
                false => u8::try_from(weekday.mask).expect("weekdays are bits 0 to 6"),
            },
            flags: flag(minute.has_star, MINUTE_STAR)
                | flag(hour.has_star, HOUR_STAR)
                | flag(day.is_star, ANY_DAY_OF_MONTH)
                | flag(weekday.is_star, ANY_WEEKDAY),
            first_minute: minute.mask.trailing_zeros() as u8,
            earliest: (hour.mask.trailing_zeros() * 60 + minute.mask.trailing_zeros()) as u16,
            rhythm: Rhythm::of([hour, day, month, weekday]),
        };
        expr.flags |= flag(is_by_number_only && expr.has_no_date(), NEVER);
        expr
    }

    /// Tells that no date satisfies the expression, as 30 February.
    #[inline]
    pub const fn never_fires(&self) -> bool {
        self.flags & NEVER != 0
    }

    /// Tells whether the expression is *fixed-time*: neither minute nor hour contains `*`.
    ///
    /// Daylight saving moves a fixed time and keeps it once a day; all other expressions are
    /// *intervals* and follow the clock on the wall.
    #[inline]
    pub const fn is_fixed_time(&self) -> bool {
        self.flags & (MINUTE_STAR | HOUR_STAR) == 0
    }

    /// Tells whether both day fields are restricted, so that a day matching either fires.
    #[inline]
    pub const fn is_either_day(&self) -> bool {
        self.flags & (ANY_DAY_OF_MONTH | ANY_WEEKDAY) == 0
    }

    /// Returns the values of a field as bits: bit 5 of the minute's mask is minute 5.
    ///
    /// Sunday is bit 0.
    pub const fn mask(&self, field: Field) -> u64 {
        match field {
            Field::Minute => self.minutes,
            Field::Hour => self.hours as u64,
            Field::Month => self.months as u64,
            Field::DayOfMonth if self.is_star(field) => field.full(),
            Field::DayOfMonth => self.days as u64,
            Field::DayOfWeek if self.is_star(field) => field.full(),
            Field::DayOfWeek => self.weekdays as u64,
        }
    }

    /// Returns the earliest whole minute in UTC strictly later than `after` at which the
    /// expression fires.
    ///
    /// None when it never fires, and outside the years 1972 to 9998. Any expression that can fire
    /// does so within eight years.
    #[inline]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        // Before the epoch the division yields more minutes than the domain has.
        let minute = after.as_second() as u64 / 60;
        if !(FIRST_MINUTE..=LAST_MINUTE).contains(&minute) {
            return None;
        }
        let found = u64::from(self.first_from(minute as u32 + 1));
        if found > LAST_MINUTE {
            return None;
        }
        Timestamp::from_second((found * 60) as i64).ok()
    }

    pub(crate) const fn is_star(&self, field: Field) -> bool {
        match field {
            Field::Minute => self.flags & MINUTE_STAR != 0,
            Field::Hour => self.flags & HOUR_STAR != 0,
            Field::DayOfMonth => self.flags & ANY_DAY_OF_MONTH != 0,
            Field::DayOfWeek => self.flags & ANY_WEEKDAY != 0,
            Field::Month => self.months as u64 == field.full(),
        }
    }

    /// Replaces the listed days of the month by one.
    pub(crate) const fn with_day(self, day: u32) -> Self {
        Self {
            days: 1 << day,
            flags: self.flags & !(NEVER | ANY_DAY_OF_MONTH),
            ..self
        }
    }

    /// Tells that no listed month has a listed day; only a weekday could stand in.
    fn has_no_date(&self) -> bool {
        !(1..=12)
            .any(|month| self.months >> month & 1 != 0 && self.days & longest_month(month) != 0)
    }
}

/// The days a month can have, February's leap day included.
pub(crate) const fn longest_month(month: u32) -> u32 {
    match month {
        2 => 0x3fff_fffe,
        4 | 6 | 9 | 11 => 0x7fff_fffe,
        _ => 0xffff_fffe,
    }
}

fn narrow(mask: u64) -> u32 {
    u32::try_from(mask).expect("hours and days of the month are bits 0 to 31")
}

impl FromStr for CronExpr {
    type Err = Error;

    /// Reads five fields separated by blanks.
    ///
    /// # Errors
    ///
    /// Every problem of the text at once.
    fn from_str(text: &str) -> Result<Self, Error> {
        parse::parse(text, &mut |_| {})
    }
}
