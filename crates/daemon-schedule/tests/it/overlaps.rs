//! Ticks that are due while an activation is unfinished, under each overlap policy.

use std::collections::BTreeMap;

use daemon_schedule::{Misfire, Overlap, Unfinished};
use expect_test::expect;

use crate::plan_kit::{IDLE, RUNNING, WAITING, render, with};
use crate::{at, schedule};

/// Returns the plan of each policy and each number of unfinished activations. Many cases have the
/// same plan, so each plan occurs once with its cases.
fn plans_of_all_cases() -> String {
    let full = Unfinished {
        running: 1,
        pending: 100,
    };
    let mut cases: BTreeMap<String, Vec<String>> = BTreeMap::new();
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
            let case = format!("{overlap:?}, {running} running, {pending} pending\n");
            cases.entry(render(&plan)).or_default().push(case);
        }
    }
    cases
        .into_iter()
        .map(|(plan, cases)| format!("{}{plan}\n", cases.concat()))
        .collect()
}

#[test]
fn the_overlap_policy_decides_about_ticks_during_an_unfinished_activation() {
    expect![[r#"
        BufferOne, 0 running, 0 pending
        BufferOne, 1 running, 0 pending
        Skip, 0 running, 0 pending
        BufferAll, 0 running, 0 pending
        BufferAll, 1 running, 0 pending
        BufferAll, 1 running, 1 pending
        CancelOther, 0 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z

        CancelOther, 1 running, 0 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:00:00Z x1
        enqueued 2026-11-20T09:30:00Z..2026-11-20T09:30:00Z x1
        trigger 2026-11-20T09:30:00Z
        cancel running

        BufferOne, 1 running, 1 pending
        BufferOne, 1 running, 100 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        trigger 2026-11-20T09:30:00Z

        CancelOther, 1 running, 1 pending
        CancelOther, 1 running, 100 pending
        coalesced 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2
        trigger 2026-11-20T09:30:00Z
        cancel running

        BufferAll, 1 running, 100 pending
        refused 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2

        Skip, 1 running, 0 pending
        Skip, 1 running, 1 pending
        Skip, 1 running, 100 pending
        skipped_overlap 2026-11-20T09:00:00Z..2026-11-20T09:30:00Z x2

    "#]]
    .assert_eq(&plans_of_all_cases());
}
