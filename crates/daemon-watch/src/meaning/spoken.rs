//! The tokens of a line, as the emission of clauses looks at them.

use std::ops::Range;

use crate::normalise::{Token, TokenKind};
use crate::span::Span;

/// The tokens that a reader used, in the order of the line.
#[derive(Clone, Copy)]
pub(crate) struct Spoken<'t> {
    pub(crate) tokens: &'t [Token],
}

impl Spoken<'_> {
    /// Returns a word in lower case; empty for literals and marks, and behind the end.
    pub(crate) fn word_at(&self, at: usize) -> &str {
        let token = self.tokens.get(at);
        let word = token.filter(|token| token.kind == TokenKind::Word);
        word.map_or("", |token| &token.text)
    }

    /// Returns the author's words for a range of tokens.
    pub(crate) fn span(&self, range: &Range<usize>) -> Span {
        let first = self.tokens.get(range.start).map(|token| token.span);
        let last = (range.end.checked_sub(1)).and_then(|at| self.tokens.get(at));
        match (first, last) {
            (Some(first), Some(last)) if range.end > range.start => first.to(last.span),
            (Some(first), _) => first,
            (None, _) => Span::default(),
        }
    }
}
