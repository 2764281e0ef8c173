//! Rejected expressions: code, span, message, help and fix of every problem.

use std::fmt::Write as _;

use daemon_cron::CronExpr;
use expect_test::{Expect, expect};

/// Renders each problem as `code start..end field: message; help → text with the fix applied`.
fn report(text: &str) -> String {
    let Err(error) = text.parse::<CronExpr>() else {
        return "accepted".to_owned();
    };
    assert_eq!(error.input(), text);
    let mut acc = String::new();
    for problem in error.problems() {
        let field = problem
            .field
            .map_or_else(|| "-".to_owned(), |field| field.to_string());
        let span = &problem.span;
        let code = problem.code();
        write!(
            acc,
            "{code} {}..{} {field}: {problem}; {}",
            span.start, span.end, problem.help
        )
        .unwrap();
        if let Some(fix) = &problem.fix {
            let mut fixed = text.to_owned();
            fixed.replace_range(fix.span.clone(), &fix.text);
            write!(acc, " → {fixed}").unwrap();
        }
        acc.push('\n');
    }
    acc
}

fn check(texts: &[&str], expected: Expect) {
    let mut acc = String::new();
    for text in texts {
        write!(acc, "{text:?}\n{}", report(text)).unwrap();
    }
    expected.assert_eq(&acc);
}

#[test]
fn a_wrong_number_of_fields_is_rejected() {
    check(
        &[
            "",
            " \t ",
            "* * * *",
            "0 30 14 * * 1-5",
            "30 30 14 * * 1-5",
            "0 0 12 * * ? 2026",
        ],
        expect![[r#"
            ""
            D201 0..0 -: `schedule` must have five fields, found none; write minute, hour, day-of-month, month, day-of-week
            " \t "
            D201 0..0 -: `schedule` must have five fields, found none; write minute, hour, day-of-month, month, day-of-week
            "* * * *"
            D201 0..7 -: `schedule` must have five fields, found four; write minute, hour, day-of-month, month, day-of-week
            "0 30 14 * * 1-5"
            D201 0..15 -: `schedule` must have five fields, found six; remove the seconds field → 30 14 * * 1-5
            "30 30 14 * * 1-5"
            D201 0..16 -: `schedule` must have five fields, found six; remove the seconds field
            "0 0 12 * * ? 2026"
            D201 0..17 -: `schedule` must have five fields, found seven; remove the seconds and the year
        "#]],
    );
}

#[test]
fn a_macro_is_rejected_with_its_five_fields_as_the_fix() {
    check(
        &["@daily", " @Hourly", "@weekly\t", "@reboot", "@every 5m"],
        expect![[r#"
            "@daily"
            D202 0..6 -: `@daily` is not five fields; `0 0 * * *` → 0 0 * * *
            " @Hourly"
            D202 1..8 -: `@Hourly` is not five fields; `0 * * * *` →  0 * * * *
            "@weekly\t"
            D202 0..7 -: `@weekly` is not five fields; `0 0 * * 0` → 0 0 * * 0	
            "@reboot"
            D202 0..7 -: `@reboot` is not five fields; no five-field form
            "@every 5m"
            D202 0..9 -: `@every 5m` is not five fields; no five-field form
        "#]],
    );
}

#[test]
fn a_value_out_of_range_is_rejected_with_the_range() {
    check(
        &[
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 0 *",
            "* * * 13 *",
            "* * * * 8",
            "61-70/5 25 * * *",
        ],
        expect![[r#"
            "60 * * * *"
            D203 0..2 minute: minute 60 is out of range; 0–59
            "* 24 * * *"
            D203 2..4 hour: hour 24 is out of range; 0–23
            "* * 0 * *"
            D203 4..5 day-of-month: day-of-month 0 is out of range; 1–31
            "* * 32 * *"
            D203 4..6 day-of-month: day-of-month 32 is out of range; 1–31
            "* * * 0 *"
            D203 6..7 month: month 0 is out of range; 1–12
            "* * * 13 *"
            D203 6..8 month: month 13 is out of range; 1–12
            "* * * * 8"
            D203 8..9 day-of-week: day-of-week 8 is out of range; 0–7
            "61-70/5 25 * * *"
            D203 0..2 minute: minute 61 is out of range; 0–59
            D203 3..5 minute: minute 70 is out of range; 0–59
            D203 8..10 hour: hour 25 is out of range; 0–23
        "#]],
    );
}

#[test]
fn tokens_of_other_schedulers_are_rejected() {
    check(
        &[
            "0 0 ? * *",
            "0 0 L * *",
            "0 0 15W * *",
            "0 0 * * 5#3",
            "H * * * *",
            "0 9 * * %",
        ],
        expect![[r#"
            "0 0 ? * *"
            D204 4..5 day-of-month: `?` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 0 L * *"
            D204 4..5 day-of-month: `L` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 0 15W * *"
            D204 4..7 day-of-month: `15W` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 0 * * 5#3"
            D204 8..11 day-of-week: `5#3` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "H * * * *"
            D204 0..1 minute: `H` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 9 * * %"
            D204 8..9 day-of-week: `%` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
        "#]],
    );
}

#[test]
fn empty_and_malformed_items_are_rejected() {
    check(
        &[
            "+5 * * * *",
            "-5 * * * *",
            "1,,2 * * * *",
            ",1 * * * *",
            "1, * * * *",
            "1- * * * *",
            "1-5-9 * * * *",
            "1--2 * * * *",
            "*-5 * * * *",
            "** * * * *",
            "*/ * * * *",
            "/5 * * * *",
            "*/5/5 * * * *",
            "*/-1 * * * *",
            "0 9 1. * *",
        ],
        expect![[r#"
            "+5 * * * *"
            D204 0..2 minute: `+5` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "-5 * * * *"
            D204 0..2 minute: `-5` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "1,,2 * * * *"
            D204 2..3 minute: empty item in minute; use integers, `*`, `a-b`, `/n` and lists
            ",1 * * * *"
            D204 0..1 minute: empty item in minute; use integers, `*`, `a-b`, `/n` and lists
            "1, * * * *"
            D204 1..2 minute: empty item in minute; use integers, `*`, `a-b`, `/n` and lists
            "1- * * * *"
            D204 0..2 minute: `1-` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "1-5-9 * * * *"
            D204 0..5 minute: `1-5-9` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "1--2 * * * *"
            D204 0..4 minute: `1--2` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "*-5 * * * *"
            D204 0..3 minute: `*-5` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "** * * * *"
            D204 0..2 minute: `**` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "*/ * * * *"
            D204 0..2 minute: `*/` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "/5 * * * *"
            D204 0..2 minute: `/5` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "*/5/5 * * * *"
            D204 0..5 minute: `*/5/5` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "*/-1 * * * *"
            D204 0..4 minute: `*/-1` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 9 1. * *"
            D204 4..6 day-of-month: `1.` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
        "#]],
    );
}

#[test]
fn unknown_names_foreign_characters_and_long_numbers_are_rejected() {
    check(
        &[
            "0 0 1 febr *",
            "mon * * * *",
            "0 0 * * funday",
            "５ * * * *",
            "0\u{a0}9 * * *",
            "0 9 *\n* *",
            "0 9 * * *\n",
            "00005 * * * *",
            "*/12345678901234567890 * * * *",
            "0 9 * * 1–5",
            "0 9 * * \u{200b}*",
        ],
        expect![[r#"
            "0 0 1 febr *"
            D204 6..10 month: unknown month `febr`; JAN–DEC or 1–12
            "mon * * * *"
            D204 0..3 minute: unknown minute `mon`; use integers, `*`, `a-b`, `/n` and lists
            "0 0 * * funday"
            D204 8..14 day-of-week: unknown day-of-week `funday`; SUN–SAT or 0–7
            "５ * * * *"
            D204 0..3 minute: character U+FF15 is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0\u{a0}9 * * *"
            D204 1..3 -: character U+00A0 is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 9 *\n* *"
            D204 5..6 -: character U+000A is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 9 * * *\n"
            D204 9..10 -: character U+000A is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "00005 * * * *"
            D204 0..5 minute: number `00005` has too many digits; use integers, `*`, `a-b`, `/n` and lists
            "*/12345678901234567890 * * * *"
            D204 2..22 minute: number `12345678901234567890` has too many digits; use integers, `*`, `a-b`, `/n` and lists
            "0 9 * * 1–5"
            D204 9..12 day-of-week: character U+2013 is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
            "0 9 * * \u{200b}*"
            D204 8..11 day-of-week: character U+200B is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
        "#]],
    );
}

#[test]
fn steps_of_zero_and_steps_on_single_values_are_rejected() {
    check(
        &[
            "*/0 * * * *",
            "5/15 * * * *",
            "5/0 * * * *",
            "0 0 * * MON/2",
            "59/2 * * * *",
        ],
        expect![[r#"
            "*/0 * * * *"
            D205 0..3 minute: step 0 in `*/0`; a step is 1 or more
            "5/15 * * * *"
            D205 0..4 minute: `5/15` has a step on a single value; a step needs `*` or a range; `5-59/15` → 5-59/15 * * * *
            "5/0 * * * *"
            D205 0..3 minute: step 0 in `5/0`; a step is 1 or more
            "0 0 * * MON/2"
            D205 8..13 day-of-week: `MON/2` has a step on a single value; a step needs `*` or a range; `1-6/2` → 0 0 * * 1-6/2
            "59/2 * * * *"
            D205 0..4 minute: `59/2` has a step on a single value; a step needs `*` or a range; `59` → 59 * * * *
        "#]],
    );
}

#[test]
fn a_descending_range_is_rejected_with_ascending_items_as_the_fix() {
    check(
        &[
            "0 22-6 * * *",
            "0 22-0 * * *",
            "0 0 * * SAT-SUN",
            "0 0 * * 5-1",
            "0 0 * * 7-2",
            "0 0 28-3 * *",
            "0 22-6/2 * * *",
        ],
        expect![[r#"
            "0 22-6 * * *"
            D206 2..6 hour: `22-6` descends; `22-23,0-6` → 0 22-23,0-6 * * *
            "0 22-0 * * *"
            D206 2..6 hour: `22-0` descends; `22-23,0` → 0 22-23,0 * * *
            "0 0 * * SAT-SUN"
            D206 8..15 day-of-week: `SAT-SUN` descends; `6-7` → 0 0 * * 6-7
            "0 0 * * 5-1"
            D206 8..11 day-of-week: `5-1` descends; `5-6,0-1` → 0 0 * * 5-6,0-1
            "0 0 * * 7-2"
            D206 8..11 day-of-week: `7-2` descends; `0-2` → 0 0 * * 0-2
            "0 0 28-3 * *"
            D206 4..8 day-of-month: `28-3` descends; `28-31,1-3` → 0 0 28-31,1-3 * *
            "0 22-6/2 * * *"
            D206 2..8 hour: `22-6/2` descends; `0,2,4,6,22` → 0 0,2,4,6,22 * * *
        "#]],
    );
}

#[test]
fn a_zone_is_rejected_and_the_fields_after_it_are_still_checked() {
    check(
        &[
            "TZ=UTC 0 9 * * *",
            "CRON_TZ=Europe/Berlin 0 25 * * *",
            "tz=UTC",
        ],
        expect![[r#"
            "TZ=UTC 0 9 * * *"
            D208 0..6 -: `TZ=UTC` puts a zone inside the expression; remove it; the operator sets the zone
            "CRON_TZ=Europe/Berlin 0 25 * * *"
            D208 0..21 -: `CRON_TZ=Europe/Berlin` puts a zone inside the expression; remove it; the operator sets the zone
            D203 24..26 hour: hour 25 is out of range; 0–23
            "tz=UTC"
            D208 0..6 -: `tz=UTC` puts a zone inside the expression; remove it; the operator sets the zone
        "#]],
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    check(
        &["60 24 0 13 8", "*/0 22-6 L febr 1,,2"],
        expect![[r#"
        "60 24 0 13 8"
        D203 0..2 minute: minute 60 is out of range; 0–59
        D203 3..5 hour: hour 24 is out of range; 0–23
        D203 6..7 day-of-month: day-of-month 0 is out of range; 1–31
        D203 8..10 month: month 13 is out of range; 1–12
        D203 11..12 day-of-week: day-of-week 8 is out of range; 0–7
        "*/0 22-6 L febr 1,,2"
        D205 0..3 minute: step 0 in `*/0`; a step is 1 or more
        D206 4..8 hour: `22-6` descends; `22-23,0-6` → */0 22-23,0-6 L febr 1,,2
        D204 9..10 day-of-month: `L` is not five-field syntax; use integers, `*`, `a-b`, `/n` and lists
        D204 11..15 month: unknown month `febr`; JAN–DEC or 1–12
        D204 18..19 day-of-week: empty item in day-of-week; use integers, `*`, `a-b`, `/n` and lists
    "#]],
    );
}

#[test]
fn an_expression_of_512_bytes_is_accepted_and_a_longer_one_rejected() {
    let longest = format!("{}* * * * *", " ".repeat(512 - 9));
    assert_eq!(report(&longest), "accepted");
    let longer = format!("{longest} ");
    expect![[r#"
        D204 0..513 -: `schedule` is longer than 512 bytes; shorten the lists
    "#]]
    .assert_eq(&report(&longer));
    let list = format!("{} * * * *", ["0"; 5_000].join(","));
    expect![[r#"
        D204 0..10007 -: `schedule` is longer than 512 bytes; shorten the lists
    "#]]
    .assert_eq(&report(&list));
}

#[test]
fn an_error_prints_its_problems_in_one_line() {
    let error = "60 24 * * *".parse::<CronExpr>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "minute 60 is out of range; hour 24 is out of range"
    );
}
