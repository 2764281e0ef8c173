//! Ticks that are due while an activation is unfinished, overlap policy by overlap policy.

use std::fmt::Write as _;

use daemon_schedule::{Misfire, Overlap, Unfinished};
use expect_test::expect;

use crate::plan_kit::{IDLE, RUNNING, WAITING, render, with};
use crate::{at, schedule};

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
