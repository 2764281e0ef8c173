//! Rows after an edit of the schedule and after a step back of the clock.

use daemon_schedule::{TickOutcome, TickRow, retracted, superseded};

use crate::{at, schedule};

#[test]
fn an_edit_supersedes_unrecorded_ticks() {
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
    let (missed, later) = (TickOutcome::MissedWindow, TickOutcome::Retracted);
    let now = at("2026-11-20T08:30:00Z");
    for (recorded, expected) in [
        (row(5, 8, 4, missed), (Some(row(5, 8, 4, missed)), None)),
        (
            row(5, 12, 8, missed),
            (Some(row(5, 8, 4, missed)), Some(row(9, 12, 4, later))),
        ),
        (row(9, 12, 4, missed), (None, Some(row(9, 12, 4, later)))),
        (
            row(12, 12, 1, TickOutcome::Enqueued),
            (Some(row(12, 12, 1, TickOutcome::Enqueued)), None),
        ),
    ] {
        assert_eq!(retracted(recorded, &hourly, now), expected);
    }
}
