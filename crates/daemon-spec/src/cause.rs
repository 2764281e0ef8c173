//! The probable cause of a syntax error in a value, and whether quotes fix it.

use crate::frame::is_blank;
use crate::yaml::{SyntaxError, compose};
use crate::{Diagnostic, Span, codes};

/// Returns the diagnostic for `error` in the value `raw` at `value`.
///
/// The diagnostic has a fix if and only if the quoted value is a valid string.
pub(crate) fn of(value: Span, raw: &str, error: &SyntaxError) -> Diagnostic {
    let found = if begins_with_indicator(raw) {
        Some(codes::unquoted_indicator(value, raw))
    } else if has_key_sign(raw) {
        Some(codes::unquoted_colon(value, raw))
    } else {
        None
    };
    found.filter(has_valid_fix).unwrap_or_else(|| {
        let mut error = error.clone();
        // The library notices an unclosed quote far after the place to correct.
        if raw.starts_with(['"', '\'']) || !value.contains(error.span) {
            let length = raw.chars().next().map_or(0, char::len_utf8);
            error.span = Span::new(value.start, value.start + length);
        }
        codes::syntax(&error)
    })
}

/// Returns `true` if the value is valid YAML after the fix.
fn has_valid_fix(found: &Diagnostic) -> bool {
    let edit = found.fix.as_ref().and_then(|fix| fix.edits.first());
    edit.is_some_and(|edit| compose(&format!("k: {}", edit.text), 0).error.is_none())
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
