//! Words that mean another noun: a tool for its alerts, a run for its workflow, a new member for joining.

use daemon_event::vocabulary::{Noun, Verb};

use crate::grammar::draft::{Draft, Mod, NounHit};
use crate::grammar::reader::Reader;
use crate::lexicon::Class;
use crate::normalise::TokenKind;

impl Reader<'_> {
    /// Reads a word that means another noun.
    pub(crate) fn try_whole(&mut self, draft: &mut Draft) -> bool {
        self.try_tool(draft)
            || self.try_run_of(draft)
            || self.try_newcomer(draft)
            || self.try_message_to_bot(draft)
            || self.try_file_in_slack(draft)
            || self.try_new_member(draft)
            || self.try_somebodys(draft)
            || self.try_ci_workflow(draft)
    }

    /// `the ci workflow`: `ci` is a name there.
    fn try_ci_workflow(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let is_name = self.unit(at).is_some_and(|unit| unit.text == "ci")
            && (self.has_noun(at + 1, Noun::Workflow) || self.has_noun(at + 1, Noun::Job))
            && self.is(at.wrapping_sub(1), Class::Article);
        if is_name {
            let name = vec![self.value(at)];
            self.push_mod(draft, Mod::Name(Noun::Workflow, name), at..at + 1);
        }
        is_name
    }

    /// `somebody's message`: the owner does not restrict the event.
    fn try_somebodys(&mut self, draft: &Draft) -> bool {
        let at = self.at;
        let is_owner = self.is(at, Class::Anyone)
            && self.is(at + 1, Class::Possessive)
            && self.is_noun(at + 2)
            && draft.nouns.is_empty();
        if is_owner {
            self.take(at..at + 2);
            self.at += 2;
        }
        is_owner
    }

    /// `messages the bot directly`.
    fn try_message_to_bot(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = self.unit(at).map_or("", |unit| unit.text.as_str());
        let bot = self.skip(at + 1, &[Class::Article]);
        let passive = text == "messaged"
            && self
                .unit(at + 1)
                .is_some_and(|unit| unit.text == "directly");
        if passive {
            self.push_verb(draft, vec![Verb::MessageDirectly], at..at + 2);
            return true;
        }
        if !matches!(text, "messages" | "messaged" | "messaging" | "message")
            || !self.is(bot, Class::Bot)
        {
            return false;
        }
        let directly = usize::from(
            self.unit(bot + 1)
                .is_some_and(|unit| unit.text == "directly"),
        );
        for before in 0..at {
            if self.is(before, Class::Anyone) {
                self.take(before..before + 1);
            }
        }
        self.push_verb(draft, vec![Verb::MessageDirectly], at..bot + 1 + directly);
        true
    }

    /// `a file is shared in Slack`.
    fn try_file_in_slack(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let is_file = self.unit(at).is_some_and(|unit| {
            matches!(
                unit.text.as_str(),
                "a file" | "any file" | "any files" | "file" | "files"
            )
        });
        let in_slack = self.units.iter().any(|unit| {
            unit.kind == TokenKind::Channel
                || unit.sense.is_some_and(|sense| {
                    sense.source == Some(daemon_event::Source::Slack)
                        || sense.nouns.contains(&Noun::Channel)
                })
        });
        let names_path = (at + 1..self.units.len()).any(|at| self.is_path(at));
        if !is_file || !in_slack || names_path {
            return false;
        }
        draft.nouns.push(NounHit {
            nouns: &[Noun::SharedFile],
            at,
            group: draft.nouns.len(),
            plural: false,
            n_verbs: draft.verbs.len(),
        });
        self.take(at..at + 1);
        self.at += 1;
        true
    }

    /// `a new member joins`: every member who joins is new.
    fn try_new_member(&mut self, draft: &Draft) -> bool {
        let at = self.at;
        let joins = self.is(at, Class::New)
            && self.is_any(at + 1, &[Class::Maintainer, Class::Anyone, Class::Human])
            && self.has_verb(at + 2, Verb::Join)
            && draft.verbs.is_empty();
        if joins {
            self.take(
                at.saturating_sub(usize::from(self.is(at.wrapping_sub(1), Class::Article)))..at + 1,
            );
            self.at += 1;
        }
        joins
    }

    /// `Dependabot opens an alert`, `by secret scanning`: the tool decides the kind of the alert.
    fn try_tool(&mut self, draft: &mut Draft) -> bool {
        let at = self.skip(
            self.at,
            &[Class::By, Class::From, Class::Or, Class::Article],
        );
        let is_bot = self.unit(at).is_some_and(|unit| unit.text == "dependabot");
        let is_scan = at > self.at
            && (self.has_noun(at, Noun::SecretAlert) || self.has_noun(at, Noun::CodeScanningAlert));
        let of_alerts = (0..self.units.len()).any(|other| {
            other != at
                && self.has_noun(other, Noun::Alert)
                && self
                    .unit(other)
                    .is_some_and(|unit| unit.text.starts_with("alert"))
        });
        let of_secrets = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::SecretAlert));
        let in_sentry = self.units.iter().any(|unit| {
            unit.sense
                .is_some_and(|sense| sense.source == Some(daemon_event::Source::Sentry))
        });
        if in_sentry || !(is_bot && of_alerts || is_scan && (of_alerts || of_secrets)) {
            return false;
        }
        let nouns: &'static [Noun] = if is_bot {
            &[Noun::DependabotAlert]
        } else if self.has_noun(at, Noun::SecretAlert) {
            &[Noun::SecretAlert]
        } else {
            &[Noun::CodeScanningAlert]
        };
        let group = draft
            .nouns
            .iter()
            .find(|hit| !hit.nouns.contains(&Noun::Alert))
            .map_or(draft.nouns.len() + 100, |hit| hit.group);
        draft.nouns.push(NounHit {
            nouns,
            at,
            group,
            plural: false,
            n_verbs: draft.verbs.len(),
        });
        self.take(self.at..at + 1);
        self.at = at + 1;
        true
    }

    /// `a run of the Deploy workflow`, `a page of the wiki`: a part that means the whole.
    fn try_run_of(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = self.unit(at).map_or("", |unit| unit.text.as_str());
        let is_part = matches!(
            text,
            "run" | "runs" | "page" | "pages" | "execution" | "card" | "item" | "items" | "cards"
        );
        let of = self.skip(at + 1, &[Class::Of, Class::On, Class::In]);
        let whole = (of..of + 7).find(|next| {
            self.sense(*next).is_some_and(|sense| {
                sense.nouns.iter().any(|noun| {
                    matches!(
                        noun,
                        Noun::Workflow
                            | Noun::Wiki
                            | Noun::Ci
                            | Noun::GithubProject
                            | Noun::ProjectItem
                    )
                })
            })
        });
        let follows_workflow = self.is(at.wrapping_sub(1), Class::Article)
            || draft.nouns.last().is_some_and(|hit| hit.at + 1 == at);
        let Some(whole) = whole.filter(|_| is_part && of > at + 1 && follows_workflow) else {
            return false;
        };
        if text.starts_with("item") || text.starts_with("card") {
            if !self.has_noun(whole, Noun::GithubProject) {
                return false;
            }
            draft.nouns.push(NounHit {
                nouns: &[Noun::ProjectItem],
                at,
                group: draft.nouns.len(),
                plural: false,
                n_verbs: draft.verbs.len(),
            });
        }
        self.take(at..of);
        self.at = of;
        true
    }

    /// `gets a new collaborator`, `becomes a member of #eng`.
    fn try_newcomer(&mut self, draft: &mut Draft) -> bool {
        let at = self.at;
        let text = self.unit(at).map_or("", |unit| unit.text.as_str());
        let becomes = draft.verbs.last().is_some_and(|hit| {
            self.unit(hit.at)
                .is_some_and(|unit| unit.text.starts_with("becom"))
                && self.skip(hit.at + 1, &[Class::Article, Class::New]) == at
        });
        let becomes = becomes
            || (1..=3).any(|back| {
                at >= back
                    && self.unit(at - back).is_some_and(|unit| unit.text == "made")
                    && self.skip(at - back + 1, &[Class::Article, Class::New]) == at
            });
        let gains = draft
            .gains
            .is_some_and(|gains| self.skip(gains + 1, &[Class::Article, Class::New]) == at);
        if !(becomes || gains) {
            return false;
        }
        let in_slack = draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(daemon_event::Field::Channel, _)))
            || (0..self.units.len()).any(|at| self.has_noun(at, Noun::Channel));
        let (noun, verb) = match text {
            "collaborator" | "collaborators" => (Noun::Collaborator, Verb::Add),
            "member" | "members" if in_slack => (Noun::Channel, Verb::Join),
            _ => return false,
        };
        draft.gains = None;
        draft.verbs.clear();
        for before in 0..at {
            if self.is(before, Class::Anyone) {
                self.take(before..before + 1);
            }
        }
        draft.nouns.retain(|hit| !hit.nouns.contains(&noun));
        draft.nouns.insert(
            0,
            NounHit {
                nouns: if noun == Noun::Channel {
                    &[Noun::Channel]
                } else {
                    &[Noun::Collaborator]
                },
                at,
                group: 200,
                plural: false,
                n_verbs: 0,
            },
        );
        let from = (at.saturating_sub(3)..at)
            .find(|back| (*back..at).all(|at| self.is_any(at, &[Class::Article, Class::New])))
            .unwrap_or(at);
        self.push_verb(draft, vec![verb], from..at + 1);
        true
    }
}
