//! Strings of the front matter: value, notation, and the position of each byte in the file.

use std::ops::Range;

use crate::{SourceText, Span};

/// The notation of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// A block scalar, after `|` or `>`.
    Block,
    /// An alias or a merge key. The spans are those of the reference.
    Referenced,
}

/// A string of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The string after YAML's escapes and line folding.
    pub value: String,
    /// The byte range of the author's words, without quotes.
    pub span: Span,
    /// The byte range of the whole token, including quotes.
    pub token: Span,
    /// The notation in the file.
    pub style: Style,
}

impl Text {
    /// Maps a range of bytes of `value` to the file.
    ///
    /// The result is exact for strings on one line, also with escapes. For folded lines, block scalars
    /// and references, or if `range` is not inside the value, it is the span of the whole string.
    ///
    /// # Examples
    ///
    /// ```
    /// let parsed = daemon_spec::parse(b"---\nid: \"a\\tb\"\n---\n".to_vec());
    /// let id = parsed.file.id().value().expect("the field is a string");
    /// assert_eq!(id.value, "a\tb");
    /// let source = parsed.file.source();
    /// assert_eq!(source.slice(id.place(source, 1..2)), "\\t");
    /// ```
    #[must_use]
    pub fn place(&self, source: &SourceText, range: Range<usize>) -> Span {
        if range.start > range.end || range.end > self.value.len() {
            return self.span;
        }
        let raw = source.slice(self.span);
        if raw == self.value {
            return Span::new(self.span.start + range.start, self.span.start + range.end);
        }
        let decoded = match self.style {
            Style::SingleQuoted => decode(raw, single_quoted_step),
            Style::DoubleQuoted => decode(raw, double_quoted_step),
            Style::Plain | Style::Block | Style::Referenced => None,
        };
        // The YAML library is the authority on escapes. If this decoder disagrees, its offsets cannot
        // be trusted.
        let Some(decoded) = decoded.filter(|decoded| decoded.value == self.value) else {
            return self.span;
        };
        Span::new(
            self.span.start + decoded.raw_offset(range.start),
            self.span.start + decoded.raw_offset(range.end),
        )
    }
}

/// A decoded string with the origin of each character.
struct Decoded {
    value: String,
    /// Offsets in the value and in the author's text, ascending. The last pair is the two ends.
    marks: Vec<(usize, usize)>,
}

impl Decoded {
    fn raw_offset(&self, at: usize) -> usize {
        let index = self.marks.partition_point(|&(value, _)| value < at);
        let last = self.marks.last().map_or(0, |&(_, raw)| raw);
        self.marks.get(index).map_or(last, |&(_, raw)| raw)
    }
}

/// Decodes `raw` character by character. Returns `None` at a line break or an unknown escape.
fn decode(raw: &str, step: fn(&str) -> Option<(char, usize)>) -> Option<Decoded> {
    let mut acc = Decoded {
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

/// Returns the text as a quoted YAML string that parses to the same text.
///
/// Prefers double quotes, and single quotes where the text contains `"` or `\`.
///
/// # Examples
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

/// Returns `true` for characters that YAML does not allow in a string, or that are invisible.
fn is_awkward(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
        )
}

/// Appends `\uXXXX`. Four digits suffice, because every awkward character is in the first plane.
fn push_escape(acc: &mut String, c: char) {
    acc.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = (u32::from(c) >> shift) & 0xF;
        acc.extend(char::from_digit(digit, 16));
    }
}
