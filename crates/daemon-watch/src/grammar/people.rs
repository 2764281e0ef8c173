//! People and programs: who acted, who wrote.

use daemon_event::vocabulary::Verb;

use crate::filter::Mark;
use crate::grammar::draft::{Draft, Mod, ModHit, UserRole, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::Class;
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads a user with articles and qualifying words, and returns the end.
    pub(crate) fn who(&self, from: usize) -> Option<(Who, usize)> {
        let mut at = self.skip(from, &[Class::Article]);
        let negated = self.is_any(at, &[Class::Not, Class::Non, Class::Except]) && {
            at = self.skip(at + 1, &[Class::Article, Class::By]);
            true
        };
        let (mut who, mut at) = self.who_alone(at)?;
        if negated {
            who = Who::Not(Box::new(who));
        }
        let unqualified = at;
        while let Some((next, end)) = self.qualifier(&who, at) {
            who = next;
            at = end;
        }
        // `someone on the platform team` is not just someone.
        let place = self.skip(at, &[Class::On, Class::From, Class::In, Class::Article]);
        let of_a_team = place > at
            && (place..place + 3).any(|at| self.part(at) == Some(crate::lexicon::Part::Team));
        // Payloads contain no teams, so the words are left over instead of admitting any user.
        if who == Who::Anyone && of_a_team {
            return None;
        }
        Some((
            who,
            if at > unqualified {
                end_of(self, at)
            } else {
                at
            },
        ))
    }

    fn who_alone(&self, at: usize) -> Option<(Who, usize)> {
        let mut names = Vec::new();
        let mut end = at;
        while let Some((name, after)) = self.person(end) {
            names.push(name);
            end = after;
            let joined = self.is(end, Class::Or)
                || (self.unit(end).is_some_and(|unit| unit.is_mark(","))
                    // `by kit, or when …`: a comma before `or` may end the list.
                    && !self.is(end + 1, Class::Or));
            if joined && self.person_name(end + 1).is_some() && !self.is_verb(end + 1) {
                end += 1;
            } else {
                break;
            }
        }
        if !names.is_empty() {
            return Some((Who::Named(names), end));
        }
        let who = [
            (Class::Human, Who::Human),
            (Class::FirstTimer, Who::FirstTimer),
            (Class::Outsider, Who::Outsider),
            (Class::Maintainer, Who::Maintainer),
            (Class::Bot, Who::Bot),
            (Class::Anyone, Who::Anyone),
        ]
        .into_iter()
        .find_map(|(class, who)| self.is(at, class).then_some(who))?;
        // `somebody human` is a human.
        if who == Who::Anyone && self.is_any(at + 1, &[Class::Human, Class::Bot]) {
            return self.who_alone(at + 1);
        }
        // `a member of the mobile team` is not just a member.
        if self.is(at + 1, Class::Of) {
            return None;
        }
        Some((who, at + 1))
    }

    /// A name with its further words: `Ines Varga`.
    pub(crate) fn person(&self, at: usize) -> Option<(String, usize)> {
        let name = self.person_name(at)?;
        let is_capital = |at: usize| {
            self.kind(at) == Some(TokenKind::Word)
                && self.sense(at).is_none()
                && self.written(at).starts_with(char::is_uppercase)
        };
        let mut end = at + 1;
        while is_capital(at) && is_capital(end) {
            end += 1;
        }
        let name = if end > at + 1 {
            self.words(at, end)
        } else {
            name
        };
        Some((name, end))
    }

    /// Reads the name of a person or program where one is expected.
    pub(crate) fn person_name(&self, at: usize) -> Option<String> {
        let unit = self.unit(at)?;
        let is_name = match unit.kind {
            TokenKind::User => true,
            TokenKind::Quoted => !unit.text.contains(' '),
            // Programs are written `renovate[bot]`, with the punctuation of code.
            TokenKind::Code => unit.text.ends_with("[bot]"),
            TokenKind::Word => {
                unit.sense.is_some_and(|sense| sense.is_bot)
                    || (unit.sense.is_none()
                        && (unit.text.contains(['-', '[', '_'])
                            // An unknown lower-case word is a name only if it has the form of a login: `by purple` is no user.
                            || unit.text.bytes().any(|b| b.is_ascii_digit())
                            || self.written(at).starts_with(char::is_uppercase))
                        && !unit.text.contains(['/', '*']))
            }
            TokenKind::Channel | TokenKind::Reference | TokenKind::Number | TokenKind::Mark => {
                false
            }
        };
        is_name.then(|| self.value(at))
    }

    /// `who is not a bot`, `except bots`, `(not a bot)`, `other than @mira`, `outside the team`.
    fn qualifier(&self, who: &Who, from: usize) -> Option<(Who, usize)> {
        let mut at = from;
        while self
            .unit(at)
            .is_some_and(|unit| unit.is_mark("(") || unit.is_mark(","))
        {
            at += 1;
        }
        let has_that = self.is(at, Class::That);
        at = self.skip(at, &[Class::That]);
        at = self.skip(at, &[Class::Be]);
        let negated = self.is_any(at, &[Class::Not, Class::Non, Class::Except])
            || *who == Who::Anyone && at == from && self.is(at, Class::But);
        if negated {
            at = self.skip(at + 1, &[Class::Article, Class::By, Class::From]);
            let (other, mut end) = self.who_alone(at)?;
            let mut others = vec![Who::Not(Box::new(other))];
            while self.is_any(end, &[Class::Or, Class::And]) {
                let next = self.skip(end + 1, &[Class::Article]);
                let Some((other, after)) = self.who_alone(next).filter(|_| !self.is_verb(next))
                else {
                    break;
                };
                others.push(Who::Not(Box::new(other)));
                end = after;
            }
            if !matches!(who, Who::Anyone | Who::Human | Who::Bot) {
                return None;
            }
            let other = if others.len() == 1 {
                others.remove(0)
            } else {
                Who::AllOf(others)
            };
            return Some((narrow(who, other), end));
        }
        if has_that && *who == Who::Anyone {
            let (other, end) = self.who_alone(self.skip(at, &[Class::Article]))?;
            return Some((other, end));
        }
        let at = if self.is(at, Class::From) && self.is(at + 1, Class::Outside) {
            at + 1
        } else {
            at
        };
        if self.is(at, Class::Outside) && matches!(who, Who::Anyone | Who::Human) {
            let team = self.skip(at + 1, &[Class::Article]);
            let word = self.unit(team)?.text.clone();
            let is_own = matches!(
                // Other teams than the repository's own are in no payload.
                word.as_str(),
                "team" | "organization" | "org" | "company" | "organisation" | "project" | "repo"
            );
            return is_own.then_some((Who::Outsider, team + 1));
        }
        None
    }

    /// `by X`, `from X`, `authored by X`, `not by X`.
    pub(crate) fn try_by(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let is_from = self.is(at, Class::From) && self.person_after_from(at + 1);
        let is_excluding = self.is_any(at, &[Class::Except, Class::Unless])
            && !self.is(at + 1, Class::By)
            && self
                .unit(self.skip(at + 1, &[Class::Article]))
                .is_some_and(|unit| {
                    unit.is(Class::Bot)
                        || unit.is(Class::Human)
                        || unit.kind == TokenKind::User
                        || unit.sense.is_some_and(|sense| sense.is_bot)
                        || unit.is(Class::Maintainer)
                        || unit.is(Class::Outsider)
                });
        if !self.is(at, Class::By) && !is_from && !is_excluding {
            return false;
        }
        let only = usize::from(self.is(at + 1, Class::Only));
        let Some((mut who, end)) = self.who(at + 1 + only) else {
            return false;
        };
        if is_excluding {
            who = Who::Not(Box::new(who));
        }
        let role = self.role(draft, is_from);
        self.push_person(draft, who, role, at..end);
        true
    }

    fn person_after_from(&self, from: usize) -> bool {
        let at = self.skip(from, &[Class::Article]);
        self.is_any(
            at,
            &[
                Class::Maintainer,
                Class::Bot,
                Class::Human,
                Class::Outsider,
                Class::FirstTimer,
                Class::Anyone,
            ],
        ) || self.kind(at) == Some(TokenKind::User)
            // `from X` may name a service, a branch or a state, so a name after it needs the form of one.
            || self.sense(at).is_some_and(|sense| sense.is_bot)
            || (self.person_name(at).is_some()
                && self.kind(at) == Some(TokenKind::Word)
                && self.part(at + 1).is_none()
                && self.state(at).is_none())
    }

    /// The actor if it follows a verb, the author if it narrows a noun.
    pub(crate) fn role(&self, draft: &Draft, is_from: bool) -> UserRole {
        if is_from {
            return UserRole::Author;
        }
        let verb_at = draft.verbs.last().map(|verb| verb.at);
        let noun_at = draft.nouns.last().map(|noun| noun.at);
        // `fails on a pull request by renovate`: a failure has no agent, so the user is the author.
        let is_of_noun = !draft.has_be
            && draft.agent.is_none()
            && noun_at.is_some_and(|at| at + 1 == self.at)
            && noun_at > verb_at
            && draft.verbs.iter().any(|hit| {
                [Verb::Fail, Verb::Succeed, Verb::Complete, Verb::TimeOut]
                    .iter()
                    .any(|verb| hit.verbs.contains(verb))
            });
        if is_of_noun {
            return UserRole::Author;
        }
        match (verb_at, noun_at) {
            // Without a verb the user narrows the noun: `a PR by kit`.
            (None, Some(_)) => UserRole::Author,
            (Some(_), _) | (None, None) => UserRole::Actor,
        }
    }

    pub(crate) fn push_person(
        &mut self,
        draft: &mut Draft,
        who: Who,
        role: UserRole,
        range: std::ops::Range<usize>,
    ) {
        let mut range = range;
        let mut who = who;
        if let Some(not) = self.negation_before(range.start) {
            who = Who::Not(Box::new(who));
            range.start = not;
        }
        let negated = false;
        self.take(range.clone());
        self.at = range.end;
        draft.mods.push(ModHit {
            kind: Mod::Person(who, role),
            negated,
            range,
            mark: Mark::Exact,
            n_verbs: draft.verbs.len(),
            of: None,
            is_shared: false,
        });
    }
}

/// A closing bracket after a qualifier belongs to it.
fn end_of(reader: &Reader<'_>, at: usize) -> usize {
    at + usize::from(
        reader
            .unit(at)
            .is_some_and(|unit| unit.is_mark(")") || unit.is_mark(",")),
    )
}

/// A person who is not a bot is a person.
fn narrow(who: &Who, other: Who) -> Who {
    match (who, &other) {
        // Filters on kind and name are separate: `a bot other than renovate` has two.
        (Who::Human, Who::Not(inner)) if **inner == Who::Bot => Who::Human,
        (Who::Human | Who::Bot, _) => Who::AllOf(vec![who.clone(), other]),
        _ => other,
    }
}
