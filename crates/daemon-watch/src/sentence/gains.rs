//! Things that are added to or removed from a thing: labels, commits, reviews, assignees.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Guard, Says, TextPlace};
use super::deeds::{Deed, Event, added, events_of, removed};
use super::formula::{Formula, is};
use super::line::Line;
use super::things::Thing;

impl Line<'_> {
    /// `gets new commits`, `receives a review`, `gets the bug label`, `loses the X label`, `has its X label removed`
    pub(super) fn gains(&mut self, things: &[Thing]) -> Option<Vec<Event>> {
        let noun = things.first()?.noun;
        let both = self.eat_phrase(&[
            "gains or loses",
            "gets or loses",
            "loses or gains",
            "receives or loses",
        ]);
        if both {
            self.skip_any(&["its", "the", "a"]);
            let at = self.at;
            let gained = self.labels(added)?;
            self.at = at;
            let lost = self.labels(removed)?;
            let mut events = self.done_to(
                things,
                &Deed {
                    verbs: vec![Verb::Label],
                    guard: gained,
                    is_bare: false,
                },
            )?;
            events.extend(self.done_to(
                things,
                &Deed {
                    verbs: vec![Verb::Unlabel],
                    guard: lost,
                    is_bare: false,
                },
            )?);
            let behind = self.behind_verb(noun);
            events
                .iter_mut()
                .for_each(|event| event.require(behind.clone()));
            return Some(events);
        }
        let loses = self.eat_any(&["loses", "lose", "lost", "sheds", "shed"])
            || self.eat_phrase(&["drops its", "drops the"]);
        let has = !loses && self.eat_any(&["has", "have"]);
        if !loses && !has {
            self.eat_any(&[
                "gets", "get", "receives", "receive", "gains", "gain", "acquires", "got",
                "received", "earns",
            ])
            .then_some(())
            .or_else(|| self.eat_phrase(&["picks up", "pick up"]).then_some(()))?;
        }
        let mut events = if loses {
            self.skip_any(&["its", "the", "a", "an", "any", "one", "of"]);
            let lost = if self.eat_any(&["assignee", "assignees"]) {
                Deed::with(Verb::Unassign, Formula::Always)
            } else if self.eat_any(&["milestone"]) {
                Deed::with(Verb::Demilestone, Formula::Always)
            } else if self.plain_label() {
                Deed::with(Verb::Unlabel, Formula::Always)
            } else {
                Deed::with(Verb::Unlabel, self.labels(removed)?)
            };
            self.done_to(things, &lost)?
        } else {
            self.gained(things, noun, has)?
        };
        let behind = self.behind_verb(noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `label`, without a name.
    pub(super) fn plain_label(&mut self) -> bool {
        self.attempt(|line| {
            line.eat_any(&["labels", "label"]).then_some(())?;
            (line.sees_end() && line.word(0) != "except").then_some(())
        })
        .is_some()
    }

    /// `a milestone`, `the green light`, `a new title`
    pub(super) fn gift(&mut self, noun: Noun) -> Option<Deed> {
        let start = self.at;
        self.skip_any(&["a", "an", "new", "the", "another", "different"]);
        if self.eat_any(&["assignee", "assignees"]) {
            return Some(Deed::with(Verb::Assign, Formula::Always));
        }
        let named = self.attempt(|line| line.milestone(start));
        if named.is_some() || self.eat("milestone") {
            return Some(Deed::with(
                Verb::Milestone,
                named.unwrap_or(Formula::Always),
            ));
        }
        if matches!(noun, Noun::PullRequest | Noun::Issue)
            && let Some(place) = self.attempt(Self::place_named)
        {
            let names: &[&str] = match place {
                TextPlace::Title => &["title"],
                TextPlace::Body => &["body"],
                TextPlace::Own | TextPlace::Message => return None,
            };
            let changed = self.says(Says::Test(is(Field::Changed, names)), start);
            return Some(Deed::with(Verb::Edit, changed));
        }
        (noun == Noun::PullRequest).then_some(())?;
        if self.eat_phrase(&[
            "review request",
            "reviewer",
            "reviewers",
            "request for review",
        ]) {
            return Some(Deed::with(Verb::RequestReview, Formula::Always));
        }
        if self.eat_phrase(&["green light", "go-ahead", "sign-off", "lgtm"]) {
            return Some(Deed::with(Verb::Approve, Formula::Always));
        }
        if self.eat_phrase(&["base branch", "target branch", "base", "target"]) {
            let changed = self.says(Says::Test(is(Field::Changed, &["base"])), start);
            return Some(Deed::with(Verb::Edit, changed));
        }
        self.eat_phrase(&["change request", "request for changes"])
            .then(|| Deed::with(Verb::RequestChanges, Formula::Always))
    }

    pub(super) fn gained(&mut self, things: &[Thing], noun: Noun, has: bool) -> Option<Vec<Event>> {
        let deed = |verb: Verb, guard: Guard| Deed {
            verbs: vec![verb],
            guard,
            is_bare: false,
        };
        let commits = self.attempt(|line| {
            line.skip_any(&[
                "a",
                "any",
                "some",
                "new",
                "more",
                "additional",
                "another",
                "fresh",
                "one",
            ]);
            line.eat_any(&["commits", "commit", "push", "pushes"])
                .then_some(())?;
            line.eat_phrase(&["pushed to it", "added to it", "pushed", "added"]);
            Some(())
        });
        if commits.is_some() {
            return (noun == Noun::PullRequest)
                .then_some(())
                .and_then(|()| self.done_to(things, &deed(Verb::Synchronize, Formula::Always)))
                .or_else(|| {
                    (noun == Noun::Branch)
                        .then_some(())
                        .and_then(|()| self.done_to(things, &deed(Verb::Push, Formula::Always)))
                });
        }
        // `has its X label removed`, `gets the X label removed`
        if has
            && noun == Noun::PullRequest
            && self.eat_phrase(&["changes requested", "had changes requested"])
        {
            return self.done_to(things, &deed(Verb::RequestChanges, Formula::Always));
        }
        let as_label = self.attempt(|line| {
            let found = line.labels(added)?;
            line.eat_phrase(&["as a label", "as labels", "as its label"])
                .then_some(found)
        });
        if let Some(guard) = as_label.filter(|_| !has) {
            return self.done_to(things, &deed(Verb::Label, guard));
        }
        let label = self.attempt(|line| {
            line.skip_any(&["its", "the", "a", "any"]);
            let start = line.at;
            let plain = line.attempt(|line| {
                line.eat_any(&["label", "labels"]).then_some(())?;
                (line.sees_end() && line.word(0) != "except"
                    || line.eat("removed")
                    || line.eat("added"))
                .then_some(line.word_at(line.at - 1).to_owned())
            });
            if let Some(word) = plain {
                let verb = if word == "removed" {
                    Verb::Unlabel
                } else {
                    Verb::Label
                };
                return Some(deed(verb, Formula::Always));
            }
            let named = matches!(line.word(0), "label" | "labels");
            let found = line.labels(added)?;
            let says = named || matches!(line.word_at(line.at - 1), "label" | "labels");
            let gone = line.eat_any(&["removed", "dropped", "stripped"]);
            let put = line.eat_any(&["added", "applied", "attached"]);
            (says && (!has || gone || put)).then_some(())?;
            if gone {
                line.at = start;
                let found = line.labels(removed)?;
                line.at += 1;
                return Some(deed(Verb::Unlabel, found));
            }
            Some(deed(Verb::Label, found))
        });
        if let Some(deed) = label {
            return self.done_to(things, &deed);
        }
        if has {
            return None;
        }
        if let Some(gift) = self.attempt(|line| line.gift(noun)) {
            return self.done_to(things, &gift);
        }
        // `gets a review`, `receives a comment from X`
        let gained = self.things()?;
        let mut events = Vec::new();
        for gift in &gained {
            let is_written = matches!(
                gift.noun,
                Noun::Review | Noun::Comment | Noun::ReviewComment
            );
            if !is_written || !gift.on.is_empty() {
                return None;
            }
            for thing in things {
                let mut gift = gift.clone();
                gift.on = vec![thing.noun];
                gift.noun = super::things::comment_on(gift.noun, &gift.on);
                gift.guard = gift.guard.and(super::things::of_parent(&thing.guard)?);
                gift.source = gift.source.or(thing.source);
                events.extend(events_of(&gift, &[Verb::Create])?);
            }
        }
        Some(events)
    }
}
