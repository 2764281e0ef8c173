//! The line as units: words with their senses, and literals, with the reading position.

use std::ops::Range;

use daemon_event::vocabulary::Verb;

use crate::interpretation::Correction;
use crate::lexicon::{self, Class, Forms, Part, Sense};
use crate::normalise::{Token, TokenKind};
use crate::span::Span;

/// A phrase of the lexicon, a word without a sense, or a literal.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    pub(crate) text: String,
    pub(crate) sense: Option<&'static Sense>,
    /// The spelling correction of the unit.
    pub(crate) mended: Option<(Span, &'static str)>,
}

impl Unit {
    pub(crate) fn is(&self, class: Class) -> bool {
        self.sense.is_some_and(|sense| sense.is(class))
    }

    pub(crate) fn is_mark(&self, mark: &str) -> bool {
        self.kind == TokenKind::Mark && self.text == mark
    }

    pub(crate) fn is_word(&self) -> bool {
        self.kind == TokenKind::Word
    }
}

/// The units of a line, and which of them are unread.
pub(crate) struct Reader<'l> {
    pub(crate) line: &'l str,
    pub(crate) units: Vec<Unit>,
    pub(crate) free: Vec<bool>,
    pub(crate) at: usize,
}

/// The most misspelt words of one line that are corrected.
const MOST_MENDED: usize = 8;

impl<'l> Reader<'l> {
    pub(crate) fn new(line: &'l str, tokens: &[Token]) -> Self {
        let mut units = units(line, tokens);
        excepting_but(&mut units);
        let free = vec![true; units.len()];
        Self {
            line,
            units,
            free,
            at: 0,
        }
    }

    pub(crate) fn unit(&self, at: usize) -> Option<&Unit> {
        self.units.get(at)
    }

    pub(crate) fn sense(&self, at: usize) -> Option<&'static Sense> {
        self.units.get(at).and_then(|unit| unit.sense)
    }

    pub(crate) fn is(&self, at: usize, class: Class) -> bool {
        self.unit(at).is_some_and(|unit| unit.is(class))
    }

    pub(crate) fn is_any(&self, at: usize, classes: &[Class]) -> bool {
        classes.iter().any(|class| self.is(at, *class))
    }

    pub(crate) fn part(&self, at: usize) -> Option<Part> {
        self.sense(at).and_then(|sense| sense.part)
    }

    pub(crate) fn is_noun(&self, at: usize) -> bool {
        self.sense(at).is_some_and(|sense| !sense.nouns.is_empty())
    }

    pub(crate) fn is_verb(&self, at: usize) -> bool {
        self.sense(at).is_some_and(Sense::is_verb)
    }

    pub(crate) fn has_verb(&self, at: usize, verb: Verb) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.verbs.contains(&verb))
    }

    pub(crate) fn has_form(&self, at: usize, form: Forms) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.is_verb() && sense.forms.has(form))
    }

    /// Whether the unit is data: quoted, code, a user, a channel, or a word without a sense.
    pub(crate) fn is_literal(&self, at: usize) -> bool {
        self.unit(at).is_some_and(|unit| match unit.kind {
            TokenKind::Quoted | TokenKind::Code | TokenKind::User => true,
            TokenKind::Word => unit.sense.is_none(),
            TokenKind::Channel | TokenKind::Reference | TokenKind::Number | TokenKind::Mark => {
                false
            }
        })
    }

    pub(crate) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.unit(at).map(|unit| unit.kind)
    }

    /// The author's spelling.
    pub(crate) fn written(&self, at: usize) -> &'l str {
        self.units
            .get(at)
            .map_or("", |unit| unit.span.of(self.line))
    }

    /// Returns the value of a literal: the characters between the quotes, else the author's spelling.
    pub(crate) fn value(&self, at: usize) -> String {
        let Some(unit) = self.unit(at) else {
            return String::new();
        };
        match unit.kind {
            TokenKind::Quoted | TokenKind::User | TokenKind::Channel | TokenKind::Reference => {
                unit.text.clone()
            }
            TokenKind::Word | TokenKind::Code | TokenKind::Number | TokenKind::Mark => {
                self.written(at).to_owned()
            }
        }
    }

    pub(crate) fn span(&self, range: &Range<usize>) -> Span {
        let first = self
            .units
            .get(range.start)
            .map(|unit| unit.span)
            .unwrap_or_default();
        let last = range.end.checked_sub(1).and_then(|at| self.units.get(at));
        last.map_or(first, |last| first.to(last.span))
    }

    pub(crate) fn take(&mut self, range: Range<usize>) {
        for at in range {
            if let Some(free) = self.free.get_mut(at) {
                *free = false;
            }
        }
    }

    pub(crate) fn release(&mut self, range: Range<usize>) {
        for at in range {
            if let Some(free) = self.free.get_mut(at) {
                *free = true;
            }
        }
    }

    /// Skips units of the given classes.
    pub(crate) fn skip(&self, mut at: usize, classes: &[Class]) -> usize {
        while self.is_any(at, classes) {
            at += 1;
        }
        at
    }

    /// Finds a negation before a position, across words that may be between.
    pub(crate) fn negation_before(&self, at: usize) -> Option<usize> {
        let mut before = at;
        while before > 0 {
            before -= 1;
            let unit = self.unit(before)?;
            if [
                Class::Not,
                Class::Non,
                Class::Except,
                Class::Unless,
                Class::Without,
            ]
            .iter()
            .any(|class| unit.is(*class))
            {
                return self.free[before].then_some(before);
            }
            let may_stand_between = unit.is(Class::Article)
                || unit.is(Class::Be)
                || unit.is(Class::Its)
                || unit.is(Class::Filler)
                || unit.is(Class::In)
                || unit.is(Class::From)
                || unit.is(Class::That)
                || unit.is_mark("(");
            if !may_stand_between {
                return None;
            }
        }
        None
    }

    /// Returns the typos that were corrected in words that were read.
    pub(crate) fn corrections(&self) -> Vec<Correction> {
        let mended = self
            .units
            .iter()
            .zip(&self.free)
            .filter(|(_, free)| !**free);
        mended
            .filter_map(|(unit, _)| {
                unit.mended.map(|(span, word)| Correction {
                    span,
                    replacement: word.to_owned(),
                })
            })
            .collect()
    }
}

/// `any branch but main`: the `but` of an exception.
fn excepting_but(units: &mut [Unit]) {
    const EVERY: &[&str] = &["any", "every", "all", "each", "no"];
    for at in 2..units.len() {
        let is_but = units[at].text == "but";
        let begins =
            (1..=4).any(|back| at >= back && EVERY.contains(&units[at - back].text.as_str()));
        let next = units.get(at + 1).map(|unit| {
            unit.kind != TokenKind::Word
                || unit.sense.is_none()
                || unit
                    .sense
                    .is_some_and(|sense| sense.is_value || sense.is(Class::Article) || sense.is_bot)
                || lexicon::KNOWN_BRANCHES.contains(&unit.text.as_str())
        });
        if is_but && begins && next == Some(true) {
            units[at].sense = lexicon::exact("except");
        }
    }
}

/// Groups tokens into the longest phrases of the lexicon.
fn units(line: &str, tokens: &[Token]) -> Vec<Unit> {
    let mut mended_words = 0;
    let mends: Vec<Option<&'static str>> = tokens
        .iter()
        .map(|token| {
            let is_lower = token.span.of(line).chars().skip(1).all(char::is_lowercase);
            if token.kind != TokenKind::Word
                || !is_lower
                || mended_words == MOST_MENDED
                || lexicon::longest(&[token.text.as_str()]).is_some()
            {
                return None;
            }
            let mended = lexicon::mend(&token.text)?;
            mended_words += 1;
            Some(mended)
        })
        .collect();
    let words: Vec<&str> = tokens
        .iter()
        .zip(&mends)
        .map(|(token, mended)| match token.kind {
            TokenKind::Word => mended.unwrap_or(token.text.as_str()),
            // A literal is never part of a phrase.
            _ => "\u{0}",
        })
        .collect();
    let mut units = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        let window = &words[at..words.len().min(at + 8)];
        let found = if token.kind == TokenKind::Word {
            lexicon::longest(window)
        } else {
            None
        };
        let (sense, n_words) = found.map_or((None, 1), |(sense, n_words)| (Some(sense), n_words));
        if sense.is_none() && token.kind == TokenKind::Word {
            units.extend(unknown(line, token));
            at += 1;
            continue;
        }
        let last = &tokens[at + n_words - 1];
        units.push(Unit {
            kind: token.kind,
            span: token.span.to(last.span),
            text: if n_words == 1 {
                token.text.clone()
            } else {
                window[..n_words].join(" ")
            },
            sense,
            mended: (at..at + n_words).find_map(|at| mends[at].map(|word| (tokens[at].span, word))),
        });
        at += n_words;
    }
    units
}

/// A word without a sense; `non-draft` and `bug-labeled` are split if both halves have one.
fn unknown(line: &str, token: &Token) -> Vec<Unit> {
    let whole = Unit {
        kind: TokenKind::Word,
        span: token.span,
        text: token.text.clone(),
        sense: None,
        mended: None,
    };
    let Some((first, last)) = token.text.rsplit_once('-') else {
        return vec![whole];
    };
    let at = token.span.start + token.span.of(line).rfind('-').unwrap_or(0);
    let sense = lexicon::exact(last);
    let is_suffix = sense.is_some_and(|sense| {
        sense.verbs.contains(&Verb::Label) && sense.forms.has(Forms::PAST)
            || matches!(
                sense.part,
                Some(Part::Level | Part::Severity | Part::Priority)
            )
    });
    let is_negated = first == "non" && sense.is_some();
    if (!is_suffix && !is_negated) || at <= token.span.start {
        return vec![whole];
    }
    let half = |span: Span, text: &str| Unit {
        kind: TokenKind::Word,
        span,
        text: text.to_owned(),
        sense: lexicon::exact(text),
        mended: None,
    };
    vec![
        half(Span::new(token.span.start, at), first),
        half(Span::new(at + 1, token.span.end), last),
    ]
}
