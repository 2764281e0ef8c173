//! Users who become assignees or reviewers, or stop being so.

use daemon_event::Field;
use daemon_event::vocabulary::Verb;

use super::clauses::BE;
use super::deeds::{Deed, Event};
use super::formula::Formula;
use super::line::Line;

/// Phrases for a new or former role after a form of `be`; longer phrases first.
pub(super) const BECOMES: &[(Verb, Field, &[&str])] = &[
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
pub(super) const TURNS: &[(Verb, Field, &[&str])] = &[
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
    /// Reads the new role of the user at `who_at`, from the words at `verb_at`.
    pub(super) fn becoming(&mut self, who_at: usize, verb_at: usize) -> Option<Vec<Event>> {
        let is_again = verb_at > who_at;
        let mut found = None;
        for field in [Field::Assignee, Field::Reviewer] {
            self.at = who_at;
            let who = if field == Field::Assignee {
                self.person_value(field)
            } else {
                self.reviewer()
            };
            // `a person is assigned`: an assignee is a person in any case, so the word adds no filter.
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
            // Labels are `removed from` things too, so only `somebody` or a repeated user can be the subject here.
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

    pub(super) fn role_verb(
        &mut self,
        field: Field,
        is_again: bool,
        is_someone: bool,
    ) -> Option<Verb> {
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
}
