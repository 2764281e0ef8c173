//! Attributes of one or two words, and values.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Mod, NounHit, PartHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// `of high or critical severity`, `with level fatal`, `fatal-level`, `in production`.
    pub(crate) fn try_value(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = self.skip(
            start,
            &[
                Class::With,
                Class::Of,
                Class::In,
                Class::To,
                Class::At,
                Class::Its,
                Class::Article,
                Class::From,
                Class::For,
                Class::On,
                Class::As,
                Class::Into,
                Class::Under,
                Class::Outside,
                Class::That,
                Class::Whose,
                Class::Be,
            ],
        );
        // `a Sentry error is created`: what happens to it makes it a noun.
        if self.has_noun(at, Noun::ErrorEvent)
            && draft.nouns.is_empty()
            && self.is_any(at + 1, &[Class::Be, Class::Get])
        {
            return false;
        }
        let is_outside = self.is(start, Class::Outside);
        let is_relative = self.is(start, Class::That) && self.is(start + 1, Class::Be);
        let names_part = (at..at + 3).any(|at| self.part(at).is_some_and(is_attribute));
        if self.is_any(start, &[Class::That, Class::Be, Class::Under])
            && !is_relative
            && !names_part
        {
            return false;
        }
        let mut is_not = false;
        if is_relative && self.is(at, Class::Not) {
            is_not = true;
            at = self.skip(at + 1, &[Class::Article, Class::Of]);
        }
        if self.is(at, Class::Except) && at > start && self.value_word(at + 1).is_some() {
            is_not = true;
            at += 1;
        }
        if at == start && self.is(at, Class::Except) && self.value_word(at + 1).is_some() {
            at += 1;
        }
        if self.is(at, Class::Contains) && self.value_word(at + 1).is_some() {
            at += 1;
        }
        let mut part = None;
        if let Some(found) = self.part(at).filter(|part| is_attribute(*part)) {
            part = Some(found);
            at = self.skip(at + 1, &[Class::Of, Class::Be, Class::Article]);
            if self.is_any(start, &[Class::With, Class::Whose])
                && self.unit(at).is_some_and(|unit| unit.text == "set")
            {
                at += 1;
            }
            at = self.skip(at, &[Class::To, Class::Article]);
        }
        let is_negated =
            self.is_any(at, &[Class::Except, Class::Not, Class::But]) && part.is_some();
        if is_negated {
            at = self.skip(at + 1, &[Class::Article]);
        }
        let quoted_too = part.is_some();
        // `is cancelled`, `fixed or dismissed`: what happens, not a value.
        let is_coordinate = draft
            .last_connector
            .is_some_and(|(_, next)| self.skip(next, &[Class::Be, Class::Get]) == at)
            && !draft.verbs.is_empty();
        if self.is_verb(at)
            && !self.has_form_only(at, Forms::NOMINAL)
            && (draft.verbs.is_empty()
                && (draft.has_be || self.is_any(at.wrapping_sub(1), &[Class::Be, Class::Get]))
                || is_coordinate && self.has_form(at, Forms::PAST))
            && part.is_none()
            && !self.is_any(start, &[Class::With, Class::In, Class::Of])
        {
            return false;
        }
        let Some((values, mut end)) = self.list(at, |reader, at| {
            reader
                .value_word(at)
                .or_else(|| {
                    let is_name = quoted_too
                        && (reader.kind(at) == Some(TokenKind::Quoted) || reader.is_literal(at));
                    is_name.then(|| (reader.value(at), at + 1))
                })
                .or_else(|| {
                    let is_before_attribute = reader.is_literal(at)
                        // `the qa environment`: an unknown word is a value only before its attribute.
                        && reader
                            .part(at + 1)
                            .is_some_and(|part| matches!(part, Part::Environment | Part::Category));
                    is_before_attribute.then(|| (reader.value(at), at + 1))
                })
        }) else {
            return false;
        };
        if let Some(found) = self.part(end).filter(|part| is_attribute(*part)) {
            part = part.or(Some(found));
            end += 1;
        }
        // `sets its priority to urgent`: the value is what it becomes.
        let changes = draft.verbs.last().is_some_and(|hit| {
            hit.values.is_empty() && hit.verbs.contains(&Verb::Move) && hit.forms != Forms::NOMINAL
        });
        if changes
            && matches!(part, Some(Part::Priority | Part::Status))
            && (start..at).any(|at| self.is(at, Class::To))
        {
            self.push_part(
                draft,
                part.unwrap_or(Part::Status),
                values,
                start..end,
                is_negated,
            );
            return true;
        }
        if draft.gains.is_some() && part == Some(Part::Priority) {
            self.take(start..end);
            self.at = end;
            draft.parts.push(PartHit {
                part: Part::Priority,
                values,
                negated: false,
                range: start..end,
            });
            return true;
        }
        // A metric alert becomes critical, a priority is set to urgent: there the value is the verb's.
        let is_verbs_value =
            part.is_none() && draft.parts.iter().any(|part| is_attribute(part.part));
        if is_verbs_value {
            return false;
        }
        let is_excepted = is_negated || is_outside || is_not;
        self.push_mod(draft, Mod::Value(part, values), start..end);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= is_excepted;
        }
        true
    }

    /// Attributes of one or two words.
    pub(crate) fn try_attribute(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let rel = self.skip(at, &[Class::That]);
        let be = self.skip(rel, &[Class::Be, Class::Filler]);
        let not = self.skip(be, &[Class::Not, Class::Non]);
        let target = self.skip(not, &[Class::Article, Class::As]);
        let is_negated = not > be;
        let has_relative = rel > at;
        let place = if has_relative || is_negated && be == at {
            target
        } else {
            at
        };
        let is_release = self.near_noun(draft, place, Noun::Release);
        let unit_is = |class: Class| self.is(place, class);
        // `closed as "not planned"` quotes a reason, not a label.
        let is_quoted_reason = self.kind(at) == Some(TokenKind::Quoted)
            && self.is(at.wrapping_sub(1), Class::As)
            && draft
                .verbs
                .iter()
                .any(|hit| hit.verbs.contains(&Verb::Close));
        let is_completed = self.is(at.wrapping_sub(1), Class::As)
            && self.unit(at).is_some_and(|unit| unit.text == "completed")
            && draft
                .verbs
                .iter()
                .any(|hit| hit.verbs.contains(&Verb::Close));
        let kind = if is_quoted_reason || is_completed {
            Mod::Is(Field::StateReason, vec![self.value(at)])
        } else if unit_is(Class::Draft) && !self.is(at, Class::To) {
            Mod::Is(Field::Draft, vec!["true".to_owned()])
        } else if unit_is(Class::Open) && self.is_state_here(draft, place, has_relative) {
            Mod::State("open".to_owned())
        } else if self.has_verb(place, Verb::Close)
            && self.has_form(place, Forms::PAST)
            && (has_relative && place > rel || self.is_attributive(place))
        // `that is closed` and `a closed PR` are states; `is closed` is the event.
        {
            Mod::State("closed".to_owned())
        } else if unit_is(Class::Fork)
            && (self.is(at.wrapping_sub(1), Class::From)
                || self.is(place.wrapping_sub(2), Class::From)
                || has_relative
                || self.near_noun(draft, place, Noun::PullRequest)
                    && !self.has_verb(place, Verb::ForkIt))
        {
            Mod::Is(Field::Fork, vec!["true".to_owned()])
        } else if (unit_is(Class::Prerelease))
            // `a prerelease is published` has no other noun, so the release is implied.
            && (is_release || !draft.nouns.is_empty() || self.is_verb_ahead(place))
        {
            if draft.nouns.is_empty() && !self.has_noun(place + 1, Noun::Release) {
                self.imply(draft, Noun::Release, place);
            }
            Mod::Is(Field::Prerelease, vec!["true".to_owned()])
        } else if unit_is(Class::Stable) && is_release {
            Mod::Is(Field::Prerelease, vec!["false".to_owned()])
        } else if unit_is(Class::TopLevel) {
            Mod::TopLevel
        } else if unit_is(Class::Inline) {
            Mod::Inline
        } else if unit_is(Class::CurrentHead)
            || self.unit(place).is_some_and(|unit| unit.text == "head")
                && self.is(place + 1, Class::Of)
        {
            Mod::Is(Field::CurrentHead, vec!["true".to_owned()])
        } else if unit_is(Class::NotPlanned) {
            Mod::Is(Field::StateReason, vec!["not_planned".to_owned()])
        } else if unit_is(Class::Failure) {
            Mod::Conclusion(vec![
                // `a non-successful result` includes errors, while `fails` means failures and timeouts only.
                "failure".to_owned(),
                "timed_out".to_owned(),
                "error".to_owned(),
            ])
        } else if unit_is(Class::Success) {
            Mod::Conclusion(vec!["success".to_owned()])
        } else {
            return false;
        };
        let start = if has_relative || self.is(at, Class::As) {
            at
        } else {
            place
        };
        self.push_mod(draft, kind, start..place + 1);
        if has_relative
            && is_negated
            && let Some(hit) = draft.mods.last_mut()
        {
            hit.negated = true;
        }
        true
    }

    pub(crate) fn imply(&self, draft: &mut Draft, noun: Noun, at: usize) {
        let nouns: &'static [Noun] = match noun {
            Noun::Release => &[Noun::Release],
            _ => &[Noun::PullRequest],
        };
        let n_verbs = draft.verbs.len();
        draft.nouns.push(NounHit {
            nouns,
            at,
            group: draft.nouns.len(),
            plural: false,
            n_verbs,
        });
    }

    pub(crate) fn is_verb_ahead(&self, at: usize) -> bool {
        let next = self.skip(at + 1, &[Class::Be, Class::Get]);
        self.is_verb(next)
    }

    /// Whether `open` is a state here: before its noun or after `that is`, but not after a bare auxiliary.
    pub(crate) fn is_state_here(&self, draft: &Draft, at: usize, has_relative: bool) -> bool {
        has_relative
            || (!draft.has_be && !self.has_form(at + 1, Forms::PAST))
            || !draft.verbs.is_empty() && !self.is(at.wrapping_sub(1), Class::Be)
    }

    /// Whether a participle precedes its noun: `a closed PR`.
    pub(crate) fn is_attributive(&self, at: usize) -> bool {
        let mut next = at + 1;
        while self.unit(next).is_some_and(|unit| {
            unit.sense.is_some_and(|sense| sense.source.is_some())
                || unit.is(Class::Draft)
                || unit.is_mark(",")
        }) {
            next += 1;
        }
        self.is_noun(next)
            && !self.is(at.wrapping_sub(1), Class::Be)
            && !self.is(at.wrapping_sub(1), Class::Get)
            && (self.is(at.wrapping_sub(1), Class::Article)
                || self.is(at.wrapping_sub(1), Class::Filler))
    }

    pub(crate) fn near_noun(&self, draft: &Draft, at: usize, noun: Noun) -> bool {
        draft.nouns.iter().any(|hit| hit.nouns.contains(&noun))
            || (at + 1..at + 7).any(|next| self.has_noun(next, noun))
    }
}

fn is_attribute(part: Part) -> bool {
    matches!(
        part,
        Part::Priority
            | Part::Severity
            | Part::Level
            | Part::Environment
            | Part::Health
            | Part::Category
            | Part::Status
            | Part::Conclusion
    )
}
