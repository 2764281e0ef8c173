//! What a syntax error in a value probably comes from, and whether quotes would mend it.

use crate::frame::is_blank;
use crate::yaml::{SyntaxError, compose};
use crate::{Diagnostic, Span, codes};

/// Names the cause of `error` in the value `raw` at `value`.
///
/// The finding carries a fix exactly when the value reads as text once it is quoted.
pub(crate) fn of(value: Span, raw: &str, error: &SyntaxError) -> Diagnostic {
    let found = if begins_with_indicator(raw) {
        Some(codes::unquoted_indicator(value, raw))
    } else if has_key_sign(raw) {
        Some(codes::unquoted_colon(value, raw))
    } else {
        None
    };
    found.filter(mends).unwrap_or_else(|| {
        let mut error = error.clone();
        // A quote that never closes is noticed far behind the place to mend.
        if raw.starts_with(['"', '\'']) || !value.contains(error.span) {
            let length = raw.chars().next().map_or(0, char::len_utf8);
            error.span = Span::new(value.start, value.start + length);
        }
        codes::syntax(&error)
    })
}

/// A fix is offered only if it does mend the value.
fn mends(found: &Diagnostic) -> bool {
    let edit = found.fix.as_ref().and_then(|fix| fix.edits.first());
    edit.is_some_and(|edit| compose(&format!("k: {}", edit.text), 0).error.is_none())
}

/// Text such as `*.md files`, `@team is asked`, `"help" is commented`, `[WIP] is removed`.
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

/// Words stand after the bracket that closes.
fn follows(raw: &str, close: char) -> bool {
    raw.find(close)
        .is_some_and(|end| !is_blank(&raw[end + 1..]))
}

/// A colon that YAML takes for the end of a key.
fn has_key_sign(raw: &str) -> bool {
    raw.contains(": ") || raw.lines().any(|line| line.trim_end().ends_with(':'))
}
