//! Calendar arithmetic on integers: day numbers, weekdays and a table of months.

pub(crate) const MINUTES_PER_DAY: u32 = 1440;

// The first and last year in which expressions are evaluated. From 1972 on local time is positive
// in every zone, so the arithmetic is unsigned. `jiff` ends in 9999: a year of margin lets an offset
// or the second after the domain be added without a check.
const FIRST_YEAR: u32 = 1972;
const LAST_YEAR: u32 = 9998;

/// 1972-01-01T00:00:00Z and 9998-12-31T23:59:59Z, in seconds since the epoch.
pub(crate) const FIRST_SECOND: i64 = day_number(FIRST_YEAR, 1, 1) as i64 * 86_400;
pub(crate) const LAST_SECOND: i64 = day_number(LAST_YEAR + 1, 1, 1) as i64 * 86_400 - 1;

/// The minutes of `FIRST_SECOND` and `LAST_SECOND`.
pub(crate) const FIRST_MINUTE: u64 = FIRST_SECOND as u64 / 60;
pub(crate) const LAST_MINUTE: u64 = LAST_SECOND as u64 / 60;

/// The last day of the domain, as a day number.
pub(crate) const LAST_DAY: u32 = (LAST_SECOND / 86_400) as u32;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_SHIFT: u32 = 719_468;

/// The Gregorian calendar repeats after 400 years, including the weekdays.
const CYCLE_YEARS: u32 = 400;
const CYCLE_MONTHS: u32 = CYCLE_YEARS * 12;
const CYCLE_DAYS: u32 = 146_097;

/// Returns the day number of a date from 1970 on; 0 is 1970-01-01.
pub(crate) const fn day_number(year: u32, month: u32, day: u32) -> u32 {
    // Years that begin in March have the leap day at their end, so it shifts no month.
    let (year, month) = if month <= 2 {
        (year - 1, month + 12)
    } else {
        (year, month)
    };
    let century = year / 100;
    let year_days = 1_461 * year / 4 - century + century / 4;
    let month_days = (979 * month - 2_919) / 32;
    year_days + month_days + day - 1 - EPOCH_SHIFT
}

/// Returns the weekday of a day number, 0 for Sunday.
#[inline]
pub(crate) const fn weekday(day_number: u32) -> u32 {
    (day_number + 4) % 7
}

/// A month of a year from 1970 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Month {
    /// The day number of the first day of the 400-year cycle.
    cycle: u32,
    /// The number of months since the first of the cycle.
    index: u32,
    entry: &'static MonthEntry,
}

impl Month {
    /// Returns the month that contains a day.
    #[inline]
    pub(crate) fn of(day: u32) -> Self {
        // The estimate divides by the mean length of a month. Shifted by 16 days it is exact or one
        // month too late, never too early, so one comparison corrects it.
        const AHEAD: u32 = 16;
        const FACTOR: u64 = ((CYCLE_MONTHS as u64) << 32) / CYCLE_DAYS as u64;
        // Nearly every day is in the cycle that began in 1970 and needs no division.
        let of_cycle = if day < CYCLE_DAYS {
            day
        } else {
            day % CYCLE_DAYS
        };
        let estimate = ((u64::from(of_cycle + AHEAD) * FACTOR) >> 32) as u32;
        let is_too_late = MONTH_TABLE[estimate as usize].first > of_cycle;
        Self::at(day - of_cycle, estimate - u32::from(is_too_late))
    }

    /// Returns the month that is `n_months` later.
    #[inline]
    pub(crate) fn plus(self, n_months: u32) -> Self {
        let index = self.index + n_months;
        if index < CYCLE_MONTHS {
            Self::at(self.cycle, index)
        } else {
            Self::at(self.cycle + CYCLE_DAYS, index - CYCLE_MONTHS)
        }
    }

    /// Returns the month that is `n_months` earlier, or `None` before 1970.
    pub(crate) fn minus(self, n_months: u32) -> Option<Self> {
        match self.index.checked_sub(n_months) {
            Some(index) => Some(Self::at(self.cycle, index)),
            None => {
                let cycle = self.cycle.checked_sub(CYCLE_DAYS)?;
                Some(Self::at(cycle, self.index + CYCLE_MONTHS - n_months))
            }
        }
    }

    #[inline]
    fn at(cycle: u32, index: u32) -> Self {
        let entry = &MONTH_TABLE[index as usize];
        Self {
            cycle,
            index,
            entry,
        }
    }

    /// Returns the day number of the first day.
    #[inline]
    pub(crate) const fn first(self) -> u32 {
        self.cycle + self.entry.first
    }

    /// Returns the row of the month table.
    #[inline]
    pub(crate) fn entry(self) -> &'static MonthEntry {
        self.entry
    }
}

/// A row of the month table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MonthEntry {
    /// The first day, counted from the start of the cycle.
    first: u32,
    /// The weekday of the first day; 0 is Sunday.
    pub(crate) weekday: u8,
    /// The number in the year, from 1 to 12.
    pub(crate) of_year: u8,
    /// The number of days, from 28 to 31.
    pub(crate) length: u8,
}

// A lookup takes fewer steps than computing a date, and the search needs neither the year nor the
// leap-year rule. The row after the last lets the estimate in `Month::of` be one too high.
static MONTH_TABLE: [MonthEntry; CYCLE_MONTHS as usize + 1] = month_table();

const fn month_table() -> [MonthEntry; CYCLE_MONTHS as usize + 1] {
    const BLANK: MonthEntry = MonthEntry {
        first: 0,
        weekday: 0,
        of_year: 0,
        length: 0,
    };
    let mut table = [BLANK; CYCLE_MONTHS as usize + 1];
    let mut index = 0;
    while index <= CYCLE_MONTHS {
        let first = first_of(index);
        table[index as usize] = MonthEntry {
            first,
            weekday: weekday(first) as u8,
            of_year: (index % 12 + 1) as u8,
            length: (first_of(index + 1) - first) as u8,
        };
        index += 1;
    }
    table
}

const fn first_of(index: u32) -> u32 {
    day_number(1970 + index / 12, index % 12 + 1, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_domain_has_the_date_that_jiff_computes() {
        let mut expected = jiff::civil::date(1970, 1, 1);
        for n in 0..day_number(LAST_YEAR + 1, 1, 1) {
            let month = Month::of(n);
            let of_month = n - month.first() + 1;
            assert_eq!(
                u32::from(month.entry().of_year),
                expected.month() as u32,
                "day {n}"
            );
            assert_eq!(of_month, expected.day() as u32, "day {n}");
            assert_eq!(
                u32::from(month.entry().length),
                expected.days_in_month() as u32
            );
            assert_eq!(
                day_number(
                    expected.year() as u32,
                    u32::from(month.entry().of_year),
                    of_month
                ),
                n
            );
            let of_week = |day: jiff::civil::Date| day.weekday().to_sunday_zero_offset() as u32;
            assert_eq!(weekday(n), of_week(expected));
            assert_eq!(
                u32::from(month.entry().weekday),
                of_week(expected.first_of_month())
            );
            expected = expected.tomorrow().unwrap();
        }
    }

    #[test]
    fn adding_months_crosses_the_end_of_a_cycle() {
        let last = Month::of(day_number(2369, 12, 31));
        let next = last.plus(1);
        assert_eq!(next, Month::of(day_number(2370, 1, 1)));
        assert_eq!(next.minus(1), Some(last));
        assert_eq!(next.plus(13).minus(13), Some(next));
        assert_eq!(Month::of(31).minus(1), Some(Month::of(0)));
        assert_eq!(Month::of(31).minus(2), None);
    }
}
