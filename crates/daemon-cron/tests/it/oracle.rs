//! A slow reference implementation: every minute of every day, with jiff resolving local times.

use daemon_cron::{CronExpr, CronField, Schedule, Zone};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::accept::expression_text;
use crate::expr;
use crate::zones::zone;

const ZONES: [&str; 24] = [
    "UTC",
    "America/New_York",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Moscow",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Pyongyang",
    "Asia/Amman",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Apia",
    "Pacific/Kwajalein",
    "Pacific/Chatham",
    "Pacific/Norfolk",
    "Antarctica/Casey",
    "Antarctica/Troll",
];

fn fires_on(expr: CronExpr, date: Date) -> bool {
    let has = |field, value: i8| expr.mask(field) >> value & 1 != 0;
    let day = has(CronField::DayOfMonth, date.day());
    let weekday = has(CronField::DayOfWeek, date.weekday().to_sunday_zero_offset());
    has(CronField::Month, date.month())
        && if expr.is_either_day() {
            day || weekday
        } else {
            day && weekday
        }
}

/// Returns the instants at which a local minute fires.
fn instants(expr: CronExpr, zone: &TimeZone, wall: DateTime) -> Vec<Timestamp> {
    let instant = |offset: jiff::tz::Offset| offset.to_timestamp(wall).unwrap();
    match zone.to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![instant(offset)],
        AmbiguousOffset::Fold { before, after } if expr.is_fixed_time() => {
            vec![instant(before).min(instant(after))]
        }
        AmbiguousOffset::Fold { before, after } => vec![instant(before), instant(after)],
        AmbiguousOffset::Gap { before, after } => {
            if !expr.is_fixed_time() || after.seconds() - before.seconds() >= 3 * 3600 {
                return Vec::new();
            }
            let after_the_gap = instant(before) + 1.second();
            vec![zone.preceding(after_the_gap).next().unwrap().timestamp()]
        }
    }
}

fn ticks_on(expr: CronExpr, zone: &TimeZone, date: Date) -> Vec<Timestamp> {
    let mut acc = Vec::new();
    for hour in (0..24).filter(|hour| expr.mask(CronField::Hour) >> hour & 1 != 0) {
        for minute in (0..60).filter(|minute| expr.mask(CronField::Minute) >> minute & 1 != 0) {
            acc.extend(instants(expr, zone, date.at(hour, minute, 0, 0)));
        }
    }
    acc
}

fn slow_next_after(expr: CronExpr, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    // A gap can move a tick to the next local date, so the search starts two days early.
    let mut date = zone.to_datetime(after).date() - 2.days();
    for _ in 0..9 * 366 {
        let mut ticks: Vec<Timestamp> = Vec::new();
        if fires_on(expr, date) {
            // If the clocks change at midnight, a tick of the next date can come first.
            ticks.extend(ticks_on(expr, zone, date));
            let next = date.tomorrow().unwrap();
            if fires_on(expr, next) {
                ticks.extend(ticks_on(expr, zone, next));
            }
        }
        if let Some(tick) = ticks.into_iter().filter(|tick| *tick > after).min() {
            return Some(tick);
        }
        date = date.tomorrow().unwrap();
    }
    None
}

/// Generates zones and instants; half of the instants are near a change of the clocks.
fn moments() -> impl Strategy<Value = (usize, i64, i64, bool)> {
    (
        0..ZONES.len(),
        631_152_000..2_145_916_800_i64,
        -200_000..200_000_i64,
        any::<bool>(),
    )
}

fn instant(zone: &Zone, second: i64, shift: i64, is_near_change: bool) -> Timestamp {
    let second = Timestamp::from_second(second).unwrap();
    let change = zone
        .time_zone()
        .following(second)
        .next()
        .filter(|_| is_near_change);
    let base = change.map_or(second, |change| change.timestamp());
    Timestamp::from_second(base.as_second() + shift).unwrap()
}

#[test]
fn next_latest_and_count_agree_with_the_slow_reference() {
    let zones = ZONES.map(zone);
    let mut runner = TestRunner::new(Config {
        cases: 12_000,
        ..Config::default()
    });
    runner
        .run(
            &(expression_text(), moments()),
            |(text, (at, second, shift, is_near_change))| {
                let expr = expr(&text);
                let zone = &zones[at];
                let schedule = Schedule::new(expr, zone.clone());
                let after = instant(zone, second, shift, is_near_change);
                let expected = slow_next_after(expr, zone.time_zone(), after);
                let found = schedule.next_after(after);
                prop_assert_eq!(found, expected, "`{}` {} after {}", text, zone, after);
                if let Some(tick) = found {
                    prop_assert_eq!(
                        schedule.latest_until(tick),
                        Some(tick),
                        "`{}` {}",
                        text,
                        zone
                    );
                    prop_assert_eq!(
                        schedule.count(after, tick),
                        1,
                        "`{}` {} {}",
                        text,
                        zone,
                        after
                    );
                    let before = tick - 1.second();
                    prop_assert_eq!(schedule.count(after, before), 0);
                    let earlier = schedule.latest_until(before);
                    prop_assert!(
                        earlier.is_none_or(|earlier| earlier <= after),
                        "`{}` {}",
                        text,
                        zone
                    );
                    if let Some(earlier) = earlier {
                        prop_assert_eq!(schedule.next_after(earlier), Some(tick));
                    }
                }
                Ok(())
            },
        )
        .unwrap();
}
