//! Clauses that depend on the previous one: the same subject again, a pronoun for it, shared guards.

use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Mod, ModHit, NounHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// `or its status changes`, `or someone labels it`: a pronoun refers to the subject of the previous clause.
    pub(super) fn stand_in(&mut self, last: &Draft, draft: &mut Draft) {
        self.label_again(last, draft);
        let is_bare = draft.nouns.is_empty() && draft.foreign.is_none() && draft.raw.is_empty();
        let range = draft.range.clone();
        let pronoun = range.clone().find(|at| {
            matches!(self.text(*at), "it" | "its" | "them" | "one" | "they")
                && (self.is(*at, Class::Its) || self.text(*at) == "one")
        });
        let Some(pronoun) = pronoun.filter(|_| is_bare && !last.nouns.is_empty()) else {
            return;
        };
        self.take(pronoun..pronoun + 1);
        let n_verbs = draft.verbs.iter().filter(|hit| hit.at < pronoun).count();
        draft.nouns.clone_from(&last.nouns);
        let comments = draft
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::Comment));
        let is_place = |hit: &NounHit| {
            let can_hold =
                |noun: &Noun| matches!(noun, Noun::PullRequest | Noun::Issue | Noun::Discussion);
            hit.nouns.iter().any(can_hold)
        };
        if comments && draft.nouns.iter().any(is_place) {
            draft.nouns.retain(is_place);
        }
        let reacts = last
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::React));
        if let Some(hit) = draft.nouns.first_mut().filter(|_| reacts) {
            // `one` refers to the reaction that was added, not to the message.
            hit.nouns = &[Noun::Reaction];
            draft.nouns.truncate(1);
        }
        for hit in &mut draft.nouns {
            hit.n_verbs = n_verbs;
        }
        if draft.sources.is_empty() {
            draft.sources.clone_from(&last.sources);
        }
    }

    /// `created or changes status`, `opened, or is edited by …`, `posts a message or edits one`: the same subject,
    /// with a verb that has words of its own.
    pub(super) fn begins_predicate(&self, draft: &Draft, joint: usize, next: usize) -> bool {
        let verb = self.skip(next, &[Class::Be, Class::Get, Class::Filler]);
        let gives = draft.gains.is_some() || draft.loses.is_some();
        if gives && verb > next && self.is(next, Class::Be) {
            return self.has_form(verb, Forms::PAST);
        }
        let Some(last) = draft.verbs.last() else {
            return false;
        };
        if verb > next && self.is(next, Class::Be) {
            let is_narrowed = draft
                .mods
                .last()
                .is_some_and(|hit| hit.n_verbs == draft.verbs.len());
            return self.has_form(verb, Forms::PAST)
                && (is_narrowed || self.kind(joint) == Some(TokenKind::Mark));
        }
        let stands_for = |at: usize| matches!(self.text(at), "it" | "one" | "them");
        let is_deed = draft.agent.is_some() && (stands_for(next + 1) || stands_for(next + 2));
        let is_active = self.has_form(next, Forms::THIRD) && (!self.is_noun(next) || is_deed)
            || self.has_verb(next, Verb::Change) && draft.has_be;
        if !is_active {
            return false;
        }
        let object = self.skip(
            next + 1,
            &[
                Class::Article,
                Class::Its,
                Class::To,
                Class::Into,
                Class::On,
                Class::New,
            ],
        );
        let has_object = object > next + 1
            || self.is_noun(object)
            || self.part(object).is_some()
            || self.text(object) == "one";
        let turns_active = draft.has_be && last.forms.has(Forms::PAST) && draft.agent.is_none();
        let had_object = joint > last.range.end;
        has_object && (turns_active || draft.agent.is_some() && had_object)
    }

    /// `gets the bug label, or is created with it`.
    pub(super) fn label_again(&mut self, last: &Draft, draft: &mut Draft) {
        let range = draft.range.clone();
        let with = range.clone().find(|at| {
            self.is_any(*at, &[Class::With, Class::Without])
                && self.is(at + 1, Class::Its)
                && range.contains(&(at + 1))
                && self.part(at + 2).is_none()
        });
        let Some((with, labels)) = with.zip(labels(last)) else {
            return;
        };
        let n_mods = draft.mods.len();
        let after = self.at;
        self.take(with..with + 2);
        self.push_mod(draft, Mod::Label(labels), with..with + 2);
        self.at = after;
        if let Some(hit) = draft.mods.get_mut(n_mods) {
            hit.negated = self.is(with, Class::Without);
        }
    }

    /// `urgent or labelled bug`: what follows `or` and narrows as well is an alternative.
    pub(super) fn either(&mut self, draft: &mut Draft) {
        let n_mods = draft.mods.len();
        let is_plain = draft.mods.last().is_some_and(|hit| !hit.negated);
        if is_plain && self.try_modifier(draft) && draft.mods.len() == n_mods + 1 {
            draft.either.push(n_mods);
        }
    }
}

/// The labels that a clause adds or takes.
fn labels(draft: &Draft) -> Option<Vec<String>> {
    let of_part = draft.parts.iter().find(|hit| hit.part == Part::Label);
    let of_verb = || {
        let mut verbs = draft.verbs.iter();
        verbs.find(|hit| hit.verbs.contains(&Verb::Label))
    };
    of_part
        .map(|hit| hit.values.clone())
        .or_else(|| of_verb().map(|hit| hit.values.clone()))
        .filter(|labels| !labels.is_empty())
}

/// Applies a guard that a comma separates to the clauses before its own.
pub(super) fn share(drafts: &mut [Draft], draft: &Draft) {
    let shared = draft.mods.iter().filter(|hit| hit.is_shared);
    for hit in shared {
        for before in &mut *drafts {
            let n_verbs = before.verbs.len();
            before.mods.push(ModHit {
                n_verbs,
                ..hit.clone()
            });
        }
    }
}

impl Draft {
    /// Splits the clause into one for each of the modifiers that `or` joins.
    pub(super) fn alternatives(self) -> Vec<Self> {
        let Some(first) = self.either.first().map(|at| at - 1) else {
            return vec![self];
        };
        let n_either = self.either.len() + 1;
        let is_one_list = self
            .either
            .iter()
            .enumerate()
            .all(|(n, at)| *at == first + 1 + n);
        if !is_one_list {
            return vec![self];
        }
        let of = |kept: usize| {
            let mods = self.mods.iter().enumerate();
            let mods = mods
                .filter(|(at, _)| *at < first || *at >= first + n_either || *at == first + kept);
            Self {
                mods: mods.map(|(_, hit)| hit.clone()).collect(),
                either: Vec::new(),
                ..self.clone()
            }
        };
        (0..n_either).map(of).collect()
    }
}
