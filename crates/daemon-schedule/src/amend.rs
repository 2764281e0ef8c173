//! Rows of tick ranges, and their changes after an edit, a clock step or an earlier record.

use jiff::{SignedDuration, Timestamp};

use crate::recurrence::Recurrence;
use crate::tick::{TickOutcome, TickRow};

/// Returns the row of the ticks that were not recorded yet when a schedule was edited or removed at
/// `now`.
///
/// Returns `None` if every tick up to `now` was recorded. `after` is the cursor of the old schedule.
pub fn superseded(
    recurrence: &dyn Recurrence,
    after: Timestamp,
    now: Timestamp,
) -> Option<TickRow> {
    range(recurrence, after, now, TickOutcome::Superseded)
}

/// Splits a recorded row at `now` after the clock stepped back to it. Returns the part that stays
/// and the part that is now `retracted`.
///
/// An enqueued tick stays, because its activation exists.
///
/// # Examples
///
/// ```
/// use daemon_cron::{Schedule, Zone};
/// use daemon_schedule::{TickOutcome, TickRow, retracted};
///
/// let hourly = Schedule::new("0 * * * *".parse()?, Zone::utc());
/// let row = TickRow {
///     first: "2026-11-20T07:00:00Z".parse()?,
///     scheduled_at: "2026-11-20T10:00:00Z".parse()?,
///     count: 4,
///     outcome: TickOutcome::MissedWindow,
/// };
/// let (kept, later) = retracted(row, &hourly, "2026-11-20T08:30:00Z".parse()?);
/// assert_eq!(kept.map(|row| row.count), Some(2));
/// assert_eq!(later.map(|row| (row.count, row.outcome)), Some((2, TickOutcome::Retracted)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// Removes the ticks that are recorded already from a row that is about to be written.
///
/// `recorded` are the first and last instants of existing rows, oldest first. The remaining ticks
/// are returned as one row for each consecutive range.
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

/// Returns the row of all ticks later than `after` and not later than `until`, or `None` if there
/// are no such ticks.
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
    // Most rows are single ticks, which need no calendar to count.
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

// Spans exclude their start, so a span that includes `tick` starts a nanosecond earlier.
pub(crate) fn just_before(tick: Timestamp) -> Timestamp {
    tick.saturating_sub(SignedDuration::from_nanos(1))
        .expect("saturates for absolute durations")
}
