//! English descriptions of expressions.

use crate::print::multiples;
use crate::{CronExpr, CronField};

// `0 9,17 * * *` reads best as "at 09:00 and 17:00", but the 18 times of `*/30 9-17 * * *` as a step
// and a range.
const MAX_CLOCK_TIMES: u32 = 6;

impl CronExpr {
    /// Describes the ticks in English, as the continuation of "fires".
    ///
    /// # Examples
    ///
    /// ```
    /// let expr: daemon_cron::CronExpr = "30 14 * * 1-5".parse()?;
    /// assert_eq!(expr.describe(), "at 14:30 on Monday through Friday");
    /// # Ok::<(), daemon_cron::Error>(())
    /// ```
    pub fn describe(&self) -> String {
        let mut acc = self.describe_time();
        let days = self.describe_days();
        if days.is_empty() {
            if self.hours.count_ones() < 24 && self.hour_step().is_none() {
                acc.push_str(" every day");
            }
        } else {
            acc.push(' ');
            acc.push_str(&days);
        }
        if self.mask(CronField::Month) != CronField::Month.full() {
            acc.push_str(" in ");
            acc.push_str(&and(&ranges(self.mask(CronField::Month), month_name)));
        }
        if self.never_fires() {
            acc.push_str(", which never comes");
        }
        acc
    }

    fn describe_time(&self) -> String {
        let n_times = self.minutes.count_ones() * self.hours.count_ones();
        if n_times <= MAX_CLOCK_TIMES && self.hour_step().is_none() {
            let minutes = values(self.minutes);
            let times: Vec<String> = values(self.mask(CronField::Hour))
                .iter()
                .flat_map(|hour| {
                    minutes
                        .iter()
                        .map(move |minute| format!("{hour:02}:{minute:02}"))
                })
                .collect();
            return format!("at {}", and(&times));
        }
        if self.minutes == 1 {
            return match self.hour_step() {
                Some(1) => "every hour on the hour".to_owned(),
                Some(step) => format!("every {step} hours on the hour"),
                None => format!("on the hour {}", self.describe_hours()),
            };
        }
        let minutes = self.describe_minutes();
        match (self.hour_step(), even_step(CronField::Minute, self.minutes)) {
            (Some(1), Some(_)) => minutes,
            (Some(1), None) => format!("{minutes} past every hour"),
            (Some(step), None) => format!("{minutes} past every {step} hours"),
            (Some(step), Some(_)) => format!("{minutes} of every {step} hours' first hour"),
            (None, Some(_)) => format!("{minutes} {}", self.describe_hours()),
            (None, None) => format!("{minutes} past the hour {}", self.describe_hours()),
        }
    }

    fn describe_minutes(&self) -> String {
        match even_step(CronField::Minute, self.minutes) {
            Some(1) => "every minute".to_owned(),
            Some(step) => format!("every {step} minutes"),
            None => {
                let minutes = ranges(self.minutes, |value| value.to_string());
                let noun = if self.minutes == 2 {
                    "minute"
                } else {
                    "minutes"
                };
                format!("at {} {noun}", and(&minutes))
            }
        }
    }

    fn describe_hours(&self) -> String {
        let hours = runs(self.mask(CronField::Hour));
        let spans: Vec<String> = hours
            .iter()
            .map(|(low, high)| format!("{low:02}:00 to {high:02}:59"))
            .collect();
        format!("from {}", and(&spans))
    }

    /// Returns the step of the hours if it divides the day evenly.
    fn hour_step(&self) -> Option<u32> {
        even_step(CronField::Hour, self.mask(CronField::Hour))
    }

    fn describe_days(&self) -> String {
        let by_month = format!("on {} of the month", self.describe_days_of_month());
        let by_week = format!(
            "on {}",
            and(&ranges(self.mask(CronField::DayOfWeek), weekday_name))
        );
        match (
            self.is_star(CronField::DayOfMonth),
            self.is_star(CronField::DayOfWeek),
        ) {
            (true, true) => String::new(),
            (false, true) => by_month,
            (true, false) => by_week,
            (false, false) => format!("{by_month} or {by_week}"),
        }
    }

    fn describe_days_of_month(&self) -> String {
        let days = ranges(self.mask(CronField::DayOfMonth), |value| value.to_string());
        let noun = if self.days.count_ones() == 1 {
            "day"
        } else {
            "days"
        };
        format!("{noun} {}", and(&days))
    }
}

/// Returns the step if the mask is `*/step` and the step divides the field evenly.
fn even_step(field: CronField, mask: u64) -> Option<u32> {
    let size = field.last() + 1 - field.min();
    (1..size).find(|step| size.is_multiple_of(*step) && mask == multiples(field, *step))
}

fn values(mask: u64) -> Vec<u32> {
    (0..64).filter(|value| mask >> value & 1 != 0).collect()
}

/// Splits a mask into runs of adjacent values, as first and last value.
fn runs(mask: u64) -> Vec<(u32, u32)> {
    let mut acc: Vec<(u32, u32)> = Vec::new();
    for value in values(mask) {
        match acc.last_mut() {
            Some((_, high)) if *high + 1 == value => *high = value,
            _ => acc.push((value, value)),
        }
    }
    acc
}

/// Returns the names of the values. Three or more adjacent values become a range.
fn ranges(mask: u64, name: impl Fn(u32) -> String) -> Vec<String> {
    runs(mask)
        .into_iter()
        .flat_map(|(low, high)| {
            if high - low >= 2 {
                vec![format!("{} through {}", name(low), name(high))]
            } else {
                (low..=high).map(&name).collect()
            }
        })
        .collect()
}

fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

pub(crate) fn month_name(month: u32) -> String {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    name_at(&NAMES, month.saturating_sub(1))
}

fn weekday_name(weekday: u32) -> String {
    const NAMES: [&str; 7] = [
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
    ];
    name_at(&NAMES, weekday)
}

fn name_at(names: &[&str], at: u32) -> String {
    let at = usize::try_from(at).expect("names are few");
    names
        .get(at)
        .expect("the mask holds only values of the field")
        .to_string()
}
