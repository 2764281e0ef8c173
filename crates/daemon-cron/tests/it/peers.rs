//! Comparison with the crates `cron` and `croner` for expressions that they read in the same way.
//!
//! `cron` requires seconds, numbers Sunday 1, rejects steps above its range and requires a day to
//! match both day fields. Both crates treat stars in day fields differently from this format. The
//! generated expressions avoid these differences.

use chrono::{DateTime, Utc};
use daemon_cron::CronExpr;
use jiff::Timestamp;
use proptest::prelude::*;
use std::str::FromStr as _;

use crate::expr;

fn list(min: u32, max: u32) -> impl Strategy<Value = String> {
    let item = prop_oneof![
        (min..=max).prop_map(|a| a.to_string()),
        (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        (min..=max, min..=max, 1..7_u32).prop_map(|(a, b, step)| format!(
            "{}-{}/{step}",
            a.min(b),
            a.max(b)
        )),
    ];
    prop::collection::vec(item, 1..3).prop_map(|items| items.join(","))
}

fn time_field(max: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just("*".to_owned()),
        1 => (1..max).prop_map(|step| format!("*/{step}")),
        3 => list(0, max),
    ]
}

fn starred(min: u32, max: u32) -> impl Strategy<Value = String> {
    prop_oneof![1 => Just("*".to_owned()), 2 => list(min, max)]
}

fn chrono_at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(second, 0).unwrap()
}

fn next_seconds(expr: CronExpr, second: i64) -> Option<i64> {
    expr.next_after(Timestamp::from_second(second).unwrap())
        .map(Timestamp::as_second)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn cron_computes_the_same_tick_if_one_day_field_is_a_star(
        minute in time_field(59), hour in time_field(23), month in starred(1, 12),
        day in list(1, 28), is_weekday in any::<bool>(), weekday in list(1, 6),
        second in 631_152_000..2_145_916_800_i64,
    ) {
        let text = if is_weekday {
            format!("{minute} {hour} * {month} {weekday}")
        } else {
            format!("{minute} {hour} {day} {month} *")
        };
        // `cron` numbers Sunday 1, so each weekday is shifted by one. Steps are not.
        let theirs = if is_weekday {
            let shifted: Vec<String> = weekday.split(',').map(shift_item).collect();
            format!("0 {minute} {hour} * {month} {}", shifted.join(","))
        } else {
            format!("0 {text}")
        };
        let peer = cron::Schedule::from_str(&theirs).unwrap();
        let expected = peer.after(&chrono_at(second)).next().map(|at| at.timestamp());
        prop_assert_eq!(next_seconds(expr(&text), second), expected, "`{}`", text);
    }

    #[test]
    fn croner_computes_the_same_tick_if_no_day_field_begins_with_a_star(
        minute in time_field(59), hour in time_field(23), month in starred(1, 12),
        day in starred(1, 28), weekday in starred(0, 6), second in 631_152_000..2_145_916_800_i64,
    ) {
        let text = format!("{minute} {hour} {day} {month} {weekday}");
        let peer = croner::Cron::from_str(&text).unwrap();
        let expected = peer.find_next_occurrence(&chrono_at(second), false).ok().map(|at| at.timestamp());
        prop_assert_eq!(next_seconds(expr(&text), second), expected, "`{}`", text);
    }
}

fn shift_item(item: &str) -> String {
    let (base, step) = item
        .split_once('/')
        .map_or((item, None), |(base, step)| (base, Some(step)));
    let shifted: Vec<String> = base
        .split('-')
        .map(|value| (value.parse::<u32>().unwrap() + 1).to_string())
        .collect();
    let step = step.map_or_else(String::new, |step| format!("/{step}"));
    format!("{}{step}", shifted.join("-"))
}
