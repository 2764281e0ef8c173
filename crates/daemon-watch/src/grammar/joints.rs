//! Boundaries between clauses.

use crate::grammar::draft::Joint;
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms};
use crate::normalise::TokenKind;

impl Reader<'_> {
    pub(crate) fn connector(&self, from: usize) -> Option<(Joint, usize)> {
        let mut joint = None;
        let mut at = from;
        while let Some(unit) = self.unit(at) {
            joint = if unit.is(Class::Or) {
                Some(Joint::Or)
            } else if unit.is(Class::And) {
                Some(Joint::And)
            // `, or` and `, and` are `or` and `and`.
            } else if unit.is_mark(",") {
                joint.or(Some(Joint::Comma))
            } else {
                break;
            };
            at += 1;
        }
        joint.map(|joint| (joint, at))
    }

    /// `… or gets new commits`: the same subject, which gains or loses something.
    pub(crate) fn begins_gain(&self, at: usize) -> bool {
        let next = self.skip(
            at + 1,
            &[Class::Filler, Class::Article, Class::New, Class::Its],
        );
        let gains = self.is_any(at, &[Class::Get, Class::Lose]) && !self.is(at, Class::Be);
        gains && (self.is_noun(next) || self.part(next).is_some() || self.is_literal(next))
    }

    /// Whether a subject with a verb of its own begins here.
    pub(crate) fn begins_clause(&self, from: usize) -> bool {
        if self.is(from, Class::Lead) {
            return true;
        }
        // A foreign service begins a clause of its own, so that only this clause is left over.
        if self.sense(from).is_some_and(|sense| sense.is_foreign) {
            return true;
        }
        let mut has_subject = false;
        for at in from..self.units.len() {
            let Some(unit) = self.unit(at) else {
                return false;
            };
            if unit.kind == TokenKind::Mark
                || unit.is(Class::Or)
                || unit.is(Class::And)
                || unit.is(Class::But)
            {
                return false;
            }
            let is_main_be = unit.is(Class::Be)
                || unit.is(Class::Get)
                || unit.is(Class::Have)
                || unit.is(Class::Lose);
            if is_main_be {
                return has_subject;
            }
            if self.value_word(at).is_some() {
                continue;
            }
            let is_verb_form = self.is_verb(at) && !self.is_noun(at) && self.part(at).is_none();
            if has_subject
                && (is_verb_form
                    || (self.is_verb(at) && (self.agent_before(at) || self.is_subject_before(at))))
                // Nouns such as `failure` are forms of a verb and can be subjects.
                && !self.has_form_only(at, Forms::NOMINAL)
            {
                return true;
            }
            // A verb without a subject continues the clause before it: `or is edited`.
            if is_verb_form && !has_subject && !self.has_form_only(at, Forms::NOMINAL) {
                return false;
            }
            has_subject |= self.is_noun(at)
                || self.part(at).is_some()
                || self.is_literal(at)
                || self.is_any(
                    at,
                    &[
                        Class::Anyone,
                        Class::Human,
                        Class::Bot,
                        Class::Maintainer,
                        Class::Outsider,
                        Class::FirstTimer,
                        Class::Draft,
                        Class::Anything,
                    ],
                )
                || self.has_form_only(at, Forms::NOMINAL)
                || unit
                    .sense
                    .is_some_and(|sense| sense.is_bot || sense.source.is_some() && at == from);
            if self.is_any(
                at,
                &[
                    Class::By,
                    Class::To,
                    Class::Into,
                    Class::Except,
                    Class::Unless,
                ],
            ) && !has_subject
            {
                return false;
            }
        }
        false
    }

    pub(crate) fn has_form_only(&self, at: usize, form: Forms) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.is_verb() && sense.forms == form)
    }

    /// `nobody reviews it`: after an unknown word, a word that can be noun or verb is a verb.
    pub(crate) fn is_subject_before(&self, at: usize) -> bool {
        self.has_form(at, Forms::THIRD)
            && at > 0
            && self.kind(at - 1) == Some(TokenKind::Word)
            && self.sense(at - 1).is_none()
            && matches!(
                self.unit(at - 1).map_or("", |unit| unit.text.as_str()),
                "nobody" | "no-one" | "none"
            )
    }

    pub(crate) fn agent_before(&self, at: usize) -> bool {
        at > 0
            && (self.is_any(
                at - 1,
                &[
                    Class::Anyone,
                    Class::Human,
                    Class::Bot,
                    Class::Maintainer,
                    Class::Outsider,
                    Class::FirstTimer,
                ],
            ) || self.sense(at - 1).is_some_and(|sense| sense.is_bot)
                || self.kind(at - 1) == Some(TokenKind::User))
    }
}
