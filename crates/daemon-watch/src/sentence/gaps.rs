//! Sentences with unknown words: the words around them are read, and they are left over.

use std::ops::Range;

use super::clauses::{IFS, UNLESSES};
use super::deeds::Event;
use super::formula::Formula;
use super::line::Line;
use crate::interpret::COUNTS;
use crate::lexicon::Forms;

/// Words that reverse the meaning of the next ones: `not by the usual suspects` is left over as a whole.
const TURNING: &[&str] = &[
    "not",
    "no",
    "never",
    "neither",
    "nor",
    "none",
    "nothing",
    "nobody",
    "without",
    "except",
    "excluding",
    "excepting",
    "unless",
    "ignoring",
    "ignore",
    "skipping",
    "skip",
    "other",
    "rather",
    "instead",
    "besides",
    "apart",
    "aside",
    "save",
    "only",
    "outside",
    "until",
    "before",
];

const ARTICLES: &[&str] = &["a", "an", "the", "any", "some", "each", "every", "another"];
/// Words that connect the next ones with those before.
const LINKS: &[&str] = &[
    "of", "on", "in", "for", "to", "by", "from", "with", "at", "into", "that", "which", "who",
    "whose", "and", "or", "as", "about", "'s",
];
/// The most unknown words after a noun.
const MOST_SKIPPED: usize = 10;
/// The most unknown words at the beginning.
const MOST_BEFORE: usize = 4;

impl Line<'_> {
    /// Reads a sentence whose first clause is understood; returns the tokens of the unknown words as well.
    pub(super) fn sentence_around(&mut self) -> Option<(Vec<Event>, Vec<Range<usize>>)> {
        let mut left = Vec::new();
        let mut events = match self.attempt(Self::opening) {
            Some(events) => events,
            None => {
                let (events, range) = (self.attempt(Self::opening_described))
                    .or_else(|| self.attempt(Self::opening_after))?;
                left.push(range);
                events
            }
        };
        let mut clause_from = 0;
        let mut exception_from = None;
        while !self.is_done() {
            let start = self.at;
            if self.step(&mut events, &mut clause_from).is_some() {
                let first = start + usize::from(self.word_at(start).is_empty());
                // The word may follow a connective: `, but not …`.
                let turns = TURNING.contains(&self.word_at(first))
                    || TURNING.contains(&self.word_at(first + 1));
                exception_from = turns.then_some(first);
                continue;
            }
            // Words joined to an exception are excluded too, so they are left over with it.
            let from = match exception_from.take() {
                Some(from) if matches!(self.word(0), "or" | "nor" | "and") => from,
                Some(_) | None => start,
            };
            self.skip_unread();
            left.push(self.trimmed(from..self.at));
        }
        (!left.is_empty()).then_some((events, left))
    }

    /// A clause with unknown words after its subject: `a release with no notes is published`.
    fn opening_described(&mut self) -> Option<(Vec<Event>, Range<usize>)> {
        self.leads();
        let things = self.things()?;
        self.last = things.iter().map(|thing| thing.noun).collect();
        let start = self.at;
        for _ in 0..MOST_SKIPPED {
            self.at += 1;
            if self.is_done() {
                return None;
            }
            let end = self.at;
            if !self.sees_be() {
                continue;
            }
            let found = self.attempt(|line| {
                let mut events = line.verb_group(&things)?;
                // `a release with no notes is published or edited`: further verbs have the same subject.
                line.more_of(&things, &mut events);
                Some(events)
            });
            if let Some(events) = found {
                return Some((events, start..end));
            }
        }
        None
    }

    /// A clause after unknown words: `a code owner approves a PR`, `an old branch is deleted`.
    fn opening_after(&mut self) -> Option<(Vec<Event>, Range<usize>)> {
        let on = self.leads();
        let start = self.at;
        self.skip_any(ARTICLES);
        for _ in 0..MOST_BEFORE {
            let is_plain = !self.word(0).is_empty()
                && !LINKS.contains(&self.word(0))
                && !TURNING.contains(&self.word(0))
                && !self.sees_be();
            is_plain.then_some(())?;
            self.at += 1;
            if ARTICLES.contains(&self.word(0)) || self.is_done() {
                return None;
            }
            let end = self.at;
            let acts = Forms(Forms::THIRD.0 | Forms::PAST.0);
            // `a code owner approves`: an unknown subject may be any user, so no part of it becomes a filter.
            let found = (self.attempt(|line| line.actives(&Formula::Always, acts)))
                .or_else(|| self.attempt(|line| line.thing_clause(false)))
                .or_else(|| self.attempt(|line| line.thing_clause(true)))
                .or_else(|| self.attempt(Self::nominal_clause))
                .or_else(|| self.attempt(|line| line.bare_thing(on)));
            if let Some(events) = found {
                // `a second approval`: a count is left over with its noun.
                let counts = COUNTS.contains(&self.word_at(end - 1));
                return Some((events, start..end + usize::from(counts)));
            }
        }
        None
    }

    /// Skips to the next possible guard or clause.
    fn skip_unread(&mut self) {
        let mut turns = false;
        let mut is_first = true;
        while !self.is_done() {
            let begins_clause = (self.is_mark(0, ",") || matches!(self.word(0), "or" | "and")) && {
                let at = self.at;
                let found = self.begins_clause();
                self.at = at;
                found
            };
            let begins_guard =
                self.is_mark(0, ",") || IFS.iter().chain(UNLESSES).any(|phrase| self.sees(phrase));
            // Behind a reversing word a comma does not end the unknown part: `not by A, B or C`.
            if !is_first && (begins_clause || !turns && begins_guard) {
                return;
            }
            is_first = false;
            turns |= TURNING.contains(&self.word(0));
            self.at += 1;
        }
    }

    /// `, or when`
    fn begins_clause(&mut self) -> bool {
        self.eat_mark(",");
        self.eat_any(&["or", "and"]);
        let at = self.at;
        self.leads();
        self.at > at
    }

    /// Removes connectives at both ends.
    fn trimmed(&self, mut range: Range<usize>) -> Range<usize> {
        let is_joint = |at: usize| {
            self.word_at(at).is_empty()
                && (self.tokens.get(at)).is_some_and(|token| token.text == ",")
                || matches!(self.word_at(at), "or" | "and")
        };
        while range.len() > 1 && is_joint(range.start) {
            range.start += 1;
        }
        while range.len() > 1 && is_joint(range.end - 1) {
            range.end -= 1;
        }
        range
    }
}
