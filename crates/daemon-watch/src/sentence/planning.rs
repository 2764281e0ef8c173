//! Milestones, categories, and reasons for closing an issue.

use daemon_event::Field;

use super::atom::{Guard, Says};
use super::formula::{Formula, is};
use super::line::Line;
use super::people::OTHER_THAN;
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `in the Q&A category`, `in "Ideas"`
    pub(super) fn category(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_any(&["in", "under", "with"]).then_some(())?;
        self.eat("the");
        let before = self.eat("category");
        let value = match self.kind(0)? {
            TokenKind::Quoted | TokenKind::Code | TokenKind::Word => self.value(0),
            _ => return None,
        };
        let is_quoted = self.kind(0) == Some(TokenKind::Quoted);
        self.at += 1;
        (before || self.eat("category") || is_quoted).then(|| {
            self.says(
                Says::Test(Test::new(Field::Category, Op::Is, vec![value])),
                start,
            )
        })
    }

    /// `as not planned`, `as completed`
    pub(super) fn state_reason(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_phrase(&[
            "as being",
            "as",
            "with the reason",
            "with reason",
            "for the reason",
        ])
        .then_some(())?;
        self.reason(start)
    }

    pub(super) fn reason(&mut self, start: usize) -> Option<Guard> {
        let quoted =
            (self.kind(0) == Some(TokenKind::Quoted)).then(|| self.value(0).to_lowercase());
        let known = match quoted.as_deref() {
            Some("not planned" | "not_planned") => Some("not_planned"),
            Some("completed") => Some("completed"),
            Some("duplicate") => Some("duplicate"),
            _ => None,
        };
        if let Some(known) = known {
            self.at += 1;
            return Some(self.says(Says::Test(is(Field::StateReason, &[known])), start));
        }
        let reason = if self.eat_phrase(&[
            "not planned",
            "not-planned",
            "not_planned",
            "wontfix",
            "won't fix",
        ]) {
            "not_planned"
        } else if self.eat_phrase(&["completed", "complete", "done", "resolved"]) {
            "completed"
        } else if self.eat_phrase(&["a duplicate", "duplicate"]) {
            "duplicate"
        } else {
            return None;
        };
        Some(self.says(Says::Test(is(Field::StateReason, &[reason])), start))
    }

    /// `for any reason other than not planned`, `as anything but completed`
    pub(super) fn other_reason(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_phrase(&[
            "for any reason",
            "for a reason",
            "for some reason",
            "for reasons",
            "with any reason",
            "as anything",
            "as something",
        ])
        .then_some(())?;
        (self.eat_phrase(OTHER_THAN) || self.eat("but")).then_some(())?;
        self.eat("as");
        self.reason(start).map(Formula::not)
    }

    /// `the "v2.0" milestone`, `milestone v2`
    pub(super) fn milestone(&mut self, start: usize) -> Option<Guard> {
        self.skip_any(&["the", "a", "our"]);
        let before = self.eat_any(&["milestone", "milestones"]);
        self.eat_any(&["named", "called"]);
        // `the Cone 10 milestone`
        let n_words = (1..=4).find(|ahead| !before && self.word(*ahead) == "milestone");
        if let Some(n_words) = n_words.filter(|n_words| *n_words > 1) {
            let range = self.at..self.at + n_words;
            let is_name = (range.clone()).all(|at| {
                !self.word_at(at).is_empty() && crate::lexicon::exact(self.word_at(at)).is_none()
                    || self.tokens[at].kind == TokenKind::Number
            });
            is_name.then_some(())?;
            let value = self.span(&range).of(self.text).to_owned();
            self.at = range.end + 1;
            let test = Test::new(Field::Milestone, Op::Is, vec![value]);
            return Some(self.says(Says::Test(test), start));
        }
        let value = match self.kind(0)? {
            TokenKind::Quoted | TokenKind::Code | TokenKind::Word | TokenKind::Number => {
                self.value(0)
            }
            _ => return None,
        };
        if self.kind(0) == Some(TokenKind::Word) && crate::lexicon::exact(self.word(0)).is_some() {
            return None;
        }
        self.at += 1;
        (before || self.eat("milestone")).then(|| {
            self.says(
                Says::Test(Test::new(Field::Milestone, Op::Is, vec![value])),
                start,
            )
        })
    }
}
