//! Notes on valid expressions.

use std::fmt::Write as _;

use daemon_cron::notes;
use expect_test::{Expect, expect};

use crate::at;
use crate::zones::zone;

fn check(texts: &[&str], zone_name: &str, expected: Expect) {
    let mut acc = String::new();
    for text in texts {
        writeln!(acc, "{text:?}").unwrap();
        for note in notes(text, &zone(zone_name), at("2026-01-01T00:00:00Z")).unwrap() {
            let (code, span) = (note.code(), &note.span);
            write!(
                acc,
                "{code} {}..{}: {note}; {}",
                span.start, span.end, note.help
            )
            .unwrap();
            if let Some(fix) = &note.fix {
                let mut fixed = (*text).to_owned();
                fixed.replace_range(fix.span.clone(), &fix.text);
                write!(acc, " → {fixed}").unwrap();
            }
            acc.push('\n');
        }
    }
    expected.assert_eq(&acc);
}

#[test]
fn ordinary_expressions_have_no_notes() {
    check(
        &[
            "0 9 * * *",
            "0 */6 * * *",
            "30 14 * * 1-5",
            "*/5 * * * *",
            "5-59/7 * * * *",
        ],
        "UTC",
        expect![[r#"
            "0 9 * * *"
            "0 */6 * * *"
            "30 14 * * 1-5"
            "*/5 * * * *"
            "5-59/7 * * * *"
        "#]],
    );
}

#[test]
fn names_are_noted_with_numbers_as_the_fix() {
    check(
        &["0 9 * * MON-FRI", "0 9 1 jan,JUL Sun"],
        "UTC",
        expect![[r#"
            "0 9 * * MON-FRI"
            D207 8..15: names in `MON-FRI` are not portable; `1-5` for `MON-FRI` → 0 9 * * 1-5
            "0 9 1 jan,JUL Sun"
            D207 6..13: names in `jan,JUL` are not portable; `1,7` for `jan,JUL` → 0 9 1 1,7 Sun
            D207 14..17: names in `Sun` are not portable; `0` for `Sun` → 0 9 1 jan,JUL 0
            D212 0..17: a day matching day-of-month or day-of-week fires, not only one matching both; the next three are Thu 2026-01-01 09:00, Sun 2026-01-04 09:00, Sun 2026-01-11 09:00 (UTC)
        "#]],
    );
}

#[test]
fn impossible_dates_are_noted_with_the_nearest_valid_date() {
    check(
        &["0 0 30 2 *", "0 0 31 2,4 *"],
        "UTC",
        expect![[r#"
        "0 0 30 2 *"
        D210 0..10: no such date: 30 February; the nearest day that exists is 29: `0 0 29 2 *`
        "0 0 31 2,4 *"
        D210 0..12: no such date: 31 February; the nearest day that exists is 30: `0 0 30 2,4 *`
    "#]],
    );
}

#[test]
fn frequent_ticks_two_day_fields_and_uneven_steps_are_noted() {
    check(
        &[
            "* * * * *",
            "0 0 13 * 5",
            "*/7 * * * *",
            "0 */5 * * *",
            "0 0 */2 * *",
            "*/90 * * * *",
            "0-59/7 0 * * *",
            "0 0 1 */5 *",
            "0 0 * * */2",
        ],
        "UTC",
        expect![[r#"
            "* * * * *"
            D211 0..9: `schedule` fires more often than every 5 minutes; `*/5` would do; this makes up to 1440 activations a day
            "0 0 13 * 5"
            D212 0..10: a day matching day-of-month or day-of-week fires, not only one matching both; the next three are Fri 2026-01-02 00:00, Fri 2026-01-09 00:00, Tue 2026-01-13 00:00 (UTC)
            "*/7 * * * *"
            D213 0..3: `*/7` restarts each hour; the gaps are 7 minutes, then 4 at the end of each hour
            "0 */5 * * *"
            D213 2..5: `*/5` restarts each day; the gaps are 5 hours, then 4 at the end of each day
            "0 0 */2 * *"
            D213 4..7: `*/2` restarts each month; the gaps are 2 days, and another at the end of each month
            "*/90 * * * *"
            D213 0..4: `*/90` restarts each hour; it fires in one value of each hour, not every 90 minutes
            "0-59/7 0 * * *"
            D213 0..6: `0-59/7` restarts each hour; the gaps are 7 minutes, then 4 at the end of each hour
            "0 0 1 */5 *"
            D213 6..9: `*/5` restarts each year; the gaps are 5 months, then 2 at the end of each year
            "0 0 * * */2"
            D213 8..11: `*/2` restarts each week; the gaps are 2 days, then 1 at the end of each week
        "#]],
    );
}

#[test]
fn times_in_skipped_and_repeated_hours_are_noted() {
    check(
        &[
            "30 2 * * *",
            "30 1 * * *",
            "*/30 2 * * *",
            "30 14 * * *",
            "*/15 * * * *",
            "*/30 1-2 * * *",
        ],
        "America/New_York",
        expect![[r#"
            "30 2 * * *"
            D214 0..10: 02:30 is skipped on 2026-03-08 in America/New_York; it fires once as the gap ends, at 03:00 EDT
            "30 1 * * *"
            D214 0..10: 01:30 comes twice on 2026-11-01 in America/New_York; it fires in the first pass only
            "*/30 2 * * *"
            D214 0..12: 02:00 is skipped on 2026-03-08 in America/New_York; the skipped times do not fire that day
            "30 14 * * *"
            "*/15 * * * *"
            "*/30 1-2 * * *"
            D214 0..14: 02:00 is skipped on 2026-03-08 in America/New_York; the skipped times do not fire that day
            D214 0..14: 01:00 comes twice on 2026-11-01 in America/New_York; it fires in both passes
        "#]],
    );
    check(
        &["30 2 * * *"],
        "UTC",
        expect![[r#"
        "30 2 * * *"
    "#]],
    );
}
