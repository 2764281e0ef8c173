//! Conditions after `if`, `unless` and `when`.

use crate::filter::Op;
use crate::grammar::draft::{Draft, Mod, UserRole, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{self, Class, Forms, Part};
use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

impl Reader<'_> {
    /// `its author is a bot`, `the commenter is not mira-holt`.
    pub(super) fn person_guard(&mut self, draft: &mut Draft) -> bool {
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

    /// Returns the position of a verb's object.
    pub(super) fn object(&self, at: usize) -> usize {
        let verb = self.skip(at, &[Class::Have, Class::Be, Class::Filler]);
        let is_deed = self.is_verb(verb)
            || matches!(
                self.text(verb),
                "authored" | "wrote" | "made" | "did" | "sent"
            );
        if is_deed { verb + 1 } else { at }
    }

    /// `a bot opened it`, `dependabot is the author`.
    pub(super) fn deed_guard(&mut self, draft: &mut Draft) -> bool {
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
            (true, _) => UserRole::Actor,
            (false, true) => UserRole::Author,
            (false, false) => return false,
        };
        let end = self.skip(object, &[Class::Article]) + 1;
        self.push_person(draft, who, role, start..end);
        true
    }

    pub(super) fn same_object(&self, draft: &Draft, at: usize) -> bool {
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
    pub(super) fn all_files(&self, from: usize) -> Option<usize> {
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

    pub(super) fn files_guard(&mut self, draft: &mut Draft) -> bool {
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
    pub(super) fn subject_guard(&mut self, draft: &mut Draft) -> bool {
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

    /// `by a bot`, `from a fork`, `"Nightly build"` after an excluding word.
    pub(super) fn bare_guard(&mut self, draft: &mut Draft) -> bool {
        let n_mods = draft.mods.len();
        self.try_modifier(draft) && draft.mods.len() == n_mods + 1
    }
}

/// The role of a user in the event, by the word for what they did.
pub(super) fn person_role(word: &str) -> Option<UserRole> {
    match word {
        "author" | "authors" | "creator" | "opener" | "submitter" | "commenter" | "reporter"
        | "poster" => Some(UserRole::Author),
        "sender" | "actor" | "pusher" | "merger" | "editor" => Some(UserRole::Actor),
        _ => None,
    }
}

/// Negates a modifier; returns `false` if it has no negation.
pub(super) fn turn(hit: &mut crate::grammar::draft::ModHit) -> bool {
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
                    // Not (all files under `docs/`) is some file elsewhere, hence `**` without the paths.
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
