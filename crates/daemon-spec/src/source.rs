//! The bytes of a daemon file, with spans and positions in them.

use std::ops::Range;
use std::sync::OnceLock;

/// A half-open range of bytes in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset of the first byte after the range.
    pub end: usize,
}

impl Span {
    /// Creates the span `start..end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Creates the empty span before byte `at`.
    #[must_use]
    pub const fn at(at: usize) -> Self {
        Self { start: at, end: at }
    }

    /// Returns the span as a range, for slicing a string.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns `true` if the span covers no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Returns `true` if `other` is inside this span.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// The line and column of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineColumn {
    /// Line, counted from 1. LF, CRLF and a single CR end a line.
    pub line: usize,
    /// Column in code points, counted from 1.
    pub column: usize,
    /// Byte offset, counted from 0.
    pub byte: usize,
}

#[derive(Clone, Debug)]
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

/// The content of a daemon file, with its exact bytes.
#[derive(Clone, Debug)]
pub struct SourceText {
    content: Content,
    // Built on demand: a file without diagnostics needs no lines.
    line_starts: OnceLock<Vec<usize>>,
}

impl PartialEq for SourceText {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for SourceText {}

impl SourceText {
    /// Stores the bytes of a file without changing them.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        // The encoding is checked once here, so that `text` and `slice` need no check.
        let content = match String::from_utf8(bytes) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Bytes(error.into_bytes()),
        };
        Self {
            content,
            line_starts: OnceLock::new(),
        }
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }

    /// Returns the bytes of the file without copying them.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self.content {
            Content::Text(text) => text.into_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }

    /// Returns the file as a string, or `None` if it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Bytes(_) => None,
        }
    }

    /// Returns the string that a span covers.
    ///
    /// Returns the empty string if the file is not UTF-8, or if the span is outside the file or not on
    /// character boundaries.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text()
            .and_then(|text| text.get(span.range()))
            .unwrap_or_default()
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Returns `true` if the file is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// Returns the line and column of a byte offset. An offset after the end counts as the end.
    ///
    /// The first call builds a table of line starts, which later calls reuse.
    #[must_use]
    pub fn position(&self, byte: usize) -> LineColumn {
        let bytes = self.as_bytes();
        let byte = byte.min(bytes.len());
        let starts = self.line_starts.get_or_init(|| line_starts(bytes));
        let line = starts.partition_point(|&start| start <= byte);
        let start = line
            .checked_sub(1)
            .and_then(|index| starts.get(index))
            .copied()
            .unwrap_or(0);
        let before = bytes.get(start..byte).unwrap_or_default();
        // Counting the bytes that begin a code point also gives a column where the file is not UTF-8.
        let column = 1 + before.iter().filter(|&&b| b & 0xC0 != 0x80).count();
        LineColumn { line, column, byte }
    }

    /// Returns the byte range of the line that contains `byte`, including its line break.
    #[must_use]
    pub fn line_at(&self, byte: usize) -> Span {
        let line = self.position(byte).line;
        let starts = self
            .line_starts
            .get_or_init(|| line_starts(self.as_bytes()));
        let start = line
            .checked_sub(1)
            .and_then(|index| starts.get(index))
            .copied()
            .unwrap_or(0);
        Span::new(start, starts.get(line).copied().unwrap_or(self.len()))
    }
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let mut acc = vec![0];
    let mut rest = bytes.iter().enumerate().peekable();
    while let Some((at, &byte)) = rest.next() {
        let is_break = match byte {
            b'\n' => true,
            b'\r' => rest.peek().is_none_or(|&(_, &next)| next != b'\n'),
            _ => false,
        };
        if is_break {
            acc.push(at + 1);
        }
    }
    acc
}
