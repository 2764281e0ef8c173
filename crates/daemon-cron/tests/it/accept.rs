//! Valid expressions: their canonical text, description, masks and ticks.

use std::fmt::Write as _;

use daemon_cron::{CronExpr, CronField};
use expect_test::{Expect, expect};
use proptest::prelude::*;

use crate::{at, expr};

fn check(texts: &[&str], expected: Expect) {
    let mut acc = String::new();
    for text in texts {
        let expr = expr(text);
        writeln!(acc, "{text:?} prints `{expr}` fires {}", expr.describe()).unwrap();
        assert_eq!(
            crate::expr(&expr.to_string()),
            expr,
            "`{text}` prints `{expr}`"
        );
    }
    expected.assert_eq(&acc);
}

#[test]
fn times_of_the_day_print_and_describe_themselves() {
    check(
        &[
            "* * * * *",
            "*/5 * * * *",
            "0 * * * *",
            "15 * * * *",
            "0 */6 * * *",
            "15 */6 * * *",
            "0 9 * * *",
            "0 9,17 * * *",
            "0 9-17 * * *",
            "*/7 * * * *",
            "0,7,20 * * * *",
            "*/60 */24 * * *",
            "5,*/20 * * * *",
            "*/10 0-5,20-23 * * *",
            "3-59/15 2,4 * * *",
            "7,9 */4 * * *",
            "*/30 */8 * * *",
        ],
        expect![[r#"
            "* * * * *" prints `* * * * *` fires every minute
            "*/5 * * * *" prints `*/5 * * * *` fires every 5 minutes
            "0 * * * *" prints `0 * * * *` fires every hour on the hour
            "15 * * * *" prints `15 * * * *` fires at 15 minutes past every hour
            "0 */6 * * *" prints `0 */6 * * *` fires every 6 hours on the hour
            "15 */6 * * *" prints `15 */6 * * *` fires at 15 minutes past every 6 hours
            "0 9 * * *" prints `0 9 * * *` fires at 09:00 every day
            "0 9,17 * * *" prints `0 9,17 * * *` fires at 09:00 and 17:00 every day
            "0 9-17 * * *" prints `0 9-17 * * *` fires on the hour from 09:00 to 17:59 every day
            "*/7 * * * *" prints `*/7 * * * *` fires at 0, 7, 14, 21, 28, 35, 42, 49 and 56 minutes past every hour
            "0,7,20 * * * *" prints `0,7,20 * * * *` fires at 0, 7 and 20 minutes past every hour
            "*/60 */24 * * *" prints `*/60 */24 * * *` fires at 00:00 every day
            "5,*/20 * * * *" prints `*/20,5 * * * *` fires at 0, 5, 20 and 40 minutes past every hour
            "*/10 0-5,20-23 * * *" prints `*/10 0-5,20-23 * * *` fires every 10 minutes from 00:00 to 05:59 and 20:00 to 23:59 every day
            "3-59/15 2,4 * * *" prints `3-48/15 2,4 * * *` fires at 3, 18, 33 and 48 minutes past the hour from 02:00 to 02:59 and 04:00 to 04:59 every day
            "7,9 */4 * * *" prints `7,9 */4 * * *` fires at 7 and 9 minutes past every 4 hours
            "*/30 */8 * * *" prints `*/30 */8 * * *` fires every 30 minutes of every 8 hours' first hour
        "#]],
    );
}

#[test]
fn restricted_days_and_months_print_and_describe_themselves() {
    check(
        &[
            "30 14 * * 1-5",
            "*/15 9-17 * * 1-5",
            "0 0 1 * *",
            "0 0 1,15 * *",
            "0 0 13 * 5",
            "0 0 29 2 *",
            "0 0 30 2 *",
            "0 0 1 1-3 *",
            "0 0 * * 0,6",
            "0 0 */2 * *",
            "0 12 * */3 *",
        ],
        expect![[r#"
            "30 14 * * 1-5" prints `30 14 * * 1-5` fires at 14:30 on Monday through Friday
            "*/15 9-17 * * 1-5" prints `*/15 9-17 * * 1-5` fires every 15 minutes from 09:00 to 17:59 on Monday through Friday
            "0 0 1 * *" prints `0 0 1 * *` fires at 00:00 on day 1 of the month
            "0 0 1,15 * *" prints `0 0 1,15 * *` fires at 00:00 on days 1 and 15 of the month
            "0 0 13 * 5" prints `0 0 13 * 5` fires at 00:00 on day 13 of the month or on Friday
            "0 0 29 2 *" prints `0 0 29 2 *` fires at 00:00 on day 29 of the month in February
            "0 0 30 2 *" prints `0 0 30 2 *` fires at 00:00 on day 30 of the month in February, which never comes
            "0 0 1 1-3 *" prints `0 0 1 1-3 *` fires at 00:00 on day 1 of the month in January through March
            "0 0 * * 0,6" prints `0 0 * * 0,6` fires at 00:00 on Sunday and Saturday
            "0 0 */2 * *" prints `0 0 */2 * *` fires at 00:00 on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month
            "0 12 * */3 *" prints `0 12 * */3 *` fires at 12:00 every day in January, April, July and October
        "#]],
    );
}

#[test]
fn different_spellings_of_the_same_meaning_are_equal() {
    for (one, other) in [
        ("0 0 * * MON-FRI", "0 0 * * 1-5"),
        ("0 0 * jan,Feb sun", "0 0 * 1-2 7"),
        ("0 0 * * 5-7", "0 0 * * 0,5,6"),
        ("0 0 * * MON-5", "0 0 * * 1-FRI"),
        ("\t 00 \t 0009 * * 0-7 ", "0 9 * * 0-6"),
        ("0 0 * * 5-7/2", "0 0 * * FRI,SUN"),
        ("*/90 * * * *", "*/60 * * * *"),
        ("0 0 */2 * *", "0 0 1-31/2 * *"),
        ("0 0 1 * *,5", "0 0 1 * 0-6"),
        ("*,7 * * * *", "* * * * *"),
    ] {
        assert_eq!(expr(one), expr(other), "`{one}` and `{other}`");
    }
}

#[test]
fn a_star_is_part_of_the_meaning() {
    for (one, other) in [
        ("0 0 * * *", "*/60 0 * * *"),
        ("0-59 0-23 * * *", "* * * * *"),
        ("0 0 1-31 * 1", "0 0 * * 1"),
        ("0 0 1 * 0-6", "0 0 1 * *"),
    ] {
        assert_ne!(expr(one), expr(other), "`{one}` and `{other}`");
    }
    assert!(expr("0 0 * * *").is_fixed_time());
    assert!(!expr("*/60 0 * * *").is_fixed_time());
}

#[test]
fn a_mask_has_a_bit_for_each_value() {
    let weekdays = expr("30 14 1,31 12 1-5");
    let masks = [
        CronField::Minute,
        CronField::Hour,
        CronField::DayOfMonth,
        CronField::Month,
        CronField::DayOfWeek,
    ]
    .map(|field| weekdays.mask(field));
    assert_eq!(
        masks,
        [1 << 30, 1 << 14, 1 << 1 | 1 << 31, 1 << 12, 0b11_1110]
    );
}

#[test]
fn a_tick_is_strictly_later_and_within_the_domain() {
    let minutely = expr("* * * * *");
    for (after, expected) in [
        ("2026-01-01T00:00:00Z", Some("2026-01-01T00:01:00Z")),
        (
            "2026-01-01T00:00:59.999999999Z",
            Some("2026-01-01T00:01:00Z"),
        ),
        ("2025-12-31T23:59:59.5Z", Some("2026-01-01T00:00:00Z")),
        ("1971-12-31T23:59:59Z", None),
        ("1972-01-01T00:00:00Z", Some("1972-01-01T00:01:00Z")),
        ("9998-12-31T23:58:59Z", Some("9998-12-31T23:59:00Z")),
        ("9998-12-31T23:59:00Z", None),
        ("9999-06-01T00:00:00Z", None),
        ("-000044-01-01T00:00:00Z", None),
    ] {
        assert_eq!(
            minutely.next_after(at(after)),
            expected.map(at),
            "after {after}"
        );
    }
}

#[test]
fn an_impossible_date_never_fires_and_a_rare_date_is_found() {
    for (text, expected) in [
        ("0 0 30 2 *", true),
        ("0 0 31 2,4,6,9,11 *", true),
        ("0 0 30-31 2 *", true),
        ("0 0 31 4 1-7", false),
        ("0 0 31 4-5 *", false),
        ("0 0 29 2 *", false),
    ] {
        assert_eq!(expr(text).never_fires(), expected, "`{text}`");
    }
    assert_eq!(
        expr("0 0 30 2 *").next_after(at("2026-01-01T00:00:00Z")),
        None
    );
    let leap_day = expr("0 0 29 2 *").next_after(at("2096-03-01T00:00:00Z"));
    assert_eq!(leap_day, Some(at("2104-02-29T00:00:00Z")));
}

#[test]
fn a_day_that_matches_either_day_field_fires_if_both_are_restricted() {
    for (text, expected) in [
        ("0 0 13 * 5", &[2, 9, 13, 16, 23, 30][..]),
        ("0 0 */2 * 1", &[1, 3, 5, 7, 9, 11, 12, 13]),
    ] {
        let mut tick = at("2025-12-31T23:59:00Z");
        for day in expected {
            tick = expr(text).next_after(tick).unwrap();
            assert_eq!(tick, at(&format!("2026-01-{day:02}T00:00:00Z")), "`{text}`");
        }
    }
}

#[test]
fn the_minimum_gap_includes_gaps_across_hours_and_days() {
    for (text, expected) in [
        ("* * * * *", Some(1)),
        ("*/5 * * * *", Some(5)),
        ("0,59 * * * *", Some(1)),
        ("0,59 9 * * *", Some(59)),
        ("58,2 9-10 * * *", Some(4)),
        ("0 9 * * *", None),
        ("0 9,10 * * *", Some(60)),
        ("0,59 0,23 * * *", Some(1)),
        ("0,59 0,23 15 * *", Some(59)),
        ("0,59 0,23 1,31 * *", Some(1)),
        ("*/7 * * * *", Some(4)),
    ] {
        assert_eq!(expr(text).minimum_gap(), expected, "`{text}`");
    }
}

/// Generates fields with items of every form of the grammar.
fn field_text(min: u32, max: u32) -> impl Strategy<Value = String> {
    let value = move || min..=max;
    let item = prop_oneof![
        3 => Just("*".to_owned()),
        3 => (1..70_u32).prop_map(|step| format!("*/{step}")),
        4 => value().prop_map(|a| a.to_string()),
        3 => (value(), value()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        3 => (value(), value(), 1..40_u32)
            .prop_map(|(a, b, step)| format!("{}-{}/{step}", a.min(b), a.max(b))),
    ];
    prop::collection::vec(item, 1..4).prop_map(|items| items.join(","))
}

pub(crate) fn expression_text() -> impl Strategy<Value = String> {
    (
        field_text(0, 59),
        field_text(0, 23),
        field_text(1, 31),
        field_text(1, 12),
        field_text(0, 7),
    )
        .prop_map(|(minute, hour, day, month, weekday)| {
            format!("{minute} {hour} {day} {month} {weekday}")
        })
}

proptest! {
    #[test]
    fn printing_then_parsing_gives_an_equal_expression(text in expression_text()) {
        let parsed = expr(&text);
        prop_assert_eq!(expr(&parsed.to_string()), parsed, "`{}` prints `{}`", text, parsed);
        prop_assert!(!parsed.describe().is_empty());
    }

    #[test]
    fn parsing_arbitrary_text_does_not_panic(text in "\\PC{0,40}") {
        if let Err(error) = text.parse::<CronExpr>() {
            prop_assert!(!error.problems().is_empty());
            for problem in error.problems() {
                prop_assert!(text.get(problem.span.clone()).is_some());
            }
        }
    }

    #[test]
    fn parsing_text_that_resembles_cron_does_not_panic(text in "[0-9*/,a-zA-Z@=#? \t\n\u{a0}-]{0,24}") {
        if let Err(error) = text.parse::<CronExpr>() {
            prop_assert!(!error.problems().is_empty());
            for problem in error.problems() {
                prop_assert!(text.get(problem.span.clone()).is_some());
            }
        }
    }
}
