//! Words that are names.

use crate::grammar::draft::Draft;
use crate::grammar::reader::Reader;
use crate::lexicon::Class;
use crate::normalise::TokenKind;
use daemon_event::vocabulary::{Noun, Verb};

impl Reader<'_> {
    pub(crate) fn before_article(&self, at: usize) -> usize {
        let mut before = at.wrapping_sub(1);
        while self.is(before, Class::Article) {
            before = before.wrapping_sub(1);
        }
        before
    }

    pub(crate) fn is_emoji(&self, at: usize) -> bool {
        self.kind(at) == Some(TokenKind::Code) && self.written(at).starts_with(':')
    }

    /// `the Pressure test workflow`: capitalised words before the noun they name.
    pub(crate) fn capital_words(&self, from: usize) -> Option<usize> {
        const MOST_WORDS: usize = 5;
        let named = [
            Noun::Workflow,
            Noun::Check,
            Noun::CheckRun,
            Noun::Job,
            Noun::Milestone,
        ];
        let is_named = |at: usize| named.into_iter().any(|noun| self.has_noun(at, noun));
        if from == 0 || !self.written(from).starts_with(char::is_uppercase) {
            return None;
        }
        let is_definite = self
            .unit(from - 1)
            .is_some_and(|unit| matches!(unit.text.as_str(), "the" | "our"));
        let may_name = |at: usize| {
            let Some(sense) = self.sense(at) else {
                return true;
            };
            if sense.source.is_some() || self.is_any(at, &[Class::Be, Class::Get, Class::Lead]) {
                return false;
            }
            let is_upper = self.written(at).starts_with(char::is_uppercase);
            let is_plain = sense.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::Ci | Noun::Release | Noun::Deployment | Noun::Check | Noun::File
                )
            });
            is_definite && (is_upper || at > from && !sense.plural || self.is(at, Class::And))
                || at > from && is_plain
        };
        let mut at = from;
        while at < from + MOST_WORDS
            && (self.kind(at) == Some(TokenKind::Word)
                || at > from && self.kind(at) == Some(TokenKind::Number))
            && (may_name(at) || is_named(at) && is_named(at + 1))
            && !(is_named(at) && at > from)
        {
            at += 1;
        }
        let is_plural = self.sense(at).is_some_and(|sense| sense.plural);
        let lists = (from..at).any(|at| self.is_any(at, &[Class::And, Class::Or]));
        let chooses = (from..at).any(|at| self.is(at, Class::Or));
        (at > from + 1 && is_named(at) && !chooses && !(lists && is_plural)).then_some(at)
    }

    /// Whether a word before a noun names it rather than describes it: `the lint check`, not `a slow check`.
    pub(crate) fn is_definite(&self, at: usize) -> bool {
        const QUALITIES: &[&str] = &[
            "same",
            "other",
            "required",
            "failing",
            "first",
            "last",
            "next",
            "final",
            "whole",
            "entire",
            "previous",
            "only",
            "relevant",
            "corresponding",
            "flaky",
            "slow",
            "latest",
            "original",
        ];
        let written = self.written(at);
        if QUALITIES.contains(&written) {
            return false;
        }
        self.kind(at) != Some(TokenKind::Word)
            || written.contains(['-', '_'])
            || written.starts_with(char::is_uppercase)
            || self
                .unit(at.wrapping_sub(1))
                .is_some_and(|unit| unit.text == "the")
    }

    /// `the Deploy workflow`: a word with a sense, written as a name before what it names.
    pub(crate) fn is_capital_name(&self, at: usize) -> bool {
        let named = [Noun::Workflow, Noun::Check, Noun::CheckRun, Noun::Job];
        at > 0
            && self.kind(at) == Some(TokenKind::Word)
            && self
                .sense(at)
                .is_some_and(|sense| sense.source.is_none() && !sense.is(Class::Article))
            && self.written(at).starts_with(char::is_uppercase)
            && !self.has_noun(at, Noun::PullRequest)
            && named.into_iter().any(|noun| self.has_noun(at + 1, noun))
    }

    pub(crate) fn is_team(&self, at: usize) -> bool {
        self.kind(at) == Some(TokenKind::User) && self.value(at).contains('/')
    }

    pub(crate) fn request_ahead(&self, at: usize) -> bool {
        (at..at + 4).any(|next| {
            self.has_verb(next, Verb::Request) || self.has_verb(next, Verb::RequestReview)
        })
    }

    /// `in fernworks/kettle`: one slash, no glob, no extension, where no file is meant.
    pub(crate) fn is_repository(&self, draft: &Draft, at: usize) -> bool {
        let value = self.value(at);
        let is_shape = value.matches('/').count() == 1
            && !value.contains(['*', '{'])
            && !value.starts_with('/')
            && !value.ends_with('/')
            && !value
                .split('/')
                .next_back()
                .is_some_and(|last| last.contains('.'));
        let is_place = self.is_any(
            at.wrapping_sub(1),
            &[Class::In, Class::Of, Class::On, Class::For],
        );
        let first = value.split('/').next().unwrap_or_default().to_owned();
        let is_folder = matches!(
            first.as_str(),
            "src"
                | "docs"
                | "doc"
                | "lib"
                | "tests"
                | "test"
                | "crates"
                | "packages"
                | "apps"
                | "web"
                | ".github"
                | "scripts"
                | "app"
                | "bin"
                | "cmd"
                | "pkg"
                | "internal"
                | "release"
                | "releases"
                | "feature"
                | "features"
                | "hotfix"
                | "fix"
                | "bugfix"
                | "support"
        ) || crate::lexicon::KNOWN_BRANCHES.contains(&first.as_str());
        let on_files = draft
            .nouns
            .iter()
            .any(|noun| noun.nouns.contains(&Noun::File))
            || draft.verbs.is_empty() && draft.nouns.is_empty();
        is_shape && is_place && !is_folder && !on_files && self.kind(at) == Some(TokenKind::Code)
    }
}
