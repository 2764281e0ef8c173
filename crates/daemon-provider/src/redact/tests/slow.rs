//! A simple search for known secrets to compare the real one with: every view in full, every pattern at every place.

use std::ops::Range;

use super::super::forms;

/// Bytes, and where each begins and ends in the text.
type View = (Vec<u8>, Vec<Range<usize>>);
/// Bytes, and where each begins in the text; last, where the text ends.
type Level = (Vec<u8>, Vec<usize>);

/// Returns the ranges of known secrets in a string, in no order.
pub(super) fn covered(secrets: &[String], text: &str) -> Vec<Range<usize>> {
    let patterns: Vec<Vec<u8>> = secrets
        .iter()
        .flat_map(|secret| forms::patterns(secret))
        .collect();
    let mut acc = Vec::new();
    for (bytes, places) in views(text) {
        // Across a line break that was left out, what comes before it has to be base64.
        let is_joined = |at: &usize| places[at - 1].end < places[*at].start;
        let begins = |at: usize, length: usize| {
            let mut breaks = (at + 1..at + length).filter(is_joined);
            let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
            breaks
                .next()
                .is_none_or(|first| bytes[at..first].iter().all(is_base64))
        };
        for pattern in &patterns {
            for (at, window) in bytes.windows(pattern.len()).enumerate() {
                if window == pattern && begins(at, pattern.len()) {
                    acc.push(places[at].start..places[at + pattern.len() - 1].end);
                }
            }
        }
    }
    acc
}

fn views(text: &str) -> Vec<View> {
    let mut level: Level = (text.bytes().collect(), (0..=text.len()).collect());
    let mut acc = Vec::new();
    for _ in 0..=3 {
        let mut decoded = level.clone();
        for _ in 0..=2 {
            let (bytes, places) = &decoded;
            let places: Vec<_> = places.windows(2).map(|pair| pair[0]..pair[1]).collect();
            for (bytes, places) in [joined(bytes, &places), (bytes.clone(), places)] {
                let blank = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
                acc.push((bytes.iter().map(blank).collect(), places.clone()));
                acc.push((bytes, places));
            }
            decoded = undone(&decoded, percent);
        }
        level = undone(&level, json);
    }
    acc
}

/// Leaves out blanks that begin with a line break, between characters of base64.
fn joined(bytes: &[u8], places: &[Range<usize>]) -> View {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let mut acc = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        let blanks = bytes[at..]
            .iter()
            .take_while(|byte| b"\n\r \t".contains(byte));
        let next = at + blanks.count();
        if b"\n\r".contains(&bytes[at])
            && acc.0.last().is_some_and(is_base64)
            && bytes.get(next).is_none_or(is_base64)
        {
            at = next;
            continue;
        }
        acc.0.push(bytes[at]);
        acc.1.push(places[at].clone());
        at += 1;
    }
    acc
}

fn undone((bytes, places): &Level, undo: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> Level {
    let mut acc = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        let (written, n_read) = undo(&bytes[at..]).unwrap_or_else(|| (vec![bytes[at]], 1));
        acc.1.extend(std::iter::repeat_n(places[at], written.len()));
        acc.0.extend(written);
        at += n_read;
    }
    acc.1.push(places[at]);
    acc
}

fn number(digits: Option<&[u8]>) -> Option<u32> {
    let digits = std::str::from_utf8(digits?).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

fn percent(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let byte = number(bytes.strip_prefix(b"%")?.get(..2))?;
    Some((vec![u8::try_from(byte).ok()?], 3))
}

fn json(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let escape = *bytes.strip_prefix(b"\\")?.first()?;
    let at = b"\"\\/nrtbf".iter().position(|known| *known == escape);
    if let Some(at) = at {
        return Some((vec![b"\"\\/\n\r\t\x08\x0c"[at]], 2));
    }
    let unit = |from: usize| number(bytes.get(from..)?.strip_prefix(b"\\u")?.get(..4));
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c.to_string().into_bytes(), 6));
    }
    let pair = [first, unit(6)?].map(|unit| u16::try_from(unit).unwrap());
    Some((String::from_utf16(&pair).ok()?.into_bytes(), 12))
}
