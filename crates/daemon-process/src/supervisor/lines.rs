//! Cutting a stream of bytes into lines of bounded length.

use std::borrow::Cow;

/// One line of output, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The text; bytes that are not UTF-8 stand as `\xNN`.
    pub text: String,
    /// How many bytes of the line were thrown away because it was too long.
    pub dropped: u64,
    /// The bytes, where they are not UTF-8.
    pub(super) bytes: Option<Box<[u8]>>,
}

impl Line {
    /// Returns the text for a reader of JSON, in which a backslash escapes: bytes that are not UTF-8 stand as `\\xNN`, so
    /// that a string which holds them is read as [`Line::text`] shows it.
    pub fn json(&self) -> Cow<'_, str> {
        match &self.bytes {
            None => Cow::Borrowed(&self.text),
            Some(bytes) => Cow::Owned(escaped(bytes, "\\")),
        }
    }
}

/// A longer line is cut to [`KEPT_OF_LONG_LINE`], because nothing will parse it.
pub(crate) const LONGEST_LINE: usize = 4 << 20;
/// What is kept of a line that is too long, and what every stream may hold without asking for room.
pub(crate) const KEPT_OF_LONG_LINE: usize = 64 << 10;

/// The memory that all unfinished long lines of a supervisor may take together.
#[derive(Debug)]
pub(crate) struct LongLineRoom {
    left: usize,
}

impl LongLineRoom {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left;
        if fits {
            self.left -= bytes;
        }
        fits
    }
}

/// The unfinished last line of a stream.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    partial: Vec<u8>,
    /// How much of `partial` was taken from the shared room.
    borrowed: usize,
    dropped: u64,
}

impl LineBuffer {
    /// Takes bytes and emits the lines they complete.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        room: &mut LongLineRoom,
        mut emit: impl FnMut(Line),
    ) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.extend(piece, room);
            if pieces.peek().is_some() {
                emit(self.take(room));
            }
        }
    }

    /// Emits the last line if the stream ended without a line end.
    pub(crate) fn finish(&mut self, room: &mut LongLineRoom, mut emit: impl FnMut(Line)) {
        if !self.partial.is_empty() || self.dropped > 0 {
            emit(self.take(room));
        }
    }

    fn extend(&mut self, piece: &[u8], room: &mut LongLineRoom) {
        let length = self.partial.len() + piece.len();
        let borrow = length
            .saturating_sub(KEPT_OF_LONG_LINE)
            .saturating_sub(self.borrowed);
        if self.dropped == 0 && length <= LONGEST_LINE && room.take(borrow) {
            self.borrowed += borrow;
            self.partial.extend_from_slice(piece);
            return;
        }
        let free = KEPT_OF_LONG_LINE
            .saturating_sub(self.partial.len())
            .min(piece.len());
        self.partial
            .extend_from_slice(piece.get(..free).unwrap_or_default());
        let kept = self.partial.len().min(KEPT_OF_LONG_LINE);
        let lost = self.partial.len() - kept + piece.len() - free;
        self.partial.truncate(kept);
        self.partial.shrink_to_fit();
        self.dropped += lost as u64;
        room.left += std::mem::take(&mut self.borrowed);
    }

    fn take(&mut self, room: &mut LongLineRoom) -> Line {
        room.left += std::mem::take(&mut self.borrowed);
        let mut bytes = std::mem::take(&mut self.partial);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let dropped = std::mem::take(&mut self.dropped);
        match String::from_utf8(bytes) {
            Ok(text) => Line {
                text,
                dropped,
                bytes: None,
            },
            Err(error) => Line {
                text: escaped(error.as_bytes(), ""),
                dropped,
                bytes: Some(error.into_bytes().into()),
            },
        }
    }
}

/// Writes each byte that is not UTF-8 as `\xNN`, with `prefix` before it.
fn escaped(bytes: &[u8], prefix: &str) -> String {
    let mut acc = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        acc.push_str(chunk.valid());
        for byte in chunk.invalid() {
            acc.push_str(prefix);
            acc.extend(std::ascii::escape_default(*byte).map(char::from));
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]], room: usize) -> (Vec<Line>, usize) {
        let mut room = LongLineRoom::new(room);
        let mut buffer = LineBuffer::default();
        let mut acc = Vec::new();
        for chunk in chunks {
            buffer.push(chunk, &mut room, |line| acc.push(line));
        }
        buffer.finish(&mut room, |line| acc.push(line));
        (acc, room.left)
    }

    fn whole(text: &str) -> Line {
        Line {
            text: text.to_owned(),
            dropped: 0,
            bytes: None,
        }
    }

    #[test]
    fn lines_are_the_same_wherever_the_chunks_end() {
        let text = "one\n\ntwo \u{1f41e}\r\n\u{0}three";
        let expected = ["one", "", "two \u{1f41e}", "\u{0}three"]
            .map(whole)
            .to_vec();
        assert_eq!(lines(&[text.as_bytes()], 0), (expected.clone(), 0));
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(lines(&bytes, 0), (expected, 0));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        let (lines, _) = lines(&[b"{\"a\":\"\xff\xc3b\"}\nplain\n"], 0);
        let both: Vec<(&str, Cow<'_, str>)> = lines
            .iter()
            .map(|line| (&*line.text, line.json()))
            .collect();
        let text = r#"{"a":"\xff\xc3b"}"#;
        let json = r#"{"a":"\\xff\\xc3b"}"#;
        assert_eq!(both, [(text, json.into()), ("plain", "plain".into())]);
    }

    #[test]
    fn a_line_within_the_limit_is_kept_whole_and_gives_its_room_back() {
        let long = "x".repeat(LONGEST_LINE);
        let chunks: Vec<&[u8]> = long.as_bytes().chunks(5000).collect();
        assert_eq!(
            lines(&chunks, LONGEST_LINE),
            (vec![whole(&long)], LONGEST_LINE)
        );
    }

    #[test]
    fn a_line_over_the_limit_or_without_room_is_cut_and_counted() {
        let kept = "x".repeat(KEPT_OF_LONG_LINE);
        let long = "x".repeat(LONGEST_LINE + 10);
        for room in [LONGEST_LINE, KEPT_OF_LONG_LINE] {
            let chunks: Vec<&[u8]> = long
                .as_bytes()
                .chunks(5000)
                .chain([&b"\nend"[..]])
                .collect();
            let cut = Line {
                text: kept.clone(),
                dropped: (long.len() - kept.len()) as u64,
                bytes: None,
            };
            assert_eq!(lines(&chunks, room), (vec![cut, whole("end")], room));
        }
    }
}
