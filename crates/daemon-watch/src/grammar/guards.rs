//! Guards behind an event: `unless it is a draft`, `as long as it is on main`; and what came before it.

use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Joint, Mod, Role, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{self, Class, Forms};

impl Reader<'_> {
    /// Lets a word stand for `that`, so that what follows is read as a relative clause.
    fn make_relative(&mut self, at: usize) {
        if let Some(unit) = self.units.get_mut(at) {
            unit.sense = lexicon::exact("that");
        }
    }

    /// `it`, or the event's own noun again: `the issue`.
    fn names_again(&self, draft: &Draft, from: usize) -> Option<usize> {
        let at = self.skip(from, &[Class::Article]);
        let text = self.unit(at).map_or("", |unit| unit.text.as_str());
        if matches!(text, "it" | "they" | "this" | "that" | "those" | "these") {
            return Some(at);
        }
        // An article may have been skipped that was the pronoun itself.
        let before = self
            .unit(at.wrapping_sub(1))
            .map_or("", |unit| unit.text.as_str());
        if at > from && matches!(before, "this" | "these") && self.is(at, Class::Be) {
            return Some(at - 1);
        }
        let again = self.sense(at).is_some_and(|sense| {
            draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.iter().any(|noun| sense.nouns.contains(noun)))
        });
        (again && self.is_any(at + 1, &[Class::Be, Class::Have])).then_some(at)
    }

    /// Conditions behind the event that must not hold.
    pub(crate) fn try_exception(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        if !draft.is_complete() {
            return false;
        }
        let at = if self.is(start, Class::But) && self.is(start + 1, Class::Not) {
            start + 2
        } else if self.is_any(start, &[Class::Except, Class::Unless]) {
            start + 1
        } else {
            return false;
        };
        let led = self.skip(at, &[Class::Lead]);
        let participle = self.has_form(led, Forms::PAST)
            && self.is(led + 1, Class::By)
            && (led > at || self.is(start, Class::Unless));
        let relative = if participle {
            led - 1
        } else {
            match self.names_again(draft, led) {
                Some(it) => it,
                None => return false,
            }
        };
        self.guard(draft, start, relative, true);
        true
    }

    /// Conditions behind the event that must hold: `as long as it is on main`, `if it is a draft`.
    pub(crate) fn try_proviso(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let at = self.skip(start, &[Class::But, Class::Only]);
        let is_proviso = self.is(at, Class::Provided);
        if !draft.is_complete() || !(is_proviso || self.is(at, Class::Lead)) {
            return false;
        }
        let led = self.skip(at + 1, &[Class::Lead]);
        match self.names_again(draft, led) {
            Some(it) => self.guard(draft, start, it, false),
            None if is_proviso => self.guard(draft, start, led - 1, false),
            None => return false,
        }
        true
    }

    /// Reads what is said of the event behind a pronoun; what cannot be read is left over as a whole.
    fn guard(&mut self, draft: &mut Draft, start: usize, relative: usize, is_negated: bool) {
        let n_mods = draft.mods.len();
        let n_verbs = draft.verbs.len();
        let n_nouns = draft.nouns.len();
        self.take(start..relative + 1);
        self.at = relative;
        let mut fails = false;
        loop {
            self.make_relative(self.at);
            let from = self.at;
            let reads = self.try_guard_state(draft) || self.try_modifier(draft);
            if !reads || self.at <= from {
                fails = true;
                break;
            }
            let Some((joint, next)) = self.connector(self.at) else {
                break;
            };
            if joint == Joint::Comma || self.is(next, Class::Lead) || self.begins_clause(next) {
                break;
            }
            if joint == Joint::And && is_negated || joint == Joint::Or && !is_negated {
                // Neither `not (a and b)` nor `a or b` is a list of filters that must all hold.
                fails = true;
                break;
            }
            self.take(self.at..next);
            self.at = next - 1;
        }
        if fails {
            draft.mods.truncate(n_mods);
            draft.verbs.truncate(n_verbs);
            draft.nouns.truncate(n_nouns);
            let end = self.boundary(relative + 1);
            self.release(start..end);
            self.at = end;
            return;
        }
        for hit in &mut draft.mods[n_mods..] {
            hit.range.start = hit.range.start.min(start);
            hit.n_verbs = n_verbs;
            if !is_negated {
                continue;
            }
            hit.kind = match std::mem::replace(&mut hit.kind, Mod::TopLevel) {
                Mod::Person(Who::Not(inner), role) => Mod::Person(*inner, role),
                Mod::Person(who, role) => Mod::Person(Who::Not(Box::new(who)), role),
                Mod::Files(op, paths) => Mod::Files(turned(op), paths),
                other => {
                    hit.negated = !hit.negated;
                    other
                }
            };
        }
    }

    /// `that was cancelled`, `that is the "Nightly" workflow`, `that was pushed by a bot`.
    fn try_guard_state(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let be = self.skip(start, &[Class::That, Class::Be, Class::Have, Class::Filler]);
        let verb = self.skip(be, &[Class::Not]);
        let is_check = draft.nouns.iter().any(|hit| {
            hit.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::Check
                        | Noun::CheckRun
                        | Noun::CheckSuite
                        | Noun::Status
                        | Noun::Workflow
                        | Noun::Job
                        | Noun::Ci
                )
            })
        });
        let ends = match () {
            () if !self.has_form(verb, Forms::PAST) => None,
            () if self.has_verb(verb, Verb::Cancel) => Some("cancelled"),
            () if self.unit(verb).is_some_and(|unit| unit.text == "skipped") => Some("skipped"),
            () => None,
        };
        if let Some(ends) = ends.filter(|_| is_check) {
            self.push_mod(
                draft,
                Mod::Value(None, vec![ends.to_owned()]),
                start..verb + 1,
            );
            if let Some(hit) = draft.mods.last_mut() {
                hit.negated = verb > be;
            }
            return true;
        }
        let repeats = self.has_form(verb, Forms::PAST)
            && draft.verbs.iter().any(|hit| {
                self.sense(verb)
                    .is_some_and(|sense| hit.verbs.iter().any(|verb| sense.verbs.contains(verb)))
            });
        if repeats
            && self.is(verb + 1, Class::By)
            && let Some((who, end)) = self.who(verb + 2)
        {
            let who = if verb > be {
                Who::Not(Box::new(who))
            } else {
                who
            };
            self.push_person(draft, who, Role::Actor, start..end);
            return true;
        }
        let named = self.skip(be, &[Class::Article]);
        if named > be {
            self.at = named;
            if self.try_name(draft) {
                let noun_follows = self.is_noun(self.at);
                self.take(start..self.at + usize::from(noun_follows));
                self.at += usize::from(noun_follows);
                return true;
            }
            self.at = start;
        }
        false
    }

    /// Where what begins here ends: at the next clause, else with the line.
    pub(crate) fn boundary(&self, from: usize) -> usize {
        (from..self.units.len())
            .find(|at| {
                self.connector(*at)
                    .is_some_and(|(_, next)| self.is(next, Class::Lead) || self.begins_clause(next))
            })
            .unwrap_or(self.units.len())
    }

    /// `… after failing`, `… despite red checks`: what came before, or held beside, is no other event.
    pub(crate) fn skips_circumstance(&mut self, draft: &Draft, start: usize) -> bool {
        let at = self.at;
        let begins = self.is(at, Class::Despite) || self.is(at, Class::Lead);
        if at == start || !begins || !draft.is_complete() {
            return false;
        }
        self.at = self.boundary(at + 1);
        true
    }
}

/// The files that must not be touched instead of those that must.
fn turned(op: crate::filter::Op) -> crate::filter::Op {
    use crate::filter::Op;
    match op {
        Op::Any => Op::None,
        Op::None => Op::Any,
        other => other,
    }
}
