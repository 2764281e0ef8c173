//! Overdue ticks under each misfire policy: enqueued, coalesced or missed.

use daemon_schedule::{Misfire, Overlap, TickOutcome, TickPolicy};
use expect_test::expect;

use crate::plan_kit::{IDLE, WAITING, check, render, with};
use crate::{at, schedule};

#[test]
fn a_tick_on_time_is_enqueued() {
    let policy = TickPolicy::default();
    check(
        policy,
        "0 9 * * *",
        "2026-11-19T09:00:00Z",
        "2026-11-20T09:00:00Z",
        IDLE,
        expect![[r#"
            enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
            trigger 2026-11-20T09:00:00Z
        "#]],
    );
    check(
        policy,
        "0 9 * * *",
        "2026-11-20T09:00:00Z",
        "2026-11-21T08:59:59Z",
        IDLE,
        expect![[r#""#]],
    );
}

#[test]
fn overdue_ticks_become_one_activation_and_at_most_three_rows() {
    // The newest tick is enqueued after every outage; the rows of older ticks differ.
    for (after, older) in [
        (
            "2026-11-20T08:00:00Z",
            &["coalesced 2026-11-20T08:01:00Z..2026-11-20T08:59:00Z x59"][..],
        ),
        (
            "2026-10-21T09:00:00Z",
            &[
                "missed_window 2026-10-21T09:01:00Z..2026-11-19T08:59:00Z x41759",
                "coalesced 2026-11-19T09:00:00Z..2026-11-20T08:59:00Z x1440",
            ],
        ),
        (
            "2016-11-20T09:00:00Z",
            &[
                "missed_window 2016-11-20T09:01:00Z..2026-11-19T08:59:00Z x5257439",
                "coalesced 2026-11-19T09:00:00Z..2026-11-20T08:59:00Z x1440",
            ],
        ),
    ] {
        let now = at("2026-11-20T09:00:00Z");
        let plan = TickPolicy::default().plan(&schedule("* * * * *"), at(after), now, IDLE);
        let newest = [
            "enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1",
            "trigger 2026-11-20T09:00:00Z",
        ];
        let expected = [older, &newest].concat();
        let plan = render(&plan);
        assert_eq!(plan.lines().collect::<Vec<_>>(), expected, "after {after}");
    }
}

#[test]
fn a_tick_at_the_edge_of_the_window_is_inside() {
    let policy = TickPolicy::default();
    check(
        policy,
        "0 9 * * *",
        "2026-11-17T09:00:00Z",
        "2026-11-20T09:00:00Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-18T09:00:00Z..2026-11-18T09:00:00Z x1
            coalesced 2026-11-19T09:00:00Z..2026-11-19T09:00:00Z x1
            enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
            trigger 2026-11-20T09:00:00Z
        "#]],
    );
    check(
        policy,
        "0 9 * * *",
        "2026-11-17T09:00:00Z",
        "2026-11-20T08:59:59Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-18T09:00:00Z..2026-11-18T09:00:00Z x1
            enqueued 2026-11-19T09:00:00Z..2026-11-19T09:00:00Z x1
            trigger 2026-11-19T09:00:00Z
        "#]],
    );
    check(
        policy,
        "0 9 1 * *",
        "2026-10-31T00:00:00Z",
        "2026-11-20T09:00:00Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-01T09:00:00Z..2026-11-01T09:00:00Z x1
        "#]],
    );
}

#[test]
fn misfire_skip_enqueues_a_tick_that_is_at_most_a_minute_late() {
    let policy = with(Misfire::Skip, Overlap::BufferOne);
    check(
        policy,
        "0 9 * * *",
        "2026-11-18T09:00:00Z",
        "2026-11-20T09:01:00Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-19T09:00:00Z..2026-11-19T09:00:00Z x1
            enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
            trigger 2026-11-20T09:00:00Z
        "#]],
    );
    check(
        policy,
        "0 9 * * *",
        "2026-11-18T09:00:00Z",
        "2026-11-20T09:01:01Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-19T09:00:00Z..2026-11-20T09:00:00Z x2
        "#]],
    );
}

#[test]
fn catch_up_enqueues_the_oldest_ticks_in_the_window() {
    let policy = with(Misfire::CatchUp, Overlap::BufferAll);
    check(
        policy,
        "0 */8 * * *",
        "2026-11-18T00:00:00Z",
        "2026-11-20T09:00:00Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-18T08:00:00Z..2026-11-19T08:00:00Z x4
            enqueued 2026-11-19T16:00:00Z..2026-11-19T16:00:00Z x1
            enqueued 2026-11-20T00:00:00Z..2026-11-20T00:00:00Z x1
            enqueued 2026-11-20T08:00:00Z..2026-11-20T08:00:00Z x1
            trigger 2026-11-19T16:00:00Z
            trigger 2026-11-20T00:00:00Z
            trigger 2026-11-20T08:00:00Z
        "#]],
    );
    let plan = policy.plan(
        &schedule("*/10 * * * *"),
        at("2026-11-18T00:00:00Z"),
        at("2026-11-20T09:00:00Z"),
        IDLE,
    );
    let outcomes: Vec<_> = plan
        .rows
        .iter()
        .map(|row| (row.outcome, row.count))
        .collect();
    let mut expected = vec![(TickOutcome::MissedWindow, 197)];
    expected.extend([(TickOutcome::Enqueued, 1); 100]);
    expected.push((TickOutcome::MissedWindow, 45));
    assert_eq!(outcomes, expected);
    let one = with(Misfire::CatchUp, Overlap::BufferOne);
    check(
        one,
        "0 */8 * * *",
        "2026-11-18T00:00:00Z",
        "2026-11-20T09:00:00Z",
        IDLE,
        expect![[r#"
            missed_window 2026-11-18T08:00:00Z..2026-11-19T08:00:00Z x4
            enqueued 2026-11-19T16:00:00Z..2026-11-19T16:00:00Z x1
            coalesced 2026-11-20T00:00:00Z..2026-11-20T08:00:00Z x2
            trigger 2026-11-19T16:00:00Z
        "#]],
    );
    check(
        one,
        "0 */8 * * *",
        "2026-11-18T00:00:00Z",
        "2026-11-20T09:00:00Z",
        WAITING,
        expect![[r#"
            missed_window 2026-11-18T08:00:00Z..2026-11-19T08:00:00Z x4
            coalesced 2026-11-19T16:00:00Z..2026-11-20T08:00:00Z x3
            trigger 2026-11-20T08:00:00Z
        "#]],
    );
}

#[test]
fn the_missed_ticks_of_a_plan_are_counted_and_the_newest_hundred_listed() {
    let minutely = schedule("* * * * *");
    let now = at("2026-11-20T09:00:00Z");
    let plan = TickPolicy::default().plan(&minutely, at("2026-11-01T00:00:00Z"), now, IDLE);
    let missed = plan.missed(&minutely).unwrap();
    assert_eq!(missed.count, 27_899);
    assert_eq!(
        (missed.first, missed.last),
        (at("2026-11-01T00:01:00Z"), at("2026-11-20T08:59:00Z"))
    );
    assert_eq!(missed.list.len(), 100);
    assert_eq!(missed.list.first(), Some(&at("2026-11-20T07:20:00Z")));
    assert_eq!(missed.list.last(), Some(&missed.last));
    let on_time = TickPolicy::default().plan(&minutely, at("2026-11-20T08:59:00Z"), now, IDLE);
    assert_eq!(on_time.missed(&minutely), None);
}
