//! Reads a line into drafts: one per clause, from left to right.

use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Joint, Mod, NounHit};
use crate::grammar::reader::Reader;
use crate::grammar::sequence::share;
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;

/// The most clauses of one line.
const MOST_CLAUSES: usize = 64;

impl Reader<'_> {
    /// Reads the whole line.
    pub(crate) fn drafts(&mut self) -> Vec<Draft> {
        let mut drafts = Vec::<Draft>::new();
        let mut is_sequel = false;
        while self.at < self.units.len() && drafts.len() < MOST_CLAUSES {
            // `opened or is edited by a bot`: the second clause has the subject of the first, without the words after its verb.
            let mut draft = match drafts.last() {
                Some(last) if last.continues => last.of_same_subject(),
                Some(_) | None => Draft {
                    is_sequel,
                    ..Draft::default()
                },
            };
            let start = self.at;
            is_sequel = self.clause(&mut draft) == Some(Joint::And);
            if draft.verbs.is_empty()
                && draft.has_be
                && !draft.nouns.is_empty()
                && self.at == self.units.len()
                && self.is_any(self.at - 1, &[Class::Be])
                && let Some(last) = drafts.last()
            {
                // `… is resolved or a metric alert is`
                draft.verbs.clone_from(&last.verbs);
            }
            draft.range = start..self.at;
            if let Some(last) = drafts.last() {
                self.stand_in(last, &mut draft);
            }
            share(&mut drafts, &draft);
            drafts.extend(draft.alternatives());
        }
        drafts
    }

    /// Reads one clause; returns how the next one is joined to it.
    pub(crate) fn clause(&mut self, draft: &mut Draft) -> Option<Joint> {
        let start = self.at;
        self.lead();
        while self.at < self.units.len() {
            let at = self.at;
            // `and its author is a bot` begins with a connective, so guards are tried before clauses.
            if at > start && self.try_guards(draft) {
                continue;
            }
            if at > start
                && let Some((joint, next)) = self.connector(at)
            {
                if draft.is_complete()
                    && (self.begins_gain(next)
                        // `and` with another predicate is a sequence, so only `or` and commas share the subject.
                        || joint != Joint::And && self.begins_predicate(draft, at, next))
                {
                    self.take(at..next);
                    self.at = next;
                    draft.continues = true;
                    return Some(Joint::Or);
                }
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
                if joint == Joint::Or && draft.mods.last().is_some_and(|hit| hit.range.end == at) {
                    self.either(draft);
                }
                continue;
            }
            if self.skips_circumstance(draft, start) {
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

    pub(crate) fn lead(&mut self) {
        while self.is(self.at, Class::Lead)
            || self.is(self.at, Class::On) && !self.is_place(self.at + 1)
        {
            self.take(self.at..self.at + 1);
            self.at += 1;
        }
    }

    /// A place that a comma sets apart: `on main, …`, `on a PR, …`.
    fn is_place(&self, from: usize) -> bool {
        let at = self.skip(from, &[Class::Article]);
        let end = self.branch(at).map_or(at + 1, |(_, end)| end);
        let is_place = self.is(at, Class::DefaultBranch)
            || self.branch(at).is_some()
            || self.is_noun(at) && !self.is_verb(at);
        is_place && self.unit(end).is_some_and(|unit| unit.is_mark(","))
    }

    /// Reads one element of a clause.
    pub(crate) fn step(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(unit) = self.unit(at) else {
            return false;
        };
        if unit.kind == TokenKind::Mark {
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        let source = unit.sense.and_then(|sense| sense.source);
        let is_origin = self.is(at.wrapping_sub(1), Class::From)
            && draft
                .sources
                .iter()
                .any(|(named, _)| Some(*named) != source);
        if source.is_some() && is_origin {
            // `a Linear issue is created from Slack`: no payload contains the origin, so the word is left over.
            self.at = at + 1;
            return true;
        }
        if let Some(source) = source {
            draft.sources.push((source, at));
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if unit.sense.is_some_and(|sense| sense.is_foreign) {
            // The word stays free, so that the remainder names the service.
            draft.foreign = draft.foreign.or(Some(at));
            return false;
        }
        // The order matters: raw names and idioms contain words that later rules would read alone.
        self.try_raw(draft)
            || self.try_special(draft)
            || self.try_whole(draft)
            || self.try_late(draft)
            || self.try_part_label(draft)
            || self.try_agent(draft)
            || self.try_reduced(draft)
            || self.try_modifier(draft)
            || self.try_participle(draft)
            || self.try_verb(draft)
            || self.try_part(draft)
            || self.try_noun(draft)
            || self.try_quoted(draft)
            || self.try_unreadable(draft)
    }

    pub(crate) fn try_part(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(part) = self.part(at) else {
            return false;
        };
        let is_run = part == Part::Status
            && (self.is_literal(at.wrapping_sub(1))
                || draft
                    .mods
                    .last()
                    .is_some_and(|hit| hit.range.end == at && matches!(hit.kind, Mod::Name(..))))
            && (at + 1..at + 4).any(|at| {
                [Verb::Fail, Verb::Succeed, Verb::Complete]
                    .iter()
                    .any(|verb| self.has_verb(at, *verb))
            });
        if is_run {
            let joined = draft.last_connector.is_some_and(|(_, next)| next + 3 > at);
            let group = draft
                .nouns
                .last()
                .map_or(0, |last| last.group + usize::from(!joined));
            draft.nouns.push(NounHit {
                nouns: &[Noun::Status],
                at,
                group,
                plural: false,
                n_verbs: draft.verbs.len(),
            });
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        let is_ambiguous = self.is_noun(at);
        // `cycle` is a noun of Linear and a part of its issues; other ambiguous words are read as nouns.
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
        // `any field other than the description`
        let except = self.before_article(at);
        let is_excepted = self.is(except, Class::Except) && self.free[except];
        if is_excepted && matches!(part, Part::Assignee | Part::Reviewer) {
            // `someone other than the assignee`: who that is, is not compared.
            self.at = at + 1;
            return true;
        }
        let from = if is_excepted { except } else { at };
        self.push_part(draft, part, Vec::new(), from..at + 1, is_excepted);
        true
    }

    pub(crate) fn try_noun(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let Some(sense) = self.sense(at) else {
            return false;
        };
        if self.is(at, Class::New) {
            // `a new draft PR`: adjectives between `new` and its noun do not matter.
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
                || self.part(next).is_some_and(|part| part != Part::Team)
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
        let is_place = draft
            .nouns
            .last()
            .is_some_and(|last| self.is(self.before_article(last.at), Class::On));
        let joined = draft.last_connector.is_some_and(|(joint, next)| {
            let mut before = next;
            while before > 0 && self.connector(before - 1).is_some() {
                before -= 1;
            }
            // `a GitHub or Linear issue`: the sources are joined, not the nouns.
            let joins_sources = before > 0
                && self
                    .sense(before - 1)
                    .is_some_and(|sense| sense.source.is_some())
                && self.sense(next).is_some_and(|sense| sense.source.is_some());
            !(joins_sources || joint == Joint::Comma && is_place && draft.verbs.is_empty())
                && self.only_words_between(next, at)
        });
        let joined = self.joins_with_its_own(draft, &sense.nouns, at) || joined;
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

    /// `a leaked secret or a critical Dependabot alert`: the words before one of the nouns narrow that noun only.
    fn joins_with_its_own(&self, draft: &mut Draft, nouns: &'static [Noun], at: usize) -> bool {
        let (Some((joint, next)), Some(last)) = (draft.last_connector, draft.nouns.last()) else {
            return false;
        };
        let (before, other) = (last.at, last.nouns);
        let is_told_apart = |nouns: &[Noun]| {
            nouns.iter().all(|noun| {
                matches!(
                    noun,
                    Noun::Issue
                        | Noun::PullRequest
                        | Noun::DependabotAlert
                        | Noun::SecretAlert
                        | Noun::CodeScanningAlert
                        | Noun::MetricAlert
                        | Noun::Message
                        | Noun::IssueAlert
                        | Noun::Release
                        | Noun::Discussion
                        | Noun::Project
                        | Noun::Document
                        | Noun::Cycle
                )
            })
        };
        let is_pair = joint != Joint::Comma
            && before < next
            && self.is(next, Class::Article)
            && draft.verbs.is_empty()
            && nouns != other
            && is_told_apart(nouns)
            && is_told_apart(other);
        let is_covered = (next..at).all(|at| {
            !self.free[at] || self.is_any(at, &[Class::Article, Class::New, Class::Filler])
        });
        if !is_pair || !is_covered {
            return false;
        }
        for hit in &mut draft.mods {
            let stands_before = hit.range.end <= before
                && (hit.range.end..before)
                    .all(|at| self.sense(at).is_some_and(|sense| sense.source.is_some()));
            if hit.range.start >= next {
                hit.of = Some(nouns);
            } else if stands_before {
                hit.of = Some(other);
            }
        }
        true
    }

    /// Whether only articles and adjectives are between a connector and a noun.
    pub(crate) fn only_words_between(&self, from: usize, to: usize) -> bool {
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

    /// A phrase that begins like a modifier but is not one. All of it is left over, so that its nouns are not
    /// taken for the subject.
    pub(crate) fn try_unreadable(&mut self, draft: &mut Draft) -> bool {
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
            Class::Despite,
        ];
        let at = self.at;
        // `a comment asking for help`: an unknown participle narrows its noun, so no event may be read behind it.
        let is_participle = !draft.nouns.is_empty()
            && self.kind(at) == Some(TokenKind::Word)
            && self.sense(at).is_none()
            && self.text(at).len() > 5
            && self.text(at).ends_with("ing")
            && draft.nouns.last().is_some_and(|hit| hit.at + 1 == at);
        if !is_participle && !self.is_any(at, LEADS)
            // `for a PR` may name the pull request of a check, which is a place and can be read.
            || (self.is(at, Class::For) && self.leads_to_noun(at + 1))
        {
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
        let mut n_verbs = 0;
        while end < self.units.len() {
            let takes_object = self.is_any(
                end + 1,
                &[Class::To, Class::On, Class::Article, Class::Into],
            );
            let is_finite = draft.verbs.is_empty()
                && n_verbs > 0
                && self.has_form(end, Forms::THIRD)
                && (!self.is_noun(end) || takes_object);
            let is_unread_verb = self.kind(end) == Some(TokenKind::Word)
                && self.sense(end).is_none()
                && end == at + 1;
            n_verbs += usize::from(
                self.is_verb(end) && !self.is_noun(end)
                    || is_unread_verb
                    || self.is(end, Class::Be),
            );
            let is_boundary = is_finite
                || self
                    .unit(end)
                    .is_some_and(|unit| unit.is_mark(",") || unit.is_mark(")"))
                || (self.connector(end).is_some_and(|(_, next)| {
                    self.begins_clause(next) || self.is(next, Class::Lead)
                }))
                || (draft.verbs.is_empty()
                    && self.is_any(end, &[Class::Be, Class::Get])
                    && end > at + 1
                    && !self.is(end - 1, Class::That))
                || (!draft.verbs.is_empty()
                    && end > at + 1
                    && self.is(end, Class::By)
                    && !self.has_form(end - 1, Forms::PAST));
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
    pub(crate) fn leads_to_noun(&self, from: usize) -> bool {
        let mut at = from;
        while self.is_any(
            at,
            &[
                Class::Article,
                Class::Draft,
                Class::Open,
                Class::New,
                Class::CurrentHead,
                Class::Of,
                Class::Non,
            ],
        ) || self.sense(at).is_some_and(|sense| sense.source.is_some())
        {
            at += 1;
        }
        self.is_noun(at)
    }

    /// `a review is submitted that approves the PR`: the relative clause says which event it is.
    pub(crate) fn that_introduces_event(&self, draft: &Draft, at: usize) -> bool {
        let verb = self.skip(at + 1, &[Class::Be, Class::Have]);
        let of_review = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Review));
        of_review
            && (self.has_verb(verb, Verb::Approve) || self.has_verb(verb, Verb::RequestChanges))
    }
}
