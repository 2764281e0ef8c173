//! Strings of the front matter: what they say, how they were written, and where each byte stands.

use std::ops::Range;

use crate::{Source, Span};

/// How a string was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// Between `'`.
    SingleQuoted,
    /// Between `"`.
    DoubleQuoted,
    /// After `|` or `>`.
    Block,
    /// Through an alias or a merge key: the spans are those of the reference.
    Referenced,
}

/// A string of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What it says, after YAML's escapes and line folding.
    pub value: String,
    /// The author's words: inside the quotes of a quoted string.
    pub span: Span,
    /// The whole token: with the quotes of a quoted string, else equal to `span`.
    pub token: Span,
    /// How it was written.
    pub style: Style,
}

impl Text {
    /// Maps a range of bytes of `value` to the file.
    ///
    /// Exact for strings on one line: plain, single-quoted or double-quoted, escapes included.
    /// Where the author's text and the value do not run in step (folded lines, block scalars,
    /// references), or `range` is not inside the value, the whole string's span comes back.
    #[must_use]
    pub fn place(&self, source: &Source, range: Range<usize>) -> Span {
        if range.start > range.end || range.end > self.value.len() {
            return self.span;
        }
        let raw = source.slice(self.span);
        if raw == self.value {
            return Span::new(self.span.start + range.start, self.span.start + range.end);
        }
        let steps = match self.style {
            Style::SingleQuoted => steps(raw, single_quoted_step),
            Style::DoubleQuoted => steps(raw, double_quoted_step),
            Style::Plain | Style::Block | Style::Referenced => None,
        };
        let Some(steps) = steps.filter(|steps| steps.value == self.value) else {
            return self.span;
        };
        Span::new(
            self.span.start + steps.raw_offset(range.start),
            self.span.start + steps.raw_offset(range.end),
        )
    }
}

/// A decoded string with, for each decoded character, where it came from.
struct Steps {
    value: String,
    /// (offset in the value, offset in the author's text), ascending, with the two ends last.
    marks: Vec<(usize, usize)>,
}

impl Steps {
    fn raw_offset(&self, at: usize) -> usize {
        let index = self.marks.partition_point(|&(value, _)| value < at);
        let last = self.marks.last().map_or(0, |&(_, raw)| raw);
        self.marks.get(index).map_or(last, |&(_, raw)| raw)
    }
}

/// Decodes `raw` a step at a time; `None` when a step has no plain meaning.
fn steps(raw: &str, step: fn(&str) -> Option<(char, usize)>) -> Option<Steps> {
    let mut acc = Steps {
        value: String::with_capacity(raw.len()),
        marks: Vec::new(),
    };
    let mut at = 0;
    while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
        let (decoded, length) = step(rest)?;
        acc.marks.push((acc.value.len(), at));
        acc.value.push(decoded);
        at += length;
    }
    acc.marks.push((acc.value.len(), raw.len()));
    Some(acc)
}

fn single_quoted_step(rest: &str) -> Option<(char, usize)> {
    let first = rest.chars().next()?;
    match first {
        '\'' => rest.starts_with("''").then_some(('\'', 2)),
        '\n' | '\r' => None,
        _ => Some((first, first.len_utf8())),
    }
}

fn double_quoted_step(rest: &str) -> Option<(char, usize)> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    match first {
        '\n' | '\r' => None,
        '\\' => {
            let name = chars.next()?;
            let digits = match name {
                'x' => 2,
                'u' => 4,
                'U' => 8,
                _ => return Some((simple_escape(name)?, 1 + name.len_utf8())),
            };
            let value = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
            Some((char::from_u32(value)?, 2 + digits))
        }
        _ => Some((first, first.len_utf8())),
    }
}

fn simple_escape(name: char) -> Option<char> {
    Some(match name {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0B',
        'f' => '\x0C',
        'r' => '\r',
        'e' => '\x1B',
        ' ' | '"' | '/' | '\\' => name,
        'N' => '\u{85}',
        '_' => '\u{A0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}

/// Writes text as one quoted YAML string that reads back to the same text.
///
/// ```
/// assert_eq!(daemon_spec::quoted("fix: now"), r#""fix: now""#);
/// assert_eq!(daemon_spec::quoted(r#"say "hi""#), r#"'say "hi"'"#);
/// ```
#[must_use]
pub fn quoted(text: &str) -> String {
    if text.chars().any(is_awkward) {
        return escaped(text);
    }
    if text.contains(['"', '\\']) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    format!("\"{text}\"")
}

fn escaped(text: &str) -> String {
    let mut acc = String::with_capacity(text.len() + 8);
    acc.push('"');
    for c in text.chars() {
        match c {
            '"' => acc.push_str("\\\""),
            '\\' => acc.push_str("\\\\"),
            '\n' => acc.push_str("\\n"),
            '\r' => acc.push_str("\\r"),
            '\t' => acc.push_str("\\t"),
            c if is_awkward(c) => push_escape(&mut acc, c),
            c => acc.push(c),
        }
    }
    acc.push('"');
    acc
}

/// Characters a YAML reader does not take literally, or nobody can see.
fn is_awkward(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
        )
}

/// Writes `\uXXXX`; every awkward character lies in the first plane.
fn push_escape(acc: &mut String, c: char) {
    acc.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = (u32::from(c) >> shift) & 0xF;
        acc.extend(char::from_digit(digit, 16));
    }
}
