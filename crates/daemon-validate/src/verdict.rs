//! What an interpreter of conditions found out about one `watch` line, as data.

use std::ops::Range;

/// How far a condition was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// Every word is accounted for.
    Mapped,
    /// An event is understood; the remainder is not.
    Partial,
    /// No event is named: a state, a quality, or anything at all.
    Vague,
    /// A time is named instead of an event.
    Time,
    /// An elapsed time is named instead of an event.
    Elapsed,
    /// An event is named that no known source emits.
    Unmapped,
}

impl ConditionStatus {
    /// Reports whether an event can meet such a condition.
    #[must_use]
    pub const fn can_wake(self) -> bool {
        matches!(self, Self::Mapped | Self::Partial)
    }
}

/// The verdict on one condition. Ranges are bytes of the condition's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionVerdict {
    /// How far the condition was understood.
    pub status: ConditionStatus,
    /// The words that were not understood.
    pub remainder: Vec<Range<usize>>,
    /// What to write instead: an event's phrase, or the five fields of a schedule.
    pub suggestion: Option<String>,
    /// Words that were read as others.
    pub corrections: Vec<Correction>,
    /// Parts that exclude each other; empty when some event can satisfy the condition.
    pub contradiction: Vec<Range<usize>>,
    /// The index, among the conditions, of an earlier one with the same meaning.
    pub same_as: Option<usize>,
    /// An instruction inside the condition.
    pub instruction: Option<Range<usize>>,
    /// Whether what the daemon itself produces could match.
    pub may_match_own_output: bool,
    /// The events it names that the format gives no example of, such as `slack message`.
    pub beyond_the_format: Vec<String>,
}

impl ConditionVerdict {
    /// Makes a verdict with a status and nothing else to say.
    #[must_use]
    pub const fn new(status: ConditionStatus) -> Self {
        Self {
            status,
            remainder: Vec::new(),
            suggestion: None,
            corrections: Vec::new(),
            contradiction: Vec::new(),
            same_as: None,
            instruction: None,
            may_match_own_output: false,
            beyond_the_format: Vec::new(),
        }
    }

    /// Reports whether an event can meet the condition.
    #[must_use]
    pub const fn can_wake(&self) -> bool {
        self.status.can_wake() && self.contradiction.is_empty()
    }
}

/// A word that was read as another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The author's word.
    pub range: Range<usize>,
    /// How it was read.
    pub spelling: String,
}
