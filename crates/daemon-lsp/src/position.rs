//! Positions of the protocol and byte offsets of a document.

use daemon_spec::Span;
use lsp_types::{Position, PositionEncodingKind, Range};

/// The unit in which an editor counts within a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    /// Chooses from what an editor offers; every editor knows UTF-16.
    pub(crate) fn of(offered: Option<&[PositionEncodingKind]>) -> Self {
        match offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8)) {
            true => Self::Utf8,
            false => Self::Utf16,
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

/// The lines of a document, to convert between positions and bytes.
#[derive(Debug)]
pub(crate) struct LineTable {
    /// The offset at which each line begins.
    starts: Vec<usize>,
    encoding: Encoding,
}

impl LineTable {
    pub(crate) fn new(text: &str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            // The protocol ends lines with LF, CRLF or a single CR.
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.push(at + 1);
            }
        }
        Self { starts, encoding }
    }

    /// Returns the range of a span, which has to be inside the text.
    pub(crate) fn range(&self, text: &str, span: Span) -> Range {
        Range::new(
            self.position(text, span.start),
            self.position(text, span.end),
        )
    }

    fn position(&self, text: &str, byte: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let before = text.get(self.starts[line]..byte).unwrap_or_default();
        Position::new(count(line), count(self.encoding.length(before)))
    }

    /// Returns the offset of a position; `None` outside of the text. A character beyond the end of a line is its end.
    pub(crate) fn byte(&self, text: &str, position: Position) -> Option<usize> {
        let start = *self.starts.get(usize::try_from(position.line).ok()?)?;
        let line = self.line_at(text, start);
        let wanted = usize::try_from(position.character).ok()?;
        let mut n_units = 0;
        for (at, c) in line.char_indices() {
            if n_units >= wanted {
                return Some(start + at);
            }
            n_units += self.encoding.length(c.encode_utf8(&mut [0; 4]));
        }
        Some(start + line.len())
    }

    /// Returns the line of an offset, without its end, and where it begins.
    pub(crate) fn line<'t>(&self, text: &'t str, byte: usize) -> (usize, &'t str) {
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        (self.starts[line], self.line_at(text, self.starts[line]))
    }

    fn line_at<'t>(&self, text: &'t str, start: usize) -> &'t str {
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        &rest[..end]
    }
}

fn count(n: usize) -> u32 {
    // An open document is smaller than 4 GiB.
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\u{e9}\u{1f600}z\r\nsecond\rthird\n";

    #[test]
    fn positions_count_in_the_unit_of_the_editor() {
        for (encoding, column) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4)] {
            let lines = LineTable::new(TEXT, encoding);
            let z = TEXT.find('z').unwrap();
            let range = lines.range(TEXT, Span::new(z, z + 1));
            assert_eq!(range.start, Position::new(0, column));
            assert_eq!(range.end, Position::new(0, column + 1));
            assert_eq!(lines.byte(TEXT, range.start), Some(z));
        }
    }

    #[test]
    fn every_end_of_a_line_counts_once() {
        let lines = LineTable::new(TEXT, Encoding::Utf16);
        let third = TEXT.find("third").unwrap();
        assert_eq!(lines.byte(TEXT, Position::new(2, 0)), Some(third));
        assert_eq!(lines.line(TEXT, third + 2), (third, "third"));
        assert_eq!(lines.byte(TEXT, Position::new(3, 0)), Some(TEXT.len()));
        assert_eq!(lines.byte(TEXT, Position::new(4, 0)), None);
    }

    #[test]
    fn a_character_beyond_a_line_is_its_end_and_one_inside_a_pair_rounds_up() {
        let lines = LineTable::new(TEXT, Encoding::Utf16);
        assert_eq!(lines.byte(TEXT, Position::new(0, 99)), TEXT.find('\r'));
        assert_eq!(lines.byte(TEXT, Position::new(0, 3)), TEXT.find('z'));
    }
}
