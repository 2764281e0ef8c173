//! The words of a line as edges: phrases of the lexicon, literals, and words that may be values.

use std::ops::Range;

use super::category::Category;
use super::grammar::Grammar;
use super::value::Value;
use crate::normalise::{Token, TokenKind};

/// A word or phrase over a span of tokens.
pub(super) struct Word {
    pub(super) category: Category,
    pub(super) range: Range<usize>,
    pub(super) cost: u32,
    pub(super) value: Value,
}

/// A bare word that looks like a name, an unknown word, and a word of the lexicon, as values.
const NAME_LIKE: u32 = 10;
const UNKNOWN: u32 = 30;
const KNOWN: u32 = 60;

/// Returns the words that begin at each token.
pub(super) fn words(grammar: &Grammar, line: &str, tokens: &[Token]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = found.len();
        if matches!(token.kind, TokenKind::Word | TokenKind::Mark) {
            phrases(grammar, tokens, at, &mut found);
        }
        let is_known = found.len() > before;
        let (name, cost) = match token.kind {
            TokenKind::Mark => continue,
            TokenKind::Quoted => ("lit.quoted", 0),
            TokenKind::Code => ("lit.code", 0),
            TokenKind::User => ("lit.user", 0),
            TokenKind::Channel => ("lit.channel", 0),
            TokenKind::Reference => ("lit.reference", 0),
            TokenKind::Number => ("lit.number", 0),
            TokenKind::Word if is_known => ("bare", KNOWN),
            TokenKind::Word if is_name_like(&token.text) => ("bare.name", NAME_LIKE),
            TokenKind::Word => ("bare", UNKNOWN),
        };
        let text = match token.kind {
            // Names keep the author's spelling, since branches and paths are compared byte for byte.
            TokenKind::Word => token.span.of(line).to_owned(),
            _ => token.text.clone(),
        };
        if let Some(category) = grammar.categories.find(name) {
            found.push(Word {
                category,
                range: at..at + 1,
                cost,
                value: Value::Strings(vec![text]),
            });
        }
    }
    found
}

fn phrases(grammar: &Grammar, tokens: &[Token], at: usize, found: &mut Vec<Word>) {
    for phrase in grammar.lexicon.beginning_with(&tokens[at].text) {
        let end = at + 1 + phrase.rest.len();
        let Some(behind) = tokens.get(at + 1..end) else {
            continue;
        };
        let is_said = behind.iter().zip(&phrase.rest).all(|(token, word)| {
            matches!(token.kind, TokenKind::Word | TokenKind::Mark) && token.text == *word
        });
        if is_said {
            found.push(Word {
                category: phrase.category,
                range: at..end,
                cost: 0,
                value: phrase.sense.value(&(at..end)),
            });
        }
    }
}

/// Whether a word looks like a name: `mira-holt`, `v2`, `needs_review`.
fn is_name_like(word: &str) -> bool {
    word.contains(['-', '_']) || word.bytes().any(|b| b.is_ascii_digit())
}
