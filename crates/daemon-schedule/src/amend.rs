//! Rows as they are recorded and amended: ranges of ticks, and what an edit, a clock or an earlier record cuts off them.

use jiff::{SignedDuration, Timestamp};

use crate::recurrence::Recurrence;
use crate::tick::{TickOutcome, TickRow};

/// Records the ticks that an edit or a removal at `now` found unrecorded.
pub fn superseded(
    recurrence: &dyn Recurrence,
    after: Timestamp,
    now: Timestamp,
) -> Option<TickRow> {
    range(recurrence, after, now, TickOutcome::Superseded)
}

/// Splits a recorded row at an instant the clock stepped back to: what stays, and what is
/// `retracted`.
///
/// An enqueued tick stays: its activation exists.
pub fn retracted(
    row: TickRow,
    recurrence: &dyn Recurrence,
    now: Timestamp,
) -> (Option<TickRow>, Option<TickRow>) {
    if row.outcome == TickOutcome::Enqueued || row.scheduled_at <= now {
        return (Some(row), None);
    }
    if row.first > now {
        return (
            None,
            Some(TickRow {
                outcome: TickOutcome::Retracted,
                ..row
            }),
        );
    }
    (
        range(recurrence, just_before(row.first), now, row.outcome),
        range(recurrence, now, row.scheduled_at, TickOutcome::Retracted),
    )
}

/// Cuts what is recorded already out of a row that is about to be written.
///
/// `recorded` are the spans of existing rows, each from its first to its last instant, oldest
/// first. What is left are the row's other ticks, in as many rows as there are pieces.
pub fn unrecorded(
    row: TickRow,
    recurrence: &dyn Recurrence,
    recorded: impl IntoIterator<Item = (Timestamp, Timestamp)>,
) -> Vec<TickRow> {
    let mut pieces = Vec::new();
    let mut after = just_before(row.first);
    for (first, last) in recorded {
        let until = just_before(first).min(row.scheduled_at);
        pieces.extend(range(recurrence, after, until, row.outcome));
        after = after.max(last);
    }
    pieces.extend(range(recurrence, after, row.scheduled_at, row.outcome));
    pieces
}

pub(crate) fn range(
    recurrence: &dyn Recurrence,
    after: Timestamp,
    until: Timestamp,
    outcome: TickOutcome,
) -> Option<TickRow> {
    let scheduled_at = recurrence.latest_in(after, until)?;
    let first = recurrence
        .next_after(after)
        .expect("there is a tick in the span");
    let count = if first == scheduled_at {
        1
    } else {
        recurrence.count_in(after, scheduled_at)
    };
    Some(TickRow {
        first,
        scheduled_at,
        count,
        outcome,
    })
}

pub(crate) fn just_before(tick: Timestamp) -> Timestamp {
    tick.saturating_sub(SignedDuration::from_nanos(1))
        .expect("saturates for absolute durations")
}
