//! Complements of a thing and of its parts.

use super::guards::DOERS;
use super::narrow::flag;
use super::topic::{Scope, Topic, takes_name};
use crate::filter::{Op, Test};
use crate::lexicon::{Class, Part};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says, TextPlace, UserRole};
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;
use crate::sentence::predicate::{BE, label_test};
use daemon_event::Field;
use daemon_event::vocabulary::Noun;

impl Line<'_> {
    /// Reads the complement of `is`: joined by `or` and `and`; `not` applies to all words joined by `or`.
    pub(super) fn complements(&mut self, scope: Scope) -> Option<Guard> {
        self.eat_any(&["only", "just", "merely"]);
        let neither = self.eat("neither");
        let not = !neither && self.eat_any(&["not", "never", "non"]);
        let mut any = self.complement_elsewhere(scope)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "nor"]).then_some(())?;
            if line.word(0) == "not" {
                return None;
            }
            line.complement_elsewhere(scope)
        }) {
            any = any.or(more);
        }
        let mut found = if neither || not { any.not() } else { any };
        while let Some((more, or)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            let and = !or && line.eat_phrase(&["and", "but"]);
            (comma || or || and).then_some(())?;
            Some((line.complements(scope)?, or))
        }) {
            found = if or { found.or(more) } else { found.and(more) };
        }
        Some(found)
    }

    pub(super) fn complement_elsewhere(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        let noun_scope = Scope {
            is_verb: false,
            ..scope
        };
        self.attempt(|line| line.plainly(noun_scope))
            .or_else(|| {
                self.attempt(|line| {
                    let found = line.valued_complement(scope, start, "")?;
                    line.eat_sense(|sense| sense.nouns.contains(&scope.noun));
                    line.eat_any(&["one", "ones"]);
                    Some(found)
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    line.skip_any(&["a", "an", "the"]);
                    (scope.topic == Topic::Talk).then_some(())?;
                    line.eat_phrase(&[
                        "thread reply",
                        "thread replies",
                        "threaded reply",
                        "threaded replies",
                        "replies in threads",
                        "replies in a thread",
                        "reply in a thread",
                        "replies",
                        "reply",
                        "threads",
                    ])
                    .then(|| line.says(flag(Field::Reply), start))
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    (scope.topic == Topic::Talk)
                        .then(|| line.channels(start))
                        .flatten()
                })
            })
            .or_else(|| self.attempt(|line| line.names_of(scope)))
            .or_else(|| {
                self.attempt(|line| {
                    (scope.topic == Topic::Ticket).then_some(())?;
                    // `but not deployed yet`: no event reports the deployment of a ticket.
                    let is_deed = line.sees_sense(|sense| {
                        sense.is_verb() && sense.forms.has(crate::lexicon::Forms::PAST)
                    });
                    let is_participle = line.word(0).ends_with("ed")
                        && line.written(0).starts_with(char::is_lowercase);
                    (!(is_deed || is_participle) || !scope.is_verb).then_some(())?;
                    let values = line.states(false)?;
                    Some(line.says(Says::Test(Test::new(Field::State, Op::Is, values)), start))
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    let who = line
                        .who_joined(UserRole::Actor)
                        .filter(|who| !who.is_always())?;
                    line.eat("'s").then_some(who)
                })
            })
            .or_else(|| {
                // `unless it was a bot`: who did it.
                self.attempt(|line| {
                    let is_sure = line.sees_sense(|sense| {
                        sense.is_bot
                            || sense.is(Class::Article)
                            || sense.is(Class::Bot)
                            || sense.is(Class::Human)
                    }) || line.kind(0) == Some(TokenKind::User)
                        || line.word(0).contains('-');
                    is_sure.then_some(())?;
                    line.who_joined(UserRole::Actor)
                        .filter(|who| !who.is_always())
                })
            })
    }

    /// `the "Nightly" workflow`, `lint or docs`: names of the event's subject.
    pub(super) fn names_of(&mut self, scope: Scope) -> Option<Guard> {
        takes_name(scope.noun).then_some(())?;
        let start = self.at;
        let named = self.attempt(|line| {
            let matter = line.matter()?;
            (takes_name(*matter.nouns.first()?)
                && !matter.guard.is_always()
                && matter.on.is_empty())
            .then_some(matter.guard)
        });
        if named.is_some() {
            return named;
        }
        self.skip_any(&["the", "either"]);
        let values = self.quoted_names(false)?;
        self.eat_sense(|sense| sense.nouns.iter().any(|noun| takes_name(*noun)));
        Some(self.says(Says::Name(values), start))
    }

    /// `its severity is high`, `the channel is #eng`, `the author is a bot`, `the text contains "x"`.
    pub(super) fn part_said(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        self.skip_any(&["its", "the", "their"]);
        if self.eat_any(DOERS) {
            let be = self.eat_any(BE);
            be.then_some(())?;
            let negated = self.eat("not");
            let who = self.who(UserRole::Actor).filter(|who| !who.is_always())?;
            return Some(if negated { who.not() } else { who });
        }
        let says = self.attempt(|line| {
            let place = line.place_named()?;
            let place = if place == TextPlace::Message
                || scope.topic == Topic::Talk
                || scope.topic == Topic::Remark
            {
                TextPlace::Own
            } else {
                place
            };
            line.says_predicate(Some(place))
        });
        if says.is_some() {
            return says;
        }
        let part = self.eat_sense(|sense| {
            sense.part.is_some()
                || sense.nouns.contains(&Noun::Channel)
                || sense.nouns.contains(&Noun::Branch)
                || sense.nouns.contains(&Noun::Project)
        })?;
        self.eat_any(BE).then_some(())?;
        let not = self.eat_any(&["not", "neither", "never"]);
        let found = self.part_value(scope, part.part, &part.nouns, start)?;
        Some(if not { found.not() } else { found })
    }

    pub(super) fn part_value(
        &mut self,
        scope: Scope,
        part: Option<Part>,
        nouns: &[Noun],
        start: usize,
    ) -> Option<Guard> {
        let test = |line: &Self, field: Field, values: Vec<String>| {
            Some(line.says(Says::Test(Test::new(field, Op::Is, values)), start))
        };
        if nouns.contains(&Noun::Channel) {
            return self.channels(start);
        }
        if nouns.contains(&Noun::Branch) {
            return self.branches();
        }
        if nouns.contains(&Noun::Project) {
            let others = self.other_than();
            self.skip_any(&["the", "either"]);
            let names = self.quoted_or_plain_names()?;
            let found = test(self, Field::Project, names)?;
            return Some(if others { found.not() } else { found });
        }
        let is_text = matches!(part, Some(Part::Title | Part::Body));
        if is_text && self.eat_any(&["empty", "missing", "blank"]) {
            let field = if part == Some(Part::Title) {
                Field::Title
            } else {
                Field::Body
            };
            return Some(self.says(Says::Test(Test::new(field, Op::Absent, Vec::new())), start));
        }
        let others = self.other_than();
        let found = match part? {
            Part::Priority
            | Part::Severity
            | Part::Level
            | Part::Environment
            | Part::Health
            | Part::Conclusion => {
                let part = part?;
                let found = self
                    .attempt(|line| line.valued_complement(scope, start, ""))
                    .or_else(|| {
                        let values = self.quoted_names(true)?;
                        Some(self.says(Says::Value(Some(part), values), start))
                    })?;
                of_part(&found, part)
            }
            Part::Status if scope.runs() => {
                let found = self.valued_complement(scope, start, "")?;
                of_part(&found, Part::Conclusion)
            }
            Part::Status => {
                let values = self.states(true)?;
                test(self, Field::State, values)?
            }
            Part::Team => {
                self.skip_any(&["the"]);
                let values = self.proper_names(&["team"], true)?;
                test(self, Field::Team, values)?
            }
            Part::Assignee => self.assignee_names(start)?,
            Part::Label => self.labels(label_test)?,
            Part::Name if takes_name(scope.noun) => {
                let values = self.quoted_names(true)?;
                self.says(Says::Name(values), start)
            }
            Part::Name => {
                let values = self.quoted_names(true)?;
                test(self, Field::Name, values)?
            }
            Part::Title => {
                let values = self.quoted_names(true)?;
                test(self, Field::Title, values)?
            }
            Part::Base => self.branches()?,
            _ => return None,
        };
        Some(if others { found.not() } else { found })
    }

    /// Names that are data, code-like words, or words with a capital.
    pub(super) fn quoted_or_plain_names(&mut self) -> Option<Vec<String>> {
        let is_plain = |line: &Self| {
            line.kind(0) == Some(TokenKind::Word)
                && (line.word_sense(0).is_none() || line.word(0).contains(['-', '_']))
        };
        let mut names = Vec::new();
        loop {
            let is_name =
                is_plain(self) || matches!(self.kind(0), Some(TokenKind::Quoted | TokenKind::Code));
            is_name.then_some(())?;
            names.push(self.value(0));
            self.at += 1;
            let goes_on = self.attempt(|line| {
                line.eat_mark(",");
                line.eat_any(&["or", "nor"]).then_some(())
            });
            if goes_on.is_none() {
                return Some(names);
            }
        }
    }
}

/// Assigns bare values to an attribute.
fn of_part(guard: &Guard, part: Part) -> Guard {
    let moved = guard.replace(false, &mut |atom: &crate::sentence::atom::Atom, negated| {
        let mut atom = atom.clone();
        if let Says::Value(None, values) = &atom.says {
            atom.says = Says::Value(Some(part), values.clone());
        }
        let found = Formula::Atom(atom);
        Some(if negated { found.not() } else { found })
    });
    moved.unwrap_or_else(|| guard.clone())
}
