//! What happened in a life, in words, for whoever looks into one.

use jiff::Timestamp;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The virtual day since the life began, from 0.
    pub day: u32,
    /// What the wall clock showed.
    pub wall: Timestamp,
    /// What it was.
    pub text: String,
}

/// The lines of a life that is told; most are lived in silence.
#[derive(Debug, Default)]
pub(crate) enum Story {
    /// Nobody listens.
    #[default]
    Silent,
    /// Every line is kept.
    Told(Vec<Line>),
}

impl Story {
    pub(crate) fn lines(self) -> Vec<Line> {
        match self {
            Self::Silent => Vec::new(),
            Self::Told(lines) => lines,
        }
    }
}
