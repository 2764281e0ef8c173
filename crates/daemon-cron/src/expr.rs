//! The parsed expression: five bit masks and flags for the fields that contain `*`.

use std::str::FromStr;

use jiff::Timestamp;

use crate::civil::{FIRST_MINUTE, LAST_MINUTE};
use crate::problem::Error;
use crate::{CronField, parse};

/// A five-field cron expression.
///
/// Two expressions are equal if they fire at the same instants in every zone: `MON-FRI` equals
/// `1-5`, and `0,30` equals `30,0`. A star can be part of the meaning: `*/60` in the minute makes an
/// expression an interval, `0` does not; `1-31` in the day-of-month restricts it, `*` does not.
///
/// An expression is a `Copy` value of 24 bytes. It does not keep the author's text.
///
/// # Examples
///
/// ```
/// use daemon_cron::CronExpr;
///
/// let expr: CronExpr = "0 9 1,15 * *".parse()?;
/// assert_eq!(expr.describe(), "at 09:00 on days 1 and 15 of the month");
/// assert!(expr.is_fixed_time());
///
/// let now = "2026-11-20T00:00:00Z".parse()?;
/// assert_eq!(expr.next_after(now), Some("2026-12-01T09:00:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CronExpr {
    pub(crate) minutes: u64,
    pub(crate) hours: u32,
    /// Bits 1 to 31. Empty if the field is `*`, so that the weekdays alone select the days.
    pub(crate) days: u32,
    pub(crate) months: u16,
    /// Bits 0 to 6. Empty if the field is `*` and the days of the month are restricted.
    pub(crate) weekdays: u8,
    flags: u8,
    /// The lowest bit of `minutes`.
    pub(crate) first_minute: u8,
    /// The earliest tick of a day, in minutes since midnight.
    pub(crate) earliest: u16,
    pub(crate) cycle: Cycle,
}

/// The shortest calendar cycle after which an expression repeats. It selects the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cycle {
    /// The same minutes in every hour of every day.
    Hourly,
    /// The same times on every day.
    Daily,
    /// The weekday selects the days.
    Weekly,
    /// The day of the month or the month restricts the days.
    Dated,
}

// Bits of one byte: five `bool` fields would make the expression larger than 24 bytes, and a
// scheduler keeps one for every distinct schedule.
const MINUTE_STAR: u8 = 1;
const HOUR_STAR: u8 = 2;
const ANY_DAY_OF_MONTH: u8 = 4;
const ANY_WEEKDAY: u8 = 8;
const NEVER: u8 = 16;

/// The values of one parsed field.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldSet {
    pub(crate) mask: u64,
    /// At least one item is `*` or `*/n`.
    pub(crate) has_star: bool,
    /// The field is exactly `*`.
    pub(crate) is_star: bool,
}

impl Cycle {
    fn of([hour, day, month, weekday]: [FieldSet; 4]) -> Self {
        if !day.is_star || month.mask != CronField::Month.full() {
            Self::Dated
        } else if weekday.mask != CronField::DayOfWeek.full() {
            Self::Weekly
        } else if hour.mask != CronField::Hour.full() {
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
            // The search joins the days of the month and the weekdays with `or`. A field that is `*`
            // is therefore stored as empty, or it would add every day.
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
            cycle: Cycle::of([hour, day, month, weekday]),
        };
        expr.flags |= flag(is_by_number_only && expr.has_no_date(), NEVER);
        expr
    }

    /// Returns `true` if no date satisfies the expression, such as 30 February.
    #[inline]
    pub const fn never_fires(&self) -> bool {
        self.flags & NEVER != 0
    }

    /// Returns `true` if the expression is *fixed-time*: neither minute nor hour contains `*`.
    ///
    /// A fixed time that the clocks skip fires as the gap ends, and one that they repeat fires in the
    /// first pass. All other expressions are *intervals* and follow the local clock; see
    /// [`Schedule`](crate::Schedule).
    #[inline]
    pub const fn is_fixed_time(&self) -> bool {
        self.flags & (MINUTE_STAR | HOUR_STAR) == 0
    }

    /// Returns `true` if both day fields are restricted, so that a day matching either one fires.
    #[inline]
    pub const fn is_either_day(&self) -> bool {
        self.flags & (ANY_DAY_OF_MONTH | ANY_WEEKDAY) == 0
    }

    /// Returns the values of a field as bits: bit 5 of the minute's mask is minute 5.
    ///
    /// Sunday is bit 0. A field that is `*` has every bit set.
    pub const fn mask(&self, field: CronField) -> u64 {
        match field {
            CronField::Minute => self.minutes,
            CronField::Hour => self.hours as u64,
            CronField::Month => self.months as u64,
            CronField::DayOfMonth if self.is_star(field) => field.full(),
            CronField::DayOfMonth => self.days as u64,
            CronField::DayOfWeek if self.is_star(field) => field.full(),
            CronField::DayOfWeek => self.weekdays as u64,
        }
    }

    /// Returns the earliest tick in UTC that is strictly later than `after`.
    ///
    /// Returns `None` if the expression never fires, and outside the years 1972 to 9998. An
    /// expression that can fire does so within eight years.
    #[inline]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        // A negative second becomes a number above `LAST_MINUTE`, so one range check covers both
        // ends of the domain.
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

    pub(crate) const fn is_star(&self, field: CronField) -> bool {
        match field {
            CronField::Minute => self.flags & MINUTE_STAR != 0,
            CronField::Hour => self.flags & HOUR_STAR != 0,
            CronField::DayOfMonth => self.flags & ANY_DAY_OF_MONTH != 0,
            CronField::DayOfWeek => self.flags & ANY_WEEKDAY != 0,
            CronField::Month => self.months as u64 == field.full(),
        }
    }

    /// Returns the expression with a single day of the month.
    pub(crate) const fn with_day(self, day: u32) -> Self {
        Self {
            days: 1 << day,
            flags: self.flags & !(NEVER | ANY_DAY_OF_MONTH),
            ..self
        }
    }

    /// Returns `true` if none of the listed months has any of the listed days.
    ///
    /// With a restricted weekday the expression can fire nevertheless.
    fn has_no_date(&self) -> bool {
        !(1..=12)
            .any(|month| self.months >> month & 1 != 0 && self.days & longest_month(month) != 0)
    }
}

/// Returns the days that a month can have as bits, including 29 February.
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

    /// Parses five fields separated by spaces or tabs.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] with every problem of the text if it is not a five-field expression.
    fn from_str(text: &str) -> Result<Self, Error> {
        parse::parse(text, &mut |_| {})
    }
}
