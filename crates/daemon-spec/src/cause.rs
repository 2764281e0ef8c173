//! The probable cause of a syntax error in a value, and whether quotes fix it.

use crate::frame::{is_blank, slice};
use crate::yaml::{SyntaxError, compose};
use crate::{Diagnostic, Span, codes};

/// The field or entry that contains a value.
#[derive(Clone, Copy)]
pub(crate) struct BrokenPiece<'t> {
    pub(crate) text: &'t str,
    pub(crate) span: Span,
    pub(crate) kind: PieceKind,
}

#[derive(Clone, Copy)]
pub(crate) enum PieceKind {
    /// A key with its value.
    Field,
    /// A dash with its value.
    Entry,
}

/// Returns the diagnostic for `error` in the value `raw` at `value` of `piece`.
///
/// The diagnostic has a fix if and only if the quoted value is a valid string at its place.
pub(crate) fn of(
    value: Span,
    raw: &str,
    error: &SyntaxError,
    piece: BrokenPiece<'_>,
) -> Diagnostic {
    let found = if begins_with_indicator(raw) {
        Some(codes::unquoted_indicator(value, raw))
    } else if has_key_sign(raw) {
        Some(codes::unquoted_colon(value, raw))
    } else {
        None
    };
    found
        .filter(|found| piece.is_valid_after(found))
        .unwrap_or_else(|| {
            let mut error = error.clone();
            // The library notices an unclosed quote far after the place to correct.
            if raw.starts_with(['"', '\'']) || !value.contains(error.span) {
                let length = raw.chars().next().map_or(0, char::len_utf8);
                error.span = Span::new(value.start, value.start + length);
            }
            codes::syntax(&error)
        })
}

impl BrokenPiece<'_> {
    /// Returns `true` if the piece is valid YAML after the fix, and the new text is one string of it.
    fn is_valid_after(self, found: &Diagnostic) -> bool {
        let Some([edit]) = found.fix.as_ref().map(|fix| fix.edits.as_slice()) else {
            return false;
        };
        // The lines of a quoted string must be indented deeper than the key or dash before it. The value
        // alone does not show that.
        let before = slice(self.text, Span::new(self.span.start, edit.span.start));
        let after = slice(self.text, Span::new(edit.span.end, self.span.end));
        let key = match self.kind {
            PieceKind::Field => "",
            PieceKind::Entry => "k:\n",
        };
        let start = key.len() + before.len();
        let fixed = [key, before, &edit.text, after].concat();
        let tree = compose(&fixed, 0);
        tree.error.is_none() && tree.has_scalar(Span::new(start, start + edit.text.len()))
    }
}

/// Returns `true` for text such as `*.md files`, `@team is asked`, `"help" is commented` and
/// `[WIP] is removed`.
fn begins_with_indicator(raw: &str) -> bool {
    let Some(first) = raw.chars().next() else {
        return false;
    };
    match first {
        '*' | '&' | '!' | '`' | '@' | '%' | ',' | ']' | '}' => true,
        '|' | '>' => {
            raw[1..].starts_with(' ')
                && !raw[1..].trim_start().is_empty()
                && !raw.contains(['\n', '\r'])
        }
        '"' | '\'' => raw[1..]
            .find(first)
            .is_some_and(|end| !is_blank(&raw[end + 2..])),
        '{' => raw.starts_with("{{") || follows(raw, '}'),
        '[' => follows(raw, ']'),
        _ => false,
    }
}

/// Returns `true` if words follow the closing bracket.
fn follows(raw: &str, close: char) -> bool {
    raw.find(close)
        .is_some_and(|end| !is_blank(&raw[end + 1..]))
}

/// Returns `true` if the text has a colon that YAML reads as the end of a key.
fn has_key_sign(raw: &str) -> bool {
    raw.contains(": ") || raw.lines().any(|line| line.trim_end().ends_with(':'))
}
