//! Events named by nouns: pushes, merges, openings, new things.

use daemon_event::vocabulary::{Noun, Verb};

use super::deeds::{Deed, Event, events_of, synchronized};
use super::formula::Formula;
use super::idioms::Voice;
use super::line::Line;
use super::predicate::Behind;
use super::things::{Thing, is_comment};
use crate::lexicon::Forms;
use crate::resolve::has_row;

/// Words before a thing whose appearance is the event.
const TOLD: &[&str] = &[
    "there is",
    "there are",
    "there has been",
    "there comes",
    "we get",
    "we receive",
    "we have",
    "you get",
    "the repository gets",
    "the repository receives",
    "the repo gets",
    "the repo receives",
    "our repo gets",
    "our repo receives",
    "our repository gets",
    "our repository receives",
    "the project gets",
    "the project receives",
];

/// Whether a thing without a verb is an event.
fn is_event_by_itself(thing: &Thing, on: bool) -> bool {
    let is_told_by_place = is_comment(thing.noun) && thing.is_plural && !thing.on.is_empty();
    let is_written = matches!(
        thing.noun,
        Noun::Comment | Noun::ReviewComment | Noun::Review | Noun::CommitComment | Noun::Release
    );
    thing.is_new || is_told_by_place || on && is_written
}

impl Line<'_> {
    /// New things, and things that are events themselves: `new comments on PRs`, `pushes to main`.
    pub(super) fn bare_thing(&mut self, on: bool) -> Option<Vec<Event>> {
        // `there is a PR`, `we get a PR`
        let is_told = self.eat_phrase(TOLD);
        let things = self.things()?;
        self.last = things.iter().map(|thing| thing.noun).collect();
        // `additional commits on a PR`
        if let [thing] = things.as_slice()
            && thing.noun == Noun::Commit
            && (is_told || thing.is_new)
            && let Some(pulls) = self.arrives_on()
        {
            let events = events_of(thing, &[Verb::Push])?;
            self.last = vec![Noun::PullRequest];
            return Some(synchronized(&events, &pulls));
        }
        let is_new = things.iter().all(|thing| thing.is_new);
        // `a new PR targets main`
        let said = if is_new && !self.sees_end() {
            let noun = things.first()?.noun;
            self.attempt(|line| line.predicates(Behind::Noun(noun)))
        } else {
            None
        };
        let mut events = Vec::new();
        for thing in &things {
            (is_told || is_event_by_itself(thing, on)).then_some(())?;
            let verbs = match thing.noun {
                Noun::Commit => [Verb::Push],
                Noun::Release => [Verb::Publish],
                _ => [Verb::Create],
            };
            events.extend(events_of(thing, &verbs)?);
        }
        for event in &mut events {
            event.require(said.clone().unwrap_or(Formula::Always));
        }
        Some(events)
    }

    /// `merge of a PR`, `PR creation`, `the closing of an issue`, `a push to main`, `merges into main`
    pub(super) fn nominal_clause(&mut self) -> Option<Vec<Event>> {
        self.attempt(Self::push_clause)
            .or_else(|| self.attempt(Self::noun_of))
            .or_else(|| self.attempt(Self::compound_noun))
    }

    /// `a push to main`, `pushes to release/** by bots`, `a force push`
    pub(super) fn push_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&[
            "a", "an", "any", "every", "each", "new", "the", "all", "some", "direct",
        ]);
        let forced = self.eat_any(&["force-push", "force-pushes", "force-pushed"])
            || self.eat_phrase(&["force push", "force pushes", "forced push", "forced pushes"]);
        if !forced {
            self.eat_any(&["push", "pushes"]).then_some(())?;
        }
        let mut thing = self.any_pull_request(start);
        thing.noun = Noun::Commit;
        let on_thing = self.attempt(|line| {
            line.eat_any(&["to", "on", "onto"]).then_some(())?;
            let things = line.things()?;
            things
                .iter()
                .all(|thing| thing.noun == Noun::PullRequest)
                .then_some(things)
        });
        let (noun, things, verb) = match on_thing {
            Some(things) => (Noun::PullRequest, things, Verb::Synchronize),
            None => (
                Noun::Commit,
                vec![thing],
                if forced { Verb::ForcePush } else { Verb::Push },
            ),
        };
        if forced && noun == Noun::PullRequest {
            return None;
        }
        self.attempt(|line| {
            line.eat_any(&["of"]).then_some(())?;
            line.skip_any(&["new"]);
            line.eat_any(&["commits", "code"]).then_some(())
        });
        let mut guard = self.behind_verb(noun);
        self.attempt(|line| {
            line.eat_any(&["happens", "occurs", "arrives", "lands", "is", "gets"])
                .then_some(())
                .filter(|()| {
                    let last = line.word_at(line.at - 1);
                    !matches!(last, "is" | "gets") || line.eat_any(&["made", "done"])
                })
        });
        guard = guard.and(self.behind_verb(noun));
        let mut events = self.done_to(
            &things,
            &Deed {
                verbs: vec![verb],
                guard,
                is_bare: false,
            },
        )?;
        events.iter_mut().for_each(|event| event.start = start);
        Some(events)
    }

    /// `merge of a PR into main`, `opening or closing of an issue`, `deletion of a tag`
    pub(super) fn noun_of(&mut self) -> Option<Vec<Event>> {
        self.skip_any(&["the", "a", "any", "every", "each"]);
        let forms = Forms(Forms::NOMINAL.0 | Forms::GERUND.0);
        if let Some(events) = self.attempt(Self::idiom_of) {
            return Some(events);
        }
        let mut verbs = vec![self.eat_verb(forms)?];
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "and"]).then_some(())?;
            line.eat("the");
            line.eat_verb(forms)
        }) {
            verbs.push(more);
        }
        let named_into = verbs.len() == 1
            && verbs[0].contains(&Verb::Merge)
            && matches!(self.word(0), "into" | "to" | "onto" | "in");
        let things = if named_into {
            vec![self.any_pull_request(self.at)]
        } else {
            self.eat_any(&["of", "to"]).then_some(())?;
            self.objects()?
        };
        self.last = things.iter().map(|thing| thing.noun).collect();
        let found = self.nominal_events(&things, &verbs);
        self.eat_phrase(&[
            "happens",
            "occurs",
            "takes place",
            "goes through",
            "is made",
            "is done",
        ]);
        found
    }

    /// `retitling of a PR`, `the cutting of a branch`
    fn idiom_of(&mut self) -> Option<Vec<Event>> {
        let at = self.at;
        for (idiom, n_words) in self.idioms_here(&[Voice::Done], Forms::GERUND) {
            self.at = at + n_words;
            let found = self.attempt(|line| {
                line.eat("of").then_some(())?;
                let things = line.objects()?;
                let is_meant = things.iter().all(|thing| idiom.nouns.contains(&thing.noun));
                is_meant.then_some(())?;
                let deed = line.deed_of(idiom, at);
                line.finish(&things, &deed)
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    pub(super) fn nominal_events(
        &mut self,
        things: &[Thing],
        verbs: &[&[Verb]],
    ) -> Option<Vec<Event>> {
        let mut events = Vec::new();
        for verbs in verbs {
            for thing in things {
                let verb = verbs
                    .iter()
                    .copied()
                    .find(|verb| has_row(thing.noun, *verb) && *verb != Verb::Touch)?;
                events.extend(events_of(thing, &[verb])?);
            }
        }
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `PR creation`, `issue closure`, `pull request merges`, `PR approvals by maintainers`
    pub(super) fn compound_noun(&mut self) -> Option<Vec<Event>> {
        self.skip_any(&["a", "any", "every", "the", "new", "each"]);
        let start = self.at;
        let draft = self.attempt(Self::adjective);
        let sense = self.eat_sense(|sense| {
            sense.nouns.iter().any(|noun| {
                matches!(
                    noun,
                    Noun::PullRequest
                        | Noun::Issue
                        | Noun::Release
                        | Noun::Tag
                        | Noun::Branch
                        | Noun::Comment
                        | Noun::Milestone
                        | Noun::Review
                )
            })
        })?;
        let noun = sense.nouns.first().copied()?;
        if sense.plural {
            return None;
        }
        let forms = Forms(Forms::NOMINAL.0);
        let mut verbs = vec![self.eat_verb(forms)?];
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "and"]).then_some(())?;
            line.eat_verb(forms)
        }) {
            verbs.push(more);
        }
        let mut thing = self.any_pull_request(start);
        thing.noun = noun;
        thing.guard = draft.unwrap_or(Formula::Always);
        self.nominal_events(&[thing], &verbs)
    }
}
