//! Conditions of guards: `it is a draft`, `the author is a bot`, `only docs/ changed`.

use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says, UserRole};
use super::line::Line;
use super::predicate::{Behind, WRITTEN};
use crate::filter::Op;
use crate::normalise::TokenKind;

impl Line<'_> {
    /// Reads a condition of a guard: `it is a draft`, `the author is a bot`, `still open and non-draft`.
    pub(super) fn condition(&mut self, behind: Behind) -> Option<Guard> {
        let mut found = self.simple_condition(behind)?;
        while let Some((more, or)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            let and = !or && line.eat_phrase(&["but", "and"]);
            (comma || or || and).then_some(())?;
            line.skip_any(&["if", "unless"]);
            Some((line.simple_condition(behind)?, or))
        }) {
            found = if or { found.or(more) } else { found.and(more) };
        }
        Some(found)
    }

    /// `a bot opened it`
    pub(super) fn wrote_it(&mut self) -> Option<Guard> {
        let who = self.who(UserRole::Author).filter(|who| !who.is_always())?;
        self.eat_any(WRITTEN).then_some(())?;
        self.eat_any(&["it", "them"]).then_some(who)
    }

    /// `"WIP" appears in its title`
    pub(super) fn text_appears(&mut self) -> Option<Guard> {
        (self.kind(0) == Some(TokenKind::Quoted)).then_some(())?;
        let start = self.at;
        let value = self.value(0);
        self.at += 1;
        let not = self.eat_phrase(&["does not appear", "is not", "does not occur"]);
        if !not {
            self.eat_any(&["appears", "is", "occurs", "stands"])
                .then_some(())?;
        }
        let place = self.in_place()?;
        let found = self.says(Says::Text(place, Op::Contains, vec![value]), start);
        Some(if not { found.not() } else { found })
    }

    pub(super) fn simple_condition(&mut self, behind: Behind) -> Option<Guard> {
        self.attempt(|line| line.part_predicate(behind))
            .or_else(|| self.attempt(|line| line.comment_predicate(behind)))
            .or_else(|| self.attempt(Self::wrote_it))
            .or_else(|| self.attempt(Self::somebody_did_it))
            .or_else(|| self.attempt(Self::text_appears))
            .or_else(|| {
                self.attempt(|line| {
                    let only = line.eat("only");
                    let found = line.touched(only)?;
                    let among = line.attempt(|line| {
                        line.eat_any(&["is", "are"]).then_some(())?;
                        let not = line.eat("not");
                        line.among_the_changes().then_some(not)
                    });
                    if let Some(not) = among {
                        return Some(if not { found.not() } else { found });
                    }
                    line.eat_phrase(&[
                        "are touched",
                        "are changed",
                        "change",
                        "changes",
                        "is changed",
                        "is touched",
                        "are modified",
                        "changed",
                    ])
                    .then_some(found)
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    line.subject_again(behind.noun());
                    line.predicates(behind)
                })
            })
            .or_else(|| self.attempt(|line| line.complement(behind)))
            .or_else(|| self.attempt(Self::it_was_somebody))
    }

    /// `it`, `the pull request`, `this one`
    pub(super) fn subject_again(&mut self, noun: Noun) {
        if self.eat_any(&["it", "they", "that", "this"]) {
            self.eat_sense(|sense| sense.nouns.contains(&noun));
            return;
        }
        self.attempt(|line| {
            line.eat_any(&["the", "a"]).then_some(())?;
            line.eat_sense(|sense| {
                sense.nouns.contains(&noun)
                    || sense.nouns.contains(&Noun::PullRequest)
                    || sense.nouns.contains(&Noun::Issue)
            })
        });
    }
}
