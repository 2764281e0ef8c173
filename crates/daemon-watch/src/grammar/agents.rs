//! Subjects of active verbs, and users in relative clauses.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use crate::filter::Mark;
use crate::grammar::draft::{Draft, Joint, Mod, ModHit, NounHit, UserRole, Who};
use crate::grammar::reader::Reader;
use crate::lexicon::{Class, Forms};
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// The subject of an active verb, or of `is assigned`.
    pub(crate) fn try_agent(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        // `on a pull request, a maintainer …`: a place before the sentence is not its subject.
        let follows_place = draft.nouns.len() == 1
            && self.skip(0, &[Class::Lead])
                == self.skip(0, &[Class::Lead, Class::On]).wrapping_sub(1)
            && draft.last_connector.is_some_and(|(joint, next)| {
                joint == Joint::Comma && self.skip(next, &[Class::Article]) >= at
            });
        let is_open = draft.agent.is_none()
            && draft.verbs.is_empty()
            && (draft.nouns.is_empty() || follows_place)
            && draft.parts.is_empty();
        let mentions_app = self.is_any(at, &[Class::Bot])
            && (draft.verbs.iter().any(|hit| {
                [Verb::Mention, Verb::Post, Verb::MessageDirectly]
                    .iter()
                    .any(|verb| hit.verbs.contains(verb))
            }) || draft
                .nouns
                .iter()
                .any(|hit| hit.nouns.contains(&Noun::DirectMessage))
                && self.is(self.before_article(at), Class::To));
        if mentions_app {
            self.take(at..at + 1);
            self.at += 1;
            return true;
        }
        if !is_open {
            return false;
        }
        if self.kind(self.skip(at, &[Class::Article])) == Some(TokenKind::Quoted) {
            return false;
        }
        let Some((who, end)) = self.who(at) else {
            return false;
        };
        // `somebody who joined recently` is narrower than anyone, so the subject needs the words behind it.
        if self.is_any(end, &[Class::That, Class::Of]) {
            return false;
        }
        let mut next = self.skip(end, &[Class::Filler]);
        // `someone in Slack mentions …`
        let place = self.skip(next, &[Class::In, Class::On]);
        if place > next
            && self
                .sense(place)
                .is_some_and(|sense| sense.source.is_some())
            && (self.is_verb(place + 1) || self.is_any(place + 1, &[Class::Be, Class::Contains]))
        {
            let source = self.sense(place).and_then(|sense| sense.source);
            draft.sources.extend(source.map(|source| (source, place)));
            self.take(next..place + 1);
            next = place + 1;
        }
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
                let joins_organization =
                    (next..self.units.len()).any(|at| self.has_noun(at, Noun::Organization));
                draft.nouns.push(NounHit {
                    nouns: if joins_organization {
                        &[Noun::OrganizationMember]
                    } else {
                        &[Noun::Collaborator]
                    },
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
                kind: Mod::Person(who, UserRole::Actor),
                negated: false,
                range: at..end,
                mark: Mark::Exact,
                n_verbs: 0,
                of: None,
                is_shared: false,
            });
        }
        true
    }

    /// `that is assigned to X`, `assigned to X` behind its noun, `that was opened by X`.
    pub(crate) fn try_relative_person(&mut self, draft: &mut Draft) -> bool {
        let start = self.at;
        let that = self.skip(start, &[Class::That]);
        if that == start {
            return false;
        }
        let verb = self.skip(that, &[Class::Be, Class::Have, Class::Filler, Class::Not]);
        let is_negated = (that..verb).any(|at| self.is(at, Class::Not));
        if self.has_verb(verb, Verb::Assign) && self.has_form(verb, Forms::PAST) {
            let to = self.skip(verb + 1, &[Class::To]);
            let names = self.list(to, |reader, at| {
                reader.person_name(at).map(|name| (name, at + 1))
            });
            let Some((values, end)) = names else {
                return false;
            };
            self.push_mod(draft, Mod::Is(Field::Assignees, values), start..end);
            if let Some(hit) = draft.mods.last_mut() {
                hit.negated |= is_negated;
            }
            return true;
        }
        let is_origin = self.is_any(verb, &[Class::From, Class::By]) && verb > that;
        if is_origin && let Some((who, end)) = self.who(verb + 1) {
            let who = if is_negated {
                Who::Not(Box::new(who))
            } else {
                who
            };
            self.push_person(draft, who, UserRole::Author, start..end);
            return true;
        }
        let is_authorship = self.has_verb(verb, Verb::Create) && self.has_form(verb, Forms::PAST);
        if is_authorship
            && self.is(verb + 1, Class::By)
            && let Some((who, end)) = self.who(verb + 2)
        {
            let who = if is_negated {
                Who::Not(Box::new(who))
            } else {
                who
            };
            self.push_person(draft, who, UserRole::Author, start..end);
            return true;
        }
        false
    }
}
