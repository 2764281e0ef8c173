//! Names and qualities of the nouns of the other sources.

use super::subject::{Matter, is_elsewhere};
use super::topic::{takes_name, takes_quoted_name};
use crate::filter::{Op, Test};
use crate::lexicon::{self, Class, Sense};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says, UserRole};
use crate::sentence::formula::is;
use crate::sentence::line::Line;
use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

/// Adjectives for a conclusion.
pub(super) const ENDED: &[(&str, Verb)] = &[
    ("failed", Verb::Fail),
    ("failing", Verb::Fail),
    ("broken", Verb::Fail),
    ("red", Verb::Fail),
    ("unsuccessful", Verb::Fail),
    ("successful", Verb::Succeed),
    ("passing", Verb::Succeed),
    ("green", Verb::Succeed),
    ("cancelled", Verb::Cancel),
    ("canceled", Verb::Cancel),
    ("completed", Verb::Complete),
    ("finished", Verb::Complete),
];

/// Words before a noun that describe it and are not its name.
const QUALITIES: &[&str] = &[
    "same",
    "other",
    "required",
    "first",
    "last",
    "next",
    "final",
    "whole",
    "entire",
    "previous",
    "only",
    "relevant",
    "corresponding",
    "flaky",
    "slow",
    "latest",
    "original",
    "second",
    "third",
    "new",
    "single",
    "certain",
    "important",
    "main",
    "optional",
    "long",
    "big",
    "small",
    "large",
];

/// Words that no name begins with.
const UNNAMED: &[&str] = &[
    "a", "an", "the", "any", "or", "and", "of", "on", "in", "for", "to", "by", "with", "that",
    "which", "is", "all", "every", "both", "each", "no", "some", "multiple", "several", "many",
];

impl Line<'_> {
    /// `critical or high severity`, `production`, `fatal`, `human`, `top-level`, `:eyes:`, before a noun.
    pub(super) fn quality(&mut self) -> Option<Guard> {
        let start = self.at;
        if self.eat_any(&["top-level"]) || self.eat("top level") {
            return Some(self.says(Says::Test(is(Field::Reply, &["false"])), start));
        }
        if let Some(name) = self.emoji() {
            self.sees_sense(|sense| {
                sense.nouns.contains(&Noun::Reaction) || sense.nouns.contains(&Noun::Emoji)
            })
            .then_some(())?;
            return Some(self.says(
                Says::Test(Test::new(Field::Reaction, Op::Is, vec![name])),
                start,
            ));
        }
        if self.kind(0) == Some(TokenKind::Channel) {
            let value = self.value(0);
            self.at += 1;
            self.sees_sense(is_elsewhere).then_some(())?;
            return Some(self.says(
                Says::Test(Test::new(Field::Channel, Op::Is, vec![value])),
                start,
            ));
        }
        let who = self.attempt(|line| {
            let is_kind = line.sees_sense(|sense| sense.is(Class::Human) || sense.is(Class::Bot));
            let who = line
                .who_joined(UserRole::Actor)
                .filter(|who| !who.is_always())?;
            let owns = line.eat("'s");
            (line.sees_sense(is_elsewhere) && (owns || is_kind)).then_some(who)
        });
        if who.is_some() {
            return who;
        }
        let found = self.valued_before()?;
        self.sees_noun_soon().then_some(found)
    }

    /// Whether a noun follows at once or behind other adjectives and sources.
    pub(super) fn sees_noun_soon(&mut self) -> bool {
        let at = self.at;
        self.skip_any(&[
            "linear",
            "slack",
            "sentry",
            "github",
            "new",
            "failed",
            "failing",
            "successful",
        ]);
        let sees = self.sees_sense(is_elsewhere);
        self.at = at;
        sees
    }

    /// `the lint or unit-tests` before `check`; `the Operations team's` before an issue.
    pub(super) fn named(&mut self, matter: &Matter) -> Option<Guard> {
        let start = self.at;
        // Without an article, a word before the noun is a name as well: `lint check fails`.
        let is_definite =
            start == matter.start || matches!(self.word_at(start.wrapping_sub(1)), "the" | "our");
        let mut values = vec![self.run_name(is_definite)?];
        loop {
            if self.sees_quotable_noun() {
                let again = self.attempt(|line| {
                    line.eat_sense(is_elsewhere)?;
                    line.eat_mark(",");
                    line.eat("or").then_some(())?;
                    let definite = line.eat_any(&["the", "our"]) || line.eat_any(&["a", "either"]);
                    line.run_name(definite)
                });
                let Some(value) = again else { break };
                values.push(value);
                continue;
            }
            let value = self.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = line.eat_any(&["or"]);
                (comma || or).then_some(())?;
                let definite = line.eat_any(&["the", "our"]);
                line.run_name(definite || is_definite)
            })?;
            values.push(value);
        }
        Some(self.says(Says::Name(values), start))
    }

    pub(super) fn sees_run_noun(&self) -> bool {
        self.sees_sense(|sense| sense.nouns.iter().any(|noun| takes_name(*noun)))
    }

    /// Whether a noun follows that quoted words can name.
    pub(super) fn sees_quotable_noun(&self) -> bool {
        self.sees_sense(|sense| sense.nouns.iter().any(|noun| takes_quoted_name(*noun)))
    }

    /// One name before a noun that takes one: data, or words up to the noun or a joint.
    pub(super) fn run_name(&mut self, is_definite: bool) -> Option<String> {
        if matches!(self.kind(0)?, TokenKind::Quoted | TokenKind::Code) {
            let value = self.value(0);
            self.at += 1;
            self.eat_sense(|sense| sense.source.is_some());
            let follows = self.sees_quotable_noun() || self.is_mark(0, ",") || self.word(0) == "or";
            return follows.then_some(value);
        }
        let ends = |line: &Self, at: usize| {
            line.is_run_noun_at(at) || line.word_at(at) == "or" || line.word_at(at).is_empty()
        };
        // `the CI or the Deploy workflow`: a noun that is a name there.
        let is_joined_noun = self.is_run_noun_at(self.at)
            && self.word(1) == "or"
            && (self.written(0).starts_with(char::is_uppercase)
                || !matches!(self.word(2), "a" | "an" | "the"));
        if is_joined_noun && is_definite {
            let value = self.value(0);
            self.at += 1;
            return Some(value);
        }
        let covers_noun = self
            .eat_sense_ahead(|sense| sense.nouns.iter().any(|noun| takes_name(*noun)))
            .is_some_and(|n_words| n_words > 1);
        if covers_noun {
            return None;
        }
        let n_words = (1..=5).find(|n| {
            ends(self, self.at + n) && !ends(self, self.at + n - 1)
                || self.is_run_noun_at(self.at + n) && !self.is_run_noun_at(self.at + n + 1)
        })?;
        let is_last_noun = self.is_run_noun_at(self.at + n_words);
        let joins = self.word(n_words) == "or" || self.is_mark(n_words, ",");
        if !is_last_noun && !joins {
            return None;
        }
        let is_name = (0..n_words).all(|ahead| {
            self.may_name(ahead, is_definite)
                && !UNNAMED.contains(&self.word(ahead))
                && !QUALITIES.contains(&self.word(ahead))
        });
        if !is_name {
            return None;
        }
        let range = self.at..self.at + n_words;
        let value = self.span(&range).of(self.text).to_owned();
        self.at = range.end;
        Some(value)
    }

    /// Returns the number of words of the longest phrase of a kind at this position.
    pub(super) fn eat_sense_ahead(&mut self, is_wanted: impl Fn(&Sense) -> bool) -> Option<usize> {
        let at = self.at;
        let found = self.eat_sense(is_wanted).map(|_| self.at - at);
        self.at = at;
        found
    }

    pub(super) fn is_run_noun_at(&self, at: usize) -> bool {
        lexicon::exact(self.word_at(at))
            .is_some_and(|sense| sense.nouns.iter().any(|noun| takes_name(*noun)))
    }

    /// Whether a word can belong to a name: a capital, a form that no plain word has, or any noun behind `the`.
    pub(super) fn may_name(&self, ahead: usize, is_definite: bool) -> bool {
        if !matches!(self.kind(ahead), Some(TokenKind::Word | TokenKind::Number)) {
            return false;
        }
        let word = self.word(ahead);
        let is_capital = self.written(ahead).starts_with(char::is_uppercase)
            && (self.at + ahead > 0 || is_definite);
        let has_form = word.contains(['-', '_']) || word.bytes().any(|b| b.is_ascii_digit());
        let Some(sense) = self.word_sense(ahead) else {
            return is_definite || is_capital || has_form;
        };
        let is_pull_request = sense.nouns.contains(&Noun::PullRequest);
        if sense.source.is_some() || is_pull_request || sense.is_foreign && !is_capital {
            return false;
        }
        if is_capital {
            return sense.classes.is_empty() || is_definite;
        }
        is_definite && sense.classes.is_empty() && !sense.nouns.is_empty() && !sense.plural
    }
}
