//! Guards that are sentences of their own: `unless it is a draft`, `and its author is a bot`, `provided it touches src/`.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use crate::filter::Op;
use crate::grammar::draft::{Draft, Joint, Mod, Role, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{self, Class, Forms, Part};
use crate::normalise::TokenKind;

/// What begins a guard.
#[derive(Clone, Copy)]
struct Lead {
    /// The word that begins it.
    word: usize,
    /// Where the guard itself begins.
    at: usize,
    /// `unless`, `except when`: what follows must not hold.
    excludes: bool,
    /// The words can begin nothing else: what cannot be read is left over as a whole.
    is_certain: bool,
    /// It speaks of everything before it, not of the nearest clause alone.
    is_shared: bool,
}

impl Reader<'_> {
    /// Reads the guards that begin here.
    pub(crate) fn try_guards(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let Some(lead) = self.guard_lead(draft) else {
            return false;
        };
        let before = (draft.clone(), self.free.clone());
        let n_mods = draft.mods.len();
        self.take(start..lead.at);
        self.at = lead.at;
        if self.guard_list(draft, lead) {
            for hit in draft.mods.iter_mut().skip(n_mods) {
                hit.is_shared = lead.is_shared;
            }
            return true;
        }
        (*draft, self.free) = before;
        self.at = start;
        if lead.is_certain {
            self.at = self.guard_end(lead.at);
            self.release(start..self.at);
        }
        lead.is_certain
    }

    fn guard_lead(&self, draft: &Draft) -> Option<Lead> {
        let start = self.at;
        if draft.nouns.is_empty() && draft.verbs.is_empty() && draft.raw.is_empty() {
            return None;
        }
        let (mut joint, mut at) = match self.connector(start) {
            Some((joint, at)) => (Some(joint), at),
            None => (None, start),
        };
        if self.unit(at).is_some_and(|unit| unit.is_mark("(")) {
            at += 1;
        }
        let is_apart = (start..at).any(|at| self.kind(at) == Some(TokenKind::Mark));
        if self.is(at, Class::But) {
            joint = Some(Joint::And);
            at += 1;
        }
        let word = at;
        let lead = |at: usize, excludes: bool, is_certain: bool| {
            Some(Lead {
                word,
                at,
                excludes,
                is_certain,
                is_shared: is_apart,
            })
        };
        if self.is(at, Class::Unless) {
            return lead(self.skip(at + 1, &[Class::Lead]), true, true);
        }
        if self.is_any(at, &[Class::Except, Class::Not]) && self.is(at + 1, Class::Lead) {
            return lead(self.skip(at + 1, &[Class::Lead]), true, true);
        }
        if self.is(at, Class::Provided) {
            return lead(at + 1, false, true);
        }
        if joint == Some(Joint::Or) {
            return None;
        }
        let only = self.skip(at, &[Class::Only]);
        if self.is(only, Class::Lead) && (only > at || self.is_guard_subject(draft, only + 1)) {
            return lead(only + 1, false, only > at);
        }
        joint?;
        if self.is_guard_subject(draft, at) || self.is_relative_conjunct(draft, start, at) {
            return lead(at, false, false);
        }
        None
    }

    /// `that touches src/** and is not labeled bug`: a second half of the relative clause.
    fn is_relative_conjunct(&self, draft: &Draft, start: usize, at: usize) -> bool {
        let after_relative = draft.mods.last().is_some_and(|hit| {
            hit.range.end == start && self.is_any(hit.range.start, &[Class::That, Class::Whose])
        });
        after_relative
            && (self.is_any(at, &[Class::Be, Class::Have, Class::Not, Class::Against])
                || self.has_verb(at, Verb::Touch))
    }

    /// Whether a word here stands for the subject of the event, or for something of it.
    fn is_guard_subject(&self, draft: &Draft, at: usize) -> bool {
        if self.pronoun(at) {
            return true;
        }
        let named = self.skip(at, &[Class::Its, Class::Article]);
        if named > at && (self.part(named).is_some() || person_role(self.text(named)).is_some()) {
            return self.is_any(named + 1, &[Class::Be, Class::Have, Class::Contains]);
        }
        self.same_noun(draft, at).is_some()
            || matches!(self.text(at), "all" | "every") && self.all_files(at).is_some()
    }

    pub(crate) fn text(&self, at: usize) -> &str {
        self.unit(at).map_or("", |unit| unit.text.as_str())
    }

    fn pronoun(&self, at: usize) -> bool {
        matches!(self.text(at), "it" | "they" | "this" | "that" | "which")
            && (self.is_any(
                at + 1,
                &[Class::Be, Class::Have, Class::Against, Class::Only],
            ) || self.is_any(at + 1, &[Class::Contains, Class::Filler])
                || matches!(self.text(at + 1), "carries" | "bears")
                || self.is_verb(at + 1))
    }

    /// `the PR`, where a pull request was named before and something is said of it.
    fn same_noun(&self, draft: &Draft, at: usize) -> Option<usize> {
        let noun = self.skip(at, &[Class::Article]);
        let sense = self.sense(noun)?;
        let is_same = noun > at
            && draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.iter().any(|noun| sense.nouns.contains(noun)));
        let is_predicate = self.is_any(noun + 1, &[Class::Be, Class::Have, Class::Against])
            || self.has_verb(noun + 1, Verb::Touch);
        (is_same && is_predicate).then_some(noun)
    }

    /// Reads guards joined by `and` or `or`, as far as they can be told apart from another event.
    fn guard_list(&mut self, draft: &mut Draft, lead: Lead) -> bool {
        let mut n_read = 0;
        loop {
            let start = self.at;
            let before = (draft.clone(), self.free.clone());
            if !self.guard(draft, lead.excludes) {
                if n_read == 0 {
                    return false;
                }
                // The rest of the list is left over; what was read stands.
                (*draft, self.free) = before;
                self.at = self.guard_end(start);
                self.release(start..self.at);
                if lead.excludes {
                    // What is left over is still an exception.
                    self.release(lead.word..lead.at);
                }
                return true;
            }
            n_read += 1;
            if self.unit(self.at).is_some_and(|unit| unit.is_mark(")")) {
                return true;
            }
            let Some((joint, next)) = self.connector(self.at) else {
                return true;
            };
            let is_apart = (self.at..next).any(|at| self.kind(at) == Some(TokenKind::Mark));
            let goes_on = self.guard_goes_on(draft, next, lead);
            let begins_event =
                self.is(next, Class::Lead) || self.begins_clause(next) && (is_apart || !goes_on);
            let ends = if lead.excludes {
                begins_event && !(self.is_guard_subject(draft, next) && joint != Joint::Comma)
                    || self.begins_auxiliary(next)
            } else {
                joint == Joint::Or && (begins_event || self.begins_auxiliary(next)) || !goes_on
            };
            if ends {
                return true;
            }
            // Not (A and B), and A or B, are no list of filters that all hold.
            let is_mixed = if lead.excludes {
                joint == Joint::And
            } else {
                joint == Joint::Or
            };
            if is_mixed {
                return false;
            }
            self.take(self.at..next);
            self.at = next;
        }
    }

    /// Whether another guard of the same list can begin here.
    fn guard_goes_on(&self, draft: &Draft, at: usize, lead: Lead) -> bool {
        let deed = self
            .who(at)
            .is_some_and(|(_, end)| self.is_any(self.object(end), &[Class::Its]));
        self.is_guard_subject(draft, at)
            || lead.excludes
            || deed
            || self.is_any(at, &[Class::Be, Class::Have, Class::Not, Class::Non])
            || self.has_verb(at, Verb::Touch)
            || self.is_any(at, &[Class::Draft, Class::Open, Class::Against])
    }

    /// `or is edited`: another event of the same subject.
    fn begins_auxiliary(&self, at: usize) -> bool {
        let verb = self.skip(at, &[Class::Be, Class::Get, Class::Filler]);
        verb > at && self.has_form(verb, Forms::PAST) && !self.has_verb(verb, Verb::Label)
    }

    /// Where what begins here ends: at the next clause, else with the line.
    pub(crate) fn boundary(&self, from: usize) -> usize {
        (from..self.units.len())
            .find(|at| {
                self.connector(*at)
                    .is_some_and(|(_, next)| self.is(next, Class::Lead) || self.begins_clause(next))
            })
            .unwrap_or(self.units.len())
    }

    /// `… after failing`, `… despite red checks`: what came before, or held beside, is no other event.
    pub(crate) fn skips_circumstance(&mut self, draft: &Draft, start: usize) -> bool {
        let at = self.at;
        let begins = self.is(at, Class::Despite) || self.is(at, Class::Lead);
        if at == start || !begins || !draft.is_complete() {
            return false;
        }
        self.at = self.boundary(at + 1);
        true
    }

    /// `that was cancelled`, `that is the "Nightly" workflow`, `that was pushed by a bot`.
    fn try_guard_state(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let be = self.skip(start, &[Class::That, Class::Be, Class::Have, Class::Filler]);
        let verb = self.skip(be, &[Class::Not]);
        let is_check = draft.nouns.iter().any(|hit| {
            hit.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::Check
                        | Noun::CheckRun
                        | Noun::CheckSuite
                        | Noun::Status
                        | Noun::Workflow
                        | Noun::Job
                        | Noun::Ci
                )
            })
        });
        let ends = match () {
            () if !self.has_form(verb, Forms::PAST) => None,
            () if self.has_verb(verb, Verb::Cancel) => Some("cancelled"),
            () if self.unit(verb).is_some_and(|unit| unit.text == "skipped") => Some("skipped"),
            () => None,
        };
        if let Some(ends) = ends.filter(|_| is_check) {
            self.push_mod(
                draft,
                Mod::Value(None, vec![ends.to_owned()]),
                start..verb + 1,
            );
            if let Some(hit) = draft.mods.last_mut() {
                hit.negated = verb > be;
            }
            return true;
        }
        let repeats = self.has_form(verb, Forms::PAST)
            && draft.verbs.iter().any(|hit| {
                self.sense(verb)
                    .is_some_and(|sense| hit.verbs.iter().any(|verb| sense.verbs.contains(verb)))
            });
        if repeats
            && self.is(verb + 1, Class::By)
            && let Some((who, end)) = self.who(verb + 2)
        {
            let who = if verb > be {
                Who::Not(Box::new(who))
            } else {
                who
            };
            self.push_person(draft, who, Role::Actor, start..end);
            return true;
        }
        let named = self.skip(be, &[Class::Article]);
        if named > be {
            self.at = named;
            if self.try_name(draft) {
                let noun_follows = self.is_noun(self.at);
                self.take(start..self.at + usize::from(noun_follows));
                self.at += usize::from(noun_follows);
                return true;
            }
            self.at = start;
        }
        false
    }

    /// Where a guard that cannot be read ends: before another event, at a bracket, or at the end of the line.
    fn guard_end(&self, from: usize) -> usize {
        (from..self.units.len())
            .find(|at| {
                let is_bracket = self.unit(*at).is_some_and(|unit| unit.is_mark(")"));
                let is_event = self.connector(*at).is_some_and(|(_, next)| {
                    self.kind(*at) == Some(TokenKind::Mark)
                        && (self.is(next, Class::Lead) || self.begins_clause(next))
                });
                is_bracket || is_event
            })
            .unwrap_or(self.units.len())
    }

    /// Reads one guard; its filters are turned round when it excludes.
    fn guard(&mut self, draft: &mut Draft, excludes: bool) -> bool {
        let n_mods = draft.mods.len();
        let is_read = self.person_guard(draft)
            || self.deed_guard(draft)
            || self.part_guard(draft)
            || self.files_guard(draft)
            || self.subject_guard(draft)
            || self.bare_guard(draft);
        if !is_read || draft.mods.len() == n_mods {
            return false;
        }
        while !self.guard_stops() {
            let n_read = draft.mods.len();
            let goes_on = !excludes && self.try_modifier(draft) && draft.mods.len() > n_read;
            if !goes_on {
                return false;
            }
        }
        !excludes || draft.mods.len() == n_mods + 1 && draft.mods.last_mut().is_some_and(turn)
    }

    fn guard_stops(&self) -> bool {
        let at = self.at;
        self.unit(at).is_none_or(|unit| {
            unit.kind == TokenKind::Mark
                || unit.is(Class::But)
                || unit.is(Class::Or)
                || unit.is(Class::And)
                || unit.is(Class::Unless)
                || unit.is(Class::Provided)
        }) || self.is(at, Class::Lead)
    }

    /// `its author is a bot`, `the commenter is not mira-holt`.
    fn person_guard(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let noun = self.skip(start, &[Class::Its, Class::Article]);
        let Some(role) = person_role(self.text(noun)) else {
            return false;
        };
        let be = self.skip(noun + 1, &[Class::Be, Class::Filler]);
        if be == noun + 1 {
            return false;
        }
        let Some((who, end)) = self.who(be) else {
            return false;
        };
        self.push_person(draft, who, role, start..end);
        true
    }

    /// Where the object of a verb stands, past the verb.
    fn object(&self, at: usize) -> usize {
        let verb = self.skip(at, &[Class::Have, Class::Be, Class::Filler]);
        let is_deed = self.is_verb(verb)
            || matches!(
                self.text(verb),
                "authored" | "wrote" | "made" | "did" | "sent"
            );
        if is_deed { verb + 1 } else { at }
    }

    /// `a bot opened it`, `dependabot is the author`.
    fn deed_guard(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let Some((who, end)) = self.who(start) else {
            return false;
        };
        let be = self.skip(end, &[Class::Be]);
        let author = self.skip(be, &[Class::Its, Class::Article]);
        if be > end
            && let Some(role) = person_role(self.text(author))
        {
            self.push_person(draft, who, role, start..author + 1);
            return true;
        }
        let object = self.object(end);
        let is_object = object > end
            && (self.is(object, Class::Its)
                || matches!(self.text(object), "so" | "that")
                || self.same_object(draft, object));
        if !is_object {
            return false;
        }
        let verb = object - 1;
        let writes = self.has_verb(verb, Verb::Create)
            || self.has_verb(verb, Verb::Post)
            || matches!(self.text(verb), "authored" | "wrote" | "made" | "sent");
        let is_same = self.text(verb) == "did"
            || self.sense(verb).is_some_and(|sense| {
                let verbs = draft.verbs.iter().flat_map(|hit| &hit.verbs);
                verbs.into_iter().any(|known| sense.verbs.contains(known))
            });
        let role = match (is_same, writes) {
            (true, _) => Role::Actor,
            (false, true) => Role::Author,
            (false, false) => return false,
        };
        let end = self.skip(object, &[Class::Article]) + 1;
        self.push_person(draft, who, role, start..end);
        true
    }

    fn same_object(&self, draft: &Draft, at: usize) -> bool {
        let noun = self.skip(at, &[Class::Article]);
        self.sense(noun).is_some_and(|sense| {
            let known = draft.nouns.iter().flat_map(|hit| hit.nouns);
            known.into_iter().any(|noun| sense.nouns.contains(noun))
        })
    }

    /// `its priority is not urgent`, `the label is "bug"`, `whose base is main`.
    pub(crate) fn part_guard(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let at = self.skip(start, &[Class::Whose, Class::Its, Class::Article]);
        let Some(part) = self.part(at) else {
            return false;
        };
        let be = self.skip(at + 1, &[Class::Be, Class::Have, Class::Filler]);
        if at == start || be == at + 1 {
            return false;
        }
        let value = self.skip(be, &[Class::Not]);
        let is_not = value > be;
        let value = self.skip(value, &[Class::Article, Class::To]);
        let read = match part {
            Part::Label => self.list(value, Self::label).map(|(labels, end)| {
                let is_event = draft.parts.iter().any(|hit| hit.part == Part::Label)
                    || draft
                        .verbs
                        .iter()
                        .any(|hit| hit.verbs.contains(&Verb::Label));
                let kind = if is_event {
                    Mod::Test(Field::LabelAdded, Op::Is, labels)
                } else {
                    Mod::Label(labels)
                };
                (kind, end)
            }),
            Part::Base => self
                .list(value, Self::branch)
                .map(|(branches, end)| (Mod::Branch(branches), end)),
            Part::Priority
            | Part::Severity
            | Part::Level
            | Part::Environment
            | Part::Health
            | Part::Category => {
                let values = self.list(value, |reader, at| {
                    let quoted = || {
                        let is_name = reader.is_literal(at);
                        is_name.then(|| (reader.value(at), at + 1))
                    };
                    reader.value_word(at).or_else(quoted)
                });
                values.map(|(values, end)| (Mod::Value(Some(part), values), end))
            }
            _ => None,
        };
        let Some((kind, end)) = read else {
            return false;
        };
        self.push_mod(draft, kind, start..end);
        if let Some(hit) = draft.mods.last_mut() {
            hit.negated ^= is_not;
        }
        true
    }

    /// `all of its files are under docs/`: where the paths begin, and whether it is denied.
    fn all_files(&self, from: usize) -> Option<usize> {
        let at = self.skip(
            from + 1,
            &[Class::Of, Class::Its, Class::Article, Class::Filler],
        );
        let at = at + usize::from(self.text(at) == "changed");
        let is_files = self.has_noun(at, Noun::File) || self.is(at, Class::Changes);
        let be = self.skip(at + 1, &[Class::Be]);
        (is_files && (be > at + 1 || self.is_any(be, &[Class::Matching, Class::Under])))
            .then_some(be)
    }

    fn files_guard(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        if !matches!(self.text(start), "all" | "every") {
            return false;
        }
        let Some(be) = self.all_files(start) else {
            return false;
        };
        let Some((paths, end)) = self.path_list(self.skip(be, &[Class::In, Class::Under])) else {
            return false;
        };
        self.push_mod(draft, Mod::Files(Op::Only, paths), start..end);
        true
    }

    /// `it is a draft`, `the PR does not touch docs/`, `is not labeled bug`.
    fn subject_guard(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let subject = if self.pronoun(start) {
            Some(start)
        } else {
            self.same_noun(draft, start)
        };
        let verb = match subject {
            Some(at) => {
                // What is said of the subject is read as a relative clause of it.
                self.units[at].sense = lexicon::exact("that");
                self.units[at].text = "that".to_owned();
                self.take(start..at);
                self.at = at;
                if self.try_guard_state(draft) || self.try_modifier(draft) {
                    return true;
                }
                at + 1
            }
            None => start,
        };
        let be = self.skip(verb, &[Class::Be, Class::Have, Class::Filler]);
        let mut at = self.skip(be, &[Class::Not]);
        let is_not = at > be;
        let labels = self.has_verb(at, Verb::Label) && self.has_form(at, Forms::PAST);
        if labels {
            let from = self.skip(at + 1, &[Class::With, Class::As, Class::Article]);
            let found = self
                .label_before_word(from)
                .or_else(|| self.list(from, Self::label));
            let Some((labels, end)) = found else {
                return false;
            };
            self.take(start..end);
            self.push_mod(draft, Mod::Label(labels), at..end);
            return !is_not || draft.mods.last_mut().is_some_and(turn);
        }
        let moves = draft.nouns.iter().any(|hit| {
            hit.nouns
                .iter()
                .any(|noun| matches!(noun, Noun::Issue | Noun::Project))
        });
        let to = self.skip(
            at + usize::from(self.has_verb(at, Verb::Move)),
            &[Class::To, Class::Into],
        );
        if moves && let Some((state, end)) = self.state(to).filter(|_| to > start) {
            self.take(start..end);
            self.push_mod(draft, Mod::Test(Field::State, Op::Is, vec![state]), to..end);
            return !is_not || draft.mods.last_mut().is_some_and(turn);
        }
        let says_again = self.has_form(at, Forms::PAST)
            && self.sense(at).is_some_and(|sense| {
                let verbs = draft.verbs.iter().flat_map(|hit| &hit.verbs);
                verbs.into_iter().any(|known| sense.verbs.contains(known))
            });
        if at == start && !says_again {
            return false;
        }
        at += usize::from(says_again);
        let carries = matches!(self.text(at), "carries" | "bears" | "carry" | "bear");
        at += usize::from(carries);
        self.take(start..at);
        self.at = at;
        let n_mods = draft.mods.len();
        let is_read = if carries {
            let label = self.skip(at, &[Class::Article]);
            self.label_before_word(label).is_some_and(|(labels, end)| {
                self.push_mod(draft, Mod::Label(labels), start..end);
                true
            })
        } else {
            self.try_modifier(draft)
        };
        if !is_read || draft.mods.len() != n_mods + 1 {
            return false;
        }
        !is_not || draft.mods.last_mut().is_some_and(turn)
    }

    /// `by a bot`, `from a fork`, `"Nightly build"` behind a word that excludes.
    fn bare_guard(&mut self, draft: &mut Draft) -> bool {
        let n_mods = draft.mods.len();
        self.try_modifier(draft) && draft.mods.len() == n_mods + 1
    }
}

/// What somebody named by what they did has to do with the event.
fn person_role(word: &str) -> Option<Role> {
    match word {
        "author" | "authors" | "creator" | "opener" | "submitter" | "commenter" | "reporter"
        | "poster" => Some(Role::Author),
        "sender" | "actor" | "pusher" | "merger" | "editor" => Some(Role::Actor),
        _ => None,
    }
}

/// Turns a modifier into its opposite; what has none is not read.
fn turn(hit: &mut crate::grammar::draft::ModHit) -> bool {
    match &mut hit.kind {
        Mod::Person(who, _) => {
            let inner = std::mem::replace(who, Who::Anyone);
            *who = match inner {
                Who::Anyone | Who::AllOf(_) => return false,
                Who::Not(inner) => *inner,
                other => Who::Not(Box::new(other)),
            };
        }
        Mod::Files(op, paths) => {
            let excludes = paths.iter().any(|path| path.starts_with('!'));
            *op = match op {
                Op::Any => Op::None,
                Op::None => Op::Any,
                Op::Only if !excludes => {
                    // Some file elsewhere.
                    *paths = std::iter::once("**".to_owned())
                        .chain(paths.iter().map(|path| format!("!{path}")))
                        .collect();
                    Op::Any
                }
                _ => return false,
            };
        }
        Mod::TopLevel | Mod::Inline | Mod::Target(_) | Mod::Team(_) => return false,
        _ => hit.negated = !hit.negated,
    }
    true
}
