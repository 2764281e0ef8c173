//! What narrows an event: branches, labels, texts, values, channels, numbers, states.

use std::ops::Range;

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use crate::filter::{Mark, Op};
use crate::grammar::draft::{Draft, Mod, ModHit, TextPlace};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads one modifier at the current place, if one stands there.
    pub(crate) fn try_modifier(&mut self, draft: &mut Draft) -> bool {
        self.try_text(draft)
            || self.try_label(draft)
            || self.try_by(draft)
            || self.try_branch(draft)
            || self.try_files(draft)
            || self.try_value(draft)
            || self.try_attribute(draft)
            || self.try_reference(draft)
            || self.try_name(draft)
    }

    pub(crate) fn push_mod(&mut self, draft: &mut Draft, kind: Mod, range: Range<usize>) {
        let negation = self.negation_before(range.start);
        let range = negation.unwrap_or(range.start)..range.end;
        self.take(range.clone());
        self.at = range.end;
        draft.mods.push(ModHit {
            kind,
            negated: negation.is_some(),
            range,
            mark: Mark::Exact,
            n_verbs: draft.verbs.len(),
            n_nouns: draft.nouns.len(),
        });
    }

    fn has_noun(&self, at: usize, noun: Noun) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.nouns.contains(&noun))
    }

    /// `into main`, `against release/*`, `on the default branch`, `the master branch`.
    fn try_branch(&mut self, draft: &mut Draft) -> bool {
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
        let has_lead = self.is_any(start, LEADS);
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
        let Some((values, end)) = self.list(at, Self::branch) else {
            return false;
        };
        let end_is_branch = self.has_noun(end - 1, Noun::Branch);
        let n_known = self.written(at).to_lowercase();
        let is_known = crate::lexicon::KNOWN_BRANCHES.contains(&n_known.as_str());
        let is_code = self.kind(at) == Some(TokenKind::Code);
        let moves_state = draft.verbs.last().is_some_and(|verb| {
            verb.verbs.contains(&Verb::Move)
                && !verb.verbs.contains(&Verb::Merge)
                && !verb.verbs.contains(&Verb::Push)
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
    fn next_is_push(&self, from: usize) -> bool {
        let at = self.skip(from, &[Class::Be, Class::Get, Class::Article, Class::New]);
        at > from
            && (self.has_verb(at, Verb::Push)
                || self.has_verb(at, Verb::ForcePush)
                || self.has_noun(at, Noun::Commit))
            || self.has_verb(from, Verb::Move) && false
    }

    /// `with the bug label`, `labeled bug` behind its noun, `bug-labeled`, `without the wip label`.
    fn try_label(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = start;
        let mut is_negated = false;
        if self.is_any(at, &[Class::With, Class::Without]) {
            is_negated = self.is(at, Class::Without);
            at = self.skip(at + 1, &[Class::Article, Class::Its, Class::Not]);
            let found = self.label_before_word(at).or_else(|| {
                (self.part(at) == Some(Part::Label))
                    .then(|| self.list(at + 1, Self::label))
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
                .or_else(|| self.list(from, Self::label));
            if let Some((labels, end)) = list {
                self.push_label(draft, labels, start..end, not > be);
                return true;
            }
        }
        false
    }

    fn push_label(
        &mut self,
        draft: &mut Draft,
        labels: Vec<String>,
        range: Range<usize>,
        is_negated: bool,
    ) {
        self.push_mod(draft, Mod::Label(labels), range);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= is_negated;
        }
    }

    /// Whether a participle here qualifies the noun before it, because the main verb is elsewhere.
    pub(crate) fn is_reduced_relative(&self, draft: &Draft, at: usize) -> bool {
        if draft.has_be && draft.verbs.is_empty() {
            return false;
        }
        let follows_noun = draft.nouns.last().is_some_and(|noun| noun.at < at);
        let is_past = self.has_form(at, Forms::PAST)
            && !self.is(at.wrapping_sub(1), Class::Be)
            && !self.is(at.wrapping_sub(1), Class::Get);
        if !follows_noun || !is_past {
            return false;
        }
        if !draft.verbs.is_empty() {
            return draft
                .nouns
                .last()
                .is_some_and(|noun| noun.n_verbs > 0 && noun.at + 1 == at);
        }
        let mut later = at + 1;
        let mut depth = 0;
        while let Some(unit) = self.unit(later) {
            if unit.is_mark("(") {
                depth += 1;
            }
            let is_main = (unit.is(Class::Be)
                && !self.is(later.wrapping_sub(1), Class::That)
                && !self.is(later.wrapping_sub(1), Class::Whose)
                && depth == 0)
                || unit.is(Class::Get)
                || unit.is(Class::Lose)
                || (self.has_form(later, Forms::THIRD)
                    && !self.has_form(later, Forms::NOMINAL)
                    && !self.is(later.wrapping_sub(1), Class::That)
                    && !self.is_noun(later)
                    && self.part(later.wrapping_sub(1)).is_none());
            if is_main {
                return true;
            }
            if unit.is_mark(",") || unit.is(Class::But) {
                return false;
            }
            later += 1;
        }
        false
    }

    /// Texts in titles, bodies, comments and messages.
    fn try_text(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let mut at = self.skip(start, &[Class::Unless]);
        let mut place = None;
        let mut negated = at > start || self.is(at, Class::Without);
        at = self.skip(
            at,
            &[
                Class::That,
                Class::With,
                Class::Without,
                Class::Whose,
                Class::Its,
                Class::Article,
                Class::In,
                Class::But,
            ],
        );
        if let Some((found, after)) = self.text_place(at) {
            place = Some(found);
            at = after;
        }
        let be = self.skip(at, &[Class::Be, Class::Have]);
        let is_not = self.is(be, Class::Not);
        negated |= is_not;
        let verb = be + usize::from(is_not);
        let says = self.is_any(verb, &[Class::Contains, Class::Matching])
            || self.has_verb(verb, Verb::Mention)
                && self.has_form(
                    verb,
                    Forms(Forms::GERUND.0 | Forms::THIRD.0 | Forms::BASE.0),
                )
                && draft.agent.is_none();
        let from = if says { verb + 1 } else { at };
        let from = self.skip(from, &[Class::Article]);
        let Some((texts, mut end)) = self.list(from, |reader, at| {
            (reader.kind(at) == Some(TokenKind::Quoted)).then(|| (reader.value(at), at + 1))
        }) else {
            return false;
        };
        // `with "crash" in the title`, `says "x" in a comment`
        let mut after = self.skip(end, &[Class::In, Class::At]);
        let begins_place = after > end;
        after = self.skip(after, &[Class::Its, Class::Article]);
        if begins_place && let Some((found, stop)) = self.text_place(after) {
            place = Some(found);
            end = stop;
        }
        let is_text = says || place.is_some();
        if !is_text || (place.is_none() && self.is_path(from) && !says) {
            return false;
        }
        if place.is_none()
            && says
            && draft
                .nouns
                .iter()
                .any(|noun| noun.nouns.contains(&Noun::File))
        {
            return false;
        }
        if place.is_none() && self.is(verb, Class::Matching) {
            return false;
        }
        self.push_mod(draft, Mod::Text(place, texts), start..end);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated |= negated;
        }
        true
    }

    fn text_place(&self, at: usize) -> Option<(TextPlace, usize)> {
        let place = match self.part(at) {
            Some(Part::Title) => TextPlace::Title,
            Some(Part::Body) => TextPlace::Body,
            _ if self.unit(at).is_some_and(|unit| {
                matches!(unit.text.as_str(), "text" | "content" | "contents")
            }) =>
            {
                TextPlace::Comment
            }
            _ if self
                .unit(at)
                .is_some_and(|unit| matches!(unit.text.as_str(), "message" | "commit message")) =>
            {
                TextPlace::Message
            }
            _ if self.has_noun(at, Noun::Commit) && self.has_noun(at + 1, Noun::Message) => {
                return Some((TextPlace::Message, at + 2));
            }
            _ => return None,
        };
        let other = self.skip(at + 1, &[Class::Or, Class::And, Class::Its, Class::Article]);
        if other > at + 1
            && matches!(
                (place, self.part(other)),
                (TextPlace::Title, Some(Part::Body)) | (TextPlace::Body, Some(Part::Title))
            )
        {
            return Some((TextPlace::TitleOrBody, other + 1));
        }
        Some((place, at + 1))
    }

    /// `of high or critical severity`, `with level fatal`, `fatal-level`, `in production`.
    fn try_value(&mut self, draft: &mut Draft) -> bool {
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
            ],
        );
        let mut part = None;
        if let Some(found) = self.part(at).filter(|part| is_attribute(*part)) {
            part = Some(found);
            at = self.skip(at + 1, &[Class::Of, Class::Be, Class::To, Class::Article]);
        }
        let quoted_too = part.is_some();
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
        // A metric alert becomes critical, a priority is set to urgent: there the value is the verb's.
        let is_verbs_value =
            part.is_none() && draft.parts.iter().any(|part| is_attribute(part.part));
        if is_verbs_value {
            return false;
        }
        self.push_mod(draft, Mod::Value(part, values), start..end);
        true
    }

    /// Attributes of one or two words.
    fn try_attribute(&mut self, draft: &mut Draft) -> bool {
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
        let kind = if unit_is(Class::Draft) && !self.is(at, Class::To) {
            Mod::Is(Field::Draft, vec!["true".to_owned()])
        } else if unit_is(Class::Open) && self.is_state_here(draft, place, has_relative) {
            Mod::State("open".to_owned())
        } else if has_relative
            && place > rel
            && self.has_verb(place, Verb::Close)
            && self.has_form(place, Forms::PAST)
        {
            Mod::State("closed".to_owned())
        } else if self.has_verb(place, Verb::Close)
            && self.has_form(place, Forms::PAST)
            && !draft.has_be
            && self.is_attributive(place)
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
        } else if unit_is(Class::CurrentHead) {
            Mod::Is(Field::CurrentHead, vec!["true".to_owned()])
        } else if unit_is(Class::NotPlanned) {
            Mod::Is(Field::StateReason, vec!["not_planned".to_owned()])
        } else if unit_is(Class::Failure) {
            Mod::Conclusion(vec![
                "failure".to_owned(),
                "timed_out".to_owned(),
                "error".to_owned(),
            ])
        } else if unit_is(Class::Success) {
            Mod::Conclusion(vec!["success".to_owned()])
        } else {
            return false;
        };
        let start = if has_relative { at } else { place };
        self.push_mod(draft, kind, start..place + 1);
        if has_relative
            && is_negated
            && let Some(hit) = draft.mods.last_mut()
        {
            hit.negated = true;
        }
        true
    }

    fn imply(&self, draft: &mut Draft, noun: Noun, at: usize) {
        let nouns: &'static [Noun] = match noun {
            Noun::Release => &[Noun::Release],
            _ => &[Noun::PullRequest],
        };
        let n_verbs = draft.verbs.len();
        draft.nouns.push(super::draft::NounHit {
            nouns,
            at,
            group: draft.nouns.len(),
            plural: false,
            n_verbs,
        });
    }

    fn is_verb_ahead(&self, at: usize) -> bool {
        let next = self.skip(at + 1, &[Class::Be, Class::Get]);
        self.is_verb(next)
    }

    /// `open` is a state before its noun, after `that is`, and never after an auxiliary alone.
    fn is_state_here(&self, draft: &Draft, at: usize, has_relative: bool) -> bool {
        has_relative
            || (!draft.has_be && !self.has_form(at + 1, Forms::PAST))
            || !draft.verbs.is_empty() && !self.is(at.wrapping_sub(1), Class::Be)
    }

    /// Whether a participle stands before its noun: `a closed PR`.
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

    fn near_noun(&self, draft: &Draft, at: usize, noun: Noun) -> bool {
        draft.nouns.iter().any(|hit| hit.nouns.contains(&noun))
            || (at + 1..at + 4).any(|next| self.has_noun(next, noun))
    }

    /// `#41`, `#incidents`.
    fn try_reference(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        match self.kind(at) {
            Some(TokenKind::Reference) => {
                let number = self.value(at);
                self.push_mod(draft, Mod::Is(Field::Number, vec![number]), at..at + 1);
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

    /// A literal before or behind the noun that it names: `the "Nightly" workflow`, `the bug label`.
    fn try_name(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let Some((values, end)) = self.list(start, |reader, at| {
            let is_label_list =
                reader.is_literal(at) || reader.sense(at).is_some_and(|sense| sense.is_bot);
            is_label_list.then(|| (reader.value(at), at + 1))
        }) else {
            return false;
        };
        let is_named = |noun: Noun| self.has_noun(end, noun);
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
            let who = super::draft::Who::Named(values);
            self.push_person(draft, who, super::draft::Role::Author, start..end);
            return true;
        }
        let kind = if [
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
        {
            Mod::Name(values)
        } else if is_named(Noun::Discussion) && self.kind(start) == Some(TokenKind::Quoted) {
            Mod::Is(Field::Category, values)
        } else if is_named(Noun::Deployment) {
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
        } else if is_named(Noun::Project) && self.kind(start) == Some(TokenKind::Quoted)
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
        let end = end
            + usize::from(
                matches!(kind, Mod::Is(Field::Repo, _)) && self.has_noun(end, Noun::Repository),
            );
        self.push_mod(draft, kind, start..end);
        true
    }

    fn is_team(&self, at: usize) -> bool {
        self.kind(at) == Some(TokenKind::User) && self.value(at).contains('/')
    }

    fn request_ahead(&self, at: usize) -> bool {
        (at..at + 4).any(|next| {
            self.has_verb(next, Verb::Request) || self.has_verb(next, Verb::RequestReview)
        })
    }

    /// `in fernworks/kettle`: one slash, no glob, no extension, where no file is meant.
    fn is_repository(&self, draft: &Draft, at: usize) -> bool {
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
        );
        let on_files = draft
            .nouns
            .iter()
            .any(|noun| noun.nouns.contains(&Noun::File))
            || draft.verbs.is_empty() && draft.nouns.is_empty();
        is_shape && is_place && !is_folder && !on_files && self.kind(at) == Some(TokenKind::Code)
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
    )
}
