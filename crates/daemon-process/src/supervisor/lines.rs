//! Splits a stream of bytes into lines of limited length.

use std::borrow::Cow;

/// A line of output, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildLine {
    /// The text; each byte that is not UTF-8 is written as `\xNN`.
    pub text: String,
    /// The number of bytes that were dropped because the line was too long.
    pub dropped: u64,
    /// The original bytes; `None` if they are UTF-8.
    pub(super) bytes: Option<Box<[u8]>>,
}

impl ChildLine {
    /// Returns the text for use in a JSON string, where a backslash starts an escape: each byte that is not UTF-8 is written as `\\xNN`, so
    /// that a decoded string equals [`ChildLine::text`].
    pub fn json(&self) -> Cow<'_, str> {
        match &self.bytes {
            None => Cow::Borrowed(&self.text),
            Some(bytes) => Cow::Owned(escaped(bytes, "\\")),
        }
    }
}

/// A longer line is cut to [`KEPT_OF_LONG_LINE`], because it will not be parsed.
pub(crate) const LONGEST_LINE: usize = 4 << 20;
/// The number of bytes kept of an oversized line. Every stream may use as much without a reservation.
pub(crate) const KEPT_OF_LONG_LINE: usize = 64 << 10;

/// The memory shared by the unfinished long lines of all streams of a supervisor.
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
    /// The part of `partial` that was reserved from the shared memory.
    borrowed: usize,
    dropped: u64,
}

impl LineBuffer {
    /// Appends bytes and emits the lines that they complete.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        room: &mut LongLineRoom,
        mut emit: impl FnMut(ChildLine),
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
    pub(crate) fn finish(&mut self, room: &mut LongLineRoom, mut emit: impl FnMut(ChildLine)) {
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

    fn take(&mut self, room: &mut LongLineRoom) -> ChildLine {
        room.left += std::mem::take(&mut self.borrowed);
        let mut bytes = std::mem::take(&mut self.partial);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let dropped = std::mem::take(&mut self.dropped);
        match String::from_utf8(bytes) {
            Ok(text) => ChildLine {
                text,
                dropped,
                bytes: None,
            },
            Err(error) => ChildLine {
                text: escaped(error.as_bytes(), ""),
                dropped,
                bytes: Some(error.into_bytes().into()),
            },
        }
    }
}

/// Writes each byte that is not UTF-8 as `\xNN`, preceded by `prefix`.
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

    fn lines(chunks: &[&[u8]], room: usize) -> (Vec<ChildLine>, usize) {
        let mut room = LongLineRoom::new(room);
        let mut buffer = LineBuffer::default();
        let mut acc = Vec::new();
        for chunk in chunks {
            buffer.push(chunk, &mut room, |line| acc.push(line));
        }
        buffer.finish(&mut room, |line| acc.push(line));
        (acc, room.left)
    }

    fn whole(text: &str) -> ChildLine {
        ChildLine {
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
            let cut = ChildLine {
                text: kept.clone(),
                dropped: (long.len() - kept.len()) as u64,
                bytes: None,
            };
            assert_eq!(lines(&chunks, room), (vec![cut, whole("end")], room));
        }
    }
}
