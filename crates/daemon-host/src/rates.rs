//! Warnings of schedules that are due more often than the rates allow.

use daemon_cron::{CronField, Schedule};
use daemon_store::Rates;
use jiff::Timestamp;

use crate::config::LimitsConfig;
use crate::doctor::Check;
use daemon_registry::Registered;

impl LimitsConfig {
    /// Returns the rates of activations.
    pub fn rates(&self) -> Rates {
        Rates {
            subject: Some(self.rate_subject),
            daemon: Some(self.rate_daemon),
            host: Some(self.rate_host),
        }
    }
}

/// The maximum number of ticks of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frequency {
    an_hour: u32,
    a_day: u32,
}

impl Frequency {
    /// Computes the numbers from the expression: each hour with ticks contains each of its minutes once.
    fn of(schedule: &Schedule) -> Self {
        let an_hour = schedule.expr().mask(CronField::Minute).count_ones();
        let hours = schedule.expr().mask(CronField::Hour).count_ones();
        Self {
            an_hour,
            a_day: an_hour * hours,
        }
    }
}

/// Warns of a daemon whose schedule alone exceeds its rate.
pub(crate) fn daemon_check(daemon: &Registered, limits: &LimitsConfig) -> Option<Check> {
    let schedule = daemon.schedule.as_ref().filter(|_| daemon.is_valid())?;
    let Frequency { an_hour, a_day } = Frequency::of(schedule);
    let limit = limits.rate_daemon;
    if an_hour <= limit {
        return None;
    }
    let (expression, _) = daemon.schedule_text()?;
    Some(Check::warn(
        format!("rate {}", daemon.row.key),
        format!(
            "the schedule `{expression}` of `{}` fires {an_hour} times an hour and {a_day} times a day, and \
             `limits.rate_daemon` lets {limit} activations an hour begin: the others wait",
            daemon.row.key
        ),
        "a schedule that fires less often, or a higher limits.rate_daemon",
    ))
}

/// Warns of schedules that exceed the rate of their daemon, or that together exceed the rate of the host.
pub fn rate_checks(daemons: &[&Registered], limits: &LimitsConfig, now: Timestamp) -> Vec<Check> {
    let all = daemons.iter();
    let exceeding = all.filter_map(|daemon| daemon_check(daemon, limits));
    let mut checks: Vec<Check> = exceeding.collect();
    let valid = daemons.iter().filter(|daemon| daemon.is_valid());
    let an_hour = busiest_hour(valid.filter_map(|daemon| daemon.schedule.as_ref()), now);
    let limit = limits.rate_host;
    if an_hour > u64::from(limit) {
        checks.push(Check::warn(
            "rate",
            format!(
                "all schedules together fire up to {an_hour} times an hour, and `limits.rate_host` lets {limit} \
                 activations an hour begin: the others wait"
            ),
            "schedules at other hours or that fire less often, or a higher limits.rate_host",
        ));
    }
    checks
}

/// Returns the maximum number of ticks in an hour of the day, for any date.
fn busiest_hour<'a>(schedules: impl Iterator<Item = &'a Schedule>, now: Timestamp) -> u64 {
    let mut hours = [0_u64; 24];
    for schedule in schedules {
        // Hours of different zones are compared in UTC.
        let offset = schedule.zone().time_zone().to_offset(now).seconds();
        let shift = offset.div_euclid(3_600).rem_euclid(24);
        let mask = schedule.expr().mask(CronField::Hour);
        let an_hour = u64::from(Frequency::of(schedule).an_hour);
        for (hour, sum) in (0_i32..).zip(&mut hours) {
            if mask >> (hour + shift).rem_euclid(24) & 1 == 1 {
                *sum += an_hour;
            }
        }
    }
    hours.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use daemon_cron::{Schedule, Zone};
    use jiff::tz::TimeZone;

    use super::{Frequency, busiest_hour};

    fn schedule(expression: &str, zone: &str) -> Schedule {
        let zone = Zone::new(TimeZone::get(zone).expect("a zone"));
        Schedule::new(expression.parse().expect("an expression"), zone)
    }

    #[test]
    fn a_schedule_fires_as_often_as_it_has_minutes_and_hours() {
        for (expression, an_hour, a_day) in [
            ("* * * * *", 60, 1_440),
            ("*/15 * * * *", 4, 96),
            ("* 9 1 * *", 60, 60),
            ("5,10 8-17 * * 1-5", 2, 20),
            ("0 9 * * 1", 1, 1),
        ] {
            let found = Frequency::of(&schedule(expression, "UTC"));
            assert_eq!(found, Frequency { an_hour, a_day }, "{expression}");
        }
    }

    #[test]
    fn the_busiest_hour_is_counted_across_zones() {
        let now = "2026-01-15T12:00:00Z".parse().expect("an instant");
        let busiest = |rows: &[(&str, &str)]| {
            let all: Vec<Schedule> = rows.iter().map(|(e, zone)| schedule(e, zone)).collect();
            busiest_hour(all.iter(), now)
        };
        assert_eq!(busiest(&[]), 0);
        assert_eq!(
            busiest(&[("* 9 * * *", "UTC"), ("*/2 10 * * *", "UTC")]),
            60
        );
        assert_eq!(
            busiest(&[("* 9 * * *", "UTC"), ("*/2 10 * * *", "Europe/Berlin")]),
            90
        );
        assert_eq!(
            busiest(&[("* 23 * * *", "UTC"), ("*/2 18 * * *", "America/New_York")]),
            90
        );
    }
}
