//! The log of a simulation, to investigate a seed.

use jiff::Timestamp;

/// One event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The virtual day since the beginning, from 0.
    pub day: u32,
    /// The time of the wall clock.
    pub wall: Timestamp,
    /// A description.
    pub text: String,
}

/// The log of a simulation, if one is kept; most simulations keep none.
#[derive(Debug, Default)]
pub(crate) enum Story {
    /// No line is kept.
    #[default]
    Silent,
    /// Every line is kept.
    Told(Vec<LogLine>),
}

impl Story {
    pub(crate) fn lines(self) -> Vec<LogLine> {
        match self {
            Self::Silent => Vec::new(),
            Self::Told(lines) => lines,
        }
    }
}
