//! Liveness, derived from check-ins whenever it is read.

use jiff::{SignedDuration, Timestamp};

use crate::row::{Cadence, RosterRow, RowKind};
use crate::settings::{LivenessWindow, RosterSettings};
use crate::word::words;

/// Whether an agent is alive, as far as its check-ins show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Liveness {
    /// It is expected and has never checked in.
    Spawning,
    /// It checked in or was active recently.
    Live,
    /// It has been quiet for too long.
    Stale,
    /// It has been quiet for very long, or it was retired.
    Dead,
}

words!(Liveness, "a liveness", {
    Spawning => "spawning",
    Live => "live",
    Stale => "stale",
    Dead => "dead",
});

/// What a liveness was derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LivenessReason {
    /// The row was retired.
    Retired,
    /// No check-in was ever accepted.
    NeverCheckedIn,
    /// The newest sign is a check-in.
    CheckIn,
    /// The newest sign is activity of a session of the present incarnation.
    Activity,
}

words!(LivenessReason, "the reason of a liveness", {
    Retired => "retired",
    NeverCheckedIn => "never-checked-in",
    CheckIn => "check-in",
    Activity => "activity",
});

/// A mark on a row that is not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LivenessBadge {
    /// A heartbeat is late.
    Overdue,
    /// The first check-in is late.
    SpawnOverdue,
}

words!(LivenessBadge, "a badge", {
    Overdue => "overdue",
    SpawnOverdue => "spawn-overdue",
});

/// The liveness of a row at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivenessReport {
    /// The state.
    pub state: Liveness,
    /// What it was derived from.
    pub reason: LivenessReason,
    /// How long ago the newest sign was; never negative. `None` without a check-in.
    pub age: Option<SignedDuration>,
    /// The last instant at which the row is live if nothing more happens.
    pub stale_at: Option<Timestamp>,
    /// The last instant at which the row is not dead if nothing more happens.
    pub dead_at: Option<Timestamp>,
    /// A mark, if there is one.
    pub badge: Option<LivenessBadge>,
}

/// Derives the liveness of a row at `now`, in constant time.
///
/// No row is live before its own first check-in, even if its process or session is active.
///
/// # Examples
///
/// See the [crate page](crate).
pub fn liveness(row: &RosterRow, now: Timestamp, settings: &RosterSettings) -> LivenessReport {
    let without_window = |state, reason, badge| LivenessReport {
        state,
        reason,
        age: None,
        stale_at: None,
        dead_at: None,
        badge,
    };
    if row.is_retired() {
        return without_window(Liveness::Dead, LivenessReason::Retired, None);
    }
    let Some((seen, reason)) = seen(row) else {
        let is_late = age(row.expected_at, now) > settings.spawn_overdue;
        let badge = is_late.then_some(LivenessBadge::SpawnOverdue);
        return without_window(Liveness::Spawning, LivenessReason::NeverCheckedIn, badge);
    };
    let window = window(row, settings);
    let age = age(seen, now);
    let has_heartbeat = matches!(row.kind, RowKind::Standing | RowKind::Repository);
    let is_overdue = has_heartbeat && age > settings.heartbeat + settings.grace;
    LivenessReport {
        state: if age <= window.stale {
            Liveness::Live
        } else if age <= window.dead {
            Liveness::Stale
        } else {
            Liveness::Dead
        },
        reason,
        age: Some(age),
        stale_at: seen.checked_add(window.stale).ok(),
        dead_at: seen.checked_add(window.dead).ok(),
        badge: is_overdue.then_some(LivenessBadge::Overdue),
    }
}

/// Returns the newest sign of a row that has checked in.
fn seen(row: &RosterRow) -> Option<(Timestamp, LivenessReason)> {
    let first = row.first_checkin_at?;
    let check_in = row.last_checkin_at.unwrap_or(first);
    let activity = row
        .last_activity
        .filter(|activity| activity.incarnation == row.incarnation && activity.at > first);
    Some(match activity {
        Some(activity) if activity.at > check_in => (activity.at, LivenessReason::Activity),
        _ => (check_in, LivenessReason::CheckIn),
    })
}

fn window(row: &RosterRow, settings: &RosterSettings) -> LivenessWindow {
    let is_standing = row.kind == RowKind::Standing;
    match settings.stale_after {
        Some(stale) if is_standing => LivenessWindow {
            stale,
            dead: stale.saturating_mul(2),
        },
        _ if row.cadence == Some(Cadence::Dormant) => settings.dormant,
        _ => settings.window(row.kind),
    }
}

/// A stamp later than `now`, after a step of the clock, has the age 0.
fn age(since: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(since).max(SignedDuration::ZERO)
}
