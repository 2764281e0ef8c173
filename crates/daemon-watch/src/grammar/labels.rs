//! Labels: those that are added or removed, and those that are present.

use daemon_event::vocabulary::Verb;
use std::ops::Range;

use crate::grammar::draft::{Draft, Mod, PartHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};

impl Reader<'_> {
    /// `the bug label`, `labels bug or wip`, `any label other than bug`, `needs-review is applied`.
    pub(crate) fn try_part_label(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let at = self.skip(start, &[Class::Article, Class::New, Class::Its]);
        if let Some((values, end)) = self.label_before_word(at) {
            self.push_part(draft, Part::Label, values, start..end, false);
            return true;
        }
        let is_verb_here = draft.agent.is_some()
            && draft.verbs.is_empty()
            && at == start
            && !self.is(start.wrapping_sub(1), Class::Article);
        if self.part(at) == Some(Part::Label) && !is_verb_here {
            let except = self.skip(at + 1, &[]);
            let negated =
                self.is_any(except, &[Class::Except, Class::Not]) && !self.is(except, Class::Be);
            let from = if negated { except + 1 } else { at + 1 };
            let from = self.skip(from, &[Class::Matching, Class::Article]);
            let list = if self.is(from, Class::Be) {
                None
            } else {
                self.list(from, Self::label)
            };
            match list {
                Some((values, end)) => {
                    self.push_part(draft, Part::Label, values, start..end, negated);
                }
                None => self.push_part(draft, Part::Label, Vec::new(), start..at + 1, false),
            }
            return true;
        }
        let applied =
            |verb: usize| self.has_verb(verb, Verb::Add) || self.has_verb(verb, Verb::Remove);
        if self.is_literal(at)
            && draft.verbs.is_empty()
            && draft.nouns.is_empty()
            && self.is_any(at + 1, &[Class::Be, Class::Get])
            && applied(self.skip(at + 1, &[Class::Be, Class::Get]))
            && !self.is_path(at)
        {
            let value = vec![self.value(at)];
            self.push_part(draft, Part::Label, value, start..at + 1, false);
            return true;
        }
        false
    }

    pub(crate) fn push_part(
        &mut self,
        draft: &mut Draft,
        part: Part,
        values: Vec<String>,
        range: Range<usize>,
        negated: bool,
    ) {
        self.take(range.clone());
        self.at = range.end;
        draft.parts.push(PartHit {
            part,
            values,
            negated,
            range,
        });
    }

    /// `with the bug label`, `labeled bug` behind its noun, `bug-labeled`, `without the wip label`.
    pub(crate) fn try_label(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = start;
        let mut is_negated = false;
        // `and has the bug label`
        let has = self.skip(at, &[Class::That, Class::Its, Class::Have]);
        if has > at
            && self.is(has - 1, Class::Have)
            && !draft.verbs.is_empty() | (self.is(at, Class::That))
        {
            let not = self.skip(has, &[Class::Not, Class::Have, Class::Article]);
            let found = self.label_before_word(not).or_else(|| {
                (self.part(not) == Some(Part::Label))
                    .then(|| self.list(not + 1, Self::label))
                    .flatten()
            });
            if let Some((labels, end)) = found {
                let is_not = (has..not).any(|at| self.is(at, Class::Not));
                self.push_label(draft, labels, start..end, is_not);
                return true;
            }
        }
        if self.is_any(at, &[Class::With, Class::Without]) {
            is_negated = self.is(at, Class::Without);
            at = self.skip(at + 1, &[Class::Article, Class::Its, Class::Not]);
            let bare = match self.part(at) {
                Some(Part::Label) if is_negated && !self.is_literal(at + 1) => {
                    Some(daemon_event::Field::Labels)
                }
                Some(Part::Assignee) if is_negated => Some(daemon_event::Field::Assignees),
                _ => None,
            };
            if let Some(field) = bare {
                self.push_mod(
                    draft,
                    Mod::Test(field, crate::filter::Op::Absent, Vec::new()),
                    start..at + 1,
                );
                return true;
            }
            let found = self.label_before_word(at).or_else(|| {
                (self.part(at) == Some(Part::Label))
                    .then(|| self.list(at + 1, Self::label_behind))
                    .flatten()
            });
            if let Some((labels, end)) = found {
                self.push_label(draft, labels, start..end, is_negated);
                return true;
            }
            return false;
        }
        // `bug-labeled issue`
        if self.is_literal(at)
            && self.has_verb(at + 1, Verb::Label)
            && self.has_form(at + 1, Forms::PAST)
            && self.unit(at).is_some_and(|unit| {
                self.unit(at + 1)
                    .is_some_and(|next| next.span.start == unit.span.end + 1)
            })
        {
            let labels = vec![self.value(at)];
            self.push_label(draft, labels, start..at + 2, is_negated);
            return true;
        }
        // `a PR labeled bug is merged`, `that is labeled bug`
        let that = self.skip(at, &[Class::That]);
        let be = self.skip(that, &[Class::Be, Class::Have, Class::Filler]);
        let not = self.skip(be, &[Class::Not]);
        let is_relative = that > at || self.is_reduced_relative(draft, at);
        if is_relative && self.has_verb(not, Verb::Label) && self.has_form(not, Forms::PAST) {
            let from = self.skip(not + 1, &[Class::With, Class::Article]);
            let list = self
                .label_before_word(from)
                .or_else(|| self.list(from, Self::label_behind));
            if let Some((labels, end)) = list {
                self.push_label(draft, labels, start..end, not > be);
                return true;
            }
        }
        false
    }

    pub(crate) fn push_label(
        &mut self,
        draft: &mut Draft,
        labels: Vec<String>,
        range: Range<usize>,
        is_negated: bool,
    ) {
        let all_of_them = !is_negated
            && labels.len() > 1
            && range.clone().any(|at| self.is(at, Class::And))
            && !range.clone().any(|at| self.is(at, Class::Or));
        if all_of_them {
            for label in labels {
                self.push_mod(draft, Mod::Label(vec![label]), range.clone());
            }
            return;
        }
        self.push_mod(draft, Mod::Label(labels), range);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= is_negated;
        }
    }
}
