//! Clauses about reviews that are asked for, and people to whom something is done.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Atom, Guard, Place, Role, Says};
use super::clauses::BE;
use super::deeds::{Deed, Event, events_of};
use super::formula::Formula;
use super::line::Line;
use super::things::is_comment;
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

/// The names of a request for a review.
pub(super) const REQUEST: &[&str] = &[
    "review requests",
    "review request",
    "requests for a review",
    "requests for review",
    "request for a review",
    "request for review",
];
/// What is done to a request that no longer stands.
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
/// What somebody becomes or no longer is, behind a form of `be`; longer phrases first.
const BECOMES: &[(Verb, Field, &[&str])] = &[
    (
        Verb::Unassign,
        Field::Assignee,
        &[
            "unassigned from",
            "removed as an assignee from",
            "removed as an assignee of",
            "removed as assignee from",
            "removed as assignee of",
            "removed as the assignee of",
            "removed as the assignee from",
            "removed from the assignees of",
            "dropped as an assignee of",
            "dropped as assignee of",
            "no longer the assignee of",
            "no longer an assignee of",
            "no longer assignee of",
            "no longer assigned to",
            "taken off the assignees of",
        ],
    ),
    (
        Verb::Assign,
        Field::Assignee,
        &[
            "assigned to",
            "made the assignee of",
            "made an assignee of",
            "made assignee of",
            "added as an assignee to",
            "added as an assignee of",
            "added as an assignee on",
            "added as assignee to",
            "added to the assignees of",
            "named assignee of",
            "named the assignee of",
            "put in charge of",
            "put on",
        ],
    ),
    (
        Verb::UnrequestReview,
        Field::Reviewer,
        &[
            "removed as a requested reviewer",
            "removed as requested reviewer",
            "removed as a reviewer",
            "removed as reviewer",
            "removed from the reviewers",
            "removed from the requested reviewers",
            "removed from the review",
            "removed from review",
            "dropped as a reviewer",
            "dropped as reviewer",
            "dropped from the reviewers",
            "taken off the reviewers",
            "no longer requested as a reviewer",
            "no longer requested as reviewer",
            "no longer requested for review",
            "no longer requested to review",
            "no longer asked to review",
            "no longer asked for a review",
            "no longer a requested reviewer",
            "no longer a reviewer",
        ],
    ),
    (
        Verb::RequestReview,
        Field::Reviewer,
        &[
            "requested as a reviewer",
            "requested as reviewer",
            "requested for a review",
            "requested for review",
            "requested to review",
            "asked to review",
            "asked to take a look at",
            "asked to look at",
            "asked for a review",
            "asked for review",
            "asked for their review",
            "invited to review",
            "added as a requested reviewer",
            "added as a reviewer",
            "added as reviewer",
            "added to the reviewers",
            "assigned as a reviewer",
            "assigned as reviewer",
            "assigned to review",
            "made a reviewer",
            "named a reviewer",
            "named as a reviewer",
            "tagged for review",
            "tagged as a reviewer",
            "called on to review",
        ],
    ),
];
/// The same without `be`.
const TURNS: &[(Verb, Field, &[&str])] = &[
    (
        Verb::Assign,
        Field::Assignee,
        &[
            "becomes the assignee of",
            "becomes an assignee of",
            "becomes assignee of",
            "takes over",
            "picks up",
            "claims",
        ],
    ),
    (
        Verb::Unassign,
        Field::Assignee,
        &[
            "stops being the assignee of",
            "stops being an assignee of",
            "stops being assignee of",
            "stops being assigned to",
            "ceases to be the assignee of",
            "ceases to be an assignee of",
        ],
    ),
    (
        Verb::RequestReview,
        Field::Reviewer,
        &[
            "becomes a reviewer",
            "becomes a requested reviewer",
            "becomes reviewer",
        ],
    ),
    (
        Verb::UnrequestReview,
        Field::Reviewer,
        &[
            "stops being a reviewer",
            "stops being a requested reviewer",
            "ceases to be a reviewer",
        ],
    ),
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
                    // Changes are asked of who wrote it: `on a pull request by X`.
                    let found = line.objects()?;
                    found
                        .iter()
                        .all(|thing| thing.noun == Noun::PullRequest)
                        .then_some(found)
                })
            {
                things = found;
                // Changes are asked of who wrote it: `on a pull request by X`.
                if verb == Verb::RequestChanges
                    && let Some(author) = self.attempt(|line| {
                        line.eat("by").then_some(())?;
                        let at = line.at;
                        line.name()?;
                        line.at = at;
                        line.who(Role::Author)
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

    /// What happens to a request for a review.
    fn request_deed(&mut self) -> Option<Verb> {
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

    /// Whose review is asked for: people, teams, either.
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

    /// Somebody to whom something is done: `X is assigned to an issue`, `X is asked to review a PR`.
    pub(super) fn person_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let mention = self.attempt(|line| {
            let value = line.name_called()?;
            line.eat_phrase(BE).then_some(())?;
            line.eat_any(&["mentioned", "pinged", "tagged", "called"])
                .then_some(())?;
            let text = line.says(Says::Text(Place::Own, Op::Contains, vec![value]), start);
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

    /// What the person at `who_at` becomes, by words at `verb_at`.
    fn becoming(&mut self, who_at: usize, verb_at: usize) -> Option<Vec<Event>> {
        let is_again = verb_at > who_at;
        let mut found = None;
        for field in [Field::Assignee, Field::Reviewer] {
            self.at = who_at;
            let who = if field == Field::Assignee {
                self.person_value(field)
            } else {
                self.reviewer()
            };
            // Who is assigned is a person in any case.
            let who = who.or_else(|| {
                self.at = who_at;
                self.skip_any(&["a", "the", "any"]);
                self.eat_any(&["person", "human", "people"])
                    .then_some(Formula::Always)
            });
            let Some(who) = who else { continue };
            if is_again {
                self.at = verb_at;
            }
            // A label may be taken off as well; nobody in particular is no label.
            let is_someone = is_again || who.is_always();
            if let Some(verb) = self.attempt(|line| line.role_verb(field, is_again, is_someone)) {
                found = Some((who, field, verb));
                break;
            }
        }
        let (who, field, verb) = found?;
        if field == Field::Reviewer {
            self.eat_any(&["on", "of", "to", "for", "from"]);
        }
        // `X gets an issue assigned`
        let gets = verb == Verb::Assign && self.word_at(self.at - 1) == "gets";
        let things = match self.attempt(Self::object) {
            Some(things) => things,
            None if field == Field::Assignee => return None,
            None => vec![self.any_pull_request(who_at)],
        };
        if gets {
            self.eat_phrase(&["assigned to them", "assigned to it", "assigned"])
                .then_some(())?;
        }
        let mut events = self.done_to(&things, &Deed::with(verb, who))?;
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        self.more_of(&things, &mut events);
        Some(events)
    }

    fn role_verb(&mut self, field: Field, is_again: bool, is_someone: bool) -> Option<Verb> {
        let of = |table: &'static [(Verb, Field, &'static [&'static str])]| {
            table.iter().filter(move |(_, known, _)| *known == field)
        };
        if let Some((verb, ..)) = of(TURNS).find(|(_, _, phrases)| self.eat_phrase(phrases)) {
            return Some(*verb);
        }
        let be = self.eat_phrase(BE);
        (be || is_again).then_some(())?;
        let gets = be && self.word_at(self.at - 1) == "gets";
        if gets && field == Field::Assignee && matches!(self.word(0), "a" | "an" | "the") {
            return Some(Verb::Assign);
        }
        let found = of(BECOMES).find(|(_, _, phrases)| self.eat_phrase(phrases));
        if let Some((verb, ..)) = found {
            return Some(*verb);
        }
        // `assigned to an issue or removed from it`, `assigned a PR`
        if is_someone && self.eat_phrase(&["removed from", "taken off", "dropped from"]) {
            return Some(match field {
                Field::Assignee => Verb::Unassign,
                _ => Verb::UnrequestReview,
            });
        }
        (field == Field::Assignee
            && self.eat_any(&["assigned", "given", "handed"])
            && self.word(0) != "as")
            .then_some(Verb::Assign)
    }

    /// `adds X as a reviewer to a PR`, `removes X from the assignees of an issue`
    pub(super) fn appointing(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let takes = self.eat_any(&[
            "removes", "drops", "removed", "removing", "takes", "dropped",
        ]);
        if !takes {
            self.eat_any(&[
                "adds", "makes", "names", "added", "adding", "appoints", "puts", "made",
            ])
            .then_some(())?;
        }
        let who_at = self.at;
        for (field, roles) in [
            (
                Field::Reviewer,
                &[
                    "as a requested reviewer",
                    "as a reviewer",
                    "as reviewer",
                    "to the requested reviewers",
                    "to the reviewers",
                    "from the requested reviewers",
                    "from the reviewers",
                    "off the reviewers",
                    "a reviewer",
                ][..],
            ),
            (
                Field::Assignee,
                &[
                    "as an assignee",
                    "as assignee",
                    "as the assignee",
                    "to the assignees",
                    "from the assignees",
                    "the assignee",
                    "an assignee",
                    "assignee",
                ][..],
            ),
        ] {
            self.at = who_at;
            let who = if field == Field::Assignee {
                self.person_value(field)
            } else {
                self.reviewer()
            };
            let Some(who) = who.filter(|_| self.eat_phrase(roles)) else {
                continue;
            };
            let things = self.attempt(|line| {
                line.eat_any(&["on", "of", "to", "for", "from"])
                    .then_some(())?;
                line.object()
            });
            let verb = match (field, takes) {
                (Field::Reviewer, true) => Verb::UnrequestReview,
                (Field::Reviewer, false) => Verb::RequestReview,
                (_, true) => Verb::Unassign,
                (_, false) => Verb::Assign,
            };
            let things = match things {
                Some(things) => things,
                None if field == Field::Assignee => return None,
                None => vec![self.any_pull_request(start)],
            };
            return self.finish(&things, &Deed::with(verb, who));
        }
        None
    }

    /// Behind `@x is mentioned in`: a comment, a new issue, the body of one.
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

/// Makes a text that was read stand in a place.
fn in_place(text: &Guard, place: Place) -> Option<Guard> {
    text.replace(false, &mut |atom: &Atom, _| {
        let mut atom = atom.clone();
        if let Says::Text(own, _, _) = &mut atom.says {
            *own = place;
        }
        Some(Formula::Atom(atom))
    })
}
