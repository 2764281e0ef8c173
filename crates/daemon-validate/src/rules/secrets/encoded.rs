//! Tokens in base64.
//!
//! A run of base64 characters is decoded only if it contains the encoded beginning of a token, and then
//! as a whole. A run can begin in the middle of a group of four characters, so up to four positions of
//! its first byte are tried.

use std::ops::Range;
use std::sync::LazyLock;

use super::private_key::{KEY_BEGIN, KEY_END, MAX_KEY_BYTES};
use super::{SHAPES, Token, TokenShape, tokens};

const LINE_BREAK: u8 = 64;
const INDENT: u8 = 65;
const BACKSLASH: u8 = 66;
const OTHER: u8 = 67;

/// The class of each byte in standard or URL-safe base64: its six bits, or one of the constants above.
static KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut n = 0_u8;
    while n < 64 {
        let character = match n {
            0..26 => b'A' + n,
            26..52 => b'a' + (n - 26),
            52..62 => b'0' + (n - 52),
            62 => b'+',
            _ => b'/',
        };
        kinds[character as usize] = n;
        n += 1;
    }
    kinds[b'-' as usize] = 62;
    kinds[b'_' as usize] = 63;
    kinds[b'\n' as usize] = LINE_BREAK;
    kinds[b'\r' as usize] = LINE_BREAK;
    kinds[b' ' as usize] = INDENT;
    kinds[b'\t' as usize] = INDENT;
    kinds[b'\\' as usize] = BACKSLASH;
    kinds
};

/// Returns `true` if a byte is a character of base64, in the standard or the URL-safe alphabet.
pub fn is_base64(byte: u8) -> bool {
    KINDS[usize::from(byte)] < LINE_BREAK
}

// A beginning of three bytes determines at least three base64 characters at every alignment, and
// three characters have 18 bits.
const FILTER_BITS: u32 = 18;

// The shortest token has 15 bytes, which are 20 characters of base64.
const SHORTEST_RUN: usize = 20;

/// The base64 characters that a beginning determines at one alignment.
struct Form {
    sextets: Vec<u8>,
    /// The number of bits of the beginning that are in the character before `sextets`.
    n_bits_before: usize,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let beginnings = SHAPES.iter().map(|(beginning, _, _)| beginning.as_bytes());
    beginnings
        .flat_map(|bytes| {
            [0, 2, 4].map(|n_bits_before| Form {
                sextets: (n_bits_before..=bytes.len() * 8 - 6)
                    .step_by(6)
                    .map(|bit| sextet(bytes, bit))
                    .collect(),
                n_bits_before,
            })
        })
        .collect()
});

/// One bit for each group of three characters. It is set if a form begins with the group.
static FILTER: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut filter = vec![0; 1 << (FILTER_BITS - 6)];
    for form in &*FORMS {
        let first = form.sextets.iter().take(3);
        let key = first.fold(0_usize, |acc, sextet| acc << 6 | usize::from(*sextet));
        filter[key / 64] |= 1 << (key % 64);
    }
    filter
});

/// Returns the six bits that begin at `bit`.
fn sextet(bytes: &[u8], bit: usize) -> u8 {
    let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or(0));
    let two = byte(bit / 8) << 8 | byte(bit / 8 + 1);
    u8::try_from(two >> (10 - bit % 8) & 63).expect("six bits are left")
}

/// Finds base64-encoded tokens, ordered by position.
pub(super) fn encoded_tokens(text: &str) -> Vec<Token> {
    let mut acc = Vec::new();
    let mut from = 0;
    while let Some(run) = next_run(text.as_bytes(), from) {
        from = run.end;
        Base64Run::read(text.as_bytes(), run).tokens(&mut acc);
    }
    acc.sort_by_key(|token| token.range.start);
    acc
}

/// Returns `true` if `text` contains the base64-encoded beginning of a token.
pub(super) fn may_begin(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut from = 0;
    while from < bytes.len() {
        let (end, begins) = read_run(bytes, from);
        if matches!(begins, TokenStart::Found) {
            return true;
        }
        from = end + 1;
    }
    false
}

/// Returns `true` if `text` is base64 of a private key whose last line is missing.
pub(super) fn is_open_key(text: &str) -> bool {
    let (end, _) = read_run(text.as_bytes(), 0);
    if end < text.len() {
        return false;
    }
    let run = Base64Run::read(text.as_bytes(), 0..end);
    [0, 2, 4].into_iter().any(|first| {
        let decoded = run.decoded(first);
        let rest = decoded.strip_prefix(KEY_BEGIN);
        rest.and_then(|rest| TokenShape::Pem.length(rest)).is_some()
            && decoded.len() <= MAX_KEY_BYTES
            && !decoded.contains(KEY_END)
    })
}

/// Returns the length of the line break at `at`, which can be escaped as in JSON.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    match KINDS[usize::from(*bytes.get(at)?)] {
        LINE_BREAK => Some(1),
        BACKSLASH if matches!(bytes.get(at + 1), Some(b'n' | b'r')) => Some(2),
        _ => None,
    }
}

/// Returns the offset after the line breaks at `at` and the indentation of the next line, or `at`
/// without a line break.
fn after_breaks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(length) = line_break(bytes, at) {
        at += length;
        while bytes
            .get(at)
            .is_some_and(|b| KINDS[usize::from(*b)] == INDENT)
        {
            at += 1;
        }
    }
    at
}

/// Returns the next run of base64 that contains the encoded beginning of a token.
fn next_run(bytes: &[u8], mut from: usize) -> Option<Range<usize>> {
    loop {
        let last = from + SHORTEST_RUN - 1;
        if last >= bytes.len() {
            return None;
        }
        // If one of the next 20 bytes ends a run, no run of the minimum length begins before it. Most
        // text is skipped here without a look at each byte.
        if let Some(end) = (from..=last).rev().find(|at| ends_run(bytes, *at)) {
            from = end + 1;
            continue;
        }
        let (end, begins) = read_run(bytes, from);
        match begins {
            TokenStart::Found => return Some(from..end),
            TokenStart::NotFound => from = end + 1,
        }
    }
}

/// Whether a run contains the encoded beginning of a token.
enum TokenStart {
    Found,
    NotFound,
}

/// Returns the end of the run that begins at `start`.
fn read_run(bytes: &[u8], start: usize) -> (usize, TokenStart) {
    let filter = FILTER.as_slice();
    let (mut at, mut window, mut n_read) = (start, 0_usize, 0_usize);
    let mut begins = TokenStart::NotFound;
    while let Some(&byte) = bytes.get(at) {
        let kind = KINDS[usize::from(byte)];
        if kind < 64 {
            window = (window << 6 | usize::from(kind)) & ((1 << FILTER_BITS) - 1);
            n_read += 1;
            if n_read >= 3 && filter[window / 64] >> (window % 64) & 1 == 1 {
                begins = TokenStart::Found;
            }
            at += 1;
        } else {
            let next = after_breaks(bytes, at);
            if next == at {
                break;
            }
            at = next;
        }
    }
    (at, begins)
}

/// Returns `true` if no run can contain this byte, according to the bytes next to it.
fn ends_run(bytes: &[u8], at: usize) -> bool {
    let kind = |at: usize| {
        bytes
            .get(at)
            .map_or(OTHER, |byte| KINDS[usize::from(*byte)])
    };
    match kind(at) {
        OTHER => true,
        BACKSLASH => line_break(bytes, at).is_none(),
        // A blank is part of a run only as indentation after a line break, which can be escaped.
        INDENT => {
            let before = at.checked_sub(1).map_or(OTHER, kind);
            let is_escaped = at >= 2 && kind(at - 2) == BACKSLASH;
            before == OTHER || (before < 64 && !is_escaped)
        }
        _ => false,
    }
}

/// The characters of a run of base64 and their offsets in the text.
struct Base64Run {
    sextets: Vec<u8>,
    places: Vec<usize>,
}

impl Base64Run {
    fn read(bytes: &[u8], run: Range<usize>) -> Self {
        let mut acc = Self {
            sextets: Vec::with_capacity(run.len()),
            places: Vec::with_capacity(run.len()),
        };
        let mut at = run.start;
        while at < run.end {
            let kind = KINDS[usize::from(bytes[at])];
            if kind < 64 {
                acc.sextets.push(kind);
                acc.places.push(at);
                at += 1;
            } else {
                at = after_breaks(bytes, at).max(at + 1);
            }
        }
        acc
    }

    fn tokens(&self, acc: &mut Vec<Token>) {
        let mut is_tried = [false; 4];
        let filter = FILTER.as_slice();
        for (at, first) in self.sextets.windows(3).enumerate() {
            let key = first
                .iter()
                .fold(0, |acc, sextet| acc << 6 | usize::from(*sextet));
            if filter[key / 64] >> (key % 64) & 1 == 0 {
                continue;
            }
            let rest = self.sextets.get(at..).unwrap_or_default();
            for form in FORMS.iter().filter(|form| rest.starts_with(&form.sextets)) {
                // The offset of the token's first bit determines how the whole run is divided into bytes.
                // Each of the four ways is decoded once.
                if let Some(bit) = (at * 6).checked_sub(form.n_bits_before)
                    && !std::mem::replace(&mut is_tried[bit % 8 / 2], true)
                {
                    self.tokens_from(bit % 8, acc);
                }
            }
        }
    }

    /// Finds tokens in the bytes of the run, with the first byte at the bit `first`.
    fn tokens_from(&self, first: usize, acc: &mut Vec<Token>) {
        let decoded = self.decoded(first);
        acc.extend(tokens(&decoded).map(|token| {
            let range = super::whole(&decoded, &token);
            let (begin, end) = (first + range.start * 8, first + range.end * 8);
            let place = |bit: usize| self.places.get(bit / 6).copied().unwrap_or_default();
            Token {
                range: place(begin)..place(end - 1) + 1,
                ..token
            }
        }));
    }

    /// Returns the bytes of the run as text, with the first byte at the bit `first`.
    fn decoded(&self, first: usize) -> String {
        // Tokens are ASCII. Other bytes become NUL, so that one byte is one character and offsets
        // match.
        let n_bytes = (self.sextets.len() * 6).saturating_sub(first) / 8;
        let bytes = (0..n_bytes).map(|n| self.byte(first + n * 8));
        let characters = bytes.map(|byte| {
            if byte.is_ascii() {
                char::from(byte)
            } else {
                '\0'
            }
        });
        characters.collect()
    }

    fn byte(&self, bit: usize) -> u8 {
        let sextet = |at: usize| u16::from(self.sextets.get(at).copied().unwrap_or(0));
        let two = sextet(bit / 6) << 6 | sextet(bit / 6 + 1);
        u8::try_from(two >> (4 - bit % 6) & 255).expect("eight bits are left")
    }
}
