//! Shared values and the text form of plans.

use std::fmt::Write as _;

use daemon_schedule::{Cancels, Misfire, Overlap, TickPlan, TickPolicy, Unfinished};
use expect_test::Expect;

use crate::{at, schedule};

pub(crate) const IDLE: Unfinished = Unfinished {
    running: 0,
    pending: 0,
};

pub(crate) const RUNNING: Unfinished = Unfinished {
    running: 1,
    pending: 0,
};

pub(crate) const WAITING: Unfinished = Unfinished {
    running: 1,
    pending: 1,
};

pub(crate) fn render(plan: &TickPlan) -> String {
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

pub(crate) fn check(
    policy: TickPolicy,
    text: &str,
    after: &str,
    now: &str,
    unfinished: Unfinished,
    expected: Expect,
) {
    let plan = policy.plan(&schedule(text), at(after), at(now), unfinished);
    expected.assert_eq(&render(&plan));
}

pub(crate) fn with(misfire: Misfire, overlap: Overlap) -> TickPolicy {
    TickPolicy {
        misfire,
        overlap,
        ..TickPolicy::default()
    }
}
