//! Civil-day arithmetic on integers: days since 1970-01-01 to a date and back.

pub(crate) const MINUTES_PER_DAY: u32 = 1440;

/// The years in which expressions are evaluated.
pub(crate) const FIRST_YEAR: u32 = 1972;
pub(crate) const LAST_YEAR: u32 = 9998;

/// 1972-01-01T00:00:00Z and 9998-12-31T23:59:59Z, in seconds since the epoch.
pub(crate) const FIRST_SECOND: i64 = day_number(FIRST_YEAR, 1, 1) as i64 * 86_400;
pub(crate) const LAST_SECOND: i64 = day_number(LAST_YEAR + 1, 1, 1) as i64 * 86_400 - 1;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_SHIFT: u32 = 719_468;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

/// Turns a day number (0 is 1970-01-01) into a date, by the method of Neri and Schneider: a
/// computational calendar starts in March so that the leap day ends its year.
pub(crate) const fn date(day_number: u32) -> Date {
    const MAGIC: u64 = 2_939_745;
    let quarter_days = 4 * (day_number + EPOCH_SHIFT) + 3;
    let century = quarter_days / 146_097;
    let of_century = (quarter_days % 146_097) | 3;
    let product = MAGIC * of_century as u64;
    let year_of_century = (product >> 32) as u32;
    let day_of_year = ((product & 0xffff_ffff) / MAGIC) as u32 / 4;
    let packed = 2_141 * day_of_year + 197_913;
    let is_next_year = day_of_year >= 306;
    let month = packed >> 16;
    Date {
        year: 100 * century + year_of_century + is_next_year as u32,
        month: if is_next_year { month - 12 } else { month },
        day: (packed & 0xffff) / 2_141 + 1,
    }
}

/// Turns a date from 1970 on into its day number.
pub(crate) const fn day_number(year: u32, month: u32, day: u32) -> u32 {
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
pub(crate) const fn weekday(day_number: u32) -> u32 {
    (day_number + 4) % 7
}

pub(crate) const fn month_length(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 30 | (month ^ (month >> 3)),
    }
}

const fn is_leap(year: u32) -> bool {
    if year.is_multiple_of(100) {
        year.is_multiple_of(400)
    } else {
        year.is_multiple_of(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_domain_agrees_with_the_calendar_of_jiff() {
        let mut expected = jiff::civil::date(1970, 1, 1);
        for n in 0..day_number(LAST_YEAR + 1, 1, 1) {
            let Date { year, month, day } = date(n);
            let civil = jiff::civil::date(year as i16, month as i8, day as i8);
            assert_eq!(civil, expected, "day {n}");
            assert_eq!(day_number(year, month, day), n);
            assert_eq!(month_length(year, month), expected.days_in_month() as u32);
            assert_eq!(
                weekday(n),
                expected.weekday().to_sunday_zero_offset() as u32
            );
            expected = expected.tomorrow().unwrap();
        }
    }
}
