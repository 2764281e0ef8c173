//! Properties of all plans, parsing of policies, and jitter.

use std::time::Duration;

use daemon_schedule::{Misfire, Overlap, Recurrence, TickOutcome, TickPolicy, Unfinished, jitter};
use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::plan_kit::{IDLE, render};
use crate::{at, schedule};

#[test]
fn jitter_depends_only_on_the_daemon_and_is_less_than_its_limit() {
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
fn policies_parse_from_their_words() {
    assert_eq!("catch_up".parse(), Ok(Misfire::CatchUp));
    assert_eq!("cancel_other".parse(), Ok(Overlap::CancelOther));
    let error = "queue".parse::<Overlap>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`queue` is not one of `buffer_one`, `skip`, `buffer_all`, `cancel_other`"
    );
}

/// Every 90 seconds, which no cron expression can express. It uses the default methods.
struct EveryNinetySeconds;

impl Recurrence for EveryNinetySeconds {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        Timestamp::from_second((after.as_second().div_euclid(90) + 1) * 90).ok()
    }
}

#[test]
fn a_recurrence_that_is_not_cron_can_be_planned() {
    let now = at("2026-11-20T09:00:00Z");
    let after = now - SignedDuration::from_mins(6);
    let plan = TickPolicy::default().plan(&EveryNinetySeconds, after, now, IDLE);
    expect![[r#"
        coalesced 2026-11-20T08:55:30Z..2026-11-20T08:58:30Z x3
        enqueued 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        trigger 2026-11-20T09:00:00Z
    "#]]
    .assert_eq(&render(&plan));
}

fn policies() -> impl Strategy<Value = TickPolicy> {
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
    (misfire, overlap, 0..200_000_u64).prop_map(|(misfire, overlap, window)| TickPolicy {
        misfire,
        overlap,
        window: Duration::from_secs(window),
    })
}

proptest! {
    /// Each tick of the span is in exactly one row, and the counts of the rows are right.
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
