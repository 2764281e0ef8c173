//! Daylight saving: ticks in gaps and folds of real zones.

use daemon_cron::{Schedule, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::{at, expr};

pub(crate) fn zone(name: &str) -> Zone {
    Zone::new(TimeZone::get(name).unwrap())
}

/// Returns all ticks later than `from` and not later than `until`.
fn ticks(schedule: &Schedule, from: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let mut acc = Vec::new();
    let mut after = from;
    while let Some(tick) = schedule.next_after(after).filter(|tick| *tick <= until) {
        acc.push(tick);
        after = tick;
    }
    acc
}

fn check(text: &str, name: &str, from: &str, until: &str, expected: &[&str]) {
    let schedule = Schedule::new(expr(text), zone(name));
    let (from, until) = (at(from), at(until));
    let expected: Vec<Timestamp> = expected.iter().map(|text| at(text)).collect();
    assert_eq!(ticks(&schedule, from, until), expected, "`{text}` {name}");
    assert_eq!(
        schedule.count(from, until),
        expected.len() as u64,
        "`{text}` {name}"
    );
    let latest = schedule.latest_until(until).filter(|tick| *tick > from);
    assert_eq!(latest, expected.last().copied(), "`{text}` {name}");
}

#[test]
fn a_fixed_time_in_a_gap_fires_once_as_the_gap_ends() {
    let day = ("2026-03-08T04:59:59Z", "2026-03-09T03:59:59Z");
    for text in ["30 2 * * *", "0,30 2 * * *", "0 2,3 * * *"] {
        check(
            text,
            "America/New_York",
            day.0,
            day.1,
            &["2026-03-08T07:00:00Z"],
        );
    }
    let twice = ["2026-03-08T07:00:00Z", "2026-03-08T18:30:00Z"];
    check("30 2,14 * * *", "America/New_York", day.0, day.1, &twice);
    check(
        "0 0 * * *",
        "Africa/Cairo",
        "2026-04-23T21:59:59Z",
        "2026-04-24T20:59:59Z",
        &["2026-04-23T22:00:00Z"],
    );
    check(
        "0 0 * * *",
        "America/Santiago",
        "2026-09-06T03:59:59Z",
        "2026-09-07T02:59:59Z",
        &["2026-09-06T04:00:00Z"],
    );
    check(
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T13:29:59Z",
        "2026-10-04T12:59:59Z",
        &["2026-10-03T15:30:00Z"],
    );
}

#[test]
fn an_interval_in_a_gap_does_not_fire() {
    check(
        "*/30 2 * * *",
        "America/New_York",
        "2026-03-08T04:59:59Z",
        "2026-03-09T03:59:59Z",
        &[],
    );
    check(
        "0 * * * *",
        "America/New_York",
        "2026-03-08T05:59:59Z",
        "2026-03-08T08:00:00Z",
        &[
            "2026-03-08T06:00:00Z",
            "2026-03-08T07:00:00Z",
            "2026-03-08T08:00:00Z",
        ],
    );
}

#[test]
fn a_fixed_time_in_a_fold_fires_in_the_first_pass() {
    check(
        "30 1 * * *",
        "America/New_York",
        "2026-11-01T03:59:59Z",
        "2026-11-02T04:59:59Z",
        &["2026-11-01T05:30:00Z"],
    );
    check(
        "30 23 * * *",
        "Africa/Cairo",
        "2026-10-28T20:59:59Z",
        "2026-10-29T21:59:59Z",
        &["2026-10-29T20:30:00Z"],
    );
    check(
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:59:59Z",
        "2026-04-05T13:29:59Z",
        &["2026-04-04T14:45:00Z"],
    );
    check(
        "0 0 * * *",
        "America/Santiago",
        "2026-04-04T02:59:59Z",
        "2026-04-06T03:59:59Z",
        &["2026-04-04T03:00:00Z", "2026-04-05T04:00:00Z"],
    );
    check(
        "30 23 * * *",
        "Antarctica/Casey",
        "2010-03-04T12:00:00Z",
        "2010-03-05T11:59:59Z",
        &["2010-03-04T12:30:00Z"],
    );
}

#[test]
fn an_interval_in_a_fold_fires_in_both_passes() {
    check(
        "*/30 * * * *",
        "America/New_York",
        "2026-11-01T04:59:59Z",
        "2026-11-01T06:30:00Z",
        &[
            "2026-11-01T05:00:00Z",
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:00:00Z",
            "2026-11-01T06:30:00Z",
        ],
    );
    check(
        "*/15 * * * *",
        "Australia/Lord_Howe",
        "2026-04-04T14:29:59Z",
        "2026-04-04T15:30:00Z",
        &[
            "2026-04-04T14:30:00Z",
            "2026-04-04T14:45:00Z",
            "2026-04-04T15:00:00Z",
            "2026-04-04T15:15:00Z",
            "2026-04-04T15:30:00Z",
        ],
    );
}

#[test]
fn a_fixed_time_in_a_gap_of_three_hours_or_more_does_not_fire() {
    check(
        "0 9 30 12 *",
        "Pacific/Apia",
        "2011-12-01T00:00:00Z",
        "2012-01-31T00:00:00Z",
        &[],
    );
    check(
        "30 3 * * *",
        "Antarctica/Casey",
        "2009-10-17T16:00:00Z",
        "2009-10-18T12:59:59Z",
        &[],
    );
}

#[test]
fn rules_of_the_zone_apply_after_the_end_of_the_table() {
    check(
        "30 2 * * *",
        "America/New_York",
        "2126-03-10T04:59:59Z",
        "2126-03-11T03:59:59Z",
        &["2126-03-10T07:00:00Z"],
    );
    check(
        "30 1 * * *",
        "America/New_York",
        "2126-11-03T03:59:59Z",
        "2126-11-04T04:59:59Z",
        &["2126-11-03T05:30:00Z"],
    );
}

/// A TZif file of version 1: the offset is one hour from 2020 on, by a transition without a rule.
fn without_a_rule() -> Zone {
    let mut file = b"TZif".to_vec();
    file.extend([0; 16]);
    for count in [0_u32, 0, 0, 1, 2, 4] {
        file.extend(count.to_be_bytes());
    }
    file.extend(1_577_836_800_i32.to_be_bytes());
    file.push(1);
    for offset in [0_i32, 3600] {
        file.extend(offset.to_be_bytes());
        file.extend([0, 0]);
    }
    file.extend(b"-00\0");
    Zone::new(TimeZone::tzif("Test/One", &file).unwrap())
}

#[test]
fn a_zone_without_a_rule_keeps_its_last_offset() {
    let schedule = Schedule::new(expr("0 9 * * *"), without_a_rule());
    let after = at("2019-12-31T00:00:00Z");
    let until = at("2020-01-02T00:00:00Z");
    let expected = [at("2019-12-31T09:00:00Z"), at("2020-01-01T08:00:00Z")];
    assert_eq!(ticks(&schedule, after, until), expected);
    assert_eq!(
        schedule.next_after(at("2150-01-01T08:00:00Z")),
        Some(at("2150-01-02T08:00:00Z"))
    );
}

#[test]
fn counts_over_years_match_the_calendar() {
    for (text, name, from, until, expected) in [
        (
            "* * * * *",
            "UTC",
            "2016-11-20T00:00:00Z",
            "2026-11-20T00:00:00Z",
            5_258_880,
        ),
        (
            "0 9 * * 1-5",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
            261,
        ),
        (
            "0 9 * * 1-5",
            "Europe/Berlin",
            "2026-01-01T00:00:00Z",
            "2027-01-01T00:00:00Z",
            261,
        ),
        (
            "* * * * *",
            "Europe/Berlin",
            "2016-11-20T00:00:00Z",
            "2026-11-20T00:00:00Z",
            5_258_880,
        ),
        (
            "0 0 29 2 *",
            "UTC",
            "1971-01-01T00:00:00Z",
            "9999-01-01T00:00:00Z",
            1_947,
        ),
        (
            "0 0 30 2 *",
            "UTC",
            "1972-01-01T00:00:00Z",
            "9998-01-01T00:00:00Z",
            0,
        ),
        (
            "* * * * *",
            "UTC",
            "2026-01-01T00:00:00Z",
            "2025-01-01T00:00:00Z",
            0,
        ),
    ] {
        let schedule = Schedule::new(expr(text), zone(name));
        assert_eq!(
            schedule.count(at(from), at(until)),
            expected,
            "`{text}` {name} {from}"
        );
    }
}

#[test]
fn zones_are_equal_if_name_and_transitions_are_equal() {
    assert_eq!(zone("Europe/Berlin"), zone("Europe/Berlin"));
    assert_ne!(zone("Europe/Berlin"), zone("Europe/Paris"));
    assert_eq!(zone("Europe/Berlin").to_string(), "Europe/Berlin");
    assert_eq!(Zone::utc().to_string(), "UTC");
    assert!(Zone::utc().is_fixed() && !zone("Europe/Berlin").is_fixed());
}
