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
const KNOWN_WORD: u32 = 14;
const OTHER_WORD: u32 = 30;
const LITERAL: u32 = 120;
/// The longest object that is left over, in tokens.
const LONGEST_OBJECT: usize = 6;

/// The kinds of guards that are never left over as a whole, since they can be read.
pub(super) const READ_INSTEAD: &[&str] = &["Mod", "Tail", "By"];

/// The most tokens of the words that introduce a condition.
const LONGEST_LEAD: usize = 3;

/// Words before the one that says whether a phrase excludes something.
const LINKS: &[&str] = &["and", "but", "just", "or"];

/// Verbs that are no event by themselves.
const EVENTLESS: &[&str] = &["v.reach.f", "v.come.f"];

/// What the spans of a line are made of.
struct Spans<'l> {
    grammar: &'l Grammar,
    line: &'l str,
    tokens: &'l [Token],
    is_known: &'l [bool],
    found: Vec<Skip>,
}

/// Returns the spans of a line that can be left over; `is_known` says which tokens are words of the lexicon.
pub(super) fn skips(
    grammar: &Grammar,
    line: &str,
    tokens: &[Token],
    is_known: &[bool],
) -> Vec<Skip> {
    let mut spans = Spans {
        grammar,
        line,
        tokens,
        is_known,
        found: Vec::new(),
    };
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Mark {
            if opens(grammar, token) {
                spans.tails(at);
            }
            continue;
        }
        let is_word = token.kind == TokenKind::Word;
        let is_unknown = is_word && (!is_known[at] || grammar.lexicon.is_quality(&token.text));
        // A capitalised word is a name, such as that of a service, and forbids the reading.
        let is_lower = token.span.of(line).chars().all(|c| !c.is_uppercase());
        if is_unknown && is_lower {
            spans.add("skip.word", at..at + 1, UNKNOWN_WORD);
            spans.clauses("skip.behind", at + 2, at);
        }
        if is_unknown && is_lower || EVENTLESS.iter().any(|name| has(grammar, token, name)) {
            spans.clauses("skip.predicate", at + 1, at);
        }
        if at <= LONGEST_LEAD {
            spans.heads(at);
        }
        if is_word {
            spans.objects(at);
            spans.add("skip.rest", at..tokens.len(), SPAN);
        }
        let adverb = is_adverb(grammar, token, is_known[at]);
        if adverb {
            spans.add("skip.adverb", at..at + 1, SPAN);
        }
        if opens(grammar, token) || adverb || is_unknown && token.text.ends_with("ing") {
            spans.tails(at);
        }
    }
    spans.found
}

impl Spans<'_> {
    /// Adds a span; the price of several words is that of each word, and more.
    fn add(&mut self, name: &str, range: Range<usize>, cost: u32) {
        let Some(category) = self.grammar.categories.find(name) else {
            return;
        };
        let cost = if range.len() == 1 {
            cost
        } else {
            cost + range.clone().map(|at| self.price(at)).sum::<u32>()
        };
        self.found.push(Skip {
            category,
            range,
            cost,
        });
    }

    fn price(&self, at: usize) -> u32 {
        match self.tokens[at].kind {
            TokenKind::Word | TokenKind::Mark if self.is_known[at] => KNOWN_WORD,
            TokenKind::Word | TokenKind::Mark => OTHER_WORD,
            _ => LITERAL,
        }
    }

    /// Adds the objects that begin at a word: one of their words is unknown.
    fn objects(&mut self, at: usize) {
        for end in at + 1..=(at + LONGEST_OBJECT).min(self.tokens.len()) {
            let is_plain = (at..end)
                .all(|at| matches!(self.tokens[at].kind, TokenKind::Word | TokenKind::Number));
            let is_unknown = (at..end).any(|at| !self.is_known[at]);
            if is_plain && is_unknown && is_boundary(self.grammar, self.tokens, end) {
                self.add("skip.object", at..end, SPAN);
            }
        }
    }

    /// Adds the phrases that begin at a word that opens one.
    fn tails(&mut self, at: usize) {
        let is_exception = self.excludes(at);
        for end in at + 2..=self.tokens.len() {
            // A negation or a preposition at the end would be cut from what it governs.
            let is_whole = !has(self.grammar, &self.tokens[end - 1], "opener")
                && !has(self.grammar, &self.tokens[end - 1], "negator");
            let next = self.tokens.get(end);
            // "by bots" in "excluding merges by bots" belongs to what is excluded.
            let is_inside = is_exception
                && next
                    .is_some_and(|next| opens(self.grammar, next) && next.kind == TokenKind::Word);
            if is_whole && !is_inside && is_boundary(self.grammar, self.tokens, end) {
                self.add("skip.tail", at..end, SPAN);
            }
        }
    }

    /// Whether a phrase excludes something: its first word, or the one behind a comma and a connective.
    fn excludes(&self, at: usize) -> bool {
        let mut words = (at..self.tokens.len()).map(|at| &self.tokens[at]);
        words
            .find(|token| token.kind == TokenKind::Word && !LINKS.contains(&token.text.as_str()))
            .is_some_and(|token| has(self.grammar, token, "negator"))
    }

    /// Adds the first alternative of a line: "the moon rises or".
    fn heads(&mut self, at: usize) {
        for end in at + 2..self.tokens.len() {
            if self.grammar.lexicon.joins(&self.tokens[end].text) {
                self.add("skip.head", at..end, SPAN);
            }
        }
    }

    /// Adds what is said about a noun: "unrelated to the roadmap", "describes an outage".
    fn clauses(&mut self, name: &str, least: usize, at: usize) {
        const ENDS: &[&str] = &["be.f", "get.f", "have.f", "v.act.f"];
        for end in least..=self.tokens.len() {
            let before = &self.tokens[end - 1];
            // A name inside is that of a service, as before a noun.
            if before.span.of(self.line).contains(char::is_uppercase) {
                return;
            }
            let next = self.tokens.get(end);
            let ends =
                next.is_none_or(|next| ENDS.iter().any(|name| has(self.grammar, next, name)));
            if ends && !has(self.grammar, before, "opener") {
                self.add(name, at..end, SPAN);
            }
        }
    }
}

/// Whether a word opens a phrase: a preposition, a relative, an operator or a connective.
fn opens(grammar: &Grammar, token: &Token) -> bool {
    token.kind == TokenKind::Mark && token.text == ","
        || has(grammar, token, "opener")
        || has(grammar, token, "v.say.g")
}

/// Whether a word says how or how often something happens, which no event holds.
fn is_adverb(grammar: &Grammar, token: &Token, is_known: bool) -> bool {
    has(grammar, token, "adverb")
        || token.kind == TokenKind::Word && !is_known && token.text.ends_with("ly")
}

/// Whether a phrase can end before a token.
fn is_boundary(grammar: &Grammar, tokens: &[Token], at: usize) -> bool {
    let Some(token) = tokens.get(at) else {
        return true;
    };
    token.kind == TokenKind::Mark
        || ["opener", "be.f", "get.f", "have.f", "v.act.f"]
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
