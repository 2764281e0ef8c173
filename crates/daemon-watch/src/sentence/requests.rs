//! Clauses about requested reviews, and about users as passive subjects.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Atom, Guard, Says, TextPlace, UserRole};
use super::clauses::BE;
use super::deeds::{Deed, Event, events_of};
use super::formula::Formula;
use super::line::Line;
use super::things::is_comment;
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

/// Names of a review request.
pub(super) const REQUEST: &[&str] = &[
    "review requests",
    "review request",
    "requests for a review",
    "requests for review",
    "request for a review",
    "request for review",
];
/// Verbs for the removal of a review request.
const WITHDRAWN: &[&str] = &[
    "removed",
    "withdrawn",
    "cancelled",
    "canceled",
    "retracted",
    "revoked",
    "rescinded",
    "dropped",
    "unassigned",
    "dismissed",
    "deleted",
    "cleared",
    "taken",
];

impl Line<'_> {
    /// `a review is requested from X`, `changes are requested on a PR`, `a reviewer is removed from a PR`
    pub(super) fn request_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.attempt(|line| {
            line.eat_any(&["somebody", "someone"]).then_some(())?;
            line.eat("'s").then_some(())
        });
        let asked = self.attempt(|line| {
            let found = line
                .person_value(Field::Reviewer)
                .filter(|found| !found.is_always())?;
            line.eat("'s").then_some(())?;
            matches!(line.word(0), "review").then_some(found)
        });
        let owned = self.attempt(|line| {
            let things = line.things()?;
            line.eat("'s").then_some(())?;
            matches!(line.word(0), "review").then_some(things)
        });
        self.skip_any(&[
            "a", "an", "any", "new", "some", "the", "their", "his", "her",
        ]);
        let was_requested = self.eat("requested");
        let mut is_request = false;
        let mut verb = if self.eat("changes") {
            self.eat_phrase(&["are", "get", "were", "have been"]);
            self.eat("requested").then_some(Verb::RequestChanges)?
        } else if self.eat_phrase(REQUEST) {
            is_request = true;
            self.request_deed().unwrap_or(Verb::RequestReview)
        } else if self.eat_any(&["review", "reviews", "reviewer", "reviewers"]) {
            let is_person = self.word_at(self.at - 1).starts_with("reviewer");
            self.eat_phrase(BE).then_some(())?;
            if self.eat_any(&["requested", "asked"])
                || is_person && self.eat_any(&["added", "assigned"])
            {
                self.eat("for");
                Verb::RequestReview
            } else {
                (is_person || was_requested).then_some(())?;
                self.eat_any(WITHDRAWN).then_some(())?;
                self.eat("off");
                Verb::UnrequestReview
            }
        } else {
            return None;
        };
        let mut target = asked.unwrap_or(Formula::Always);
        let mut things = owned.unwrap_or_default();
        let mut behind = Formula::Always;
        loop {
            let at = self.at;
            if things.is_empty()
                && let Some(found) = self.attempt(|line| {
                    line.eat_any(&["on", "for", "to", "from", "of"])
                        .then_some(())?;
                    // Changes are requested from the author: `on a pull request by X`.
                    let found = line.objects()?;
                    found
                        .iter()
                        .all(|thing| thing.noun == Noun::PullRequest)
                        .then_some(found)
                })
            {
                things = found;
                // Changes are requested from the author: `on a pull request by X`.
                if verb == Verb::RequestChanges
                    && let Some(author) = self.attempt(|line| {
                        line.eat("by").then_some(())?;
                        let at = line.at;
                        line.name()?;
                        line.at = at;
                        line.who(UserRole::Author)
                    })
                {
                    for thing in &mut things {
                        thing.guard = thing.guard.clone().and(author.clone());
                    }
                }
            } else if verb == Verb::RequestReview
                && target.is_always()
                && let Some(found) = self.attempt(|line| {
                    line.eat_phrase(&["goes to", "is sent to", "is made to", "is addressed to"])
                        .then_some(())?;
                    line.reviewer()
                })
            {
                target = found;
            } else if verb != Verb::RequestChanges
                && target.is_always()
                && let Some(found) = self.attempt(|line| {
                    line.eat_any(&["from", "for", "of", "to"]).then_some(())?;
                    line.reviewer()
                })
            {
                target = found;
            } else if is_request && let Some(found) = self.attempt(Self::request_deed) {
                // `a request for X is removed`
                verb = found;
                is_request = false;
            } else {
                behind = behind.and(self.behind_verb(Noun::PullRequest));
            }
            if self.at == at {
                break;
            }
        }
        if things.is_empty() {
            things = vec![self.any_pull_request(start)];
        }
        self.last = vec![Noun::PullRequest];
        let guard = target.and(behind);
        let mut events = self.done_to(
            &things,
            &Deed {
                verbs: vec![verb],
                guard,
                is_bare: false,
            },
        )?;
        self.more_of(&things, &mut events);
        Some(events)
    }

    /// The event of a review request.
    pub(super) fn request_deed(&mut self) -> Option<Verb> {
        self.attempt(|line| {
            if line.eat_any(&["arrives", "appears", "lands"])
                || line.eat_phrase(&["comes in", "goes out", "shows up", "comes up"])
            {
                return Some(Verb::RequestReview);
            }
            if line.eat_any(&["disappears", "vanishes"]) || line.eat_phrase(&["goes away"]) {
                return Some(Verb::UnrequestReview);
            }
            line.eat_phrase(BE).then_some(())?;
            if line.eat_any(WITHDRAWN)
                || line.eat_phrase(&["taken back", "taken away", "called off"])
            {
                return Some(Verb::UnrequestReview);
            }
            line.eat_any(&[
                "made",
                "sent",
                "created",
                "added",
                "opened",
                "issued",
                "submitted",
                "placed",
            ])
            .then_some(Verb::RequestReview)
        })
    }

    /// Reads requested reviewers: users, teams, or both.
    pub(super) fn reviewer(&mut self) -> Option<Guard> {
        let mut found = self.one_reviewer()?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.eat("from");
            line.one_reviewer()
        }) {
            found = found.or(more);
        }
        Some(found)
    }

    pub(super) fn one_reviewer(&mut self) -> Option<Guard> {
        let team = self.attempt(|line| {
            let start = line.at;
            line.skip_any(&["the", "a"]);
            let named = line.eat("team");
            let value = match line.kind(0)? {
                TokenKind::User | TokenKind::Quoted | TokenKind::Code => line.value(0),
                TokenKind::Word if crate::lexicon::exact(line.word(0)).is_none() => line.value(0),
                _ => return None,
            };
            line.at += 1;
            let is_team = named || line.eat("team") || value.contains('/');
            let value = value.rsplit('/').next().unwrap_or(&value).to_owned();
            is_team.then(|| {
                line.says(
                    Says::Test(Test::new(Field::ReviewerTeam, Op::Is, vec![value])),
                    start,
                )
            })
        });
        team.or_else(|| self.person_value(Field::Reviewer))
    }

    /// A user as passive subject: `X is assigned to an issue`, `X is asked to review a PR`.
    pub(super) fn person_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let mention = self.attempt(|line| {
            let value = line.name_called()?;
            line.eat_phrase(BE).then_some(())?;
            line.eat_any(&["mentioned", "pinged", "tagged", "called"])
                .then_some(())?;
            let text = line.says(Says::Text(TextPlace::Own, Op::Contains, vec![value]), start);
            line.eat_any(&["in", "on"]).then_some(text)
        });
        if let Some(text) = mention {
            return self.mentioned(&text);
        }
        let mut events = self.becoming(start, start)?;
        // `or gets assigned to one`: the same person again.
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.becoming(start, line.at)
        }) {
            events.extend(more);
        }
        Some(events)
    }

    /// After `@x is mentioned in`: a comment, a new issue, or its body.
    pub(super) fn mentioned(&mut self, text: &Guard) -> Option<Vec<Event>> {
        let of_body = self.attempt(|line| {
            let place = line.place_named()?;
            line.eat("of").then_some(place)
        });
        let text = match of_body {
            Some(place) => in_place(text, place)?,
            None => text.clone(),
        };
        let things = self.objects()?;
        let mut events = Vec::new();
        for thing in &things {
            let is_comment = is_comment(thing.noun);
            let verb = if is_comment || thing.is_new || of_body.is_some() {
                Verb::Create
            } else {
                Verb::Comment
            };
            events.extend(events_of(thing, &[verb])?);
        }
        let behind = self.behind_verb(things.first()?.noun);
        for event in &mut events {
            event.require(text.clone());
            event.require(behind.clone());
        }
        Some(events)
    }

    /// `auto-merge is enabled on a PR`
    pub(super) fn auto_merge_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_phrase(&["auto-merge", "auto merge", "automerge"])
            .then_some(())?;
        self.eat_phrase(BE);
        let verb = if self.eat_phrase(&["enabled", "turned on", "switched on", "activated", "set"])
        {
            Verb::EnableAutoMerge
        } else {
            self.eat_phrase(&[
                "disabled",
                "turned off",
                "switched off",
                "deactivated",
                "cancelled",
                "canceled",
            ])
            .then_some(Verb::DisableAutoMerge)?
        };
        let things = self.attempt(|line| {
            line.eat_any(&["on", "for"]).then_some(())?;
            line.objects()
        });
        let things = things.unwrap_or_else(|| vec![self.any_pull_request(start)]);
        let mut events = self.done_to(
            &things,
            &Deed {
                verbs: vec![verb],
                guard: Formula::Always,
                is_bare: false,
            },
        )?;
        let behind = self.behind_verb(Noun::PullRequest);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }
}

/// Moves a string to a part of the thing.
fn in_place(text: &Guard, place: TextPlace) -> Option<Guard> {
    text.replace(false, &mut |atom: &Atom, _| {
        let mut atom = atom.clone();
        if let Says::Text(own, _, _) = &mut atom.says {
            *own = place;
        }
        Some(Formula::Atom(atom))
    })
}
