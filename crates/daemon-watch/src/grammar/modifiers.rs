//! Modifiers of an event: branches, labels, strings, values, channels, numbers, states.

use std::ops::Range;

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use crate::filter::Mark;
use crate::grammar::draft::{Draft, Mod, ModHit};
use crate::grammar::literals::NOT_A_BRANCH;
use crate::grammar::reader::Reader;
use crate::lexicon::Class;
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads the modifier at the current position.
    pub(crate) fn try_modifier(&mut self, draft: &mut Draft) -> bool {
        self.try_text(draft)
            || self.try_label(draft)
            || self.try_relative_person(draft)
            || self.try_by(draft)
            || self.try_branch(draft)
            || (self.is_any(self.at, &[Class::Matching, Class::Except])
                && self.try_name_behind(draft))
            || self.try_name_after(draft)
            || self.try_files(draft)
            || self.try_value(draft)
            || self.try_attribute(draft)
            || self.try_reference(draft)
            || self.try_name(draft)
    }

    pub(crate) fn push_mod(&mut self, draft: &mut Draft, kind: Mod, range: Range<usize>) {
        let negation = self.negation_before(range.start);
        let is_negated = negation.is_some() || self.is(range.start, Class::Except);
        let range = negation.unwrap_or(range.start)..range.end;
        self.take(range.clone());
        self.at = range.end;
        let (kind, is_negated) = match kind {
            // A comment is either on the diff or in the conversation, so the negation of one is the other.
            Mod::Inline if is_negated => (Mod::TopLevel, false),
            Mod::TopLevel if is_negated => (Mod::Inline, false),
            kind => (kind, is_negated),
        };
        draft.mods.push(ModHit {
            kind,
            negated: is_negated,
            range,
            mark: Mark::Exact,
            n_verbs: draft.verbs.len(),
            of: None,
            is_shared: false,
        });
    }

    pub(crate) fn has_noun(&self, at: usize, noun: Noun) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.nouns.contains(&noun))
    }

    /// `into main`, `against release/*`, `on the default branch`, `the master branch`.
    pub(crate) fn try_branch(&mut self, draft: &mut Draft) -> bool {
        const LEADS: &[Class] = &[
            Class::To,
            Class::Into,
            Class::Against,
            Class::On,
            Class::In,
            Class::From,
            Class::For,
            Class::Of,
        ];
        let start = self.at;
        let is_except = self.is(start, Class::Except);
        let has_lead = self.is_any(start, LEADS) || is_except;
        let is_strong = self.is_any(start, &[Class::To, Class::Into, Class::Against]);
        let mut at = if has_lead { start + 1 } else { start };
        at = self.skip(at, &[Class::Article, Class::Its]);
        let mut leads_branch = false;
        if self.has_noun(at, Noun::Branch)
            && (self.is(at + 1, Class::Matching) || self.branch(at + 1).is_some())
        {
            leads_branch = true;
            at += 1;
        }
        if leads_branch && self.is(at, Class::Matching) {
            at += 1;
        }
        if self.is(at, Class::DefaultBranch) {
            let end = at + 1 + usize::from(self.has_noun(at + 1, Noun::Branch));
            self.push_mod(draft, Mod::DefaultBranch, start..end);
            return true;
        }
        if self.is_repository(draft, at) {
            return false;
        }
        let Some((values, end)) = self.list(at, |reader, at| {
            let is_word = is_strong
                && reader.kind(at) == Some(TokenKind::Word)
                && reader.sense(at).is_none()
                && !NOT_A_BRANCH.contains(&reader.written(at))
                && (!reader.is_noun(at + 1) || reader.has_noun(at + 1, Noun::Branch));
            reader
                .branch(at)
                .or_else(|| is_word.then(|| (reader.value(at), at + 1)))
        }) else {
            return false;
        };
        // `in the "Release" workflow`: words before another noun are its name.
        let names_other = self.sense(end).is_some_and(|sense| {
            sense.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::Workflow
                        | Noun::Job
                        | Noun::Check
                        | Noun::CheckRun
                        | Noun::Milestone
                        | Noun::Project
                )
            })
        });
        if names_other && !self.is_any(start, &[Class::Against, Class::Into]) {
            return false;
        }
        let end_is_branch = self.has_noun(end - 1, Noun::Branch);
        let n_known = self.value(at).to_lowercase();
        let is_known = crate::lexicon::KNOWN_BRANCHES.contains(&n_known.as_str());
        let is_code = self.kind(at) == Some(TokenKind::Code);
        let moves_state = draft.verbs.last().is_some_and(|verb| {
            verb.verbs.contains(&Verb::Move)
                && !verb.verbs.contains(&Verb::Merge)
                && !verb.verbs.contains(&Verb::Push)
                && draft.nouns.iter().any(|noun| {
                    noun.nouns
                        .iter()
                        .any(|noun| matches!(noun, Noun::Issue | Noun::Project))
                })
        });
        let goes_to_branch = draft.verbs.iter().any(|verb| {
            [Verb::Push, Verb::Merge, Verb::ForcePush]
                .iter()
                .any(|wanted| verb.verbs.contains(wanted))
        }) || draft.nouns.iter().any(|noun| {
            noun.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::PullRequest | Noun::Commit | Noun::Branch))
        });
        let is_branch = leads_branch
            || end_is_branch
            || self.is(start, Class::Against)
            || (is_except && (is_known || goes_to_branch && !self.is_path(at)))
            || (is_strong && goes_to_branch && !moves_state && !self.is_any(end, &[Class::Under]))
            || (has_lead
                && is_known
                && self.is_any(
                    start,
                    &[
                        Class::On,
                        Class::In,
                        Class::To,
                        Class::Into,
                        Class::From,
                        Class::For,
                    ],
                )
                && !moves_state)
            || (!has_lead
                && is_known
                && (self.has_verb(end, Verb::ForcePush) || self.next_is_push(end)))
            || (self.is(start, Class::In)
                && goes_to_branch
                && draft
                    .verbs
                    .iter()
                    .any(|verb| verb.verbs.contains(&Verb::Merge))
                && self.kind(at) == Some(TokenKind::Quoted));
        if !is_branch || (is_code && self.is(start, Class::On) && !end_is_branch && !goes_to_branch)
        {
            return false;
        }
        let deploys = draft
            .nouns
            .iter()
            .any(|noun| noun.nouns.contains(&Noun::Deployment));
        let kind = if deploys && !leads_branch && !end_is_branch {
            Mod::Is(Field::Environment, values)
        } else {
            Mod::Branch(values)
        };
        self.push_mod(draft, kind, start..end);
        true
    }

    /// Whether a passive push follows: `is pushed`, `is force pushed`, `receives a push`, `is updated`.
    pub(crate) fn next_is_push(&self, from: usize) -> bool {
        let at = self.skip(from, &[Class::Be, Class::Get, Class::Article, Class::New]);
        at > from
            && (self.has_verb(at, Verb::Push)
                || self.has_verb(at, Verb::ForcePush)
                || self.has_noun(at, Noun::Commit))
    }
}
