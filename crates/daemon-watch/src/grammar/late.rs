//! Complements after the object of their verb: `moves an issue to Done`.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use crate::grammar::draft::{Draft, Mod};
use crate::grammar::reader::Reader;
use crate::lexicon::{self, Class, Forms, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads a state, a user or a value that belongs to a verb before its object.
    pub(crate) fn try_late(&mut self, draft: &mut Draft) -> bool {
        self.try_late_state(draft)
            || self.try_created_in(draft)
            || self.try_state_now(draft)
            || self.try_late_assignee(draft)
            || self.try_mark_as(draft)
            || self.try_late_label(draft)
            || self.try_take_off(draft)
    }

    fn try_late_state(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(hit) = draft.verbs.last() else {
            return false;
        };
        let text = self.unit(hit.at).map_or("", |unit| unit.text.as_str());
        let carries = hit.verbs.contains(&Verb::Move)
            || ["mark", "send", "put", "push", "sent", "place", "pull"]
                .iter()
                .any(|verb| text.starts_with(verb));
        let has_state = draft.nouns.iter().any(|noun| {
            noun.at > hit.at
                && noun
                    .nouns
                    .iter()
                    .any(|noun| matches!(noun, Noun::Issue | Noun::Project | Noun::Initiative))
        });
        let part = draft.parts.last().filter(|part| part.range.start > hit.at);
        let of_part = part.is_some_and(|part| {
            part.values.is_empty() && matches!(part.part, Part::Status | Part::Priority)
        });
        if !carries || !hit.values.is_empty() || !(has_state || of_part) {
            return false;
        }
        let led = self.skip(at, &[Class::To, Class::Into, Class::As, Class::Article]);
        let from = if self.state(led).is_some() {
            led
        } else {
            self.skip(led, &[Class::In])
        };
        if from == at && !text.starts_with("mark") {
            return false;
        }
        let is_negated = self.is(from, Class::Except);
        let from = self.skip(from + usize::from(is_negated), &[Class::Article]);
        let wants_value = part.is_some_and(|part| part.part == Part::Priority);
        let list = self.list(from, |reader, at| {
            if wants_value {
                reader.value_word(at)
            } else {
                reader.state(at)
            }
        });
        let Some((values, end)) = list else {
            return false;
        };
        self.take(at..end);
        self.at = end;
        if of_part && let Some(part) = draft.parts.last_mut() {
            part.values.clone_from(&values);
            part.negated = is_negated;
        }
        if let Some(hit) = draft.verbs.last_mut() {
            hit.negated_values = is_negated;
            hit.range.end = end;
            hit.verbs = vec![Verb::Move];
            if !wants_value {
                hit.values = values;
            }
        }
        true
    }

    /// `labels an issue bug`, `tags it with anything but "wip"`.
    fn try_late_label(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let waits = draft.verbs.last().is_some_and(|hit| {
            hit.values.is_empty()
                && (hit.verbs.contains(&Verb::Label) || hit.verbs.contains(&Verb::Unlabel))
                && draft.agent.is_some()
                && draft
                    .nouns
                    .last()
                    .is_some_and(|noun| noun.at > hit.at && noun.at + 1 == at)
        });
        if !waits {
            return false;
        }
        let mut from = self.skip(at, &[Class::With, Class::As, Class::Article]);
        let is_negated = self.is(from, Class::Except);
        from = self.skip(from + usize::from(is_negated), &[Class::Article]);
        let list = self
            .label_before_word(from)
            .or_else(|| self.list(from, Self::label_behind));
        let Some((values, end)) = list else {
            return false;
        };
        self.take(at..end);
        self.at = end;
        if let Some(hit) = draft.verbs.last_mut() {
            hit.values = values;
            hit.negated_values = is_negated;
            hit.range.end = end;
        }
        true
    }

    /// `creates a Linear issue in Triage`, `an issue in Backlog`: its current state.
    fn try_created_in(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let creates = draft
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::Create));
        let in_linear = draft
            .sources
            .iter()
            .any(|(source, _)| *source == Source::Linear);
        let is_beside = draft.verbs.is_empty()
            && draft.parts.is_empty()
            && self.is(at, Class::In)
            && draft
                .nouns
                .last()
                .is_some_and(|hit| hit.at + 1 == at && hit.nouns.contains(&Noun::Issue));
        let leads = self.is_any(at, &[Class::In, Class::Into, Class::With]);
        if !in_linear || !leads || !(creates || is_beside) {
            return false;
        }
        let mut from = self.skip(at + 1, &[Class::Article]);
        let says_state = self.part(from) == Some(Part::Status);
        from += usize::from(says_state);
        let list = self.list(from, |reader, at| {
            let is_known = reader.kind(at) != Some(TokenKind::Quoted)
                && reader.known_state(at).is_some()
                || reader.part(at + 1) == Some(Part::Status)
                || says_state;
            reader.state(at).filter(|_| is_known)
        });
        let Some((values, end)) = list else {
            return false;
        };
        self.push_mod(draft, Mod::Is(Field::State, values), at..end);
        true
    }

    /// `is now In Progress`, `is Done`: the state after the event.
    fn try_state_now(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let of_issue = draft.verbs.is_empty()
            && draft.nouns.last().is_some_and(|hit| {
                let is_moved = |noun: &Noun| matches!(noun, Noun::Issue | Noun::Project);
                hit.nouns.iter().any(is_moved)
            })
            && draft
                .sources
                .iter()
                .any(|(source, _)| *source == Source::Linear);
        if !of_issue || !self.is(self.before_filler(at), Class::Be) {
            return false;
        }
        let found = self.known_state(at);
        // `is completed` is a verb as well, so a single word that can be a verb is not read as a state.
        let Some((state, end)) = found.filter(|(_, end)| *end > at + 1 || !self.is_verb(at)) else {
            return false;
        };
        self.push_verb(draft, vec![Verb::Move], at..end);
        if let Some(hit) = draft.verbs.last_mut() {
            hit.values = vec![state];
        }
        true
    }

    /// `assigns an issue to Kit`.
    fn try_late_assignee(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let waits = draft
            .verbs
            .last()
            .is_some_and(|hit| hit.values.is_empty() && hit.verbs.contains(&Verb::Assign));
        if !waits || !self.is_any(at, &[Class::To, Class::From]) {
            return false;
        }
        let Some(mut hit) = draft.verbs.pop() else {
            return false;
        };
        let range = hit.range.clone();
        let free = self.free.clone();
        self.claim_person(&mut hit, at + 1);
        let claims = self.at > at;
        if claims {
            // Other rules read the object between the verb and the user.
            self.free[..at].copy_from_slice(&free[..at]);
            hit.range = range.start..self.at;
        }
        draft.verbs.push(hit);
        claims
    }

    /// A state by one of its usual names.
    pub(crate) fn known_state(&self, at: usize) -> Option<(String, usize)> {
        self.state(at)
            .filter(|(state, _)| lexicon::WORKFLOW_STATES.contains(&state.to_lowercase().as_str()))
    }

    /// `marks a milestone as closed`: the new state is the event.
    fn try_mark_as(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let marks = draft.verbs.last().is_some_and(|hit| {
            hit.values.is_empty()
                && self
                    .unit(hit.at)
                    .is_some_and(|unit| unit.text.starts_with("mark"))
        });
        let verb = at + 1;
        if !marks || !self.is(at, Class::As) || !self.has_form(verb, Forms::PAST) {
            return false;
        }
        let verbs = self.sense(verb).map(|sense| sense.verbs.clone());
        if let (Some(hit), Some(verbs)) = (draft.verbs.last_mut(), verbs) {
            hit.verbs = verbs;
            hit.forms = Forms::PAST;
        }
        self.take(at..verb + 1);
        self.at = verb + 1;
        true
    }

    /// `takes the bug label off an issue`, `takes a reaction back`.
    fn try_take_off(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        if !matches!(text(at), "take" | "takes" | "took" | "taken" | "taking") {
            return false;
        }
        let end = self.boundary(at + 1);
        let particle = (at + 1..end).find(|next| matches!(text(*next), "off" | "away" | "back"));
        let Some(particle) = particle else {
            return false;
        };
        self.take(particle..particle + 1);
        self.push_verb(draft, vec![Verb::Remove, Verb::Unreact], at..at + 1);
        true
    }
}
