//! Reads a line into drafts: one per clause, from left to right.

use daemon_event::vocabulary::{self, Noun, Verb};

use crate::filter::Mark;
use crate::grammar::draft::{Draft, Joint, Mod, ModHit, NounHit, PartHit, Role, VerbHit, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

/// The most clauses of one line.
const MOST_CLAUSES: usize = 64;

impl Reader<'_> {
    /// Reads the whole line.
    pub(crate) fn drafts(&mut self) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let mut is_sequel = false;
        while self.at < self.units.len() && drafts.len() < MOST_CLAUSES {
            let mut draft = Draft {
                is_sequel,
                ..Draft::default()
            };
            let start = self.at;
            is_sequel = self.clause(&mut draft) == Some(Joint::And);
            draft.range = start..self.at;
            drafts.push(draft);
        }
        drafts
    }

    /// Reads one clause; returns how the next one is joined to it.
    fn clause(&mut self, draft: &mut Draft) -> Option<Joint> {
        let start = self.at;
        self.lead();
        while self.at < self.units.len() {
            let at = self.at;
            if at > start
                && let Some((joint, next)) = self.connector(at)
            {
                let leads = self.is(next, Class::Lead)
                    || (self.is(next, Class::On) && joint != Joint::And && draft.is_complete());
                if leads && draft.is_complete() || draft.is_complete() && self.begins_clause(next) {
                    self.take(at..next);
                    self.at = next;
                    return Some(if leads { Joint::Or } else { joint });
                }
                self.take(at..next);
                draft.last_connector = Some((joint, next));
                self.at = next;
                continue;
            }
            if self.is(at, Class::But) && draft.is_complete() && self.begins_clause(at + 1) {
                self.at = at + 1;
                return Some(Joint::And);
            }
            if !self.step(draft) {
                self.at += 1;
            }
        }
        None
    }

    fn lead(&mut self) {
        while self.is(self.at, Class::Lead) || (self.is_any(self.at, &[Class::On])) {
            self.take(self.at..self.at + 1);
            self.at += 1;
        }
    }

    fn connector(&self, from: usize) -> Option<(Joint, usize)> {
        let mut joint = None;
        let mut at = from;
        while let Some(unit) = self.unit(at) {
            joint = if unit.is(Class::Or) {
                Some(Joint::Or)
            } else if unit.is(Class::And) {
                Some(Joint::And)
            } else if unit.is_mark(",") {
                joint.or(Some(Joint::Comma))
            } else {
                break;
            };
            at += 1;
        }
        joint.map(|joint| (joint, at))
    }

    /// Whether a subject with a verb of its own begins here.
    fn begins_clause(&self, from: usize) -> bool {
        if self.is(from, Class::Lead) {
            return true;
        }
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
            let is_verb_form = self.is_verb(at) && !self.is_noun(at) && self.part(at).is_none();
            if has_subject
                && (is_verb_form || (self.is_verb(at) && self.agent_before(at)))
                && !self.has_form_only(at, Forms::NOMINAL)
            {
                return true;
            }
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
                || unit.sense.is_some_and(|sense| sense.is_bot);
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

    fn has_form_only(&self, at: usize, form: Forms) -> bool {
        self.sense(at)
            .is_some_and(|sense| sense.is_verb() && sense.forms == form)
    }

    fn agent_before(&self, at: usize) -> bool {
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

    /// Reads one element of a clause.
    fn step(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(unit) = self.unit(at) else {
            return false;
        };
        if unit.kind == TokenKind::Mark {
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if let Some(source) = unit.sense.and_then(|sense| sense.source) {
            draft.sources.push((source, at));
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if unit.sense.is_some_and(|sense| sense.is_foreign) {
            draft.foreign = draft.foreign.or(Some(at));
            return false;
        }
        self.try_raw(draft)
            || self.try_special(draft)
            || self.try_agent(draft)
            || self.try_part_label(draft)
            || self.try_modifier(draft)
            || self.try_verb(draft)
            || self.try_part(draft)
            || self.try_noun(draft)
            || self.try_quoted(draft)
            || self.try_unreadable(draft)
    }

    /// `pull_request.synchronize`, `issues:labeled`.
    fn try_raw(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = self.value(at).to_lowercase();
        let Some((kind, action)) = text.split_once(['.', ':', '/']) else {
            return false;
        };
        let found = vocabulary::kinds()
            .iter()
            .find(|known| known.name.eq_ignore_ascii_case(kind));
        let Some(found) = found else { return false };
        let row = found.rows.iter().find(|row| row.action == Some(action));
        let Some(row) = row else { return false };
        draft.raw.push((found.name, row.action, at..at + 1));
        self.take(at..at + 1);
        self.at += 1;
        true
    }

    /// Turns of phrase whose words mean something else together.
    fn try_special(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = |at: usize| self.unit(at).map_or("", |unit| unit.text.as_str());
        // `changes are requested`
        if matches!(text(at), "changes" | "change")
            && self.is(at + 1, Class::Be)
            && matches!(text(at + 2), "requested")
        {
            self.push_verb(draft, vec![Verb::RequestChanges], at..at + 3);
            return true;
        }
        // `closed without being merged`
        let without = self.skip(at, &[Class::But]);
        if self.is_any(without, &[Class::Without, Class::Not]) {
            let verb = self.skip(without + 1, &[Class::Be, Class::Its]);
            let closes = draft
                .verbs
                .last()
                .is_some_and(|hit| hit.verbs.contains(&Verb::Close));
            if closes && (self.has_verb(verb, Verb::Merge) || matches!(text(verb), "a merge")) {
                self.take(at..verb + 1);
                self.at = verb + 1;
                let kind = Mod::Is(daemon_event::Field::Merged, vec!["false".to_owned()]);
                draft.mods.push(ModHit {
                    kind,
                    negated: false,
                    range: at..verb + 1,
                    mark: Mark::Exact,
                    n_verbs: draft.verbs.len(),
                    n_nouns: draft.nouns.len(),
                });
                return true;
            }
        }
        // `(not a pull request)`, `rather than a pull request`, `the target is an issue`
        if self.is_any(at, &[Class::Not, Class::Except]) {
            let noun = self.skip(at + 1, &[Class::Article, Class::On]);
            let excludes_other = self.is_noun(noun) && self.other_noun(draft, noun);
            if excludes_other {
                self.take(at..noun + 1);
                self.at = noun + 1;
                return true;
            }
        }
        // `auto-merge is enabled`
        if self.part(at) == Some(Part::AutoMerge) {
            let be = self.skip(at + 1, &[Class::Be, Class::Get]);
            let verb = match text(be) {
                "enabled" | "activated" | "on" => Verb::EnableAutoMerge,
                "disabled" | "deactivated" | "off" => Verb::DisableAutoMerge,
                _ => return false,
            };
            self.push_verb(draft, vec![verb], at..be + 1);
            return true;
        }
        if matches!(text(at), "enables" | "enable" | "disables" | "disable")
            && self.part(at + 1) == Some(Part::AutoMerge)
        {
            let verb = if text(at).starts_with("enable") {
                Verb::EnableAutoMerge
            } else {
                Verb::DisableAutoMerge
            };
            self.push_verb(draft, vec![verb], at..at + 2);
            return true;
        }
        // `the daemon's bot user`, `the bot`, where the app itself is meant
        if matches!(text(at), "daemon")
            && self.is(at + 1, Class::Possessive)
            && self.is(at + 2, Class::Bot)
        {
            self.take(at..at + 3);
            self.at += 3;
            return true;
        }
        // `a line of the diff`
        if matches!(text(at), "line" | "lines" | "diff") && self.comments(draft) {
            draft.mods.push(ModHit {
                kind: Mod::Inline,
                negated: false,
                range: at..at + 1,
                mark: Mark::Exact,
                n_verbs: draft.verbs.len(),
                n_nouns: draft.nouns.len(),
            });
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        false
    }

    fn comments(&self, draft: &Draft) -> bool {
        draft
            .verbs
            .iter()
            .any(|hit| hit.verbs.contains(&Verb::Comment))
            || draft.nouns.iter().any(|hit| {
                hit.nouns.contains(&Noun::Comment) || hit.nouns.contains(&Noun::ReviewComment)
            })
    }

    /// Whether a noun is another than those named so far: what it excludes was never included.
    fn other_noun(&self, draft: &Draft, at: usize) -> bool {
        let Some(sense) = self.sense(at) else {
            return false;
        };
        draft.nouns.first().is_some()
            && draft
                .nouns
                .iter()
                .all(|hit| hit.nouns.iter().all(|noun| !sense.nouns.contains(noun)))
    }

    fn push_verb(&mut self, draft: &mut Draft, verbs: Vec<Verb>, range: std::ops::Range<usize>) {
        self.take(range.clone());
        self.at = range.end;
        draft.verbs.push(VerbHit {
            verbs,
            forms: Forms::PAST,
            at: range.start,
            values: Vec::new(),
            negated_values: false,
            range,
            is_sequel: false,
        });
    }

    /// The subject of an active verb, or of `is assigned`.
    fn try_agent(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let is_open = draft.agent.is_none()
            && draft.verbs.is_empty()
            && draft.nouns.is_empty()
            && draft.parts.is_empty();
        let mentions_app = self.is_any(at, &[Class::Bot])
            && (draft
                .verbs
                .iter()
                .any(|hit| hit.verbs.contains(&Verb::Mention) || hit.verbs.contains(&Verb::Post)));
        if mentions_app {
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if !is_open {
            return false;
        }
        let Some((who, end)) = self.who(at) else {
            return false;
        };
        // Past who they are: `somebody who joined recently` is not just somebody.
        if self.is_any(end, &[Class::That, Class::Of]) {
            return false;
        }
        let mut next = self.skip(end, &[Class::Filler]);
        let passive = self.is_any(next, &[Class::Be, Class::Get]);
        if self.is_any(next, &[Class::Be, Class::Get, Class::Have]) {
            next = self.skip(next, &[Class::Be, Class::Get, Class::Have, Class::Filler]);
        }
        let is_target = [
            Verb::Assign,
            Verb::Unassign,
            Verb::Request,
            Verb::RequestReview,
        ]
        .iter()
        .any(|verb| self.has_verb(next, *verb));
        let is_mentioned = self.has_verb(next, Verb::Mention) && who == Who::Bot && passive;
        let receives =
            self.is_any(self.skip(end, &[Class::Filler]), &[Class::Get]) && who == Who::Bot;
        if passive && is_target {
            if let Who::Named(names) = &who {
                let kind = Mod::Target(names.clone());
                self.push_mod(draft, kind, at..end);
            } else if who == Who::Anyone {
                self.take(at..end);
                self.at = end;
                draft.agent = Some((who, at..end));
            } else {
                return false;
            }
            return true;
        }
        if is_mentioned || receives {
            self.take(at..end);
            self.at = end;
            draft.agent = Some((Who::Anyone, at..end));
            return true;
        }
        if passive
            && matches!(who, Who::Anyone | Who::Maintainer)
            && (self.has_verb(next, Verb::Add)
                || self.has_verb(next, Verb::Remove)
                || self.has_verb(next, Verb::Invite))
        {
            if who == Who::Maintainer {
                draft.nouns.push(NounHit {
                    nouns: &[Noun::Collaborator],
                    at,
                    group: 0,
                    plural: false,
                    n_verbs: 0,
                });
            }
            self.take(at..end);
            self.at = end;
            return true;
        }
        let is_active = !passive
            && (self.is_verb(next) && !self.has_form_only(next, Forms::NOMINAL)
                || self.is_any(next, &[Class::Contains]));
        let is_unread_verb = !passive
            && !matches!(who, Who::Named(_))
            && self.kind(next) == Some(TokenKind::Word)
            && self.sense(next).is_none();
        if !is_active && !is_unread_verb {
            return false;
        }
        self.take(at..end);
        self.at = end;
        draft.agent = Some((who.clone(), at..end));
        if who != Who::Anyone {
            draft.mods.push(ModHit {
                kind: Mod::Person(who, Role::Actor),
                negated: false,
                range: at..end,
                mark: Mark::Exact,
                n_verbs: 0,
                n_nouns: 0,
            });
        }
        true
    }

    /// `the bug label`, `labels bug or wip`, `any label other than bug`, `needs-review is applied`.
    fn try_part_label(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let at = self.skip(start, &[Class::Article, Class::New, Class::Its]);
        if let Some((values, end)) = self.label_before_word(at) {
            self.push_part(draft, Part::Label, values, start..end, false);
            return true;
        }
        if self.part(at) == Some(Part::Label) && (at == start || !self.is_noun(at)) {
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
                    self.push_part(draft, Part::Label, values, start..end, negated)
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

    fn push_part(
        &mut self,
        draft: &mut Draft,
        part: Part,
        values: Vec<String>,
        range: std::ops::Range<usize>,
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

    fn try_verb(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(sense) = self.sense(at) else {
            return false;
        };
        if self.is(at, Class::Get) {
            let next = self.skip(at + 1, &[Class::Filler]);
            let is_auxiliary = self.has_form(next, Forms::PAST) && !self.is_noun(next)
                || self.has_form(next, Forms::PAST)
                    && self
                        .sense(next)
                        .is_some_and(|sense| !sense.forms.has(Forms::BASE));
            if !is_auxiliary {
                draft.gains = Some(at);
            } else {
                draft.has_be = true;
            }
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if self.is(at, Class::Lose) {
            draft.loses = Some(at);
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if self.is_any(at, &[Class::Be, Class::Have]) {
            draft.has_be = true;
            return false;
        }
        if !sense.is_verb() || (self.is_noun_here(draft, at)) {
            return false;
        }
        if let Some(not) = self.negation_before(at)
            && !(draft
                .verbs
                .last()
                .is_some_and(|hit| hit.verbs.contains(&Verb::Close)))
        {
            // What does not happen is no event.
            draft.foreign = draft.foreign.or(Some(not));
        }
        let is_sequel = draft
            .last_connector
            .is_some_and(|(joint, next)| joint == Joint::And && next == at)
            && !draft.verbs.is_empty();
        self.take(at..at + 1);
        self.at = at + 1;
        let mut hit = VerbHit {
            verbs: sense.verbs.clone(),
            forms: sense.forms,
            at,
            values: Vec::new(),
            negated_values: false,
            range: at..at + 1,
            is_sequel,
        };
        self.verb_values(draft, &mut hit);
        draft.verbs.push(hit);
        true
    }

    /// Whether a word that can be both stands here as a noun.
    fn is_noun_here(&self, draft: &Draft, at: usize) -> bool {
        let Some(sense) = self.sense(at) else {
            return false;
        };
        if sense.nouns.is_empty() && sense.part.is_none() {
            return false;
        }
        if sense.forms.has(Forms::PAST) && !sense.forms.has(Forms::BASE)
            || sense.forms == Forms::GERUND
        {
            return false;
        }
        let follows = at.checked_sub(1);
        let after_noun_word = follows.is_none_or(|before| {
            self.is_any(
                before,
                &[
                    Class::Article,
                    Class::New,
                    Class::Lead,
                    Class::Of,
                    Class::On,
                    Class::In,
                    Class::To,
                    Class::With,
                    Class::Its,
                    Class::Draft,
                    Class::TopLevel,
                    Class::Inline,
                    Class::Possessive,
                    Class::For,
                    Class::From,
                    Class::Prerelease,
                    Class::Stable,
                    Class::Open,
                ],
            ) || self
                .sense(before)
                .is_some_and(|sense| sense.source.is_some() || sense.is_value)
                || self.is_literal(before) && draft.agent.is_none()
                || self.has_form(before, Forms::PAST)
                || self.has_form(before, Forms::GERUND)
        });
        if after_noun_word {
            return true;
        }
        if let Some((_, next)) = draft.last_connector.filter(|(_, next)| *next == at) {
            let before = draft.verbs.last().is_some_and(|verb| {
                verb.at < next && draft.nouns.last().is_none_or(|noun| noun.at < verb.at)
            });
            return !before;
        }
        let after_agent = draft.agent.is_some() && draft.verbs.is_empty();
        if after_agent {
            return false;
        }
        // `a PR comment`, `a pull request review`: a noun upon a noun; `the workflow run ...` is one phrase.
        let after_noun = follows.is_some_and(|before| self.is_noun(before));
        after_noun
            && !(draft.verbs.is_empty()
                && sense.forms.has(Forms::THIRD)
                && !sense.nouns.iter().any(|noun| {
                    matches!(
                        noun,
                        Noun::Comment
                            | Noun::Review
                            | Noun::Check
                            | Noun::Commit
                            | Noun::Reaction
                            | Noun::Mention
                    )
                })
                && !self.verb_ahead(at))
    }

    fn verb_ahead(&self, at: usize) -> bool {
        (at + 1..self.units.len()).any(|next| {
            self.is_any(next, &[Class::Be, Class::Get])
                || (self.is_verb(next) && !self.is_noun(next))
        })
    }

    /// What stands behind a verb and belongs to it: labels, states, texts, names.
    fn verb_values(&mut self, draft: &mut Draft, hit: &mut VerbHit) {
        let has = |verb: Verb| hit.verbs.contains(&verb);
        if has(Verb::Label) || has(Verb::Unlabel) {
            let mut from = self.skip(
                self.at,
                &[Class::With, Class::As, Class::Article, Class::Anything],
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
            let names = self.list(self.at + 1, |reader, at| {
                reader.person_name(at).map(|name| (name, at + 1))
            });
            if let Some((values, end)) = names {
                self.claim(hit, values, end);
            }
            return;
        }
        if has(Verb::Request) || has(Verb::RequestReview) {
            if self.is(self.at, Class::From) {
                let from = self.skip(self.at + 1, &[Class::Article]);
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
            let mut from = self.skip(
                self.at,
                &[Class::To, Class::Into, Class::In, Class::Article, Class::As],
            );
            while self.sense(from).is_some_and(|sense| sense.source.is_some()) {
                let source = self.sense(from).and_then(|sense| sense.source);
                draft.sources.extend(source.map(|source| (source, from)));
                from += 1;
            }
            let concerns_issue = draft.nouns.iter().any(|noun| {
                noun.nouns
                    .iter()
                    .any(|noun| matches!(noun, Noun::Issue | Noun::Project))
            }) || !draft.parts.is_empty();
            let has_base = draft
                .nouns
                .iter()
                .any(|noun| noun.nouns.contains(&Noun::PullRequest));
            if !concerns_issue || has_base {
                return;
            }
            let list = self.list(from, |reader, at| {
                reader.value_word(at).or_else(|| reader.state(at))
            });
            if let Some((values, end)) = list {
                self.take(self.at..end);
                self.claim(hit, values, end);
            }
        }
    }

    fn claim(&mut self, hit: &mut VerbHit, values: Vec<String>, end: usize) {
        self.take(hit.at..end);
        self.at = end;
        hit.values = values;
        hit.range = hit.at..end;
    }

    fn try_part(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(part) = self.part(at) else {
            return false;
        };
        let is_ambiguous = self.is_noun(at);
        if is_ambiguous && part != Part::Cycle {
            return false;
        }
        if is_ambiguous
            && draft
                .nouns
                .iter()
                .all(|hit| !hit.nouns.contains(&Noun::Issue))
        {
            return false;
        }
        self.push_part(draft, part, Vec::new(), at..at + 1, false);
        true
    }

    fn try_noun(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(sense) = self.sense(at) else {
            return false;
        };
        if self.is(at, Class::New) {
            let next = self.skip(
                at + 1,
                &[
                    Class::New,
                    Class::Draft,
                    Class::Open,
                    Class::TopLevel,
                    Class::Inline,
                ],
            );
            let is_adjective = self.is_noun(next)
                || self.part(next).is_some()
                || self.is_path(next)
                || self.sense(next).is_some_and(|sense| {
                    sense.source.is_some() || sense.is_value || sense.is_bot || sense.is_verb()
                })
                || self.kind(next) == Some(TokenKind::Quoted)
                || self.is_literal(next) && self.is_noun(next + 1);
            if is_adjective {
                draft.is_new = Some(at);
                self.take(at..at + 1);
                self.at += 1;
            }
            return is_adjective;
        }
        if sense.nouns.is_empty() {
            return false;
        }
        let joined = draft
            .last_connector
            .is_some_and(|(_, next)| self.only_words_between(next, at));
        let group = match draft.nouns.last() {
            Some(last) if joined => last.group,
            Some(last) => last.group + 1,
            None => 0,
        };
        draft.nouns.push(NounHit {
            nouns: &sense.nouns,
            at,
            group,
            plural: sense.plural,
            n_verbs: draft.verbs.len(),
        });
        self.take(at..at + 1);
        self.at += 1;
        true
    }

    /// Whether nothing but articles and adjectives stands between a connector and a noun.
    fn only_words_between(&self, from: usize, to: usize) -> bool {
        (from..to).all(|at| {
            self.is_any(
                at,
                &[
                    Class::Article,
                    Class::New,
                    Class::Draft,
                    Class::Open,
                    Class::On,
                    Class::To,
                    Class::Filler,
                    Class::TopLevel,
                ],
            ) || self.sense(at).is_some_and(|sense| sense.source.is_some())
        })
    }

    /// A quotation that nothing else claimed: a command, or a text of the comment or message.
    fn try_quoted(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let is_command_word = self.kind(at) == Some(TokenKind::Code)
            && self.value(at).starts_with('/')
            && self.value(at).matches('/').count() == 1;
        if self.kind(at) != Some(TokenKind::Quoted) && !is_command_word {
            return false;
        }
        let value = self.value(at);
        let says = draft.verbs.iter().any(|hit| {
            [Verb::Comment, Verb::Post, Verb::Reply]
                .iter()
                .any(|verb| hit.verbs.contains(verb))
        }) || draft.nouns.iter().any(|hit| {
            hit.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::Comment | Noun::Message | Noun::Reply | Noun::Mention
                )
            })
        });
        let kind = if value.starts_with('/') {
            Mod::Test(
                daemon_event::Field::Comment,
                crate::filter::Op::Command,
                vec![value],
            )
        } else if says {
            Mod::Text(None, vec![value])
        } else {
            return false;
        };
        self.push_mod(draft, kind, at..at + 1);
        true
    }

    /// A phrase that begins like a modifier and is none: all of it is left over, so that its nouns do not
    /// pass for the subject.
    fn try_unreadable(&mut self, draft: &mut Draft) -> bool {
        const LEADS: &[Class] = &[
            Class::That,
            Class::With,
            Class::Without,
            Class::For,
            Class::Whose,
            Class::Unless,
            Class::By,
            Class::Outside,
            Class::Only,
            Class::Matching,
            Class::Contains,
        ];
        let at = self.at;
        if !self.is_any(at, LEADS) || (self.is(at, Class::For) && self.leads_to_noun(at + 1)) {
            return false;
        }
        if self.is(at, Class::By)
            && draft.verbs.iter().any(|hit| hit.forms.has(Forms::PAST))
            && self.is_noun(at + 1)
        {
            return false;
        }
        if self.is(at, Class::That) && self.that_introduces_event(draft, at) {
            return false;
        }
        let mut end = at + 1;
        while end < self.units.len() {
            let is_boundary = self
                .unit(end)
                .is_some_and(|unit| unit.is_mark(",") || unit.is_mark(")"))
                || (self.connector(end).is_some_and(|(_, next)| {
                    self.begins_clause(next) || self.is(next, Class::Lead)
                }))
                || (draft.verbs.is_empty()
                    && self.is_any(end, &[Class::Be, Class::Get])
                    && end > at + 1
                    && !self.is(end - 1, Class::That))
                || (!draft.verbs.is_empty() && end > at + 1 && self.is(end, Class::By));
            if is_boundary {
                break;
            }
            end += 1;
        }
        self.release(at..end);
        self.at = end;
        true
    }

    /// `for a PR`: the pull request of a check.
    fn leads_to_noun(&self, from: usize) -> bool {
        let mut at = from;
        while self.is_any(at, &[Class::Article, Class::Draft, Class::Open, Class::New])
            || self.sense(at).is_some_and(|sense| sense.source.is_some())
        {
            at += 1;
        }
        self.is_noun(at)
    }

    /// `a review is submitted that approves the PR`: the relative clause says which event it is.
    fn that_introduces_event(&self, draft: &Draft, at: usize) -> bool {
        let verb = self.skip(at + 1, &[Class::Be, Class::Have]);
        let of_review = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Review));
        of_review
            && (self.has_verb(verb, Verb::Approve) || self.has_verb(verb, Verb::RequestChanges))
    }
}

impl Draft {
    /// Whether it can stand alone as an event.
    pub(crate) fn is_complete(&self) -> bool {
        !self.verbs.is_empty()
            || !self.raw.is_empty()
            || self.gains.is_some()
            || self.loses.is_some()
            || (self.is_new.is_some() && !self.nouns.is_empty())
            || (self.has_be && !self.nouns.is_empty())
            || self.foreign.is_some()
            || self
                .mods
                .iter()
                .any(|hit| matches!(hit.kind, Mod::Files(..)) && !self.nouns.is_empty())
    }
}
