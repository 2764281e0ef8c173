//! The line as single words, with a position and steps that can be undone.

use std::ops::Range;

use daemon_event::Source;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::Guard;
use super::idioms::{Idiom, Voice, idioms};
use crate::interpretation::Correction;
use crate::lexicon::{self, Class, Forms, Sense};
use crate::normalise::{Token, TokenKind};
use crate::span::Span;

/// The most steps for one line: a longer reading is abandoned.
// Steps can be tried in many orders, and the time for a hostile line has to be bounded.
const MOST_STEPS: u32 = 20_000;
/// The most steps within one another. A guard can begin with a guard, and one that takes no word would begin with itself forever.
const MOST_NESTED: u32 = 60;
/// The most words of a line that is read as sentences.
const MOST_WORDS: usize = 120;
/// The most misspelt words of one line that are corrected.
const MOST_MENDED: usize = 8;

/// Nouns of events that are not about pull requests, issues and branches.
const OTHERS: &[Noun] = &[
    Noun::CheckRun,
    Noun::Workflow,
    Noun::Channel,
    Noun::DirectMessage,
    Noun::Alert,
    Noun::Cycle,
];

/// Words without meaning at any position.
const FILLERS: &[&str] = &[
    "also",
    "already",
    "currently",
    "still",
    "directly",
    "itself",
    "actually",
    "explicitly",
    "either",
    "now",
    "please",
    "ever",
    "simply",
    "freshly",
    "newly",
    "yet",
    "straight",
];

/// The words of a line and the reading position.
pub(super) struct Line<'l> {
    pub(super) text: &'l str,
    pub(super) tokens: Vec<Token>,
    /// Lower-case words; empty for literals and marks.
    words: Vec<String>,
    pub(super) at: usize,
    steps: u32,
    nested: u32,
    pub(super) corrections: Vec<Correction>,
    /// The nouns that `it` refers to.
    pub(super) last: Vec<Noun>,
    /// The parent of the comment that `one` refers to.
    pub(super) last_on: Vec<Noun>,
    /// The users that `it` and `them` refer to as values.
    pub(super) last_person: Vec<String>,
    /// The subject is being read: no verb was read yet.
    pub(super) is_agent: bool,
    /// `as a draft` belongs to the verb: `marks a PR as a draft`.
    pub(super) is_marking: bool,
    /// The branch that `one` refers to.
    pub(super) last_branch: Option<Guard>,
    /// The source of the thing that `one` refers to.
    pub(super) last_source: Option<Source>,
    /// The channel that `there` refers to.
    pub(super) last_channel: Option<Guard>,
    /// The source that is the subject: `Sentry reports an issue`.
    pub(super) acting_source: Option<Source>,
    pub(super) last_states: Option<Vec<String>>,
    /// Participles behind a noun are its verb: `pull request opened by a bot`.
    pub(super) is_headline: bool,
    /// A verb precedes the noun: `by` after it names the actor.
    pub(super) is_object: bool,
    /// The line is about other sources, checks or alerts.
    pub(super) goes_elsewhere: bool,
}

impl<'l> Line<'l> {
    /// Prepares a line; `None` if it is longer than a sentence.
    pub(super) fn new(text: &'l str, all: &[Token], mends: bool) -> Option<Self> {
        let mut line = Self {
            text,
            tokens: Vec::new(),
            words: Vec::new(),
            at: 0,
            steps: MOST_STEPS,
            nested: 0,
            corrections: Vec::new(),
            last: Vec::new(),
            last_on: Vec::new(),
            last_source: None,
            last_channel: None,
            acting_source: None,
            last_states: None,
            last_branch: None,
            last_person: Vec::new(),
            is_agent: false,
            is_marking: false,
            is_headline: false,
            is_object: false,
            goes_elsewhere: false,
        };
        if all.len() > MOST_WORDS {
            return None;
        }
        for token in all {
            line.push(token.clone(), mends);
        }
        // A full stop at the end belongs to no phrase, and the rules test for the end of the tokens.
        while line.tokens.last().is_some_and(|last| {
            last.kind == TokenKind::Mark && matches!(last.text.as_str(), "." | "!" | ",")
        }) {
            line.tokens.pop();
            line.words.pop();
        }
        let speaks = |line: &Self, of: fn(&Sense) -> bool| {
            let mut words = line.words.iter();
            words.any(|word| lexicon::exact(word).is_some_and(of))
        };
        line.goes_elsewhere = speaks(&line, is_elsewhere);
        // A line that names a foreign service is left to the reader that reports it as unmapped.
        (!speaks(&line, |sense| sense.is_foreign)).then_some(line)
    }

    fn push(&mut self, mut token: Token, mends: bool) {
        // `i.e.` only repeats the words before it.
        if token.text == "i.e" {
            return;
        }
        // An event name in backticks is a noun: "a `pull_request` event".
        if token.kind == TokenKind::Quoted && is_raw_noun(&token.text) {
            token.kind = TokenKind::Word;
        }
        if token.kind != TokenKind::Word {
            self.words.push(String::new());
            self.tokens.push(token);
            return;
        }
        // A dash separates clauses as a comma does.
        if matches!(token.text.as_str(), "-" | "--") {
            token.kind = TokenKind::Mark;
            token.text = ",".to_owned();
            self.words.push(String::new());
            self.tokens.push(token);
            return;
        }
        let word = token.text.replace('’', "'");
        // Fillers are dropped here, so that no phrase has to be listed with and without them.
        if FILLERS.contains(&word.as_str()) {
            return;
        }
        let before = self.words.last().map_or("", String::as_str);
        if word == "'s" && matches!(before, "it" | "that" | "who" | "which" | "there") {
            self.words.push("is".to_owned());
            self.tokens.push(token);
            return;
        }
        if let Some(stem) = word.strip_suffix("'re").filter(|stem| !stem.is_empty()) {
            self.words.extend([stem.to_owned(), "are".to_owned()]);
            // Both words have the span of the contraction, since spans are those of the author's line.
            self.tokens.extend([token.clone(), token]);
            return;
        }
        if let Some((first, last)) = halves(&word) {
            let middle = token.span.start + first.len();
            let (first, last) = (first.to_owned(), last.to_owned());
            let end = token.span.end;
            let half = |start: usize, end: usize, text: &str| Token {
                kind: TokenKind::Word,
                span: Span::new(start, end),
                text: text.to_owned(),
            };
            self.tokens.push(half(token.span.start, middle, &first));
            self.tokens.push(half(middle + 1, end, &last));
            self.words.extend([first, last]);
            return;
        }
        let mended = if mends {
            self.mend(&token, &word)
        } else {
            None
        };
        if let Some(mended) = mended {
            token.text = mended.to_owned();
            self.words.push(mended.to_owned());
        } else {
            self.words.push(word);
        }
        self.tokens.push(token);
    }

    fn mend(&mut self, token: &Token, word: &str) -> Option<&'static str> {
        let is_lower = (token.span.of(self.text).chars().skip(1)).all(char::is_lowercase);
        // A word with a capital inside is a name, and names are not corrected.
        if !is_lower || self.corrections.len() == MOST_MENDED || lexicon::is_known(word) {
            return None;
        }
        let mended = lexicon::mend(word)?;
        self.corrections.push(Correction {
            span: token.span,
            replacement: mended.to_owned(),
        });
        Some(mended)
    }

    /// Runs a step, and undoes it if it returns `None`.
    pub(super) fn attempt<T>(&mut self, step: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.steps = self.steps.checked_sub(1)?;
        if self.nested == MOST_NESTED {
            return None;
        }
        let at = self.at;
        self.nested += 1;
        let found = step(self);
        self.nested -= 1;
        if found.is_none() {
            self.at = at;
        }
        found
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn word(&self, ahead: usize) -> &str {
        self.words.get(self.at + ahead).map_or("", String::as_str)
    }

    pub(super) fn word_at(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The word that was read last.
    pub(super) fn word_before(&self) -> &str {
        self.word_at(self.at.wrapping_sub(1))
    }

    pub(super) fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.tokens.get(self.at + ahead).map(|token| token.kind)
    }

    /// The author's spelling of one token.
    pub(super) fn written(&self, ahead: usize) -> &'l str {
        let token = self.tokens.get(self.at + ahead);
        token.map_or("", |token| token.span.of(self.text))
    }

    /// Returns the value of a literal: the characters between the quotes, else the author's spelling.
    pub(super) fn value(&self, ahead: usize) -> String {
        let Some(token) = self.tokens.get(self.at + ahead) else {
            return String::new();
        };
        match token.kind {
            TokenKind::Quoted | TokenKind::User | TokenKind::Channel | TokenKind::Reference => {
                token.text.clone()
            }
            TokenKind::Word | TokenKind::Code | TokenKind::Number | TokenKind::Mark => {
                token.span.of(self.text).to_owned()
            }
        }
    }

    pub(super) fn is_mark(&self, ahead: usize, mark: &str) -> bool {
        let token = self.tokens.get(self.at + ahead);
        token.is_some_and(|token| token.kind == TokenKind::Mark && token.text == mark)
    }

    pub(super) fn eat_mark(&mut self, mark: &str) -> bool {
        let is = self.is_mark(0, mark);
        self.at += usize::from(is);
        is
    }

    /// Accepts one of some words.
    pub(super) fn eat_any(&mut self, words: &[&str]) -> bool {
        let is = words.contains(&self.word(0)) && !self.word(0).is_empty();
        self.at += usize::from(is);
        is
    }

    /// Accepts any number of some words.
    pub(super) fn skip_any(&mut self, words: &[&str]) {
        while self.eat_any(words) {}
    }

    /// Whether the words of a phrase, separated by blanks, are next.
    pub(super) fn sees(&self, phrase: &str) -> bool {
        // Most phrases differ in the first letter, and comparing it avoids splitting the phrase.
        if phrase.as_bytes().first() != self.word(0).as_bytes().first() {
            return false;
        }
        let mut rest = phrase;
        for word in self.words.get(self.at..).unwrap_or_default() {
            let Some(behind) = rest.strip_prefix(word.as_str()) else {
                return false;
            };
            if behind.is_empty() {
                return true;
            }
            let Some(next) = behind.strip_prefix(' ') else {
                return false;
            };
            rest = next;
        }
        false
    }

    pub(super) fn eat(&mut self, phrase: &str) -> bool {
        let sees = self.sees(phrase);
        if sees {
            self.at += 1 + phrase.bytes().filter(|byte| *byte == b' ').count();
        }
        sees
    }

    /// Accepts the first matching phrase of a list; longer ones must precede shorter ones.
    pub(super) fn eat_phrase(&mut self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.eat(phrase))
    }

    fn window(&self) -> &[String] {
        let end = self.words.len().min(self.at + 8);
        self.words.get(self.at..end).unwrap_or_default()
    }

    /// Accepts the longest phrase of the lexicon with a wanted sense.
    pub(super) fn eat_sense(
        &mut self,
        is_wanted: impl Fn(&Sense) -> bool,
    ) -> Option<&'static Sense> {
        if self.word(0).is_empty() {
            return None;
        }
        let (sense, n_words) = lexicon::longest_of(self.window(), is_wanted)?;
        self.at += n_words;
        Some(sense)
    }

    pub(super) fn eat_class(&mut self, class: Class) -> bool {
        self.eat_sense(|sense| sense.is(class)).is_some()
    }

    pub(super) fn sees_sense(&self, is_wanted: impl Fn(&Sense) -> bool) -> bool {
        !self.word(0).is_empty() && lexicon::longest_of(self.window(), is_wanted).is_some()
    }

    /// Accepts a verb in one of some forms.
    pub(super) fn eat_verb(&mut self, forms: Forms) -> Option<&'static [Verb]> {
        let sense = self.eat_sense(|sense| sense.is_verb() && sense.forms.has(forms))?;
        Some(&sense.verbs)
    }

    /// Accepts the longest idiom for a verb of a noun.
    pub(super) fn eat_idiom(
        &mut self,
        noun: Noun,
        voices: &'static [Voice],
        forms: Forms,
    ) -> Option<&'static Idiom> {
        let (idiom, n_words) =
            idioms(self.window(), voices, forms).find(|(idiom, _)| idiom.nouns.contains(&noun))?;
        self.at += n_words;
        Some(idiom)
    }

    /// Returns the idioms at this position, the longest first, with the number of their words.
    pub(super) fn idioms_here(
        &self,
        voices: &'static [Voice],
        forms: Forms,
    ) -> Vec<(&'static Idiom, usize)> {
        idioms(self.window(), voices, forms).collect()
    }

    pub(super) fn span(&self, range: &Range<usize>) -> Span {
        let first = self.tokens.get(range.start).map(|token| token.span);
        let last = (range.end.checked_sub(1)).and_then(|at| self.tokens.get(at));
        match (first, last) {
            (Some(first), Some(last)) if range.end > range.start => first.to(last.span),
            (Some(first), _) => first,
            (None, _) => Span::default(),
        }
    }
}

/// Whether a word belongs to another source, or to checks, deployments and alerts.
fn is_elsewhere(sense: &Sense) -> bool {
    sense.source.is_some_and(|source| source != Source::Github)
        || sense.nouns.iter().any(|noun| OTHERS.contains(noun)) && !sense.is_verb()
        || sense.nouns.contains(&Noun::Ci)
}

// `push` in backticks may be a branch or a label; `pull_request` is only an event.
fn is_raw_noun(text: &str) -> bool {
    text.contains('_') && lexicon::exact(text).is_some_and(|sense| !sense.nouns.is_empty())
}

/// The halves of `non-draft` and `bug-labelled`, if both have a sense.
fn halves(word: &str) -> Option<(&str, &str)> {
    const BEHIND: &[&str] = &[
        "labelled",
        "labeled",
        "tagged",
        "authored",
        "opened",
        "created",
        "raised",
        "submitted",
        "triggered",
    ];
    if let Some(rest) = word.strip_prefix("non-") {
        return (!rest.is_empty()).then_some(("non", rest));
    }
    let (first, last) = word.rsplit_once('-')?;
    (!first.is_empty() && BEHIND.contains(&last)).then_some((first, last))
}
