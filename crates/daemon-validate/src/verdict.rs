//! The verdict of an interpreter on a `watch` condition, as data.

use std::ops::Range;

/// The degree to which a condition was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// Every word was understood.
    Mapped,
    /// An event was understood, the remainder was not.
    Partial,
    /// The condition names no event, but for example a state or a quality.
    Vague,
    /// The condition names a time instead of an event.
    Time,
    /// The condition names an elapsed time instead of an event.
    Elapsed,
    /// The condition names an event that no known source emits.
    Unmapped,
    /// The condition names an event in words that were not understood.
    Unread,
}

impl ConditionStatus {
    /// Returns `true` if an event can match a condition with this status.
    #[must_use]
    pub const fn can_wake(self) -> bool {
        matches!(self, Self::Mapped | Self::Partial)
    }
}

/// The verdict on a condition. Ranges are byte ranges of the condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionVerdict {
    /// The degree to which the condition was understood.
    pub status: ConditionStatus,
    /// The words that were not understood.
    pub remainder: Vec<Range<usize>>,
    /// A replacement: the phrase of an event, or the five fields of a schedule.
    pub suggestion: Option<String>,
    /// Words that were read with a different spelling.
    pub corrections: Vec<SpellingCorrection>,
    /// Parts that exclude each other. Empty if an event can satisfy the condition.
    pub contradiction: Vec<Range<usize>>,
    /// The index of an earlier condition with the same meaning, among the conditions that are text.
    pub same_as: Option<usize>,
    /// An instruction inside the condition.
    pub instruction: Option<Range<usize>>,
    /// Whether output of the daemon itself could match.
    pub may_match_own_output: bool,
    /// The named events of which the format gives no example, such as `slack message`.
    pub beyond_the_format: Vec<String>,
    /// Whether it names an event of which the format gives an example.
    pub names_the_format: bool,
}

impl ConditionVerdict {
    /// Creates a verdict with a status and no further findings.
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
            names_the_format: false,
        }
    }

    /// Returns `true` if an event can match the condition.
    #[must_use]
    pub const fn can_wake(&self) -> bool {
        self.status.can_wake() && self.contradiction.is_empty()
    }
}

/// A word that was read with a different spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpellingCorrection {
    /// The byte range of the author's word.
    pub range: Range<usize>,
    /// The spelling with which the word was read.
    pub spelling: String,
}
