//! Changes of labels, assignees, drafts and parts by a user.

use daemon_event::Field;
use daemon_event::vocabulary::Verb;

use super::actives::deed;
use super::atom::{Says, TextPlace};
use super::deeds::{Event, added, removed};
use super::formula::{Formula, is};
use super::line::Line;
use super::things::Thing;
use crate::normalise::TokenKind;

impl Line<'_> {
    /// `adds the bug label to a PR`, `labels an issue bug`, `removes any label from it`
    pub(super) fn labelling(&mut self) -> Option<Vec<Event>> {
        let verb = if self.eat_any(&[
            "adds", "applies", "attaches", "puts", "adding", "applying", "added", "applied", "add",
            "apply", "slaps", "sticks", "sets", "places", "tacks",
        ]) {
            Verb::Label
        } else if self.eat_any(&[
            "removes", "drops", "strips", "clears", "removing", "removed", "remove", "takes",
        ]) {
            self.eat("off");
            Verb::Unlabel
        } else {
            return self.labels_thing();
        };
        let make = if verb == Verb::Label { added } else { removed };
        let guard = self.attempt(|line| {
            line.skip_any(&["a", "any", "some", "new"]);
            line.eat_any(&["label", "labels", "one"]).then_some(())?;
            matches!(line.word(0), "to" | "from" | "on" | "off").then_some(Formula::Always)
        });
        let guard = match guard {
            Some(guard) => guard,
            None => {
                let at = self.at;
                let found = self.labels(make)?;
                let says = matches!(self.word_at(self.at - 1), "label" | "labels")
                    || (at..self.at).any(|at| matches!(self.word_at(at), "label" | "labels"))
                    || crate::lexicon::exact(self.word_at(at)).is_none() && self.at == at + 1
                    || matches!(
                        self.tokens.get(at).map(|token| token.kind),
                        Some(TokenKind::Quoted)
                    );
                says.then_some(found)?
            }
        };
        let has_object = self.eat_any(&["to", "on", "onto", "from", "off"]);
        let things = if has_object {
            self.object()?
        } else {
            // `the author of a pull request adds the label`: to that pull request.
            self.named_before()?
        };
        self.finish(&things, &deed(verb, guard))
    }

    fn named_before(&mut self) -> Option<Vec<Thing>> {
        let things: Vec<Thing> = (self.last.iter())
            .map(|noun| {
                let mut thing = self.any_pull_request(self.at);
                thing.noun = *noun;
                thing
            })
            .collect();
        (!things.is_empty()).then_some(things)
    }

    pub(super) fn labels_thing(&mut self) -> Option<Vec<Event>> {
        // `gives a PR the bug label`
        let given = self.attempt(|line| {
            line.eat_any(&["gives", "giving", "gave"]).then_some(())?;
            let things = line.object()?;
            let found = line.labels(added)?;
            matches!(line.word_at(line.at - 1), "label" | "labels").then_some((things, found))
        });
        if let Some((things, guard)) = given {
            return self.finish(&things, &deed(Verb::Label, guard));
        }
        let plain = self.eat_any(&[
            "labels",
            "labelling",
            "labeling",
            "labelled",
            "labeled",
            "unlabels",
        ]);
        let verb = if self.word_at(self.at.wrapping_sub(1)) == "unlabels" {
            Verb::Unlabel
        } else {
            Verb::Label
        };
        if !plain {
            self.eat_any(&[
                "tags", "marks", "flags", "marked", "tagged", "flagged", "tagging", "marking",
            ])
            .then_some(())?;
        }
        let things = self.object()?;
        let found = self.attempt(|line| {
            line.eat_any(&["with", "as"]);
            if matches!(line.word(0), "ready" | "draft") {
                return None;
            }
            line.labels(if verb == Verb::Label { added } else { removed })
        });
        let guard = match found {
            Some(guard) => guard,
            None => plain.then_some(Formula::Always)?,
        };
        self.finish(&things, &deed(verb, guard))
    }

    /// `assigns X to an issue`, `assigns an issue to X`, `unassigns X from a PR`
    pub(super) fn assigning(&mut self) -> Option<Vec<Event>> {
        let gives = self.eat_any(&["gives", "hands", "passes", "delegates", "giving", "handing"]);
        let verb = if gives
            || self.eat_any(&["assigns", "assigned", "assigning", "assign", "reassigns"])
        {
            Verb::Assign
        } else {
            self.eat_any(&["unassigns", "unassigning", "unassigned"])
                .then_some(Verb::Unassign)?
        };
        self.eat_any(&["over"]);
        // `assigns a PR to a milestone`
        let planned = self.attempt(|line| {
            let things = line.object()?;
            line.eat("to").then_some(())?;
            let start = line.at;
            if line.eat_phrase(&["a milestone", "its milestone"]) {
                return Some((things, Formula::Always));
            }
            Some((things, line.milestone(start)?))
        });
        if let Some((things, guard)) = planned {
            let verb = if verb == Verb::Assign {
                Verb::Milestone
            } else {
                Verb::Demilestone
            };
            return self.finish(&things, &deed(verb, guard));
        }
        let person = self.attempt(|line| {
            let found = line.assignee()?;
            line.eat_any(&["to", "from"]).then_some(found)
        });
        if let Some(guard) = person {
            let things = self.object()?;
            return self.finish(&things, &deed(verb, guard));
        }
        let things = self.object()?;
        let guard = self.attempt(|line| {
            line.eat_any(&["to", "from"]).then_some(())?;
            line.assignee()
        });
        let guard = match guard {
            Some(guard) => guard,
            None if gives || matches!(self.word(0), "to" | "from") => return None,
            None => Formula::Always,
        };
        self.finish(&things, &deed(verb, guard))
    }

    /// `marks a PR as ready for review`, `converts it to a draft`, `adds it to the merge queue`
    pub(super) fn converting(&mut self) -> Option<Vec<Event>> {
        let word = self.word(0).to_owned();
        self.at += 1;
        let enables = matches!(
            word.as_str(),
            "enables" | "disables" | "enabling" | "disabling"
        ) || word == "turns" && matches!(self.word(0), "on" | "off");
        if enables {
            let on = self.eat_any(&["on", "off"]);
            let off = word.starts_with("disab") || on && self.word_at(self.at - 1) == "off";
            self.eat_phrase(&["auto-merge", "auto merge", "automerge"])
                .then_some(())?;
            let things = self.attempt(|line| {
                line.eat_any(&["on", "for"]).then_some(())?;
                line.object()
            });
            let things = things.unwrap_or_else(|| vec![self.any_pull_request(self.at)]);
            let verb = if off {
                Verb::DisableAutoMerge
            } else {
                Verb::EnableAutoMerge
            };
            return self.finish(&things, &deed(verb, Formula::Always));
        }
        let marks = matches!(
            word.as_str(),
            "marks"
                | "converts"
                | "turns"
                | "moves"
                | "takes"
                | "marking"
                | "converting"
                | "switches"
                | "sets"
                | "puts"
                | "adds"
                | "sends"
                | "removes"
                | "pulls"
                | "returns"
                | "reverts"
                | "flips"
                | "brings"
                | "makes"
                | "promotes"
                | "demotes"
        );
        marks.then_some(())?;
        let was = std::mem::replace(&mut self.is_marking, true);
        let things = self.object();
        self.is_marking = was;
        let things = things?;
        let verb = if self.eat_phrase(&[
            "as ready for review",
            "ready for review",
            "as ready",
            "to ready for review",
            "to ready",
            "out of draft mode",
            "out of the draft state",
            "out of draft state",
            "out of draft",
            "ready",
            "from draft to ready for review",
            "from draft to ready",
        ]) {
            Verb::ReadyForReview
        } else if self.eat_phrase(&[
            "back to being a draft",
            "back in draft",
            "in draft mode",
            "into draft mode",
            "to draft mode",
            "in draft",
            "into draft",
            "a draft again",
            "a draft",
            "back to a draft",
            "back to draft",
            "back into a draft",
            "into a draft",
            "to a draft",
            "to draft",
            "as a draft",
            "as draft",
            "back into draft",
        ]) {
            Verb::ConvertToDraft
        } else if self.eat_phrase(&[
            "to the merge queue",
            "in the merge queue",
            "into the merge queue",
        ]) {
            Verb::Enqueue
        } else if self.eat_phrase(&["from the merge queue", "out of the merge queue"]) {
            Verb::Dequeue
        } else {
            let taken = self.eat("from");
            if !taken {
                self.eat_any(&["to", "into", "in"]).then_some(())?;
            }
            let start = self.at;
            let verb = if taken {
                Verb::Demilestone
            } else {
                Verb::Milestone
            };
            if self.eat_phrase(&[
                "a milestone",
                "its milestone",
                "the milestone",
                "any milestone",
            ]) && self.sees_end()
            {
                return self.finish(&things, &deed(verb, Formula::Always));
            }
            let guard = self.milestone(start)?;
            return self.finish(&things, &deed(verb, guard));
        };
        self.finish(&things, &deed(verb, Formula::Always))
    }

    /// `edits the title or body of a PR`, `changes the base of a PR to main`, `edits a PR's description`
    pub(super) fn editing_part(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&[
            "edits",
            "changes",
            "updates",
            "modifies",
            "rewrites",
            "editing",
            "changing",
            "edited",
            "changed",
            "switches",
            "rewords",
            "amends",
            "revises",
            "tweaks",
            "corrects",
            "replaces",
            "alters",
            "adjusts",
            "rewording",
            "rewriting",
        ])
        .then_some(())?;
        let mut not_other: Option<&'static [&'static str]> = None;
        let before = self.attempt(|line| {
            line.skip_any(&["the", "its"]);
            let part = line.edited_name()?;
            not_other = line.attempt(Self::but_not_part);
            line.eat_any(&["of", "on"]).then_some(())?;
            Some((part, line.object()?))
        });
        let (part, things) = match before {
            Some(found) => found,
            None => {
                let things = self.object()?;
                self.eat("'s");
                (self.edited_name()?, things)
            }
        };
        let mut events = match part {
            Some(place) if not_other.is_some() => {
                let mut events = self.edited_part(&things, start, place)?;
                let others = not_other.unwrap_or_default();
                let other = self
                    .says(Says::Test(is(Field::Changed, others)), start)
                    .not();
                events
                    .iter_mut()
                    .for_each(|event| event.require(other.clone()));
                events
            }
            Some(place) => self.edited_part(&things, start, place)?,
            None => {
                let mut guard = self.says(Says::Test(is(Field::Changed, &["base"])), start);
                if self.eat("to") {
                    guard = guard.and(self.branches()?);
                }
                self.done_to(&things, &deed(Verb::Edit, guard))?
            }
        };
        let behind = self.behind_verb(things.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `, but not the body,`
    pub(super) fn but_not_part(&mut self) -> Option<&'static [&'static str]> {
        self.eat_mark(",");
        self.eat_phrase(&["but not", "and not", "not"])
            .then_some(())?;
        let found = match self.place_named()? {
            TextPlace::Title => &["title"][..],
            TextPlace::Body => &["body"][..],
            TextPlace::Own | TextPlace::Message => return None,
        };
        self.eat_mark(",");
        Some(found)
    }

    pub(super) fn edited_name(&mut self) -> Option<Option<TextPlace>> {
        self.attempt(|line| {
            line.eat_phrase(&["base branch", "target branch", "base", "target"])
                .then_some(None)
        })
        .or_else(|| {
            self.attempt(|line| {
                line.place_named()
                    .filter(|place| *place != TextPlace::Message)
                    .map(Some)
            })
        })
    }
}
