//! Words that a parse may leave over: a few kinds of edges, each with a price far above those of rules.

use std::ops::Range;

use super::category::Category;
use super::grammar::Grammar;
use crate::normalise::{Token, TokenKind};

/// A span that can be left over.
pub(super) struct Skip {
    pub(super) category: Category,
    pub(super) range: Range<usize>,
    pub(super) cost: u32,
}

/// One unknown word before a noun.
const UNKNOWN_WORD: u32 = 80;
/// Any other span.
const SPAN: u32 = 120;
const KNOWN_WORD: u32 = 8;
const OTHER_WORD: u32 = 30;
const LITERAL: u32 = 120;
/// The longest object that is left over, in tokens.
const LONGEST_OBJECT: usize = 6;

/// The kinds of guards that are never left over as a whole, since they can be read.
pub(super) const READ_INSTEAD: &[&str] = &["Mod", "Tail", "By"];

/// Returns the spans of a line that can be left over; `is_known` says which tokens are words of the lexicon.
pub(super) fn skips(
    grammar: &Grammar,
    line: &str,
    tokens: &[Token],
    is_known: &[bool],
) -> Vec<Skip> {
    let find = |name: &str| grammar.categories.find(name);
    let mut found = Vec::new();
    let price = |range: &Range<usize>| -> u32 {
        range
            .clone()
            .map(|at| match tokens[at].kind {
                TokenKind::Word | TokenKind::Mark if is_known[at] => KNOWN_WORD,
                TokenKind::Word | TokenKind::Mark => OTHER_WORD,
                _ => LITERAL,
            })
            .sum()
    };
    for (at, token) in tokens.iter().enumerate() {
        let is_unknown = token.kind == TokenKind::Word && !is_known[at];
        // A capitalised word is a name, such as that of a service, and forbids the reading.
        let is_lower = token.span.of(line).chars().all(|c| !c.is_uppercase());
        if let Some(category) = find("skip.word").filter(|_| is_unknown && is_lower) {
            found.push(Skip {
                category,
                range: at..at + 1,
                cost: UNKNOWN_WORD,
            });
        }
        if let Some(category) = find("skip.object").filter(|_| token.kind == TokenKind::Word) {
            for end in at + 1..=(at + LONGEST_OBJECT).min(tokens.len()) {
                let range = at..end;
                let is_plain = range.clone().all(|at| tokens[at].kind == TokenKind::Word);
                let ends =
                    range.clone().any(|at| !is_known[at]) && is_boundary(grammar, tokens, end);
                if is_plain && ends {
                    found.push(Skip {
                        category,
                        cost: SPAN + price(&range),
                        range,
                    });
                }
            }
        }
        if let Some(category) = find("skip.tail").filter(|_| opens(grammar, token)) {
            for end in at + 2..=tokens.len() {
                let range = at..end;
                if is_boundary(grammar, tokens, end) {
                    found.push(Skip {
                        category,
                        cost: SPAN + price(&range),
                        range,
                    });
                }
            }
        }
    }
    found
}

/// Whether a word opens a phrase: a preposition, a relative, an operator or a connective.
fn opens(grammar: &Grammar, token: &Token) -> bool {
    token.kind == TokenKind::Mark && token.text == "," || has(grammar, token, "opener")
}

/// Whether a phrase can end before a token.
fn is_boundary(grammar: &Grammar, tokens: &[Token], at: usize) -> bool {
    let Some(token) = tokens.get(at) else {
        return true;
    };
    token.kind == TokenKind::Mark
        || ["opener", "be.f", "get.f", "have.f"]
            .iter()
            .any(|name| has(grammar, token, name))
}

fn has(grammar: &Grammar, token: &Token, name: &str) -> bool {
    let Some(category) = grammar.categories.find(name) else {
        return false;
    };
    token.kind == TokenKind::Word
        && (grammar.lexicon.beginning_with(&token.text).iter())
            .any(|phrase| phrase.rest.is_empty() && phrase.category == category)
}
