//! What becomes of overdue ticks, policy by policy.

use std::fmt::Write as _;
use std::time::Duration;

use daemon_schedule::{
    Cancels, Misfire, Overlap, Plan, Policy, Recurrence, TickOutcome, TickRow, Unfinished, jitter,
    retracted, superseded,
};
use expect_test::{Expect, expect};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::{at, schedule};

const IDLE: Unfinished = Unfinished {
    running: 0,
    pending: 0,
};
const RUNNING: Unfinished = Unfinished {
    running: 1,
    pending: 0,
};
const WAITING: Unfinished = Unfinished {
    running: 1,
    pending: 1,
};

fn render(plan: &Plan) -> String {
    let mut acc = String::new();
    for row in &plan.rows {
        writeln!(
            acc,
            "{} {}..{} x{}",
            row.outcome, row.first, row.scheduled_at, row.count
        )
        .unwrap();
    }
    for trigger in &plan.triggers {
        writeln!(acc, "trigger {trigger}").unwrap();
    }
    if plan.cancels_running == Cancels::Running {
        acc.push_str("cancel running\n");
    }
    acc
}

fn check(
    policy: Policy,
    text: &str,
    after: &str,
    now: &str,
    unfinished: Unfinished,
    expected: Expect,
) {
    let plan = policy.plan(&schedule(text), at(after), at(now), unfinished);
    expected.assert_eq(&render(&plan));
}

fn with(misfire: Misfire, overlap: Overlap) -> Policy {
    Policy {
        misfire,
        overlap,
        ..Policy::default()
    }
}

#[test]
fn a_tick_on_time_is_enqueued() {
    let policy = Policy::default();
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
    let policy = Policy::default();
    for (after, expected) in [
        (
            "2026-11-20T08:00:00Z",
            expect![[r#"
            coalesced 2026-11-20T08:01:00Z..2026-11-20T08:59:00Z x59
            enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
            trigger 2026-11-20T09:00:00Z
        "#]],
        ),
        (
            "2026-10-21T09:00:00Z",
            expect![[r#"
            missed_window 2026-10-21T09:01:00Z..2026-11-19T08:59:00Z x41759
            coalesced 2026-11-19T09:00:00Z..2026-11-20T08:59:00Z x1440
            enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
            trigger 2026-11-20T09:00:00Z
        "#]],
        ),
        (
            "2016-11-20T09:00:00Z",
            expect![[r#"
            missed_window 2016-11-20T09:01:00Z..2026-11-19T08:59:00Z x5257439
            coalesced 2026-11-19T09:00:00Z..2026-11-20T08:59:00Z x1440
            enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
            trigger 2026-11-20T09:00:00Z
        "#]],
        ),
    ] {
        check(
            policy,
            "* * * * *",
            after,
            "2026-11-20T09:00:00Z",
            IDLE,
            expected,
        );
    }
}

#[test]
fn the_edge_of_the_window_is_inside() {
    let policy = Policy::default();
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
fn misfire_skip_tolerates_a_minute() {
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
fn catch_up_enqueues_the_oldest_in_the_window() {
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
fn overlap_decides_about_ticks_that_meet_an_unfinished_activation() {
    let mut acc = String::new();
    let full = Unfinished {
        running: 1,
        pending: 100,
    };
    for overlap in [
        Overlap::BufferOne,
        Overlap::Skip,
        Overlap::BufferAll,
        Overlap::CancelOther,
    ] {
        for unfinished in [IDLE, RUNNING, WAITING, full] {
            let plan = with(Misfire::Coalesce, overlap).plan(
                &schedule("*/30 * * * *"),
                at("2026-11-20T08:30:00Z"),
                at("2026-11-20T09:30:00Z"),
                unfinished,
            );
            let Unfinished { running, pending } = unfinished;
            write!(
                acc,
                "{overlap:?}, {running} running, {pending} pending\n{}",
                render(&plan)
            )
            .unwrap();
        }
    }
    expect![[r#"
        BufferOne, 0 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        BufferOne, 1 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        BufferOne, 1 running, 1 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        trigger 2026-11-20T09:30:00Z
        BufferOne, 1 running, 100 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        trigger 2026-11-20T09:30:00Z
        Skip, 0 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        Skip, 1 running, 0 pending
        skipped_overlap 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        Skip, 1 running, 1 pending
        skipped_overlap 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        Skip, 1 running, 100 pending
        skipped_overlap 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        BufferAll, 0 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        BufferAll, 1 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        BufferAll, 1 running, 1 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        BufferAll, 1 running, 100 pending
        refused 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        CancelOther, 0 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        CancelOther, 1 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        cancel running
        CancelOther, 1 running, 1 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        trigger 2026-11-20T09:30:00Z
        cancel running
        CancelOther, 1 running, 100 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        trigger 2026-11-20T09:30:00Z
        cancel running
    "#]]
    .assert_eq(&acc);
}

#[test]
fn a_trigger_tells_what_was_missed() {
    let minutely = schedule("* * * * *");
    let now = at("2026-11-20T09:00:00Z");
    let plan = Policy::default().plan(&minutely, at("2026-11-01T00:00:00Z"), now, IDLE);
    let missed = plan.missed(&minutely).unwrap();
    assert_eq!(missed.count, 27_899);
    assert_eq!(
        (missed.first, missed.last),
        (at("2026-11-01T00:01:00Z"), at("2026-11-20T08:59:00Z"))
    );
    assert_eq!(missed.list.len(), 100);
    assert_eq!(missed.list.first(), Some(&at("2026-11-20T07:20:00Z")));
    assert_eq!(missed.list.last(), Some(&missed.last));
    let on_time = Policy::default().plan(&minutely, at("2026-11-20T08:59:00Z"), now, IDLE);
    assert_eq!(on_time.missed(&minutely), None);
}

#[test]
fn an_edit_supersedes_what_is_unrecorded() {
    let row = superseded(
        &schedule("0 * * * *"),
        at("2026-11-20T06:30:00Z"),
        at("2026-11-20T09:00:00Z"),
    );
    let expected = TickRow {
        first: at("2026-11-20T07:00:00Z"),
        scheduled_at: at("2026-11-20T09:00:00Z"),
        count: 3,
        outcome: TickOutcome::Superseded,
    };
    assert_eq!(row, Some(expected));
    let none = superseded(
        &schedule("0 9 * * *"),
        at("2026-11-20T09:00:00Z"),
        at("2026-11-21T08:00:00Z"),
    );
    assert_eq!(none, None);
}

#[test]
fn a_step_back_retracts_the_part_of_a_range_that_is_later() {
    let hourly = schedule("0 * * * *");
    let row = |first, last, count, outcome| TickRow {
        first: at(&format!("2026-11-20T{first:02}:00:00Z")),
        scheduled_at: at(&format!("2026-11-20T{last:02}:00:00Z")),
        count,
        outcome,
    };
    let (missed, gone) = (TickOutcome::MissedWindow, TickOutcome::Retracted);
    let now = at("2026-11-20T08:30:00Z");
    for (recorded, expected) in [
        (row(5, 8, 4, missed), (Some(row(5, 8, 4, missed)), None)),
        (
            row(5, 12, 8, missed),
            (Some(row(5, 8, 4, missed)), Some(row(9, 12, 4, gone))),
        ),
        (row(9, 12, 4, missed), (None, Some(row(9, 12, 4, gone)))),
        (
            row(12, 12, 1, TickOutcome::Enqueued),
            (Some(row(12, 12, 1, TickOutcome::Enqueued)), None),
        ),
    ] {
        assert_eq!(retracted(recorded, &hourly, now), expected);
    }
}

#[test]
fn jitter_depends_on_the_daemon_alone_and_stays_below_its_limit() {
    let limit = Duration::from_secs(300);
    let delays: Vec<Duration> = ["a", "b", "c"]
        .map(|id| jitter(id.as_bytes(), limit))
        .to_vec();
    assert_eq!(
        delays,
        ["a", "b", "c"]
            .map(|id| jitter(id.as_bytes(), limit))
            .to_vec()
    );
    assert!(
        delays.iter().all(|delay| *delay < limit) && delays[0] != delays[1],
        "{delays:?}"
    );
    assert_eq!(jitter(b"a", Duration::ZERO), Duration::ZERO);
}

#[test]
fn policies_are_read_by_their_words() {
    assert_eq!("catch_up".parse(), Ok(Misfire::CatchUp));
    assert_eq!("cancel_other".parse(), Ok(Overlap::CancelOther));
    let error = "queue".parse::<Overlap>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`queue` is none of `buffer_one`, `skip`, `buffer_all`, `cancel_other`"
    );
}

/// Every 90 seconds: something no cron expression says, through the provided methods.
struct Steady;

impl Recurrence for Steady {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        Timestamp::from_second((after.as_second().div_euclid(90) + 1) * 90).ok()
    }
}

#[test]
fn anything_that_recurs_can_be_planned() {
    let now = at("2026-11-20T09:00:00Z");
    let plan = Policy::default().plan(&Steady, now - SignedDuration::from_mins(6), now, IDLE);
    expect![[r#"
        coalesced 2026-11-20T08:55:30Z..2026-11-20T08:58:30Z x3
        enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        trigger 2026-11-20T09:00:00Z
    "#]]
    .assert_eq(&render(&plan));
}

fn policies() -> impl Strategy<Value = Policy> {
    let misfire = prop_oneof![
        Just(Misfire::Coalesce),
        Just(Misfire::Skip),
        Just(Misfire::CatchUp)
    ];
    let overlap = prop_oneof![
        Just(Overlap::BufferOne),
        Just(Overlap::Skip),
        Just(Overlap::BufferAll),
        Just(Overlap::CancelOther),
    ];
    (misfire, overlap, 0..200_000_u64).prop_map(|(misfire, overlap, window)| Policy {
        misfire,
        overlap,
        window: Duration::from_secs(window),
    })
}

proptest! {
    /// G1, G3: each tick of the span is in exactly one row, and rows count right.
    #[test]
    fn rows_cover_every_tick_once(
        policy in policies(),
        text in prop::sample::select(vec!["*/7 * * * *", "0 9 * * *", "* * * * *", "0 */5 * * 1"]),
        start in 1_767_225_600..1_800_000_000_i64, length in 0..300_000_i64,
        running in 0..2_u64, pending in prop::sample::select(vec![0, 1, 50, 99, 100]),
    ) {
        let schedule = schedule(text);
        let (after, now) =
            (Timestamp::from_second(start).unwrap(), Timestamp::from_second(start + length).unwrap());
        let plan = policy.plan(&schedule, after, now, Unfinished { running, pending });
        let mut edge = after;
        for row in &plan.rows {
            prop_assert_eq!(schedule.next_after(edge), Some(row.first));
            prop_assert_eq!(schedule.count_in(edge, row.scheduled_at), row.count);
            prop_assert!(row.outcome != TickOutcome::Enqueued || row.count == 1);
            edge = row.scheduled_at;
        }
        prop_assert!(schedule.next_after(edge).is_none_or(|tick| tick > now));
        let enqueued: Vec<_> = plan.rows.iter()
            .filter(|row| row.outcome == TickOutcome::Enqueued).map(|row| row.scheduled_at).collect();
        if !enqueued.is_empty() {
            prop_assert_eq!(plan.triggers, enqueued);
        }
    }
}
