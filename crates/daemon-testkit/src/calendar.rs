//! A slow reading of cron expressions: minute by minute within a day, day by day.

use jiff::civil::{Date, date};
use jiff::{Span, Timestamp};

use crate::zone::{Shown, SlowZone};

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A longer gap is a correction of the zone.
const LONG_GAP: i64 = 3 * 3600;
const DAY: i64 = 86_400;

/// Five fields as lists of what they allow.
#[derive(Clone, Debug)]
pub struct SlowCron {
    minutes: Vec<i64>,
    hours: Vec<i64>,
    days: Vec<i64>,
    months: Vec<i64>,
    weekdays: Vec<i64>,
    is_either_day: bool,
    is_fixed_time: bool,
}

impl SlowCron {
    /// Parses five fields; `None` if they are not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.try_into().ok()?;
        let mut weekdays = values(weekday, 0, 7, &WEEKDAYS, 0)?;
        if weekdays.contains(&7) {
            weekdays.push(0);
        }
        Some(Self {
            minutes: values(minute, 0, 59, &[], 0)?,
            hours: values(hour, 0, 23, &[], 0)?,
            days: values(day, 1, 31, &[], 0)?,
            months: values(month, 1, 12, &MONTHS, 1)?,
            weekdays,
            is_either_day: day != "*" && weekday != "*",
            is_fixed_time: !minute.contains('*') && !hour.contains('*'),
        })
    }

    fn fires_on(&self, date: Date) -> bool {
        let day = self.days.contains(&i64::from(date.day()));
        let weekday = i64::from(date.weekday().to_sunday_zero_offset());
        let weekday = self.weekdays.contains(&weekday);
        let days = if self.is_either_day {
            day || weekday
        } else {
            day && weekday
        };
        days && self.months.contains(&i64::from(date.month()))
    }

    /// Appends the ticks of a local date; they are out of order on a day when clocks change.
    fn ticks_on(&self, zone: &SlowZone, date: Date, acc: &mut Vec<i64>) {
        if !self.fires_on(date) {
            return;
        }
        let midnight = days_since_1970(date) * DAY;
        for hour in &self.hours {
            for minute in &self.minutes {
                let wall = midnight + hour * 3600 + minute * 60;
                match zone.shown(wall) {
                    Shown::At(instants) if self.is_fixed_time => {
                        acc.extend(instants.first());
                    }
                    Shown::At(instants) => acc.extend(instants),
                    Shown::Skipped(end, length) if self.is_fixed_time && length < LONG_GAP => {
                        acc.push(end);
                    }
                    Shown::Skipped(..) => {}
                }
            }
        }
    }

    /// Lists the ticks later than one instant and not later than another, in seconds since 1970.
    pub fn ticks(&self, zone: &SlowZone, after: i64, until: i64) -> Vec<i64> {
        let mut acc = Vec::new();
        let mut date = date_of(zone.wall(after) - 2 * DAY);
        let last = date_of(zone.wall(until) + 2 * DAY);
        while date <= last {
            self.ticks_on(zone, date, &mut acc);
            date = next_day(date);
        }
        acc.retain(|tick| after < *tick && *tick <= until);
        acc.sort_unstable();
        acc.dedup();
        acc
    }

    /// Returns the earliest tick strictly later than an instant, looking nine years ahead.
    pub fn next_after(&self, zone: &SlowZone, after: Timestamp) -> Option<Timestamp> {
        let after = after.as_second();
        // A change of the clocks at midnight can move a tick to another date.
        let mut date = date_of(zone.wall(after) - DAY);
        let mut acc = Vec::new();
        for _ in 0..9 * 366 {
            acc.clear();
            self.ticks_on(zone, date, &mut acc);
            let next = next_day(date);
            // The neighbour's ticks compete where clocks went back at midnight.
            if acc.iter().any(|tick| *tick > after) {
                self.ticks_on(zone, next, &mut acc);
            }
            if let Some(tick) = acc.iter().copied().filter(|tick| *tick > after).min() {
                return Timestamp::from_second(tick).ok();
            }
            date = next;
        }
        None
    }
}

fn values(text: &str, min: i64, max: i64, names: &[&str], first_name: i64) -> Option<Vec<i64>> {
    let number = |text: &str| -> Option<i64> {
        let name = text.to_ascii_lowercase();
        match names
            .iter()
            .zip(first_name..)
            .find(|(known, _)| **known == name)
        {
            Some((_, value)) => Some(value),
            None => text.parse().ok(),
        }
    };
    let mut acc = Vec::new();
    for item in text.split(',') {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, step.parse::<i64>().ok()?),
            None => (item, 1),
        };
        let (low, high) = match range.split_once('-') {
            _ if range == "*" => (min, max),
            Some((low, high)) => (number(low)?, number(high)?),
            None => (number(range)?, number(range)?),
        };
        let mut value = low;
        while value <= high {
            acc.push(value);
            value += step;
        }
    }
    let fits = acc.iter().all(|value| (min..=max).contains(value));
    (fits && !acc.is_empty()).then_some(acc)
}

fn days_since_1970(day: Date) -> i64 {
    day.since((jiff::Unit::Day, date(1970, 1, 1)))
        .map_or(0, |span| i64::from(span.get_days()))
}

fn date_of(wall: i64) -> Date {
    let days = Span::new().days(wall.div_euclid(DAY));
    date(1970, 1, 1)
        .checked_add(days)
        .expect("the years are in range")
}

fn next_day(date: Date) -> Date {
    date.tomorrow().expect("the years are in range")
}
