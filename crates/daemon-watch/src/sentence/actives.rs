//! Active clauses: verbs with their objects.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Guard, Says, TextPlace};
use super::deeds::{Deed, Event, events_of};
use super::formula::{Formula, is};
use super::idioms::{Idiom, Voice};
use super::line::Line;
use super::predicate::Behind;
use super::things::{Thing, is_comment};
use crate::filter::Op;
use crate::lexicon::Forms;
use crate::normalise::TokenKind;
use crate::resolve::has_row;

pub(super) fn deed(verb: Verb, guard: Guard) -> Deed {
    Deed {
        verbs: vec![verb],
        guard,
        is_bare: false,
    }
}

impl Line<'_> {
    /// One verb with its object.
    pub(super) fn active(&mut self, forms: Forms) -> Option<Vec<Event>> {
        self.attempt(|line| {
            line.eat_any(&["does", "makes", "performs", "did"])
                .then_some(())?;
            line.push_clause()
        })
        .or_else(|| self.attempt(Self::commenting))
        .or_else(|| self.attempt(|line| line.pushing(forms)))
        .or_else(|| self.attempt(Self::requesting))
        .or_else(|| self.attempt(Self::withdrawing))
        .or_else(|| self.attempt(Self::appointing))
        .or_else(|| self.attempt(Self::labelling))
        .or_else(|| self.attempt(Self::assigning))
        .or_else(|| self.attempt(Self::converting))
        .or_else(|| self.attempt(Self::editing_part))
        .or_else(|| self.attempt(Self::mentioning))
        .or_else(|| self.attempt(|line| line.idiomatic(forms)))
        .or_else(|| self.attempt(|line| line.doing(forms)))
    }

    /// A verb of more than one word, or a verb with this meaning for some nouns only: `cuts a branch`.
    pub(super) fn idiomatic(&mut self, forms: Forms) -> Option<Vec<Event>> {
        let at = self.at;
        for (idiom, n_words) in self.idioms_here(&[Voice::Done], forms) {
            self.at = at + n_words;
            let found = self.attempt(|line| {
                let things = line.object()?;
                let is_meant = things.iter().all(|thing| idiom.nouns.contains(&thing.noun));
                is_meant.then_some(())?;
                let mut deed = line.deed_of(idiom, at);
                if idiom.changed == Some("base") {
                    deed.guard = deed.guard.and(line.new_base()?);
                }
                line.finish(&things, &deed)
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    pub(super) fn deed_of(&self, idiom: &Idiom, start: usize) -> Deed {
        let guard = match idiom.changed {
            Some(part) => self.says(Says::Test(is(Field::Changed, &[part])), start),
            None => Formula::Always,
        };
        deed(idiom.verb, guard)
    }

    /// The object: things, or `it`.
    pub(super) fn object(&mut self) -> Option<Vec<Thing>> {
        let is_one = self.word(0) == "one" && self.word(1) != "of";
        if self.eat_any(&["it", "them"]) || is_one && self.eat("one") {
            let nouns = self.last.clone();
            let things = nouns.iter().map(|noun| {
                let mut thing = self.any_pull_request(self.at - 1);
                thing.noun = *noun;
                thing.source = self.last_source;
                if is_comment(*noun) {
                    thing.on.clone_from(&self.last_on);
                }
                thing
            });
            let things: Vec<Thing> = things.collect();
            return (!things.is_empty()).then_some(things);
        }
        let things = self.things()?;
        self.last = things.iter().map(|thing| thing.noun).collect();
        self.last_source = things.first().and_then(|thing| thing.source);
        self.last_on = things
            .first()
            .map(|thing| thing.on.clone())
            .unwrap_or_default();
        Some(things)
    }

    pub(super) fn finish(&mut self, things: &[Thing], deed: &Deed) -> Option<Vec<Event>> {
        let mut events = self.done_to(things, deed)?;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `pushes commits to main`, `force-pushes to a PR`, `adds a commit to it`
    pub(super) fn pushing(&mut self, forms: Forms) -> Option<Vec<Event>> {
        let start = self.at;
        let forced = self.eat_any(&[
            "force-pushes",
            "force-pushed",
            "force-pushing",
            "force-push",
        ]) || self.eat_phrase(&[
            "force pushes",
            "force pushed",
            "force pushing",
            "force push",
        ]);
        let adds = !forced && self.eat_any(&["adds", "added", "adding"]);
        if !forced && !adds {
            let verbs = self.eat_verb(forms)?;
            verbs.contains(&Verb::Push).then_some(())?;
            matches!(
                self.word_at(self.at - 1),
                "pushes" | "push" | "pushed" | "pushing" | "commits" | "lands"
            )
            .then_some(())?;
        }
        self.eat("up");
        let mut thing = self.any_pull_request(start);
        thing.noun = Noun::Commit;
        let named = self.attempt(|line| {
            line.skip_any(&[
                "a",
                "new",
                "any",
                "some",
                "more",
                "an",
                "additional",
                "another",
                "one",
                "or",
            ]);
            line.eat_any(&["commits", "commit", "code", "changes", "change"])
                .then_some(())
        });
        let files = self.attempt(|line| {
            matches!(line.word_at(line.at - 1), "changes" | "change").then_some(())?;
            line.eat_any(&["in", "under", "to", "inside", "within", "outside"])
                .then_some(())?;
            line.at -= usize::from(line.word_at(line.at - 1) == "outside");
            line.touched(false)
        });
        if adds && named.is_none() {
            return None;
        }
        thing.guard = self.modifiers(Behind::Noun(Noun::Commit));
        if let Some(files) = files {
            thing.guard = thing.guard.and(files);
        }
        let on_thing = self.attempt(|line| {
            line.eat_any(&["to", "on", "onto", "into"]).then_some(())?;
            line.attempt(|line| {
                line.skip_any(&["the", "a"]);
                line.eat_phrase(&["head branch of", "branch of", "branches of"])
                    .then_some(())
            });
            // `pushes to one` after the name of a branch
            let is_branch = line.last_branch.is_some()
                && matches!(line.word(0), "one" | "them" | "either" | "any");
            if is_branch && line.attempt(Self::that_branch).is_some() {
                return None;
            }
            let things = line.object()?;
            line.eat("'s");
            line.eat_phrase(&["head branch", "branch"]);
            things
                .iter()
                .all(|thing| thing.noun == Noun::PullRequest)
                .then_some(things)
        });
        if let Some(things) = on_thing {
            (!forced).then_some(())?;
            let guard = thing.guard.clone();
            return self.finish(&things, &deed(Verb::Synchronize, guard));
        }
        let again = self.attempt(|line| {
            line.eat_any(&["to", "on", "onto", "into"]).then_some(())?;
            line.that_branch()
        });
        if let Some(branch) = again {
            thing.guard = thing.guard.and(branch);
        }
        self.last = vec![Noun::Branch];
        let tag = self.attempt(|line| {
            let things = line.things()?;
            things
                .iter()
                .all(|thing| thing.noun == Noun::Tag)
                .then_some(things)
        });
        if let Some(things) = tag {
            return self.finish(&things, &deed(Verb::Push, thing.guard.clone()));
        }
        let verb = if forced { Verb::ForcePush } else { Verb::Push };
        self.finish(&[thing], &deed(verb, Formula::Always))
    }

    /// `withdraws a review request for X on a PR`
    pub(super) fn withdrawing(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&[
            "withdraws",
            "removes",
            "cancels",
            "retracts",
            "withdrew",
            "withdrawing",
        ])
        .then_some(())?;
        self.skip_any(&["a", "the", "any", "their", "his", "her", "its"]);
        self.eat_phrase(super::requests::REQUEST).then_some(())?;
        let target = self.attempt(|line| {
            line.eat_any(&["for", "to", "from"]).then_some(())?;
            line.reviewer()
        });
        let things = self.attempt(|line| {
            line.eat_any(&["on", "from", "for", "of"]).then_some(())?;
            line.object()
        });
        let things = things.unwrap_or_else(|| vec![self.any_pull_request(start)]);
        let guard = target.unwrap_or(Formula::Always);
        self.finish(&things, &deed(Verb::UnrequestReview, guard))
    }

    /// `requests changes on a PR`, `requests a review from X`, `asks X to review a PR`
    pub(super) fn requesting(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&[
            "requests",
            "requested",
            "requesting",
            "request",
            "asks",
            "asked",
            "asking",
        ])
        .then_some(())?;
        self.eat("for");
        if self.eat_any(&["changes"]) {
            let things = self.attempt(|line| {
                line.eat_any(&["on", "in", "to", "for"]).then_some(())?;
                let was = line.last.clone();
                // After a comment `it` is the thing that the comment is on.
                if line.last.iter().all(|noun| is_comment(*noun)) && !line.last_on.is_empty() {
                    line.last.clone_from(&line.last_on);
                }
                let found = line.object();
                if found.is_none() {
                    line.last = was;
                }
                found
            });
            let things = things.unwrap_or_else(|| vec![self.any_pull_request(start)]);
            return self.finish(&things, &deed(Verb::RequestChanges, Formula::Always));
        }
        let mut target = Formula::Always;
        let mut things = Vec::new();
        if self
            .attempt(|line| {
                line.skip_any(&["a", "new", "another"]);
                line.eat_any(&["review", "reviews", "re-review"])
                    .then_some(())
            })
            .is_none()
        {
            target = self.reviewer()?;
            if self.eat_phrase(&["to review"]) {
                things = self.object()?;
            } else {
                self.eat_phrase(&["for a review", "for review"])
                    .then_some(())?;
            }
        }
        for _ in 0..2 {
            if target.is_always()
                && let Some(found) = self.attempt(|line| {
                    line.eat_any(&["from", "of", "by"]).then_some(())?;
                    line.reviewer()
                })
            {
                target = found;
            }
            if things.is_empty()
                && let Some(found) = self.attempt(|line| {
                    line.eat_any(&["on", "for", "of"]).then_some(())?;
                    line.object()
                })
            {
                things = found;
            }
        }
        if things.is_empty() {
            things = vec![self.any_pull_request(start)];
        }
        things
            .iter()
            .all(|thing| thing.noun == Noun::PullRequest)
            .then_some(())?;
        self.finish(&things, &deed(Verb::RequestReview, target))
    }

    /// `mentions @x in a comment on a PR`
    pub(super) fn mentioning(&mut self) -> Option<Vec<Event>> {
        self.eat_any(&[
            "mentions",
            "mentioning",
            "mentioned",
            "pings",
            "tags",
            "@mentions",
        ])
        .then_some(())?;
        let start = self.at;
        let value = self.name_called()?;
        let text = self.says(Says::Text(TextPlace::Own, Op::Contains, vec![value]), start);
        self.eat_any(&["in", "on", "under"]).then_some(())?;
        self.eat_phrase(&[
            "the conversation of",
            "the conversation on",
            "the discussion of",
            "the comments of",
            "the comments on",
        ]);
        let things = self.object()?;
        let mut events = Vec::new();
        for thing in &things {
            let verb = if is_comment(thing.noun) {
                Verb::Create
            } else {
                Verb::Comment
            };
            events.extend(events_of(thing, &[verb])?);
        }
        events
            .iter_mut()
            .for_each(|event| event.require(text.clone()));
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// Reads the mentioned user.
    pub(super) fn name_called(&mut self) -> Option<String> {
        match self.kind(0)? {
            TokenKind::User => {
                let value = format!("@{}", self.value(0));
                self.at += 1;
                Some(value)
            }
            _ => self.name(),
        }
    }

    /// Any other verb with its object: `opens or reopens a PR`, `publishes a release`, `approves it`.
    pub(super) fn doing(&mut self, forms: Forms) -> Option<Vec<Event>> {
        let start = self.at;
        let mut verbs = vec![self.eat_verb(forms)?];
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or"]).then_some(())?;
            let more = line.eat_verb(forms)?;
            Some(more)
        }) {
            verbs.push(more);
        }
        let pushes = verbs.last().is_some_and(|last| last.contains(&Verb::Push))
            && verbs.len() > 1
            && self.eat("to");
        // `approves or requests changes on a PR`
        let is_mixed = verbs.len() > 1
            && verbs
                .iter()
                .any(|verbs| verbs.contains(&Verb::RequestChanges));
        if is_mixed {
            self.eat_any(&["on", "to", "for"]);
        }
        let approves = verbs.iter().all(|verbs| verbs.contains(&Verb::Approve));
        let things = match self.attempt(|line| line.merged_object(&verbs)) {
            Some(things) => things,
            None if approves && self.sees_end() => vec![self.any_pull_request(start)],
            None => self.object()?,
        };
        let mut events = Vec::new();
        for verbs in &verbs {
            for thing in &things {
                let verb = verbs
                    .iter()
                    .copied()
                    .find(|verb| self.may_do(*verb, thing))
                    .or_else(|| {
                        (pushes && thing.noun == Noun::PullRequest && verbs.contains(&Verb::Push))
                            .then_some(Verb::Synchronize)
                    })?;
                events.extend(events_of(thing, &[verb])?);
            }
        }
        if verbs.iter().all(|verbs| verbs.contains(&Verb::Close)) {
            self.attempt(|line| {
                line.eat_mark(",");
                line.eat_phrase(&[
                    "without merging it",
                    "without merging",
                    "without a merge",
                    "but does not merge it",
                    "unmerged",
                ])
                .then_some(())
            });
            if let Some(reason) = self.attempt(|line| {
                let start = line.at;
                line.eat_phrase(&["as not planned", "as wontfix"])
                    .then_some(())?;
                Some(line.says(Says::Test(is(Field::StateReason, &["not_planned"])), start))
            }) {
                events
                    .iter_mut()
                    .for_each(|event| event.require(reason.clone()));
            }
        }
        let behind = self.behind_verb(things.first()?.noun);
        for event in &mut events {
            event.require(behind.clone());
            event.start = event.start.min(start);
        }
        Some(events)
    }

    /// `merges into main`, `merges something into main`: only pull requests are merged.
    pub(super) fn merged_object(&mut self, verbs: &[&[Verb]]) -> Option<Vec<Thing>> {
        let merges = verbs.iter().all(|verbs| verbs.contains(&Verb::Merge));
        merges.then_some(())?;
        self.eat_any(&["something", "anything", "work", "changes", "code", "stuff"]);
        matches!(self.word(0), "into" | "to" | "onto").then_some(())?;
        self.last = vec![Noun::PullRequest];
        Some(vec![self.any_pull_request(self.at)])
    }

    pub(super) fn may_do(&self, verb: Verb, thing: &Thing) -> bool {
        if matches!(
            verb,
            Verb::Touch
                | Verb::Move
                | Verb::Label
                | Verb::Unlabel
                | Verb::Comment
                | Verb::RequestReview
        ) {
            return false;
        }
        if thing.noun == Noun::PullRequest && matches!(verb, Verb::Push | Verb::Add) {
            return false;
        }
        has_row(thing.noun, verb)
    }
}
