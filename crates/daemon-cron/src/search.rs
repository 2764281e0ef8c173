//! Finding matching wall minutes. A wall minute is counted from 1970-01-01T00:00 on the clock
//! in question; the search jumps months, days and hours and never walks minutes.

use crate::civil::{
    Date, FIRST_YEAR, LAST_YEAR, MINUTES_PER_DAY, date, day_number, month_length, weekday,
};
use crate::{CronExpr, Field};

impl CronExpr {
    /// Returns the first matching wall minute that is not before `minute`.
    #[inline]
    pub(crate) fn first_from(&self, minute: u32) -> Option<u32> {
        if self.is_weekly() {
            return Some(self.first_in_week(minute));
        }
        self.first_by_date(minute)
    }

    fn first_by_date(&self, minute: u32) -> Option<u32> {
        if self.never_fires() {
            return None;
        }
        let day = minute / MINUTES_PER_DAY;
        let Date {
            year,
            month,
            day: of_month,
        } = date(day);
        let first = day - (of_month - 1);
        if self.months >> month & 1 != 0 {
            let mask = self.days_of(year, month, first);
            if mask >> of_month & 1 != 0
                && let Some(time) = self.first_time(minute % MINUTES_PER_DAY)
            {
                return Some(day * MINUTES_PER_DAY + time);
            }
            let later = mask & (u32::MAX << of_month << 1);
            if later != 0 {
                let day = day - of_month + later.trailing_zeros();
                return Some(day * MINUTES_PER_DAY + self.earliest_time());
            }
        }
        // Most often the month that follows is listed and has a day.
        if month < 12 && self.months >> (month + 1) & 1 != 0 {
            let first = first + month_length(year, month);
            let mask = self.days_of(year, month + 1, first);
            if mask != 0 {
                let day = first + mask.trailing_zeros() - 1;
                return Some(day * MINUTES_PER_DAY + self.earliest_time());
            }
        }
        self.first_in_later_month(year, month)
    }

    /// Returns the last matching wall minute that is not after `minute`.
    pub(crate) fn last_until(&self, minute: u32) -> Option<u32> {
        if self.never_fires() {
            return None;
        }
        let day = minute / MINUTES_PER_DAY;
        let Date {
            year,
            month,
            day: of_month,
        } = date(day);
        if self.months >> month & 1 != 0 {
            let mask = self.days_of(year, month, day - (of_month - 1));
            if mask >> of_month & 1 != 0
                && let Some(time) = self.last_time(minute % MINUTES_PER_DAY)
            {
                return Some(day * MINUTES_PER_DAY + time);
            }
            let earlier = mask & ((1 << of_month) - 1);
            if earlier != 0 {
                let day = day - of_month + earlier.ilog2();
                return Some(day * MINUTES_PER_DAY + self.latest_time());
            }
        }
        self.last_in_earlier_month(year, month)
    }

    /// Counts the matching wall minutes from `from` until just before `until`.
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

    /// Tells whether the wall minute matches.
    pub(crate) fn matches_minute(&self, minute: u32) -> bool {
        let time = minute % MINUTES_PER_DAY;
        self.minutes >> (time % 60) & 1 != 0
            && self.hours >> (time / 60) & 1 != 0
            && self.fires_on(minute / MINUTES_PER_DAY)
    }

    fn fires_on(&self, day: u32) -> bool {
        let Date {
            year,
            month,
            day: of_month,
        } = date(day);
        self.months >> month & 1 != 0
            && self.days_of(year, month, day - (of_month - 1)) >> of_month & 1 != 0
    }

    #[inline]
    fn first_in_week(&self, minute: u32) -> u32 {
        let day = minute / MINUTES_PER_DAY;
        // Two weeks of weekday bits, shifted so that bit 0 is this day.
        let days = (u32::from(self.weekdays) * (1 | 1 << 7)) >> weekday(day);
        if days & 1 != 0
            && let Some(time) = self.first_time(minute % MINUTES_PER_DAY)
        {
            return day * MINUTES_PER_DAY + time;
        }
        let ahead = (days & !1).trailing_zeros();
        (day + ahead) * MINUTES_PER_DAY + self.earliest_time()
    }

    fn first_in_later_month(&self, mut year: u32, mut month: u32) -> Option<u32> {
        loop {
            let later = u32::from(self.months) & (u32::MAX << month << 1);
            if later != 0 {
                month = later.trailing_zeros();
            } else {
                year += 1;
                month = self.months.trailing_zeros();
            }
            if year > LAST_YEAR + 1 {
                return None;
            }
            let first = day_number(year, month, 1);
            let mask = self.days_of(year, month, first);
            if mask != 0 {
                let day = first + mask.trailing_zeros() - 1;
                return Some(day * MINUTES_PER_DAY + self.earliest_time());
            }
        }
    }

    fn last_in_earlier_month(&self, mut year: u32, mut month: u32) -> Option<u32> {
        loop {
            let earlier = self.months & ((1 << month) - 1);
            if earlier != 0 {
                month = earlier.ilog2();
            } else {
                year -= 1;
                month = self.months.ilog2();
            }
            if year < FIRST_YEAR - 1 {
                return None;
            }
            let first = day_number(year, month, 1);
            let mask = self.days_of(year, month, first);
            if mask != 0 {
                let day = first + mask.ilog2() - 1;
                return Some(day * MINUTES_PER_DAY + self.latest_time());
            }
        }
    }

    /// Returns the matching days of a listed month as bits 1 to 31; `first` is the number of its
    /// first day.
    #[inline]
    fn days_of(&self, year: u32, month: u32, first: u32) -> u32 {
        // Bits 1 to `length`; the shift stays below 32.
        let valid = u32::MAX >> (31 - month_length(year, month)) & !1;
        if self.is_star(Field::DayOfWeek) {
            return self.days & valid;
        }
        // Six weeks of weekday bits, shifted so that bit 1 is the first of the month.
        const WEEKS: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28 | 1 << 35;
        let weeks = u64::from(self.weekdays) * WEEKS;
        let by_weekday = ((weeks >> weekday(first)) << 1) as u32;
        let days = if self.is_either_day() {
            self.days | by_weekday
        } else {
            self.days & by_weekday
        };
        days & valid
    }

    /// Counts the matching days from day number `first` until just before `last`.
    fn count_days(&self, first: u32, last: u32) -> u64 {
        let mut count = 0;
        let mut day = first;
        while day < last {
            let Date {
                year,
                month,
                day: of_month,
            } = date(day);
            let start = day - (of_month - 1);
            let next = start + month_length(year, month);
            if self.months >> month & 1 != 0 {
                let mut mask = self.days_of(year, month, start) & (u32::MAX << of_month);
                if last < next {
                    mask &= (1 << (last - start + 1)) - 1;
                }
                count += u64::from(mask.count_ones());
            }
            day = next;
        }
        count
    }

    #[inline]
    fn first_time(&self, from: u32) -> Option<u32> {
        let (hour, minute) = (from / 60, from % 60);
        if self.hours >> hour & 1 != 0 {
            let minutes = self.minutes & (u64::MAX << minute);
            if minutes != 0 {
                return Some(hour * 60 + minutes.trailing_zeros());
            }
        }
        let hours = self.hours & (u32::MAX << hour << 1);
        (hours != 0).then(|| hours.trailing_zeros() * 60 + self.minutes.trailing_zeros())
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

    #[inline]
    fn earliest_time(&self) -> u32 {
        self.hours.trailing_zeros() * 60 + self.minutes.trailing_zeros()
    }

    fn latest_time(&self) -> u32 {
        self.hours.ilog2() * 60 + self.minutes.ilog2()
    }
}
