//! D702: characters that reorder text or are invisible.

use daemon_spec::{Diagnostic, Fix, Span};

use crate::Subject;
use crate::report::report;

pub(crate) fn hidden_text(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let text = subject.text();
    for range in runs(text) {
        let hidden = text.get(range.range()).unwrap_or_default();
        let names: Vec<String> = hidden
            .chars()
            .take(4)
            .map(|c| format!("U+{:04X}", u32::from(c)))
            .collect();
        let more = if hidden.chars().nth(4).is_some() {
            " …"
        } else {
            ""
        };
        acc.push(
            report(
                702,
                range,
                format!("hidden text: `{}{more}`", names.join(" ")),
            )
            .with_help("remove the characters that a reader cannot see")
            .with_fix(Fix::replace("remove the hidden characters", range, "")),
        );
    }
}

/// Finds runs of hidden characters.
fn runs(text: &str) -> Vec<Span> {
    let mut acc: Vec<Span> = Vec::new();
    let bytes = text.as_bytes();
    // A byte order mark at the beginning has the code D006.
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    while let Some(start) = suspicious(bytes, at) {
        let Some(c) = text.get(start..).and_then(|rest| rest.chars().next()) else {
            break;
        };
        at = start + c.len_utf8();
        if !is_hidden(c) || is_joining(text, start, c) {
            continue;
        }
        match acc.last_mut() {
            Some(last) if last.end == start => last.end = at,
            _ => acc.push(Span::new(start, at)),
        }
    }
    acc
}

/// Finds the next byte, from `at` on, with which a hidden character may begin.
fn suspicious(bytes: &[u8], at: usize) -> Option<usize> {
    let mut start = at;
    // Whole blocks are compared without a branch, which the compiler does many bytes at a time.
    for block in bytes.get(at..)?.chunks(64) {
        if block.iter().fold(false, |any, &byte| any | may_begin(byte)) {
            return Some(start + block.iter().position(|&byte| may_begin(byte))?);
        }
        start += block.len();
    }
    None
}

/// Returns `true` for the first bytes of hidden characters. Nearly no other bytes of a file match.
fn may_begin(byte: u8) -> bool {
    let is_control = (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    let is_lead = [0x7F, 0xC2, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF3]
        .iter()
        .fold(false, |any, &lead| any | (byte == lead));
    is_control | is_lead
}

/// Returns `true` if a character of a file is invisible: a control, a character without width, or one
/// that changes the direction of text.
///
/// NUL is not included, because the parser reports it.
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{1}'..='\u{8}'
            | '\u{b}'..='\u{c}'
            | '\u{e}'..='\u{1f}'
            | '\u{7f}'..='\u{84}'
            | '\u{86}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns `true` for a joiner, tag or variation selector in a position where scripts and emoji need
/// it.
fn is_joining(text: &str, at: usize, c: char) -> bool {
    let before = text.get(..at).and_then(|head| head.chars().next_back());
    let after = text
        .get(at + c.len_utf8()..)
        .and_then(|tail| tail.chars().next());
    match c {
        '\u{200c}' | '\u{200d}' => {
            before.is_some_and(takes_joiner) && (after.is_some_and(takes_joiner))
        }
        '\u{e0020}'..='\u{e007f}' => {
            // The flags in use have six tags. A longer sequence hides text.
            let head = text.get(..at).unwrap_or_default();
            let mut earlier = head.chars().rev().take(8);
            earlier.find(|c| !matches!(c, '\u{e0020}'..='\u{e007e}')) == Some('\u{1f3f4}')
        }
        '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_ideograph),
        _ => false,
    }
}

fn takes_joiner(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{1aff}' | '\u{2190}'..='\u{2bff}' | '\u{fb50}'..='\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
