//! A text as others read it: with its escapes undone.

use std::ops::Range;

/// How many levels of JSON inside JSON are undone.
const JSON_LEVELS: usize = 3;
/// How many times percent-encoding is undone.
const PERCENT_LEVELS: usize = 2;
/// The longest escape of a character, and so the most of one that can stand torn at the end of a text.
const LONGEST_ESCAPE: usize = 8;

/// Bytes, and where in the text each of them stands.
#[derive(Debug, Clone)]
pub(super) struct View {
    bytes: Vec<u8>,
    /// One place for each byte, then the end of the text; none where the bytes are the text.
    places: Option<Vec<usize>>,
}

impl View {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns where in the text a range of the bytes stands.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        self.at(range.start)..self.at(range.end)
    }

    fn at(&self, index: usize) -> usize {
        match &self.places {
            None => index,
            Some(places) => places.get(index).copied().unwrap_or_default(),
        }
    }

    /// Undoes what `undo` recognises; none if there is nothing of it.
    fn without(&self, mark: &[u8], undo: fn(&[u8]) -> Option<Undone>) -> Option<Self> {
        if !self.bytes.iter().any(|byte| mark.contains(byte)) {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut places = Vec::with_capacity(self.bytes.len() + 1);
        let mut at = 0;
        let mut is_changed = false;
        while let Some((&byte, rest)) = self.bytes.get(at..).and_then(<[u8]>::split_first) {
            let undone = undo(self.bytes.get(at..).unwrap_or_default());
            let n_read = undone.as_ref().map_or(1, |undone| undone.n_read);
            match undone {
                Some(undone) => {
                    is_changed = true;
                    let mut buffer = [0; 4];
                    let encoded = undone.what.encode(&mut buffer);
                    places.extend(std::iter::repeat_n(self.at(at), encoded.len()));
                    bytes.extend_from_slice(encoded);
                }
                None => {
                    places.push(self.at(at));
                    bytes.push(byte);
                }
            }
            at += n_read.min(rest.len() + 1);
        }
        places.push(self.at(self.bytes.len()));
        is_changed.then_some(Self {
            bytes,
            places: Some(places),
        })
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

/// Returns the text as it is, and every way in which its escapes can be undone that changes it.
pub(super) fn of(text: &str) -> Vec<View> {
    let raw = View {
        bytes: text.as_bytes().to_vec(),
        places: None,
    };
    let mut levels = vec![raw];
    while levels.len() <= JSON_LEVELS {
        let deeper = levels.last().and_then(|last| last.without(b"\\", json));
        match deeper {
            Some(deeper) => levels.push(deeper),
            None => break,
        }
    }
    let mut all = Vec::new();
    for level in levels {
        let mut encoded = vec![level.clone()];
        for _ in 0..PERCENT_LEVELS {
            match encoded.last().and_then(|last| last.without(b"%", percent)) {
                Some(decoded) => encoded.push(decoded),
                None => break,
            }
        }
        let forms = encoded
            .iter()
            .filter_map(|view| view.without(b"+", plus))
            .collect::<Vec<_>>();
        all.extend(encoded);
        all.extend(forms);
    }
    all
}

/// Returns a text whose end is missing, and what is left of it without the beginning of an escape that may stand there.
pub(super) fn torn_escapes(text: &str) -> impl Iterator<Item = &str> {
    let tail = text.len().saturating_sub(LONGEST_ESCAPE);
    let ends = text.bytes().enumerate().skip(tail);
    let starts = ends.filter_map(|(at, byte)| matches!(byte, b'\\' | b'%').then_some(at));
    std::iter::once(text).chain(starts.filter_map(move |at| text.get(..at)))
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

fn plus(bytes: &[u8]) -> Option<Undone> {
    (bytes.first() == Some(&b'+')).then_some(Undone {
        what: What::Byte(b' '),
        n_read: 1,
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
