//! Values, users and states that belong to a verb.

use crate::grammar::draft::{Draft, VerbHit, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Part};
use daemon_event::vocabulary::{Noun, Verb};

impl Reader<'_> {
    /// Reads the words after a verb that belong to it: labels, states, strings, names.
    pub(crate) fn verb_values(&mut self, draft: &mut Draft, hit: &mut VerbHit) {
        if self.marks_state(draft, hit) {
            return;
        }
        let has = |verb: Verb| hit.verbs.contains(&verb);
        let marks = self
            .unit(hit.at)
            .is_some_and(|unit| unit.text.starts_with("mark"));
        let in_linear = draft
            .sources
            .iter()
            .any(|(source, _)| *source == daemon_event::Source::Linear);
        if has(Verb::Label) && marks && in_linear {
            let from = self.skip(self.at, &[Class::As, Class::Article]);
            let list = self.list(from, |reader, at| {
                // After `mark as`, an unknown word is more likely a label than a state.
                reader.state(at).filter(|(value, _)| {
                    crate::lexicon::WORKFLOW_STATES.contains(&value.to_lowercase().as_str())
                })
            });
            if let Some((values, end)) = list {
                hit.verbs = vec![Verb::Move];
                self.claim(hit, values, end);
                return;
            }
        }
        if (has(Verb::Unassign)) && in_linear {
            // Linear reports a former assignee by id only, so a name cannot be compared.
            return;
        }
        if has(Verb::Label) || has(Verb::Unlabel) {
            let mut from = self.skip(
                self.at,
                &[
                    Class::With,
                    Class::As,
                    Class::Article,
                    Class::Anything,
                    Class::Its,
                ],
            );
            if self.is_any(from, &[Class::Except, Class::Not]) {
                hit.negated_values = true;
                from = self.skip(from + 1, &[Class::Article]);
            }
            let list = self
                .label_before_word(from)
                .or_else(|| self.list(from, Self::label));
            match list {
                Some((values, end)) => self.claim(hit, values, end),
                None => hit.negated_values = false,
            }
            return;
        }
        if has(Verb::Assign) || has(Verb::Unassign) {
            if !self.is_any(self.at, &[Class::To, Class::From]) {
                return;
            }
            self.claim_person(hit, self.at + 1);
            return;
        }
        if has(Verb::Request) || has(Verb::RequestReview) {
            if self.is(self.at, Class::From) {
                let from = self.skip(self.at + 1, &[Class::Article]);
                // `from the platform team` is read as a team, not as a user of that name.
                if self.part(from + 1) == Some(Part::Team) {
                    return;
                }
                let names = self.list(from, |reader, at| {
                    reader
                        .person_name(at)
                        .filter(|name| !name.contains('/'))
                        .map(|name| (name, at + 1))
                });
                if let Some((values, end)) = names {
                    self.claim(hit, values, end);
                }
            }
            return;
        }
        if has(Verb::Move) {
            if self.unit(self.at).is_some_and(|unit| unit.text == "back") {
                self.take(self.at..self.at + 1);
                self.at += 1;
            }
            // No payload contains the previous state, so `from Todo` is left over.
            let mut before = self.at..self.at;
            if self.is(self.at, Class::From)
                && let Some((_, end)) = self.state(self.at + 1)
            {
                before = self.at..end;
                self.at = end;
            }
            let mut from = self.skip(
                self.at,
                &[Class::To, Class::Into, Class::Article, Class::As],
            );
            if self.is(from, Class::In) && self.state(from).is_none() {
                from = self.skip(from, &[Class::In, Class::Article]);
            }
            while self.sense(from).is_some_and(|sense| sense.source.is_some()) {
                let source = self.sense(from).and_then(|sense| sense.source);
                draft.sources.extend(source.map(|source| (source, from)));
                from += 1;
            }
            if self.is(from, Class::Except) {
                hit.negated_values = true;
                from = self.skip(from + 1, &[Class::Article]);
            }
            let concerns_issue = draft.nouns.iter().any(|noun| {
                noun.nouns
                    .iter()
                    .any(|noun| matches!(noun, Noun::Issue | Noun::Project | Noun::Initiative))
            }) || !draft.parts.is_empty();
            let has_base = draft
                .nouns
                .iter()
                .any(|noun| noun.nouns.contains(&Noun::PullRequest));
            // A pull request moves between branches, which modifiers read.
            if !concerns_issue || has_base {
                return;
            }
            let list = self.list(from, |reader, at| {
                reader.value_word(at).or_else(|| reader.state(at))
            });
            if let Some((values, end)) = list {
                self.take(self.at..end);
                self.claim(hit, values, end);
                self.release(before);
            }
        }
    }

    /// `assigned to Kit`, `to somebody`, `to anybody except Kit`.
    pub(crate) fn claim_person(&mut self, hit: &mut VerbHit, at: usize) {
        if let Some((values, end)) = self.list(at, Self::person) {
            self.claim(hit, values, end);
            return;
        }
        match self.who(at) {
            // `assigned to somebody` has no value: every assignment has an assignee.
            Some((Who::Anyone, end)) => self.claim(hit, Vec::new(), end),
            Some((Who::Not(inner), end)) => {
                if let Who::Named(names) = *inner {
                    hit.negated_values = true;
                    self.claim(hit, names, end);
                }
            }
            Some(_) | None => {}
        }
    }

    /// `is marked as done`: a state, although the words could be a label.
    pub(super) fn marks_state(&mut self, draft: &Draft, hit: &mut VerbHit) -> bool {
        let is_issue = draft
            .nouns
            .iter()
            .any(|noun| noun.nouns.contains(&Noun::Issue));
        let marks = self.text(hit.at).starts_with("mark") && self.is(self.at, Class::As);
        let state = self.known_state(self.at + 1);
        let Some((state, end)) = state.filter(|_| is_issue && marks) else {
            return false;
        };
        hit.verbs = vec![Verb::Move];
        self.claim(hit, vec![state], end);
        true
    }

    pub(crate) fn claim(&mut self, hit: &mut VerbHit, values: Vec<String>, end: usize) {
        self.take(hit.at..end);
        self.at = end;
        hit.values = values;
        hit.range = hit.at..end;
    }
}
