//! Teams, projects, people and states of Linear.

use super::places::{ANY_BUT, ELSEWHERE};
use crate::filter::{Op, Test};
use crate::lexicon::WORKFLOW_STATES;
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says};
use crate::sentence::line::Line;
use daemon_event::Field;

impl Line<'_> {
    /// `in the Ops team`, `in team OPS`, `in any team but Ops`, `outside the Ops team`, `for team "Ops"`.
    pub(super) fn team_place(&mut self) -> Option<Guard> {
        let start = self.at;
        let outside = self.eat_phrase(ELSEWHERE);
        if !outside {
            self.eat_any(&["in", "for", "on", "of", "from", "to", "by"])
                .then_some(())?;
        }
        let found = self.teams(start)?;
        Some(if outside { found.not() } else { found })
    }

    /// `in Engineering`: a name after `in` that is not a state.
    pub(super) fn bare_team(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat("in").then_some(())?;
        let is_name = self.kind(0) == Some(TokenKind::Word)
            && self.word_sense(0).is_none()
            && self.written(0).starts_with(char::is_uppercase);
        is_name.then_some(())?;
        let name = self.value(0);
        self.at += 1;
        let is_longer = self.written(0).starts_with(char::is_uppercase)
            || self.sees_sense(|sense| !sense.nouns.is_empty() || sense.part.is_some());
        (!is_longer).then(|| {
            self.says(
                Says::Test(Test::new(Field::Team, Op::Is, vec![name])),
                start,
            )
        })
    }

    pub(super) fn teams(&mut self, start: usize) -> Option<Guard> {
        self.skip_any(&["the", "our", "linear", "any", "a", "every", "either"]);
        let before = self.eat_any(&["team", "teams"]);
        let excluded = before && self.eat_phrase(ANY_BUT);
        self.skip_any(&["the", "named", "called"]);
        let values = self.proper_names(&["team", "teams"], before)?;
        let after = self.eat_any(&["team", "teams"]);
        (before || after).then_some(())?;
        let found = self.says(Says::Test(Test::new(Field::Team, Op::Is, values)), start);
        Some(if excluded { found.not() } else { found })
    }

    /// Names joined by `or`, each of quoted text or words with a capital, up to a word that ends them.
    pub(super) fn proper_names(&mut self, ends: &[&str], is_led: bool) -> Option<Vec<String>> {
        let mut values = Vec::new();
        loop {
            let value = if matches!(self.kind(0)?, TokenKind::Quoted | TokenKind::Code) {
                let value = self.value(0);
                self.at += 1;
                value
            } else {
                let n = (0..4)
                    .take_while(|ahead| {
                        let is_capital = self.written(*ahead).starts_with(char::is_uppercase);
                        let is_plain = self.word_sense(*ahead).is_none() || is_capital;
                        self.kind(*ahead) == Some(TokenKind::Word)
                            && !ends.contains(&self.word(*ahead))
                            && (is_capital
                                || is_plain && ends.contains(&self.word(ahead + 1))
                                || is_plain && is_led && *ahead == 0)
                    })
                    .count();
                (n > 0).then_some(())?;
                let range = self.at..self.at + n;
                let value = self.span(&range).of(self.text).to_owned();
                self.at = range.end;
                value
            };
            values.push(value);
            let goes_on = self.attempt(|line| {
                line.eat_any(ends);
                let comma = line.eat_mark(",");
                let or = line.eat_any(&["or", "nor"]);
                (comma || or).then_some(())?;
                line.skip_any(&["the", "in"]);
                let is_name = matches!(line.kind(0)?, TokenKind::Quoted)
                    || line.written(0).starts_with(char::is_uppercase)
                        && line
                            .word_sense(0)
                            .is_none_or(|sense| sense.source.is_none());
                is_name.then_some(())
            });
            if goes_on.is_none() {
                return Some(values);
            }
        }
    }

    /// `in the checkout project`, `in project "X"`, `in the Q3 milestone`, `in cycle 12`.
    pub(super) fn project_place(&mut self) -> Option<Guard> {
        let start = self.at;
        let outside = self.eat_phrase(ELSEWHERE);
        if !outside {
            self.eat_any(&["in", "for", "of", "from", "under", "on"])
                .then_some(())?;
        }
        self.skip_any(&["the", "our", "sentry", "linear", "any", "a", "'s"]);
        let field = |word: &str| match word {
            "project" | "projects" => Some(Field::Project),
            "milestone" => Some(Field::Milestone),
            "cycle" => Some(Field::Cycle),
            _ => None,
        };
        let before = field(self.word(0));
        self.at += usize::from(before.is_some());
        let excluded = before.is_some() && self.eat_phrase(ANY_BUT);
        self.skip_any(&["the", "named", "called"]);
        let values = self.project_names(before.is_some())?;
        let after = field(self.word(0));
        self.at += usize::from(after.is_some());
        let field = before.or(after)?;
        let found = self.says(Says::Test(Test::new(field, Op::Is, values)), start);
        Some(if outside || excluded {
            found.not()
        } else {
            found
        })
    }

    pub(super) fn project_names(&mut self, is_led: bool) -> Option<Vec<String>> {
        const ENDS: &[&str] = &["project", "projects", "milestone", "cycle"];
        let is_plain = matches!(self.kind(0)?, TokenKind::Word)
            && self.word_sense(0).is_none()
            && (is_led || ENDS.contains(&self.word(1)));
        if is_plain && !self.written(0).starts_with(char::is_uppercase) {
            let value = self.value(0);
            self.at += 1;
            return Some(vec![value]);
        }
        self.proper_names(ENDS, is_led)
    }

    pub(super) fn assigned_place(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_phrase(&["assigned to", "owned by"])
            .then_some(())?;
        self.assignee_names(start)
    }

    pub(super) fn assignee_names(&mut self, start: usize) -> Option<Guard> {
        if self.eat_phrase(&["nobody", "no one", "no-one"]) {
            return Some(self.says(
                Says::Test(Test::new(Field::Assignees, Op::Absent, Vec::new())),
                start,
            ));
        }
        if self.eat_anyone() {
            return Some(self.says(
                Says::Test(Test::new(Field::Assignees, Op::Present, Vec::new())),
                start,
            ));
        }
        let names = self.full_names()?;
        Some(self.says(
            Says::Test(Test::new(Field::Assignees, Op::Is, names)),
            start,
        ))
    }

    /// People by their names, of several words each: `Ines Varga or Lumen`.
    pub(super) fn full_names(&mut self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        loop {
            let start = self.at;
            self.name()?;
            while self.kind(0) == Some(TokenKind::Word)
                && self.word_sense(0).is_none()
                && self.written(0).starts_with(char::is_uppercase)
                && self
                    .tokens
                    .get(start)
                    .is_some_and(|first| first.kind == TokenKind::Word)
            {
                self.at += 1;
            }
            let range = start..self.at;
            let is_one = self.at == start + 1;
            let name = if is_one {
                self.at -= 1;
                let value = self.value(0);
                self.at += 1;
                value
            } else {
                self.span(&range).of(self.text).to_owned()
            };
            names.push(name);
            let goes_on = self.attempt(|line| {
                line.eat_mark(",");
                line.eat_any(&["or", "nor"]).then_some(())?;
                line.eat("to");
                let at = line.at;
                line.name()?;
                line.at = at;
                Some(())
            });
            if goes_on.is_none() {
                return Some(names);
            }
        }
    }

    /// `in Triage`, `in the "In Review" state`: the state of a ticket.
    pub(super) fn state_place(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_any(&["in", "into", "with"]).then_some(())?;
        self.skip_any(&["the"]);
        let before = self.eat_any(&["state", "status", "column"]);
        let values = self.states(before)?;
        let after = matches!(self.word_before(), "state" | "status" | "column");
        (before || after || values.iter().all(|value| is_known_state(value))).then_some(())?;
        Some(self.says(Says::Test(Test::new(Field::State, Op::Is, values)), start))
    }

    /// States joined by `or`: quoted, known, or words with a capital.
    pub(super) fn states(&mut self, is_led: bool) -> Option<Vec<String>> {
        if self.eat("there") {
            return self.last_states.clone();
        }
        let mut values = vec![self.state(is_led)?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            (comma || or).then_some(())?;
            line.skip_any(&["the", "to", "into", "in"]);
            line.state(is_led || or)
        }) {
            values.push(value);
        }
        self.eat_any(&["state", "status", "column", "states"]);
        self.last_states = Some(values.clone());
        Some(values)
    }

    pub(super) fn state(&mut self, is_led: bool) -> Option<String> {
        if self.kind(0)? == TokenKind::Quoted {
            let value = self.value(0);
            self.at += 1;
            return Some(value);
        }
        let n_words = (1..=3).rev().find(|n| {
            let range = self.at..self.at + n;
            range.end <= self.tokens.len() && is_known_state(self.span(&range).of(self.text))
        });
        let n_words = n_words.or_else(|| {
            let is_name = is_led
                && self.kind(0) == Some(TokenKind::Word)
                && self.word_sense(0).is_none()
                && self.written(0).starts_with(char::is_uppercase);
            is_name.then_some(1)
        })?;
        let range = self.at..self.at + n_words;
        let value = self.span(&range).of(self.text).to_owned();
        self.at = range.end;
        Some(value)
    }
}

pub(super) fn is_known_state(value: &str) -> bool {
    WORKFLOW_STATES.contains(&value.to_lowercase().as_str())
}
