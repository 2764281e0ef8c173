//! Guards with a verb of their own: `unless it is a draft`, `and its author is a bot`, `provided it touches src/`.

use super::conditions::{person_role, turn};
use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Joint, Mod, UserRole, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms};
use crate::normalise::TokenKind;

/// The beginning of a guard.
#[derive(Clone, Copy)]
struct Lead {
    /// The word it begins with.
    word: usize,
    /// The position after that word.
    at: usize,
    /// `unless`, `except when`: the condition after it is excluded.
    excludes: bool,
    /// The words can begin nothing else: an unread guard is left over as a whole.
    is_certain: bool,
    /// It applies to all clauses before it, not only to the last one.
    is_shared: bool,
}

impl Reader<'_> {
    /// Reads the guards at this position.
    pub(crate) fn try_guards(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let Some(lead) = self.guard_lead(draft) else {
            return false;
        };
        // A guard that fails half-way must leave no modifier behind.
        let before = (draft.clone(), self.free.clone());
        let n_mods = draft.mods.len();
        self.take(start..lead.at);
        self.at = lead.at;
        if self.guard_list(draft, lead) {
            for hit in draft.mods.iter_mut().skip(n_mods) {
                hit.is_shared = lead.is_shared;
            }
            return true;
        }
        (*draft, self.free) = before;
        self.at = start;
        if lead.is_certain {
            self.at = self.guard_end(lead.at);
            self.release(start..self.at);
        }
        lead.is_certain
    }

    fn guard_lead(&self, draft: &Draft) -> Option<Lead> {
        let start = self.at;
        // A guard needs a clause to narrow: `if a PR is opened` at the beginning is the event.
        if draft.nouns.is_empty() && draft.verbs.is_empty() && draft.raw.is_empty() {
            return None;
        }
        let (mut joint, mut at) = match self.connector(start) {
            Some((joint, at)) => (Some(joint), at),
            None => (None, start),
        };
        if self.unit(at).is_some_and(|unit| unit.is_mark("(")) {
            at += 1;
        }
        let is_apart = (start..at).any(|at| self.kind(at) == Some(TokenKind::Mark));
        if self.is(at, Class::But) {
            joint = Some(Joint::And);
            at += 1;
        }
        let word = at;
        let lead = |at: usize, excludes: bool, is_certain: bool| {
            Some(Lead {
                word,
                at,
                excludes,
                is_certain,
                is_shared: is_apart,
            })
        };
        // `unless` cannot begin another event, so a guard that is not understood is left over as a whole.
        if self.is(at, Class::Unless) {
            return lead(self.skip(at + 1, &[Class::Lead]), true, true);
        }
        if self.is_any(at, &[Class::Except, Class::Not]) && self.is(at + 1, Class::Lead) {
            return lead(self.skip(at + 1, &[Class::Lead]), true, true);
        }
        if self.is(at, Class::Provided) {
            return lead(at + 1, false, true);
        }
        // `or it is a draft` would be an alternative and not a guard.
        if joint == Some(Joint::Or) {
            return None;
        }
        let only = self.skip(at, &[Class::Only]);
        // `only when` always begins a guard; a bare `when` only before a word for the subject.
        if self.is(only, Class::Lead) && (only > at || self.is_guard_subject(draft, only + 1)) {
            return lead(only + 1, false, only > at);
        }
        joint?;
        if self.is_guard_subject(draft, at) || self.is_relative_conjunct(draft, start, at) {
            return lead(at, false, false);
        }
        None
    }

    /// `that touches src/** and is not labeled bug`: a second half of the relative clause.
    fn is_relative_conjunct(&self, draft: &Draft, start: usize, at: usize) -> bool {
        let after_relative = draft.mods.last().is_some_and(|hit| {
            hit.range.end == start && self.is_any(hit.range.start, &[Class::That, Class::Whose])
        });
        after_relative
            && (self.is_any(at, &[Class::Be, Class::Have, Class::Not, Class::Against])
                || self.has_verb(at, Verb::Touch))
    }

    /// Whether a word here refers to the subject of the event, or to a part of it.
    fn is_guard_subject(&self, draft: &Draft, at: usize) -> bool {
        if self.pronoun(at) {
            return true;
        }
        let named = self.skip(at, &[Class::Its, Class::Article]);
        if named > at && (self.part(named).is_some() || person_role(self.text(named)).is_some()) {
            return self.is_any(named + 1, &[Class::Be, Class::Have, Class::Contains]);
        }
        self.same_noun(draft, at).is_some()
            || matches!(self.text(at), "all" | "every") && self.all_files(at).is_some()
    }

    pub(crate) fn text(&self, at: usize) -> &str {
        self.unit(at).map_or("", |unit| unit.text.as_str())
    }

    pub(super) fn pronoun(&self, at: usize) -> bool {
        matches!(self.text(at), "it" | "they" | "this" | "that" | "which")
            && (self.is_any(
                at + 1,
                &[Class::Be, Class::Have, Class::Against, Class::Only],
            ) || self.is_any(at + 1, &[Class::Contains, Class::Filler])
                || matches!(self.text(at + 1), "carries" | "bears")
                || self.is_verb(at + 1))
    }

    /// `the PR`, where a pull request was named before and something is said of it.
    pub(super) fn same_noun(&self, draft: &Draft, at: usize) -> Option<usize> {
        let noun = self.skip(at, &[Class::Article]);
        let sense = self.sense(noun)?;
        let is_same = noun > at
            && draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.iter().any(|noun| sense.nouns.contains(noun)));
        let is_predicate = self.is_any(noun + 1, &[Class::Be, Class::Have, Class::Against])
            // `the PR is a draft` and `the PR touches docs/` are guards; with other verbs the PR has another event.
            || self.has_verb(noun + 1, Verb::Touch);
        (is_same && is_predicate).then_some(noun)
    }

    /// Reads guards joined by `and` or `or`, up to a possible next event.
    fn guard_list(&mut self, draft: &mut Draft, lead: Lead) -> bool {
        let mut n_read = 0;
        loop {
            let start = self.at;
            let before = (draft.clone(), self.free.clone());
            if !self.guard(draft, lead.excludes) {
                if n_read == 0 {
                    return false;
                }
                // The guards that were read stay filters; the rest of the list is left over.
                (*draft, self.free) = before;
                self.at = self.guard_end(start);
                self.release(start..self.at);
                if lead.excludes {
                    // The excluding word is left over with the rest: without it the rest would read as a requirement.
                    self.release(lead.word..lead.at);
                }
                return true;
            }
            n_read += 1;
            if self.unit(self.at).is_some_and(|unit| unit.is_mark(")")) {
                return true;
            }
            let Some((joint, next)) = self.connector(self.at) else {
                return true;
            };
            let is_apart = (self.at..next).any(|at| self.kind(at) == Some(TokenKind::Mark));
            let goes_on = self.guard_goes_on(draft, next, lead);
            let begins_event =
                self.is(next, Class::Lead) || self.begins_clause(next) && (is_apart || !goes_on);
            let ends = if lead.excludes {
                begins_event && !(self.is_guard_subject(draft, next) && joint != Joint::Comma)
                    || self.begins_auxiliary(next)
            } else {
                joint == Joint::Or && (begins_event || self.begins_auxiliary(next)) || !goes_on
            };
            if ends {
                return true;
            }
            // Not (A and B), and (A or B), are not conjunctions, and the filters of a clause are one. Half of it would keep a
            // daemon asleep that its author meant to wake.
            let is_mixed = if lead.excludes {
                joint == Joint::And
            } else {
                joint == Joint::Or
            };
            if is_mixed {
                return false;
            }
            self.take(self.at..next);
            self.at = next;
        }
    }

    /// Whether another guard of the same list can begin here.
    fn guard_goes_on(&self, draft: &Draft, at: usize, lead: Lead) -> bool {
        let deed = self
            .who(at)
            .is_some_and(|(_, end)| self.is_any(self.object(end), &[Class::Its]));
        self.is_guard_subject(draft, at)
            || lead.excludes
            || deed
            || self.is_any(at, &[Class::Be, Class::Have, Class::Not, Class::Non])
            || self.has_verb(at, Verb::Touch)
            || self.is_any(at, &[Class::Draft, Class::Open, Class::Against])
    }

    /// `or is edited`: another event of the same subject.
    fn begins_auxiliary(&self, at: usize) -> bool {
        let verb = self.skip(at, &[Class::Be, Class::Get, Class::Filler]);
        verb > at && self.has_form(verb, Forms::PAST) && !self.has_verb(verb, Verb::Label)
    }

    /// Returns the end of the words that begin here: the next clause or the end of the line.
    pub(crate) fn boundary(&self, from: usize) -> usize {
        (from..self.units.len())
            .find(|at| {
                self.connector(*at)
                    .is_some_and(|(_, next)| self.is(next, Class::Lead) || self.begins_clause(next))
            })
            .unwrap_or(self.units.len())
    }

    /// `… after failing`, `… despite red checks`: an earlier or simultaneous circumstance is not another event.
    pub(crate) fn skips_circumstance(&mut self, draft: &Draft, start: usize) -> bool {
        let at = self.at;
        let begins = self.is(at, Class::Despite) || self.is(at, Class::Lead);
        if at == start || !begins || !draft.is_complete() {
            return false;
        }
        self.at = self.boundary(at + 1);
        true
    }

    /// `that was cancelled`, `that is the "Nightly" workflow`, `that was pushed by a bot`.
    pub(super) fn try_guard_state(&mut self, draft: &mut Draft) -> bool {
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
        // `that was pushed by a bot` repeats the verb of the event, so the user is its actor.
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
            self.push_person(draft, who, UserRole::Actor, start..end);
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

    /// Returns the end of a guard that cannot be read: another event, a bracket, or the end of the line.
    fn guard_end(&self, from: usize) -> usize {
        (from..self.units.len())
            .find(|at| {
                let is_bracket = self.unit(*at).is_some_and(|unit| unit.is_mark(")"));
                let is_event = self.connector(*at).is_some_and(|(_, next)| {
                    self.kind(*at) == Some(TokenKind::Mark)
                        && (self.is(next, Class::Lead) || self.begins_clause(next))
                });
                is_bracket || is_event
            })
            .unwrap_or(self.units.len())
    }

    /// Reads one guard; an excluding one is negated.
    fn guard(&mut self, draft: &mut Draft, excludes: bool) -> bool {
        let n_mods = draft.mods.len();
        let is_read = self.person_guard(draft)
            || self.deed_guard(draft)
            || self.part_guard(draft)
            || self.files_guard(draft)
            || self.subject_guard(draft)
            || self.bare_guard(draft);
        if !is_read || draft.mods.len() == n_mods {
            return false;
        }
        while !self.guard_stops() {
            let n_read = draft.mods.len();
            // Modifiers after an excluded guard would be excluded with it, and two of them are no conjunction.
            let goes_on = !excludes && self.try_modifier(draft) && draft.mods.len() > n_read;
            if !goes_on {
                return false;
            }
        }
        // Not (A and B) is no conjunction: an excluded guard may have one filter only.
        !excludes || draft.mods.len() == n_mods + 1 && draft.mods.last_mut().is_some_and(turn)
    }

    fn guard_stops(&self) -> bool {
        let at = self.at;
        self.unit(at).is_none_or(|unit| {
            unit.kind == TokenKind::Mark
                || unit.is(Class::But)
                || unit.is(Class::Or)
                || unit.is(Class::And)
                || unit.is(Class::Unless)
                || unit.is(Class::Provided)
        }) || self.is(at, Class::Lead)
    }
}
