//! Verbs and the values after them.

use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Joint, Mod, UserRole, VerbHit};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms};
use crate::normalise::TokenKind;

impl Reader<'_> {
    pub(crate) fn try_verb(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(sense) = self.sense(at) else {
            return false;
        };
        if self.is(at, Class::Get) {
            let next = self.skip(at + 1, &[Class::Filler]);
            // `gets merged` is a passive; `gets a label` adds one.
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
        let follows_be = at > 0 && self.is_any(self.before_filler(at), &[Class::Be]);
        // After `be`, only participles are verbs: `is open` is a state.
        if follows_be && !sense.forms.has(Forms::PAST) && !sense.forms.has(Forms::GERUND) {
            return false;
        }
        let is_check = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.iter().any(|noun| is_run(*noun)));
        if is_check
            && sense.verbs.contains(&Verb::Succeed)
            && let Some(not) = self.negation_before(at)
        {
            let deploys = draft.nouns.iter().any(|hit| {
                hit.nouns
                    .iter()
                    .any(|noun| matches!(noun, Noun::Deployment | Noun::DeploymentStatus))
            });
            if deploys {
                // Deployments have states before the last one, so a negated success would include `in_progress`.
                self.push_verb(draft, vec![Verb::Fail], not..at + 1);
                return true;
            }
            // A check that does not succeed may fail, time out or be cancelled: every conclusion except success.
            self.push_mod(
                draft,
                Mod::Conclusion(vec!["success".to_owned()]),
                at..at + 1,
            );
            self.push_verb(draft, vec![Verb::Complete], not..at + 1);
            return true;
        }
        if let Some(not) = self.negation_before(at)
            && !(draft
                .verbs
                // `closed, not merged` is read with the verb that it narrows.
                .last()
                .is_some_and(|hit| hit.verbs.contains(&Verb::Close)))
        {
            // No event reports that something does not happen.
            draft.foreign = draft.foreign.or(Some(not));
        }
        if self.try_state_behind(draft) || self.try_state_before(draft) {
            return true;
        }
        let is_sequel = draft
            .last_connector
            .is_some_and(|(joint, next)| joint == Joint::And && next == at)
            && !draft.verbs.is_empty();
        // `becomes unresolved`: the participle is the event, not a state before it.
        let becomes = draft.verbs.last().is_some_and(|hit| {
            let text = self.unit(hit.at).map_or("", |unit| unit.text.as_str());
            hit.at + 1 == at
                && hit.values.is_empty()
                && ["become", "became", "becoming", "turn", "go", "went"]
                    .iter()
                    .any(|word| text.starts_with(word))
        });
        if becomes && sense.forms.has(Forms::PAST) {
            // The verb of becoming has no event of its own.
            draft.verbs.pop();
        }
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

    /// `is created already assigned to Kit`: a participle after the verb is the state at that time.
    fn try_state_behind(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let follows_verb = draft.verbs.last().is_some_and(|hit| {
            hit.range.end == at || hit.range.end + 1 == at && self.is(at - 1, Class::Filler)
        });
        let becomes = draft
            .verbs
            .last()
            .is_some_and(|hit| hit.verbs.contains(&Verb::Move));
        if becomes
            || !follows_verb
            || !self.has_form(at, Forms::PAST)
            || self.has_form(at, Forms::BASE)
        {
            return false;
        }
        let n_verbs = draft.verbs.len();
        if self.has_verb(at, Verb::Assign)
            && self.is(at + 1, Class::To)
            && let Some((names, end)) = self.list(at + 2, Self::person)
        {
            self.push_mod(
                draft,
                Mod::Is(daemon_event::Field::Assignees, names),
                at..end,
            );
            return draft.verbs.len() == n_verbs;
        }
        self.at = at + 1;
        true
    }

    /// `a resolved issue comes back`: a participle before its noun is the state that the event ends.
    fn try_state_before(&mut self, draft: &mut Draft) -> bool {
        const UNDONE: &[(Verb, Verb)] = &[
            (Verb::Resolve, Verb::Regress),
            (Verb::Resolve, Verb::Unresolve),
            (Verb::Resolve, Verb::Reopen),
            (Verb::Close, Verb::Reopen),
            (Verb::Archive, Verb::Unarchive),
            (Verb::Ignore, Verb::Escalate),
            (Verb::Archive, Verb::Escalate),
        ];
        let at = self.at;
        let is_before = self.has_form(at, Forms::PAST)
            && !self.has_form(at, Forms::BASE)
            && draft.verbs.is_empty()
            && !draft.has_be
            && self.is_attributive(at)
            && self.verb_ahead(at);
        if !is_before {
            return false;
        }
        let is_undone = UNDONE.iter().any(|(before, after)| {
            self.has_verb(at, *before)
                && (at + 1..self.units.len()).any(|at| self.has_verb(at, *after))
        });
        if is_undone {
            self.take(at..at + 1);
            self.at = at + 1;
        }
        is_undone
    }

    /// Whether a word that can be noun or verb is a noun here.
    pub(crate) fn is_noun_here(&self, draft: &Draft, at: usize) -> bool {
        let Some(sense) = self.sense(at) else {
            return false;
        };
        if sense.nouns.is_empty() && sense.part.is_none() {
            return false;
        }
        // Participles are never nouns: `commented` cannot be `comment`.
        if sense.forms.has(Forms::PAST) && !sense.forms.has(Forms::BASE)
            || sense.forms == Forms::GERUND
        {
            return false;
        }
        let mut follows = at.checked_sub(1);
        while follows.is_some_and(|before| self.kind(before) == Some(TokenKind::Mark)) {
            follows = follows.and_then(|before| before.checked_sub(1));
        }
        let acts = draft.agent.is_some()
            && draft.verbs.is_empty()
            && sense.forms.has(Forms::THIRD)
            && follows.is_some_and(|before| {
                self.sense(before)
                    .is_some_and(|sense| sense.source.is_some())
            });
        if acts {
            return false;
        }
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
                // `the lint check`: an unknown word before it makes it a noun, unless an agent needs a verb.
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
        // After an agent comes its verb: `a bot comments`.
        if after_agent {
            return false;
        }
        // `a PR comment`, `a pull request review`: a compound noun; `the workflow run ...` is one phrase.
        let after_noun = follows.is_some_and(|before| self.is_noun(before));
        let is_compound = sense.nouns.iter().any(|noun| {
            matches!(
                noun,
                Noun::Comment
                    | Noun::Review
                    | Noun::Check
                    | Noun::Commit
                    | Noun::Reaction
                    | Noun::Mention
            )
        });
        let is_only_verb =
            draft.verbs.is_empty() && sense.forms.has(Forms::THIRD) && !self.verb_ahead(at);
        after_noun && (is_compound || !is_only_verb)
    }

    pub(crate) fn before_filler(&self, at: usize) -> usize {
        let mut before = at.saturating_sub(1);
        while before > 0 && self.is(before, Class::Filler) {
            before -= 1;
        }
        before
    }

    pub(crate) fn verb_ahead(&self, at: usize) -> bool {
        (at + 1..self.units.len()).any(|next| {
            self.is_any(next, &[Class::Be, Class::Get])
                || (self.is_verb(next) && !self.is_noun(next))
        })
    }

    /// A participle after its noun, with the main verb elsewhere: `a PR opened by X is merged`.
    pub(crate) fn try_reduced(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        if !self.is_reduced_relative(draft, at) {
            return false;
        }
        let is_authorship = self.has_verb(at, Verb::Create) || self.has_verb(at, Verb::Post);
        // The creator of a thing is its author, which payloads contain.
        if is_authorship
            && self.is(at + 1, Class::By)
            && let Some((who, end)) = self.who(at + 2)
        {
            self.push_person(draft, who, UserRole::Author, at..end);
            return true;
        }
        let is_main = |at: usize| {
            self.is_any(at, &[Class::Be, Class::Get])
                || self.has_form(at, Forms::THIRD) && !self.is_noun(at)
        };
        if self.is(at + 1, Class::By)
            && let Some(end) = (at + 2..self.units.len()).find(|at| is_main(*at))
        {
            self.release(at..end);
            self.at = end;
            return true;
        }
        if self.has_verb(at, Verb::Assign) && self.is(at + 1, Class::To) {
            let names = self.list(at + 2, Self::person);
            if let Some((values, end)) = names {
                self.push_mod(
                    draft,
                    Mod::Is(daemon_event::Field::Assignees, values),
                    at..end,
                );
                return true;
            }
        }
        false
    }

    /// A participle after its noun that no other rule reads. A participle of creation adds nothing;
    /// any other is left over. The main verb is the event.
    pub(crate) fn try_participle(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        if !self.is_reduced_relative(draft, at) {
            return false;
        }
        let is_there = self.sense(at).is_some_and(|sense| {
            sense.verbs.iter().any(|verb| {
                matches!(
                    verb,
                    Verb::Create | Verb::Start | Verb::Post | Verb::Push | Verb::Dispatch
                )
            })
        });
        if is_there {
            self.take(at..at + 1);
        }
        self.at = at + 1;
        true
    }

    fn main_be_ahead(&self, from: usize) -> bool {
        (from..self.units.len()).any(|at| self.is_any(at, &[Class::Be, Class::Get]))
    }

    /// Whether a participle here qualifies the noun before it, because the main verb is elsewhere.
    pub(crate) fn is_reduced_relative(&self, draft: &Draft, at: usize) -> bool {
        // After an auxiliary the participle is the main verb: `a PR is opened`.
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
        // `a new PR opened against main`: a new thing with a participle is a headline.
        if draft.is_new.is_some()
            && draft.verbs.is_empty()
            && !draft.has_be
            && !self.main_be_ahead(at)
        {
            return true;
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
            let ends = unit.is_mark(",")
                && self
                    .connector(later)
                    .is_some_and(|(_, next)| self.begins_clause(next));
            if ends || unit.is(Class::But) {
                return false;
            }
            later += 1;
        }
        false
    }
}

/// Whether a noun runs and has a conclusion.
pub(crate) fn is_run(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Check
            | Noun::CheckRun
            | Noun::CheckSuite
            | Noun::Status
            | Noun::Workflow
            | Noun::Job
            | Noun::Ci
            | Noun::Deployment
            | Noun::DeploymentStatus
    )
}
