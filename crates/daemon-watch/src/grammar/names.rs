//! Literals that name the noun next to them.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use crate::filter::Op;
use crate::grammar::draft::{Draft, Mod, UserRole, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// `#41`, `#incidents`.
    pub(crate) fn try_reference(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        match self.kind(at) {
            Some(TokenKind::Reference) => {
                let number = self.value(at);
                self.push_mod(draft, Mod::Is(Field::Number, vec![number]), at..at + 1);
                true
            }
            Some(TokenKind::Word)
                if self.is(at, Class::Outside)
                    && self.kind(self.skip(at + 1, &[Class::Article]))
                        == Some(TokenKind::Channel) =>
            {
                let from = self.skip(at + 1, &[Class::Article]);
                let list = self.list(from, |reader, at| {
                    (reader.kind(at) == Some(TokenKind::Channel))
                        .then(|| (reader.value(at), at + 1))
                });
                let Some((channels, end)) = list else {
                    return false;
                };
                self.push_mod(draft, Mod::Is(Field::Channel, channels), at..end);
                if let Some(hit) = draft.mods.last_mut() {
                    hit.negated = true;
                }
                true
            }
            Some(TokenKind::Channel) => {
                let list = self.list(at, |reader, at| {
                    (reader.kind(at) == Some(TokenKind::Channel))
                        .then(|| (reader.value(at), at + 1))
                });
                let Some((channels, end)) = list else {
                    return false;
                };
                self.push_mod(draft, Mod::Is(Field::Channel, channels), at..end);
                true
            }
            Some(_) | None => false,
        }
    }

    /// A literal before or after the noun it names: `the "Nightly" workflow`, `the bug label`.
    pub(crate) fn try_name(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        if self.is(start, Class::Matching) && self.try_name_behind(draft) {
            return true;
        }
        let emoji = self.list(
            self.skip(start, &[Class::With, Class::Article]),
            |reader, at| {
                let name = || reader.value(at).trim_matches(':').to_owned();
                reader.is_emoji(at).then(|| (name(), at + 1))
            },
        );
        if let Some((names, end)) = emoji {
            self.push_mod(draft, Mod::Is(Field::Reaction, names), start..end);
            return true;
        }
        // `a bot comment`, `human messages`
        let is_kind = [Class::Bot, Class::Human]
            .into_iter()
            .any(|class| self.is(start, class));
        let writes = [
            Noun::Message,
            Noun::Comment,
            Noun::PullRequest,
            Noun::Issue,
            Noun::Reply,
        ];
        if is_kind
            && writes
                .into_iter()
                .any(|noun| self.has_noun(start + 1, noun))
            && let Some((who, end)) = self.who(start)
        {
            self.push_person(draft, who, UserRole::Author, start..end);
            return true;
        }
        if self.try_place(draft) {
            return true;
        }
        let Some((values, end)) = self.list(start, |reader, at| {
            if let Some(end) = reader.capital_words(at) {
                return Some((reader.words(at, end), end));
            }
            let is_label_list = reader.is_literal(at)
                || reader.sense(at).is_some_and(|sense| sense.is_bot)
                || reader.is_capital_name(at);
            is_label_list.then(|| (reader.value(at), at + 1))
        }) else {
            return false;
        };
        // `the "Kiln down" Sentry alert`: the source may be between a name and its noun.
        let values_end = end;
        let mut end = end;
        while self.sense(end).is_some_and(|sense| sense.source.is_some()) {
            end += 1;
        }
        let is_named = |noun: Noun| self.has_noun(end, noun);
        let end_of_name = values_end;
        let is_bot = self.sense(start).is_some_and(|sense| sense.is_bot)
            || self.kind(start) == Some(TokenKind::User);
        let takes_author = [
            Noun::PullRequest,
            Noun::Issue,
            Noun::Comment,
            Noun::Review,
            Noun::Commit,
        ]
        .into_iter()
        .any(is_named)
            || self
                .unit(end)
                .is_some_and(|unit| unit.is(Class::Possessive));
        if takes_author
            && (is_bot
                || self
                    .unit(end)
                    .is_some_and(|unit| unit.is(Class::Possessive))
                    && self.person_name(start).is_some())
        {
            let end = end + usize::from(self.is(end, Class::Possessive));
            if self.has_noun(end, Noun::Review) && self.request_ahead(end) {
                // Whose review is asked for.
                self.push_mod(draft, Mod::Target(values), start..end);
                return true;
            }
            let who = Who::Named(values);
            self.push_person(draft, who, UserRole::Author, start..end);
            return true;
        }
        let kind = if self.part(end) == Some(Part::Team)
            && draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.contains(&Noun::Issue) || hit.nouns.contains(&Noun::Project))
            // GitHub's issues have no team, and its teams review.
            && !draft
                .sources
                .iter()
                .any(|(source, _)| *source == daemon_event::Source::Github)
            && self.is_any(
                self.before_article(start),
                &[
                    Class::In,
                    Class::On,
                    Class::For,
                    Class::To,
                    Class::From,
                    Class::Of,
                ],
            ) {
            self.push_mod(draft, Mod::Is(Field::Team, values), start..end + 1);
            return true;
        } else if [
            Noun::Workflow,
            Noun::Check,
            Noun::CheckRun,
            Noun::Status,
            Noun::Job,
            Noun::Ci,
            Noun::CheckSuite,
        ]
        .into_iter()
        .any(is_named)
            || self.part(end) == Some(Part::Status)
                && [Verb::Fail, Verb::Succeed]
                    .iter()
                    .any(|verb| (end + 1..end + 4).any(|at| self.has_verb(at, *verb)))
        {
            // `a slow check` describes the check; `the lint check` names it.
            if !self.is_definite(start) {
                return false;
            }
            Mod::Name(named_run(self, end), values)
        } else if is_named(Noun::Discussion)
            && (self.kind(start) == Some(TokenKind::Quoted)
                || self.written(start).starts_with(char::is_uppercase))
            || self.names_category(draft, start)
        {
            Mod::Is(Field::Category, values)
        } else if is_named(Noun::Deployment) {
            if !self.is_definite(start) {
                return false;
            }
            Mod::Is(Field::Environment, values)
        } else if is_named(Noun::Channel) {
            Mod::Is(Field::Channel, values)
        } else if is_named(Noun::Tag) && self.is_path(start) {
            Mod::Test(Field::Tag, Op::Matches, values)
        } else if self.has_noun(end, Noun::Repository) || self.is_repository(draft, start) {
            Mod::Is(Field::Repo, values)
        } else if self.part(end) == Some(Part::Team) && self.kind(start) != Some(TokenKind::Quoted)
            || self.is_team(start)
        {
            let end = end + usize::from(self.part(end) == Some(Part::Team));
            if draft
                .verbs
                .iter()
                .any(|verb| verb.verbs.contains(&Verb::Request))
                || self.request_ahead(end)
                || draft
                    .nouns
                    .iter()
                    .any(|noun| noun.nouns.contains(&Noun::Review))
            {
                self.push_mod(draft, Mod::Team(values), start..end);
                return true;
            }
            return false;
        } else if [Noun::Reaction, Noun::Emoji].into_iter().any(is_named) {
            Mod::Is(
                Field::Reaction,
                values
                    .into_iter()
                    .map(|value| value.trim_matches(':').to_owned())
                    .collect(),
            )
        } else if [Noun::MetricAlert, Noun::IssueAlert, Noun::Alert]
            .into_iter()
            .any(is_named)
            && self.kind(start) == Some(TokenKind::Quoted)
        {
            Mod::Is(Field::Name, values)
        } else if is_named(Noun::Project)
            && (self.kind(start) == Some(TokenKind::Quoted)
                || self.is(self.before_article(start), Class::In))
            || is_named(Noun::Milestone)
        {
            let field = if is_named(Noun::Milestone) {
                Field::Milestone
            } else {
                Field::Project
            };
            Mod::Is(field, values)
        } else {
            return false;
        };
        let end = end_of_name
            + usize::from(
                matches!(kind, Mod::Is(Field::Category, _))
                    && self.part(end_of_name) == Some(Part::Category),
            )
            + usize::from(
                matches!(kind, Mod::Is(Field::Repo, _)) && self.has_noun(end, Noun::Repository)
                    || matches!(kind, Mod::Is(Field::Project, _))
                        && self.has_noun(end, Noun::Project)
                    || matches!(kind, Mod::Is(Field::Milestone, _))
                        && !draft.nouns.is_empty()
                        && draft.verbs.is_empty(),
            );
        self.push_mod(draft, kind, start..end);
        true
    }

    /// `a discussion in Ideas`: a name behind `in` that is no branch.
    fn names_category(&self, draft: &Draft, at: usize) -> bool {
        let of_discussions = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Discussion));
        of_discussions
            && self.is_any(self.before_article(at), &[Class::In, Class::Under])
            && (self.kind(at) == Some(TokenKind::Quoted)
                || self.written(at).starts_with(char::is_uppercase))
    }

    /// `the workflow "CI"`, `the status with context ci/build`: a name behind its noun.
    pub(crate) fn try_name_after(&mut self, draft: &mut Draft) -> bool {
        const RUNS: &[Noun] = &[
            Noun::Workflow,
            Noun::Check,
            Noun::CheckRun,
            Noun::Status,
            Noun::Job,
            Noun::Ci,
        ];
        let start = self.at;
        let Some(noun) = draft.nouns.last() else {
            return false;
        };
        let Some(run) = noun.nouns.iter().copied().find(|noun| RUNS.contains(noun)) else {
            return false;
        };
        let is_next = noun.at + 1 == start;
        let mut at = self.skip(
            start,
            &[
                Class::With,
                Class::For,
                Class::Of,
                Class::Whose,
                Class::That,
                Class::Be,
            ],
        );
        let has_lead = at > start;
        let is_not = self.is(start, Class::That) && self.is_any(at, &[Class::Not, Class::Except]);
        at += usize::from(is_not);
        at = self.skip(at, &[Class::Article]);
        let says_name = self.part(at) == Some(Part::Name)
            || self.unit(at).is_some_and(|unit| {
                matches!(
                    unit.text.as_str(),
                    "context" | "contexts" | "names" | "named" | "called"
                )
            });
        if says_name {
            at = self.skip(at + 1, &[Class::Be, Class::Matching]);
        }
        let is_quoted = self.kind(at) == Some(TokenKind::Quoted);
        let is_relative = self.is(start, Class::That) && self.is(start + 1, Class::Be);
        let may_lead = !has_lead || self.is(start, Class::Of) || is_relative;
        if !(says_name || is_quoted && is_next && may_lead) {
            return false;
        }
        let list = self.list(at, |reader, at| {
            reader.is_literal(at).then(|| (reader.value(at), at + 1))
        });
        let Some((values, end)) = list else {
            return false;
        };
        self.push_mod(draft, Mod::Name(run, values), start..end);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= is_not;
        }
        true
    }

    /// `a workflow named "CI"`, `tags matching v*`.
    pub(crate) fn try_name_behind(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let list = self.list(start + 1, |reader, at| {
            let capital = reader.written(at).starts_with(char::is_uppercase)
                && reader.kind(at) == Some(TokenKind::Word);
            (reader.is_literal(at) || capital).then(|| (reader.value(at), at + 1))
        });
        let Some((values, end)) = list else {
            return false;
        };
        let Some(noun) = draft.nouns.last().filter(|hit| hit.at + 1 == start) else {
            return false;
        };
        let is_about = |nouns: &[Noun]| noun.nouns.iter().any(|noun| nouns.contains(noun));
        let kind = if is_about(&[
            Noun::Workflow,
            Noun::Check,
            Noun::CheckRun,
            Noun::Status,
            Noun::Job,
            Noun::Ci,
        ]) {
            Mod::Name(noun.nouns[0], values)
        } else if is_about(&[Noun::Tag]) {
            Mod::Test(Field::Tag, Op::Matches, values)
        } else if is_about(&[Noun::Milestone]) {
            Mod::Is(Field::Milestone, values)
        } else if is_about(&[Noun::Branch]) {
            Mod::Branch(values)
        } else if is_about(&[
            Noun::Project,
            Noun::Document,
            Noun::Initiative,
            Noun::Alert,
            Noun::MetricAlert,
            Noun::IssueAlert,
            Noun::Package,
            Noun::RepositoryLabel,
            Noun::IssueLabel,
        ]) {
            Mod::Is(Field::Name, values)
        } else {
            return false;
        };
        self.push_mod(draft, kind, start..end);
        true
    }
}

/// Returns the noun that a name precedes: a workflow, or another thing that runs.
fn named_run(reader: &Reader<'_>, at: usize) -> Noun {
    if reader.has_noun(at, Noun::Workflow) {
        Noun::Workflow
    } else {
        Noun::Check
    }
}
