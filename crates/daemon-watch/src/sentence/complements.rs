//! Complements of `is`.

use super::atom::{Guard, Says, State, UserRole};
use super::formula::{Formula, is};
use super::line::Line;
use super::predicate::{BE, Behind};
use crate::filter::{Op, Test};
use daemon_event::Field;

impl Line<'_> {
    pub(super) fn be_predicate(&mut self, behind: Behind) -> Option<Guard> {
        self.eat("has been");
        let has = matches!(self.word_at(self.at.wrapping_sub(1)), "been");
        if !self.eat_any(BE) && !has {
            return None;
        }
        self.complement(behind)
    }

    /// Reads the complement of `is`: adjectives, nouns, participles, joined; `not` applies to all words joined by `or`.
    pub(super) fn complement(&mut self, behind: Behind) -> Option<Guard> {
        let neither = self.eat("neither");
        let not = !neither && self.eat_any(&["not", "non", "never"]);
        let mut any = self.complement_one(behind)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "nor"]).then_some(())?;
            if matches!(line.word(0), "not" | "non") {
                return None;
            }
            line.attempt(|line| line.complement_one(behind))
                .or_else(|| line.has_predicate(behind))
        }) {
            any = any.or(more);
        }
        let mut found = if neither || not { any.not() } else { any };
        while let Some((more, or)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            let and = !or && line.eat_phrase(&["but", "and"]);
            (comma || or || and).then_some(())?;
            Some((line.complement(behind)?, or))
        }) {
            found = if or { found.or(more) } else { found.and(more) };
        }
        Some(found)
    }

    pub(super) fn complement_one(&mut self, behind: Behind) -> Option<Guard> {
        if let Some(forced) = self.forced(behind.noun()) {
            return Some(forced);
        }
        self.attempt(|line| {
            let found = line.adjective()?;
            line.eat_sense(|sense| sense.nouns.contains(&behind.noun()));
            Some(found)
        })
        .or_else(|| self.attempt(|line| line.plain_modifier(Behind::Noun(behind.noun()))))
        .or_else(|| {
            self.attempt(|line| {
                // `is dependabot's`
                let who = line
                    .who_joined(UserRole::Author)
                    .filter(|who| !who.is_always())?;
                line.eat("'s").then_some(who)
            })
        })
    }

    /// A state in one word, or a noun for one.
    pub(super) fn adjective(&mut self) -> Option<Guard> {
        let start = self.at;
        self.skip_any(&["a", "an", "in", "the", "both", "state", "as"]);
        let not = self.eat("non") || self.eat("not");
        let state = |line: &Self, state: State| line.says(Says::State(state), start);
        let test = |line: &Self, test: Test| line.says(Says::Test(test), start);
        let found = if self.eat_phrase(&[
            "work in progress",
            "draft mode",
            "draft state",
            "draft",
            "drafts",
            "wip",
        ]) {
            self.skip_any(&["mode", "state"]);
            state(self, State::Draft)
        } else if self.eat("open") {
            state(self, State::Open)
        } else if self.eat("closed") {
            let closed = state(self, State::Closed);
            match self.attempt(Self::state_reason) {
                Some(reason) => closed.and(reason),
                None => closed,
            }
        } else if self.eat("merged") {
            state(self, State::Merged)
        } else if self.eat("unmerged") {
            state(self, State::Merged).not()
        } else if self.eat_phrase(&["ready for review"]) {
            state(self, State::Draft).not()
        } else if self.eat_any(&["unlabelled", "unlabeled"]) {
            test(self, Test::new(Field::Labels, Op::Absent, Vec::new()))
        } else if self.eat("unassigned") {
            test(self, Test::new(Field::Assignees, Op::Absent, Vec::new()))
        } else if self.eat_phrase(&[
            "assigned to anyone",
            "assigned to anybody",
            "assigned to someone",
            "assigned to somebody",
        ]) {
            test(self, Test::new(Field::Assignees, Op::Present, Vec::new()))
        } else if self.eat_phrase(&["assigned to nobody", "assigned to no one"]) {
            test(self, Test::new(Field::Assignees, Op::Absent, Vec::new()))
        } else if self.eat("assigned") && !matches!(self.word(0), "to") {
            test(self, Test::new(Field::Assignees, Op::Present, Vec::new()))
        } else if self.eat_phrase(&["fork", "forks"]) {
            test(self, is(Field::Fork, &["true"]))
        } else if self.eat_any(&["prerelease", "pre-release", "prereleases", "pre-releases"]) {
            test(self, is(Field::Prerelease, &["true"]))
        } else if self.eat_any(&["stable", "full"]) {
            test(self, is(Field::Prerelease, &["false"]))
        } else {
            return None;
        };
        Some(if not { found.not() } else { found })
    }
}

/// Replaces labels by the label that the event adds or removes.
pub(super) fn the_label(guard: &Guard) -> Option<Guard> {
    guard.replace(false, &mut |atom: &super::atom::Atom, negated| {
        let Says::Test(test) = &atom.says else {
            return None;
        };
        let mut atom = atom.clone();
        atom.says = Says::TheLabel(test.values().to_vec());
        let found = Formula::Atom(atom);
        Some(if negated { found.not() } else { found })
    })
}
