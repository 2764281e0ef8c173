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

/// The least price of a span.
pub(super) const LEAST_SKIP: u32 = UNKNOWN_WORD;
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

/// What a token is by the categories of its word, as bits.
type Marks = u16;

const OPENER: Marks = 1;
const SAYS: Marks = 2;
const COMMA: Marks = 4;
const NEGATOR: Marks = 8;
const ADVERB: Marks = 16;
const FINITE: Marks = 32;
/// A verb that is no event by itself.
const EVENTLESS: Marks = 64;
const MARK: Marks = 128;
/// A noun that may be a verb as well: "review".
const NOUN: Marks = 512;
/// A preposition of a place: a verb behind it is that of the sentence.
const PLACE: Marks = 1024;
/// The name of a branch.
const HEAD: Marks = 2048;
/// A verb of a quality: "feels slow".
const FEELS: Marks = 4096;

/// A word that opens a phrase: a preposition, a relative, an operator or a connective.
const OPENS: Marks = OPENER | SAYS | COMMA;
/// A phrase can end before these.
const BOUNDARY: Marks = OPENER | FINITE | MARK;

const MARKS: &[(&str, Marks)] = &[
    ("opener", OPENER),
    ("place", PLACE),
    ("branch.name", HEAD),
    ("branch.default", HEAD),
    ("v.say.g", SAYS),
    ("v.contain.g", SAYS),
    ("v.request.g", SAYS),
    ("v.mention.g", SAYS),
    ("negator", NEGATOR),
    ("adverb", ADVERB),
    ("be.f", FINITE),
    ("get.f", FINITE),
    ("have.f", FINITE),
    ("v.act.f", FINITE),
    ("n.thing", NOUN),
    ("n.run", NOUN),
    ("v.reach.f", EVENTLESS),
    ("v.come.f", EVENTLESS),
    ("v.feel.f", FEELS),
];

/// What the spans of a line are made of.
struct Spans<'l> {
    grammar: &'l Grammar,
    line: &'l str,
    tokens: &'l [Token],
    is_known: &'l [bool],
    marks: Vec<Marks>,
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
        marks: marks(grammar, tokens),
        found: Vec::new(),
    };
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Mark {
            if spans.is(at, OPENS) {
                spans.tails(at);
            }
            continue;
        }
        let is_word = token.kind == TokenKind::Word;
        let is_unknown = is_word && (!is_known[at] || grammar.lexicon.is_quality(&token.text));
        // A capitalised word is a name, such as that of a service, and forbids the reading.
        let is_first = at == 0 && grammar.lexicon.is_quality(&token.text);
        let is_lower = is_first || token.span.of(line).chars().all(|c| !c.is_uppercase());
        if is_unknown && is_lower {
            spans.add("skip.word", at..at + 1, UNKNOWN_WORD);
            spans.clauses("skip.behind", at + 2, at);
        }
        if is_unknown && is_lower || spans.is(at, EVENTLESS) {
            spans.clauses("skip.predicate", at + 1, at);
        }
        if at <= LONGEST_LEAD {
            spans.heads(at);
        }
        if is_word {
            spans.objects(at);
            spans.add("skip.rest", at..tokens.len(), SPAN);
        }
        // How or how often something happens is in no event.
        let is_adverb =
            spans.is(at, ADVERB) || is_word && !is_known[at] && token.text.ends_with("ly");
        if is_adverb {
            spans.add("skip.adverb", at..at + 1, SPAN);
        }
        let leads = is_adverb && !spans.is(at + 1, OPENER);
        if spans.is(at, OPENS) || leads || is_unknown && token.text.ends_with("ing") {
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

    /// Whether a token has one of some marks; none has any behind the end.
    fn is(&self, at: usize, marks: Marks) -> bool {
        self.marks.get(at).is_some_and(|known| known & marks != 0)
    }

    /// Whether a phrase can end before a token.
    fn is_boundary(&self, at: usize) -> bool {
        at >= self.tokens.len() || self.is(at, BOUNDARY)
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
            let is_quality = |at: usize| self.grammar.lexicon.is_quality(&self.tokens[at].text);
            let is_unknown = (at..end).any(|at| !self.is_known[at] || is_quality(at));
            if is_plain && is_unknown && self.is_boundary(end) {
                self.add("skip.object", at..end, SPAN);
            }
        }
    }

    /// Adds the phrases that begin at a word that opens one.
    fn tails(&mut self, at: usize) {
        for end in at + 2..=self.tokens.len() {
            // "to main" in "a push to main adds a large file" ends before the verb.
            if self.is(at, PLACE) && self.is_predicate(end - 1) && end > at + 2 {
                return;
            }
            let is_exception = self.excludes(at..end);
            // A negation or a preposition at the end would be cut from what it governs.
            let is_whole = !self.is(end - 1, OPENER | NEGATOR) || self.is_stranded(end);
            // "by bots" in "excluding merges by bots" belongs to what is excluded.
            let is_inside = is_exception && self.is(end, OPENER | SAYS);
            // "review" in "that skipped the design review" is no verb.
            let is_third = |token: &Token| token.text.ends_with('s');
            let is_cut = self.is(end, NOUN)
                && !self.is_known[end - 1]
                && !self.tokens.get(end).is_some_and(is_third);
            if is_whole && !is_inside && !is_cut && self.is_boundary(end) {
                self.add("skip.tail", at..end, SPAN);
            }
        }
    }

    /// Whether a verb is behind a noun or a name, whose predicate it is.
    fn is_predicate(&self, at: usize) -> bool {
        let is_name = self.tokens[at - 1].kind != TokenKind::Word;
        let is_verb = self.is(at, FINITE) && !self.is(at, NOUN | OPENER);
        is_verb && !self.is(at - 1, MARK) && (is_name || self.is(at - 1, NOUN | HEAD))
    }

    /// Whether the preposition before a place governs a word on its left: "not enough to act on, …".
    fn is_stranded(&self, end: usize) -> bool {
        let is_before_mark = end >= self.tokens.len() || self.is(end, MARK);
        is_before_mark && self.is(end - 1, OPENER) && !self.is(end - 1, MARK | COMMA | NEGATOR)
    }

    /// Whether a phrase excludes something, at its beginning or behind words of another kind.
    fn excludes(&self, mut words: Range<usize>) -> bool {
        words.any(|at| self.is(at, NEGATOR) && !self.is(at + 1, MARK))
    }

    /// Adds the first alternative of a line, "the moon rises or", and what is in front of a condition: "if the moon is full,".
    fn heads(&mut self, at: usize) {
        for end in at + 2..self.tokens.len() {
            if self.grammar.lexicon.joins(&self.tokens[end].text) {
                self.add("skip.head", at..end, SPAN);
            }
            if at == 0 && self.is(end, MARK) {
                self.add("skip.front", at..end, SPAN);
            }
        }
    }

    /// Adds what is said about a noun: "unrelated to the roadmap", "describes an outage".
    fn clauses(&mut self, name: &str, least: usize, at: usize) {
        for end in least..=self.tokens.len() {
            let before = &self.tokens[end - 1];
            // A name inside is that of a service, as before a noun.
            if before.span.of(self.line).contains(char::is_uppercase) {
                return;
            }
            // What feels, seems or deserves something is no event.
            if self.is(end - 1, FEELS) {
                return;
            }
            let is_last = end == self.tokens.len();
            let ends = is_last || self.is(end, FINITE);
            if ends && (!self.is(end - 1, OPENER) || is_last && self.is_stranded(end)) {
                self.add(name, at..end, SPAN);
            }
        }
    }
}

/// Returns the marks of each token.
fn marks(grammar: &Grammar, tokens: &[Token]) -> Vec<Marks> {
    let known = MARKS.iter().filter_map(|(name, mark)| {
        let category = grammar.categories.find(name)?;
        Some((category, *mark))
    });
    let known: Vec<(Category, Marks)> = known.collect();
    let of = |token: &Token| match token.kind {
        TokenKind::Mark if token.text == "," => MARK | COMMA,
        TokenKind::Mark => MARK,
        TokenKind::Word => {
            let words = grammar.lexicon.alone(&token.text).iter();
            let marks = words.flat_map(|word| {
                let same = known
                    .iter()
                    .filter(|(category, _)| *category == word.category);
                same.map(|(_, mark)| *mark)
            });
            marks.fold(0, |acc, mark| acc | mark)
        }
        _ => 0,
    };
    tokens.iter().map(of).collect()
}
