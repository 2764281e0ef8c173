//! Ticks: due instants of a schedule, and what became of them.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

/// What became of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TickOutcome {
    /// It made an activation.
    Enqueued,
    /// It joined a waiting activation.
    Coalesced,
    /// The policy was `skip` and an activation was unfinished.
    SkippedOverlap,
    /// It fell into quiet hours.
    SkippedQuiet,
    /// It was outside the misfire window, or over a cap.
    MissedWindow,
    /// It was unrecorded when an edit or a removal was seen.
    Superseded,
    /// A queue limit was reached.
    Refused,
    /// The clock stepped back past it before it made an activation.
    Retracted,
}

impl TickOutcome {
    /// Every outcome.
    pub const ALL: [Self; 8] = [
        Self::Enqueued,
        Self::Coalesced,
        Self::SkippedOverlap,
        Self::SkippedQuiet,
        Self::MissedWindow,
        Self::Superseded,
        Self::Refused,
        Self::Retracted,
    ];

    /// Returns the word used in rows and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enqueued => "enqueued",
            Self::Coalesced => "coalesced",
            Self::SkippedOverlap => "skipped_overlap",
            Self::SkippedQuiet => "skipped_quiet",
            Self::MissedWindow => "missed_window",
            Self::Superseded => "superseded",
            Self::Refused => "refused",
            Self::Retracted => "retracted",
        }
    }
}

impl fmt::Display for TickOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reports a word that names no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOutcome(pub String);

impl fmt::Display for UnknownOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an outcome of a tick", self.0)
    }
}

impl std::error::Error for UnknownOutcome {}

impl FromStr for TickOutcome {
    type Err = UnknownOutcome;

    fn from_str(text: &str) -> Result<Self, UnknownOutcome> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
            .ok_or_else(|| UnknownOutcome(text.to_owned()))
    }
}

/// One tick, or an unbroken range of ticks with one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRow {
    /// The first instant.
    pub first: Timestamp,
    /// The last instant; the only one, if `count` is 1.
    pub scheduled_at: Timestamp,
    /// How many instants.
    pub count: u64,
    /// What became of them.
    pub outcome: TickOutcome,
}

impl TickRow {
    /// Makes the row of a single tick.
    pub const fn one(scheduled_at: Timestamp, outcome: TickOutcome) -> Self {
        Self {
            first: scheduled_at,
            scheduled_at,
            count: 1,
            outcome,
        }
    }
}
