//! Participles with complements: labels, assignees, milestones, reasons.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Guard, Says};
use super::deeds::{Deed, added, is_deed_of, removed};
use super::formula::{Formula, is};
use super::idioms::Voice;
use super::line::Line;
use super::people::OTHER_THAN;
use super::things::Thing;
use crate::filter::{Op, Test};
use crate::lexicon::Forms;
use crate::resolve::has_row;

impl Line<'_> {
    /// One participle behind `is`: `merged into main`, `labelled bug`, `added to the v2 milestone`.
    pub(super) fn participle(&mut self, noun: Noun) -> Option<Deed> {
        self.attempt(Self::label_deed)
            .or_else(|| self.attempt(|line| line.sent_deed(noun)))
            .or_else(|| self.attempt(Self::assign_deed))
            .or_else(|| self.attempt(|line| line.close_deed(noun)))
            .or_else(|| self.attempt(|line| line.queue_deed(noun)))
            .or_else(|| self.attempt(|line| line.move_deed(noun)))
            .or_else(|| self.attempt(|line| line.comment_deed(noun)))
            .or_else(|| self.attempt(|line| line.plain_deed(noun)))
            .or_else(|| self.attempt(|line| line.idiom_deed(noun)))
    }

    /// `labelled X`, `tagged with X`, `unlabelled`
    pub(super) fn label_deed(&mut self) -> Option<Deed> {
        if self.eat_phrase(&[
            "no longer labelled",
            "no longer labeled",
            "no longer tagged",
            "unlabelled",
            "unlabeled",
        ]) {
            let found = self.attempt(|line| {
                line.eat("from");
                line.labels(removed)
            });
            return Some(match found {
                Some(guard) => Deed::with(Verb::Unlabel, guard),
                None => Deed::plain(&[Verb::Unlabel]),
            });
        }
        let alone = self.eat_any(&["labelled", "labeled"]);
        if !alone {
            self.eat_any(&["tagged", "marked", "flagged", "given"])
                .then_some(())?;
        }
        let is_given = self.word_at(self.at - 1) == "given";
        let found = self.attempt(|line| {
            line.skip_any(&["with", "as"]);
            let others = line.eat_phrase(OTHER_THAN);
            if !alone
                && matches!(line.word(0), "ready" | "draft" | "duplicate")
                && !matches!(line.word(1), "label")
            {
                return None;
            }
            if line
                .attempt(|line| {
                    line.skip_any(&["a", "any", "some"]);
                    line.eat_any(&["label", "labels"]).then_some(())?;
                    (line.is_done() || line.word(0) == "by" || line.is_mark(0, ",")).then_some(())
                })
                .is_some()
            {
                return Some(Formula::Always);
            }
            let found = line.labels(added)?;
            Some(if others { found.not() } else { found })
        });
        match found {
            Some(guard) if !is_given || matches!(self.word_at(self.at - 1), "label" | "labels") => {
                Some(Deed::with(Verb::Label, guard))
            }
            None if alone => Some(Deed::plain(&[Verb::Label])),
            _ => None,
        }
    }

    /// `assigned to X`, `unassigned from X`
    pub(super) fn assign_deed(&mut self) -> Option<Deed> {
        // `given to X`
        if self.eat_any(&["given", "handed", "passed", "delegated", "allocated"]) {
            self.eat_any(&["over", "on"]);
            self.eat("to").then_some(())?;
            return self.assignee().map(|guard| Deed::with(Verb::Assign, guard));
        }
        if self.eat_phrase(&["taken by", "claimed by", "picked up by", "taken over by"]) {
            return self.assignee().map(|guard| Deed::with(Verb::Assign, guard));
        }
        let verb = if self.eat_any(&["assigned", "reassigned"]) {
            Verb::Assign
        } else if self.eat("unassigned") {
            Verb::Unassign
        } else {
            return None;
        };
        let found = self.attempt(|line| {
            line.eat_any(&["to", "from"]).then_some(())?;
            line.assignee()
        });
        match found {
            Some(guard) => Some(Deed::with(verb, guard)),
            None if matches!(self.word(0), "to" | "from") => None,
            None => Some(Deed::plain(&[verb])),
        }
    }

    /// `sent to X for review`
    fn sent_deed(&mut self, noun: Noun) -> Option<Deed> {
        (noun == Noun::PullRequest).then_some(())?;
        self.eat_any(&[
            "sent",
            "passed",
            "handed",
            "given",
            "submitted",
            "assigned",
            "routed",
        ])
        .then_some(())?;
        self.eat_any(&["over", "on"]);
        self.eat("to").then_some(())?;
        let who = self.reviewer()?;
        self.eat_phrase(&[
            "for a review",
            "for review",
            "for their review",
            "to review",
        ])
        .then(|| Deed::with(Verb::RequestReview, who))
    }

    pub(super) fn assignee(&mut self) -> Option<Guard> {
        self.person_value(Field::Assignee)
    }

    /// A person who is the value of a field: `X`, `X or Y`, `someone other than X`, `someone`.
    pub(super) fn person_value(&mut self, field: Field) -> Option<Guard> {
        self.attempt(|line| {
            let start = line.at;
            let anyone = line.eat_anyone();
            if anyone && !line.eat_phrase(OTHER_THAN) && !line.eat("but") {
                return Some(Formula::Always);
            }
            let negated = anyone || line.eat_phrase(&["not", "other than"]);
            line.eat("user");
            let mut values = Vec::new();
            while let Some(name) = line.attempt(|line| {
                if line.at > start && !line.tokens.is_empty() {
                    line.eat_mark(",");
                    line.eat_any(&["or", "and"]);
                }
                line.name()
            }) {
                values.push(name);
            }
            if values.is_empty() && line.eat_any(&["it", "them", "him", "her"]) {
                values.clone_from(&line.last_person);
            }
            if values.is_empty() {
                return None;
            }
            line.last_person.clone_from(&values);
            let found = line.says(Says::Test(Test::new(field, Op::Is, values)), start);
            Some(if negated { found.not() } else { found })
        })
    }

    /// `closed as not planned`, `closed without being merged`, `closed, whether merged or not`
    pub(super) fn close_deed(&mut self, noun: Noun) -> Option<Deed> {
        self.eat("closed").then_some(())?;
        let both = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_phrase(&[
                "whether merged or not",
                "whether or not it is merged",
                "whether it is merged or not",
                "whether or not it was merged",
                "regardless of whether it was merged",
                "merged or not",
                "whether it was merged or not",
                "either way",
            ])
            .then_some(())
        });
        if both.is_some() && noun == Noun::PullRequest {
            return Some(Deed {
                verbs: vec![Verb::Close, Verb::Merge],
                guard: Formula::Always,
                is_bare: false,
            });
        }
        self.attempt(|line| {
            line.eat_mark(",");
            line.eat_phrase(&[
                "without being merged",
                "without merging it",
                "without merging",
                "without a merge",
                "without having been merged",
                "without merge",
                "but not merged",
                "and not merged",
                "not merged",
                "unmerged",
                "but was not merged",
                "but is not merged",
                "and is not merged",
                "but never merged",
                "rather than merged",
                "instead of merged",
                "and was not merged",
            ])
            .then_some(())
        });
        Some(Deed::plain(&[Verb::Close]))
    }

    /// `added to the v2 milestone`, `retargeted to main`, `moved to another repository`
    pub(super) fn move_deed(&mut self, noun: Noun) -> Option<Deed> {
        let start = self.at;
        if self.eat_phrase(&[
            "transferred elsewhere",
            "moved to another repository",
            "moved to a different repository",
            "moved to another repo",
            "transferred to another repository",
            "transferred to another repo",
            "transferred away",
            "moved elsewhere",
        ]) {
            return Some(Deed::plain(&[Verb::Transfer]));
        }
        if noun == Noun::PullRequest && self.eat_any(&["retargeted", "rebased"]) {
            if self.word_at(self.at - 1) == "rebased" {
                return None;
            }
            let mut guard = self.says(Says::Test(is(Field::Changed, &["base"])), start);
            guard = guard.and(self.new_base()?);
            return Some(Deed::with(Verb::Edit, guard));
        }
        let verb = if self.eat_any(&["added", "put", "moved", "assigned"]) {
            self.eat_any(&["to", "into", "in"]).then_some(())?;
            Verb::Milestone
        } else if self.eat_any(&["removed", "taken", "dropped"]) {
            self.eat("out");
            self.eat_any(&["from", "of"]).then_some(())?;
            Verb::Demilestone
        } else {
            return None;
        };
        if self.eat_phrase(&[
            "a milestone",
            "its milestone",
            "the milestone",
            "any milestone",
            "milestones",
        ]) && (self.is_done()
            || self.word(0) == "by"
            || self.is_mark(0, ",")
            || self.word(0) == "or")
        {
            return Some(Deed::plain(&[verb]));
        }
        if self.word_at(self.at - 1) == "milestone" {
            self.at -= 1;
        }
        let guard = self.milestone(start)?;
        Some(Deed::with(verb, guard))
    }

    /// `to main`, `to another branch`, or nothing.
    pub(super) fn new_base(&mut self) -> Option<Guard> {
        let is_named = self.eat_any(&["to", "onto", "at", "against"])
            && !self.eat_phrase(&[
                "another base branch",
                "a different base branch",
                "a new base branch",
                "another target branch",
                "a different target branch",
                "another branch",
                "a different branch",
                "a new branch",
                "a new base",
                "another base",
                "a different base",
                "another target",
                "a different target",
            ]);
        if is_named {
            self.branches()
        } else {
            Some(Formula::Always)
        }
    }

    /// `added to or removed from the merge queue`, `kicked out of the merge queue`
    pub(super) fn queue_deed(&mut self, noun: Noun) -> Option<Deed> {
        (noun == Noun::PullRequest).then_some(())?;
        let mut verbs = Vec::new();
        loop {
            let verb = if self.eat_any(&[
                "added",
                "put",
                "placed",
                "entered",
                "queued",
                "sent",
                "moved",
                "submitted",
            ]) {
                self.eat_any(&["to", "into", "in"]);
                Verb::Enqueue
            } else {
                self.eat_any(&[
                    "removed", "taken", "dropped", "kicked", "ejected", "pulled", "thrown",
                ])
                .then_some(())?;
                self.eat_phrase(&["out of", "from"]);
                Verb::Dequeue
            };
            verbs.push(verb);
            if !self.eat("or") {
                break;
            }
        }
        self.eat_phrase(&["the merge queue", "a merge queue", "merge queue"])
            .then_some(Deed {
                verbs,
                guard: Formula::Always,
                is_bare: false,
            })
    }

    /// `commented on`, `pushed to`, `approved`, `reviewed`
    pub(super) fn comment_deed(&mut self, noun: Noun) -> Option<Deed> {
        let on_thing = matches!(
            noun,
            Noun::PullRequest | Noun::Issue | Noun::Discussion | Noun::Commit
        );
        if on_thing && self.eat_phrase(&["commented on", "commented upon"]) {
            return Some(Deed::plain(&[Verb::Comment]));
        }
        if noun == Noun::Release && self.eat_phrase(&["out", "issued", "made available"]) {
            return Some(Deed::plain(&[Verb::Publish]));
        }
        if noun == Noun::Branch && self.eat("pushed to") {
            return Some(Deed::plain(&[Verb::Push]));
        }
        if noun == Noun::PullRequest
            && self.eat_phrase(&[
                "pushed to",
                "updated with new commits",
                "updated by a push",
                "updated with a push",
            ])
        {
            return Some(Deed::plain(&[Verb::Synchronize]));
        }
        if noun == Noun::PullRequest
            && self.eat_phrase(&["sent back with changes requested", "requested changes on"])
        {
            return Some(Deed::plain(&[Verb::RequestChanges]));
        }
        if noun == Noun::PullRequest
            && self.eat_phrase(&[
                "turned into a regular one",
                "promoted to a regular pull request",
                "promoted to a full pull request",
                "turned into a regular pull request",
                "turned into a regular pr",
                "turned into a normal one",
                "brought out of draft",
                "taken out of draft mode",
                "taken out of draft",
                "moved out of draft",
                "pulled out of draft",
                "no longer a draft",
                "opened for review",
                "published for review",
            ])
        {
            return Some(Deed::plain(&[Verb::ReadyForReview]));
        }
        None
    }

    /// `put up`, `cut`; after `has`, an action of the thing itself: `come in`.
    pub(super) fn idiom_deed(&mut self, noun: Noun) -> Option<Deed> {
        let start = self.at;
        let did = matches!(
            self.word_at(start.wrapping_sub(1)),
            "has" | "have" | "had" | "just"
        );
        let voices: &[Voice] = if did {
            &[Voice::Itself]
        } else {
            &[Voice::Done]
        };
        let idiom = self.eat_idiom(noun, voices, Forms::PAST)?;
        Some(self.deed_of(idiom, start))
    }

    pub(super) fn plain_deed(&mut self, noun: Noun) -> Option<Deed> {
        let verbs = self.eat_verb(Forms::PAST)?;
        let wanted: Vec<Verb> = verbs
            .iter()
            .copied()
            .filter(|verb| is_deed_of(noun, *verb))
            .take(1)
            .collect();
        if wanted == [Verb::Create] && self.eat("again") {
            return has_row(noun, Verb::Reopen).then(|| Deed::plain(&[Verb::Reopen]));
        }
        // The recipient was not understood, so the verb cannot be read without it.
        let is_cut = matches!(wanted.as_slice(), [Verb::Assign | Verb::Unassign])
            && matches!(self.word(0), "to" | "from");
        (!wanted.is_empty() && !is_cut).then(|| Deed::plain(&wanted))
    }

    /// `to a PR`, `on a pull request's branch`: the target of commits.
    pub(super) fn arrives_on(&mut self) -> Option<Vec<Thing>> {
        self.attempt(|line| {
            line.eat_any(&["to", "on", "onto", "into"]).then_some(())?;
            line.attempt(|line| {
                line.skip_any(&["the", "a"]);
                line.eat_phrase(&[
                    "head branch of",
                    "source branch of",
                    "branch of",
                    "branches of",
                    "branch behind",
                ])
                .then_some(())
            });
            let things = line.objects()?;
            if line.eat("'s") {
                line.eat_phrase(&["head branch", "source branch", "branch"])
                    .then_some(())?;
            } else {
                line.eat_phrase(&["head branch", "branch", "branches"]);
            }
            things
                .iter()
                .all(|thing| thing.noun == Noun::PullRequest)
                .then_some(things)
        })
    }
}
