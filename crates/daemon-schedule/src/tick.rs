//! Ticks: the due instants of a schedule, with their outcomes.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

/// The recorded outcome of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TickOutcome {
    /// The tick created an activation.
    Enqueued,
    /// The tick joined an activation that is waiting.
    Coalesced,
    /// The overlap policy is `skip` and an activation was unfinished.
    SkippedOverlap,
    /// The tick fell into quiet hours.
    SkippedQuiet,
    /// The tick was outside the misfire window or above a cap.
    MissedWindow,
    /// The tick was not recorded yet when its schedule was edited or removed.
    Superseded,
    /// A queue limit was reached.
    Refused,
    /// The clock stepped back past the tick before the tick created an activation.
    Retracted,
}

impl TickOutcome {
    /// Every outcome, in the order of declaration.
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

    /// Returns the word used in rows and JSON, such as `missed_window`.
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

/// The error of a word that is not a [`TickOutcome`]. It contains the word.
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

/// A tick, or a range of consecutive ticks with the same outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRow {
    /// The earliest tick of the range.
    pub first: Timestamp,
    /// The latest tick of the range; equal to `first` if `count` is 1.
    pub scheduled_at: Timestamp,
    /// The number of ticks from `first` to `scheduled_at`, at least 1.
    pub count: u64,
    /// The outcome of every tick of the range.
    pub outcome: TickOutcome,
}

impl TickRow {
    /// Creates the row of a single tick.
    pub const fn one(scheduled_at: Timestamp, outcome: TickOutcome) -> Self {
        Self {
            first: scheduled_at,
            scheduled_at,
            count: 1,
            outcome,
        }
    }
}
