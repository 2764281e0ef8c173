//! Places in an author's line.

/// A range of bytes of the line, on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The offset of the first byte in the line.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Creates a span from two byte offsets.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Returns the author's words; empty if the span is not within the line.
    pub fn of(self, line: &str) -> &str {
        line.get(self.start..self.end).unwrap_or_default()
    }
}
