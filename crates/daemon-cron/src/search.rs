//! The search for matching local minutes, counted from 1970-01-01T00:00 local time. It jumps months,
//! days and hours and never visits single minutes.

use crate::CronExpr;
use crate::civil::{LAST_DAY, MINUTES_PER_DAY, Month, MonthEntry, weekday};
use crate::expr::Cycle;

// "No match" is a minute after the domain and not `None`, so that callers need one comparison for
// both.
const NO_MINUTE: u32 = u32::MAX;

impl CronExpr {
    /// Returns the first matching local minute at or after `minute`, or [`NO_MINUTE`].
    pub(crate) fn first_from(&self, minute: u32) -> u32 {
        if self.cycle == Cycle::Dated {
            return self.first_by_date(minute);
        }
        if self.cycle == Cycle::Hourly {
            return self.first_in_hours(minute);
        }
        let days = if self.cycle == Cycle::Weekly {
            // Two weeks of weekday bits, shifted so that bit 0 is the day of `minute`.
            let weeks = u32::from(self.weekdays) * (1 | 1 << 7);
            weeks >> weekday(minute / MINUTES_PER_DAY)
        } else {
            u32::MAX
        };
        self.first_among(days, minute)
    }

    #[inline]
    fn first_in_hours(&self, minute: u32) -> u32 {
        let of_hour = minute % 60;
        let minutes = self.minutes >> of_hour;
        if minutes != 0 {
            minute + minutes.trailing_zeros()
        } else {
            minute - of_hour + 60 + u32::from(self.first_minute)
        }
    }

    /// Returns the first match at or after `minute`. Bit 0 of `days` is the day of `minute`.
    ///
    /// Masks are shifted so that the number of trailing zeros is the distance to the next value.
    #[inline]
    fn first_among(&self, days: u32, minute: u32) -> u32 {
        let of_day = minute % MINUTES_PER_DAY;
        if days & 1 != 0 {
            let (hour, of_hour) = (of_day / 60, of_day % 60);
            let hours = self.hours >> hour;
            let minutes = self.minutes >> of_hour;
            if hours & 1 != 0 && minutes != 0 {
                return minute + minutes.trailing_zeros();
            }
            let later = hours & !1;
            if later != 0 {
                let ahead = later.trailing_zeros() * 60 + u32::from(self.first_minute);
                return minute - of_hour + ahead;
            }
        }
        let later = days & !1;
        if later == 0 {
            return NO_MINUTE;
        }
        let ahead = later.trailing_zeros() * MINUTES_PER_DAY + u32::from(self.earliest);
        minute - of_day + ahead
    }

    // Not inlined: its register saves would slow down expressions without dates.
    #[inline(never)]
    fn first_by_date(&self, minute: u32) -> u32 {
        let day = minute / MINUTES_PER_DAY;
        let month = Month::of(day);
        let days = self.days_of(month.entry()) >> (day - month.first());
        if days != 0 {
            let found = self.first_among(days, minute);
            if found != NO_MINUTE {
                return found;
            }
        }
        // The next listed month usually has a matching day; only dates such as 29 February need the
        // loop.
        let next = self.next_listed(month);
        match self.days_of(next.entry()) {
            0 => self.first_beyond(next),
            days => self.first_in(days, next),
        }
    }

    #[cold]
    fn first_beyond(&self, mut month: Month) -> u32 {
        while !self.never_fires() && month.first() <= LAST_DAY {
            month = self.next_listed(month);
            let days = self.days_of(month.entry());
            if days != 0 {
                return self.first_in(days, month);
            }
        }
        NO_MINUTE
    }

    /// Returns the first match in a month. Bit 0 of `days` is the first day of the month.
    #[inline]
    fn first_in(&self, days: u32, month: Month) -> u32 {
        let day = month.first() + days.trailing_zeros();
        day * MINUTES_PER_DAY + u32::from(self.earliest)
    }

    /// Returns the first listed month after `month`.
    #[inline]
    fn next_listed(&self, month: Month) -> Month {
        // Two years of month bits, shifted so that bit 0 is the month after `month`.
        let years = u32::from(self.months >> 1) * (1 | 1 << 12);
        month.plus(1 + (years >> month.entry().of_year).trailing_zeros())
    }

    /// Returns the last matching local minute at or before `minute`.
    pub(crate) fn last_until(&self, minute: u32) -> Option<u32> {
        if self.never_fires() {
            return None;
        }
        let day = minute / MINUTES_PER_DAY;
        let month = Month::of(day);
        let days = self.days_of(month.entry());
        let today = 1 << (day - month.first());
        if days & today != 0
            && let Some(time) = self.last_time(minute % MINUTES_PER_DAY)
        {
            return Some(day * MINUTES_PER_DAY + time);
        }
        self.last_among(days & (today - 1), month)
            .or_else(|| self.last_in_earlier_month(month))
    }

    /// Counts the matching local minutes in `from..until`.
    pub(crate) fn count_between(&self, from: u32, until: u32) -> u64 {
        if from >= until || self.never_fires() {
            return 0;
        }
        let (first, last) = (from / MINUTES_PER_DAY, until / MINUTES_PER_DAY);
        let per_day = u64::from(self.minutes.count_ones() * self.hours.count_ones());
        let mut count = per_day * self.count_days(first, last);
        if self.fires_on(last) {
            count += self.count_times_before(until % MINUTES_PER_DAY);
        }
        if self.fires_on(first) {
            count -= self.count_times_before(from % MINUTES_PER_DAY);
        }
        count
    }

    /// Returns `true` if the expression matches the local minute.
    pub(crate) fn matches_minute(&self, minute: u32) -> bool {
        let time = minute % MINUTES_PER_DAY;
        self.minutes >> (time % 60) & 1 != 0
            && self.hours >> (time / 60) & 1 != 0
            && self.fires_on(minute / MINUTES_PER_DAY)
    }

    fn fires_on(&self, day: u32) -> bool {
        let month = Month::of(day);
        self.days_of(month.entry()) >> (day - month.first()) & 1 != 0
    }

    fn last_in_earlier_month(&self, mut month: Month) -> Option<u32> {
        loop {
            let of_year = u32::from(month.entry().of_year);
            let earlier = self.months & ((1 << of_year) - 1);
            month = month.minus(if earlier != 0 {
                of_year - earlier.ilog2()
            } else {
                of_year + 12 - self.months.ilog2()
            })?;
            if let Some(found) = self.last_among(self.days_of(month.entry()), month) {
                return Some(found);
            }
        }
    }

    /// Returns the last match in a month. Bit 0 of `days` is the first day of the month.
    fn last_among(&self, days: u32, month: Month) -> Option<u32> {
        let day = month.first() + days.checked_ilog2()?;
        Some(day * MINUTES_PER_DAY + self.latest_time())
    }

    /// Returns the matching days of a month. Bit 0 is the first day.
    #[inline]
    fn days_of(&self, month: &MonthEntry) -> u32 {
        if self.months >> month.of_year & 1 == 0 {
            return 0;
        }
        let valid = u32::MAX >> (32 - month.length);
        // Six weeks of weekday bits, shifted so that bit 0 is the first day of the month.
        const WEEKS: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28 | 1 << 35;
        let by_weekday = ((u64::from(self.weekdays) * WEEKS) >> month.weekday) as u32;
        (self.days >> 1 | by_weekday) & valid
    }

    /// Counts the matching days in `first..last`, as day numbers.
    fn count_days(&self, first: u32, last: u32) -> u64 {
        let mut count = 0;
        let mut day = first;
        while day < last {
            let month = Month::of(day);
            let next = month.first() + u32::from(month.entry().length);
            let mut days = self.days_of(month.entry()) >> (day - month.first());
            if last < next {
                days &= (1 << (last - day)) - 1;
            }
            count += u64::from(days.count_ones());
            day = next;
        }
        count
    }

    fn last_time(&self, until: u32) -> Option<u32> {
        let (hour, minute) = (until / 60, until % 60);
        if self.hours >> hour & 1 != 0 {
            let minutes = self.minutes & ((2 << minute) - 1);
            if minutes != 0 {
                return Some(hour * 60 + minutes.ilog2());
            }
        }
        let hours = self.hours & ((1 << hour) - 1);
        (hours != 0).then(|| hours.ilog2() * 60 + self.minutes.ilog2())
    }

    fn count_times_before(&self, time: u32) -> u64 {
        let (hour, minute) = (time / 60, time % 60);
        let whole = (self.hours & ((1 << hour) - 1)).count_ones() * self.minutes.count_ones();
        let rest = (self.hours >> hour & 1) * (self.minutes & ((1 << minute) - 1)).count_ones();
        u64::from(whole + rest)
    }

    fn latest_time(&self) -> u32 {
        self.hours.ilog2() * 60 + self.minutes.ilog2()
    }
}
