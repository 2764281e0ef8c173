//! Views of a string with its escapes undone and its lines of base64 joined.

use std::borrow::Cow;
use std::ops::Range;

use daemon_validate::is_base64;
use memchr::{memchr_iter, memchr2, memchr2_iter};

/// The levels of JSON inside JSON that are undone.
const JSON_LEVELS: usize = 3;
/// The levels of percent-encoding that are undone.
const PERCENT_LEVELS: usize = 2;
/// The longest escape of a character, and so the most bytes of a cut-off escape at the end of a string.
const LONGEST_ESCAPE: usize = 12;

/// The bytes of a string after undoing escapes, and the position of each in the string.
#[derive(Debug)]
pub(super) struct View<'t> {
    bytes: Cow<'t, [u8]>,
    /// Pairs of an index into `bytes` and its place in the text. From there to the next pair both advance together.
    jumps: Vec<(usize, usize)>,
    /// Indexes of the bytes that were escapes in the view this one was made from.
    undone: Vec<usize>,
    /// Of each line break that was left out, the index of the byte behind it, and the place in the text where it begins.
    breaks: Vec<(usize, usize)>,
    /// The base64 before each of them, as far as it is not before an earlier one.
    runs: Vec<Range<usize>>,
    /// Whether there may be line breaks.
    has_breaks: bool,
    /// Possible ends of the text: its end, and the start of each escape that may be cut off there. Bit `n` means `n` bytes
    /// before the end of `bytes`.
    ends: u32,
}

impl<'t> View<'t> {
    fn raw(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let last = bytes.len().saturating_sub(LONGEST_ESCAPE)..bytes.len();
        let torn = last.filter(|at| may_be_torn(bytes.get(*at..).unwrap_or_default()));
        Self {
            bytes: Cow::Borrowed(bytes),
            jumps: Vec::new(),
            undone: Vec::new(),
            breaks: Vec::new(),
            runs: Vec::new(),
            has_breaks: memchr2(b'\n', b'\r', bytes).is_some(),
            ends: torn.fold(1, |ends, at| ends | 1 << (bytes.len() - at)),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the possible ends of the text, the last one first.
    pub(super) fn ends(&self) -> impl Iterator<Item = usize> + '_ {
        let n_ends = (u32::BITS - self.ends.leading_zeros()) as usize;
        let set = (0..n_ends).filter(|n| self.ends >> n & 1 == 1);
        set.map(|n| self.bytes.len() - n)
    }

    /// Returns the first possible end.
    pub(super) fn first_end(&self) -> usize {
        let furthest = u32::BITS - 1 - self.ends.leading_zeros();
        self.bytes.len() - furthest as usize
    }

    /// Returns the starts of everything up to this length that includes an undone escape, and of everything that begins as base64
    /// before a line break that was left out; in a view without any, all starts.
    pub(super) fn new_starts(&self, longest: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let all = (!self.is_made()).then_some(0..self.bytes.len());
        let mut from = 0;
        let near = self.undone.iter().map(move |at| {
            let starts = from.max((at + 1).saturating_sub(longest))..at + 1;
            from = at + 1;
            starts
        });
        all.into_iter().chain(near).chain(self.runs.iter().cloned())
    }

    /// Reports whether the view was made from another.
    fn is_made(&self) -> bool {
        matches!(self.bytes, Cow::Owned(_))
    }

    /// Returns the place in the text of a byte, or of the end of the bytes.
    pub(super) fn at(&self, index: usize) -> usize {
        let next = self.jumps.partition_point(|(from, _)| *from <= index);
        match next.checked_sub(1).and_then(|last| self.jumps.get(last)) {
            Some((from, place)) => place + (index - from),
            None => index,
        }
    }

    /// Returns the place in the text where the bytes before `index` end.
    pub(super) fn end_at(&self, index: usize) -> usize {
        let found = self.breaks.binary_search_by_key(&index, |(at, _)| *at);
        let before_break = found.ok().and_then(|n| self.breaks.get(n));
        before_break.map_or_else(|| self.at(index), |(_, place)| *place)
    }

    /// Reports whether a byte of the view begins at this place of the text. None begins within an undone escape.
    pub(super) fn has_border(&self, place: usize) -> bool {
        let index = self.jumps.partition_point(|(_, start)| *start <= place);
        let Some((from, start)) = index.checked_sub(1).and_then(|at| self.jumps.get(at)) else {
            return true;
        };
        let end = self
            .jumps
            .get(index)
            .map_or(self.bytes.len(), |next| next.0);
        place == *start || from + (place - start) < end
    }

    /// Undoes what `undo` recognises; returns `None` if there is nothing to undo.
    fn without(&self, mark: u8, undo: impl Fn(&[u8]) -> Option<Undone>) -> Option<View<'static>> {
        let mut made = Made::default();
        let (mut read, mut copied) = (0, 0);
        for at in memchr_iter(mark, &self.bytes) {
            if at < read {
                continue;
            }
            let Some(undone) = undo(self.bytes.get(at..).unwrap_or_default()) else {
                continue;
            };
            if made.undone.is_empty() {
                made.bytes.reserve(self.bytes.len());
            }
            made.copy(self, copied..at);
            made.undone.push(made.bytes.len());
            for byte in undone.what.encode(&mut [0; 4]) {
                made.jump(self.at(at));
                made.bytes.push(*byte);
            }
            read = at + undone.n_read;
            made.jump(self.at(read));
            copied = read;
        }
        if made.undone.is_empty() {
            return None;
        }
        let is_break = |at: &usize| matches!(made.bytes.get(*at), Some(b'\n' | b'\r'));
        let has_breaks = self.has_breaks || made.undone.iter().any(is_break);
        Some(View {
            has_breaks,
            ..self.completed(made, copied)
        })
    }

    /// Leaves out line breaks, with the indentation of the next line, between characters of base64, and where the text ends
    /// with one; returns `None` if there is no such line break.
    fn joined(&self) -> Option<View<'static>> {
        if !self.has_breaks {
            return None;
        }
        let mut made = Made::default();
        let mut copied = 0;
        for at in memchr2_iter(b'\n', b'\r', &self.bytes) {
            let before = at.checked_sub(1).and_then(|last| self.bytes.get(last));
            if at < copied || !before.is_some_and(|byte| is_base64(*byte)) {
                continue;
            }
            let rest = self.bytes.get(at..).unwrap_or_default();
            let is_blank = |byte: &u8| matches!(byte, b'\n' | b'\r' | b' ' | b'\t');
            let n_blank = rest.iter().take_while(|byte| is_blank(byte)).count();
            if !rest.get(n_blank).is_none_or(|byte| is_base64(*byte)) {
                continue;
            }
            made.copy(self, copied..at);
            made.add_break(self.at(at));
            copied = at + n_blank;
            made.jump(self.at(copied));
        }
        (!made.breaks.is_empty()).then(|| self.completed(made, copied))
    }

    /// Ends a view that is made from this one and holds what comes before `copied`.
    fn completed(&self, mut made: Made, copied: usize) -> View<'static> {
        made.copy(self, copied..self.bytes.len());
        made.jump(self.at(self.bytes.len()));
        let mut view = View {
            bytes: Cow::Owned(made.bytes),
            jumps: made.jumps,
            undone: made.undone,
            breaks: made.breaks,
            runs: made.runs,
            has_breaks: false,
            ends: 1,
        };
        for end in self.ends().skip(1) {
            if let Some(index) = view.index(self.at(end)) {
                view.ends |= 1 << (view.bytes.len() - index);
            }
        }
        view
    }

    /// Returns the byte that begins at a place near the end of the text.
    fn index(&self, place: usize) -> Option<usize> {
        let last = self.bytes.len().saturating_sub(LONGEST_ESCAPE);
        (last..=self.bytes.len()).find(|index| self.at(*index) == place)
    }
}

/// A view that is being made.
#[derive(Default)]
struct Made {
    bytes: Vec<u8>,
    jumps: Vec<(usize, usize)>,
    undone: Vec<usize>,
    breaks: Vec<(usize, usize)>,
    runs: Vec<Range<usize>>,
}

impl Made {
    /// Copies a range of another view.
    fn copy(&mut self, from: &View<'_>, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let begin = self.bytes.len();
        if range.start > 0 || !from.jumps.is_empty() {
            self.jump(from.at(range.start));
        }
        let first = from.jumps.partition_point(|(at, _)| *at <= range.start);
        let jumps = from.jumps.get(first..).unwrap_or_default().iter();
        let within = jumps.take_while(|(at, _)| *at < range.end);
        self.jumps
            .extend(within.map(|(at, place)| (begin + (at - range.start), *place)));
        self.bytes
            .extend_from_slice(from.bytes.get(range).unwrap_or_default());
    }

    /// Notes that a line break was left out here, which begins at this place.
    fn add_break(&mut self, place: usize) {
        let end = self.bytes.len();
        let line = self.breaks.last().map_or(0, |(start, _)| *start);
        let bytes = self.bytes.get(line..).unwrap_or_default();
        let n_run = bytes
            .iter()
            .rev()
            .take_while(|byte| is_base64(**byte))
            .count();
        self.runs.push(end - n_run..end);
        self.breaks.push((end, place));
    }

    /// Sets the place of the next byte.
    fn jump(&mut self, place: usize) {
        let at = self.bytes.len();
        if self.jumps.last().is_some_and(|(last, _)| *last == at) {
            self.jumps.pop();
        }
        self.jumps.push((at, place));
    }
}

/// An escape, undone.
struct Undone {
    what: What,
    n_read: usize,
}

enum What {
    Byte(u8),
    Char(char),
}

impl What {
    fn encode<'b>(&self, buffer: &'b mut [u8; 4]) -> &'b [u8] {
        match *self {
            Self::Byte(byte) => {
                buffer[0] = byte;
                &buffer[..1]
            }
            Self::Char(c) => c.encode_utf8(buffer).as_bytes(),
        }
    }
}

/// Calls `see` with the text unchanged, then with each different result of undoing its escapes, and with each of these where
/// lines of base64 are joined.
pub(super) fn each(text: &str, mut see: impl FnMut(&View<'_>)) {
    let mut see = |view: &View<'_>| {
        see(view);
        if let Some(joined) = view.joined() {
            see(&joined);
        }
    };
    let mut level = View::raw(text);
    for n_left in (0..=JSON_LEVELS).rev() {
        see(&level);
        let mut encoded = level.without(b'%', percent);
        for _ in 0..PERCENT_LEVELS {
            let Some(decoded) = encoded else { break };
            see(&decoded);
            encoded = decoded.without(b'%', percent);
        }
        let deeper = (n_left > 0).then(|| level.without(b'\\', json)).flatten();
        let Some(deeper) = deeper else { break };
        level = deeper;
    }
}

/// Returns whether the last bytes of a string may be the first part of an escape, or of one within another.
fn may_be_torn(end: &[u8]) -> bool {
    match end {
        [b'\\'] | [b'\\', b'u' | b'\\', ..] => true,
        [b'%', rest @ ..] => rest.len() < 2 || rest.starts_with(b"25"),
        _ => false,
    }
}

fn percent(bytes: &[u8]) -> Option<Undone> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let byte = hex(*high)? << 4 | hex(*low)?;
    Some(Undone {
        what: What::Byte(u8::try_from(byte).ok()?),
        n_read: 3,
    })
}

fn json(bytes: &[u8]) -> Option<Undone> {
    let [b'\\', escape, ..] = bytes else {
        return None;
    };
    let byte = match escape {
        b'"' | b'\\' | b'/' => *escape,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'u' => return unicode(bytes),
        _ => return None,
    };
    Some(Undone {
        what: What::Byte(byte),
        n_read: 2,
    })
}

/// Undoes `\uXXXX`, or two of them that name one character together.
fn unicode(bytes: &[u8]) -> Option<Undone> {
    let unit = |from: usize| -> Option<u32> {
        let digits = bytes.get(from..from + 6)?.strip_prefix(b"\\u")?;
        digits
            .iter()
            .try_fold(0, |acc, digit| Some(acc << 4 | hex(*digit)?))
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first) {
        return Some(Undone {
            what: What::Char(c),
            n_read: 6,
        });
    }
    let second = unit(6)?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let c = char::decode_utf16(pair).next()?.ok()?;
    Some(Undone {
        what: What::Char(c),
        n_read: 12,
    })
}

fn hex(digit: u8) -> Option<u32> {
    char::from(digit).to_digit(16)
}
