//! Changes of tickets: states, priorities, people, and projects.

use daemon_event::Field;
use daemon_event::vocabulary::Verb;

use super::happens::{Happening, attribute_name};
use super::topic::{Scope, Topic};
use crate::filter::{Op, Test};
use crate::lexicon::{Forms, Part};
use crate::sentence::atom::{Guard, Says};
use crate::sentence::deeds::{added, removed};
use crate::sentence::formula::{Formula, is};
use crate::sentence::line::Line;

/// Verbs of creation with the thing as subject.
const ARRIVES: &[&str] = &[
    "comes in",
    "arrives",
    "shows up",
    "turns up",
    "pops up",
    "appears",
    "lands",
    "rolls in",
    "is reported in",
];
/// Things that contain a ticket.
const HOLDERS: &[&str] = &["project", "cycle", "sprint", "milestone", "team"];

impl Line<'_> {
    /// `moves to Done`, `enters Triage`, `becomes urgent`, `drops to low priority`, `changes state`, `is now Done`.
    pub(super) fn ticket_moves(&mut self, scope: Scope) -> Option<Happening> {
        let start = self.at;
        let arrives = self.attempt(|line| {
            line.eat_phrase(ARRIVES).then_some(())?;
            (!matches!(line.word(0), "to" | "into" | "in" | "as")).then_some(())
        });
        if arrives.is_some() {
            return Some(Happening::plain(&[Verb::Create]));
        }
        let joins = self.attempt(|line| {
            line.eat_phrase(&[
                "joins",
                "enters",
                "leaves",
                "moves to",
                "moves into",
                "switches to",
                "goes into",
            ])
            .then_some(())?;
            line.holder(start)
        });
        if joins.is_some() {
            return joins;
        }
        if self.eat_phrase(&["changes hands", "changes assignee"]) {
            return Some(Happening::plain(&[Verb::Reassign]));
        }
        if self.eat_phrase(&[
            "changes state",
            "changes status",
            "changes its status",
            "changes its state",
            "moves to another state",
            "moves to a different state",
        ]) {
            let to = self.attempt(|line| {
                line.eat_any(&["to"]).then_some(())?;
                line.moved_to(scope)
            });
            return Some(to.unwrap_or_else(|| Happening::plain(&[Verb::Move])));
        }
        let part = self.attempt(|line| {
            let changes = line.eat("changes");
            (changes || line.eat_any(&["gets", "receives"])).then_some(())?;
            line.skip_any(&["its", "a", "an"]);
            let other = line.eat_any(&["new", "another", "different"]);
            (changes || other).then_some(())?;
            line.eat_sense(|sense| sense.part.is_some())
                .and_then(|sense| sense.part)
        });
        if let Some(part) = part {
            return self.part_changed(scope, part, start);
        }
        self.eat_phrase(&[
            "moves back",
            "goes back",
            "moves",
            "goes",
            "enters",
            "reaches",
            "lands",
            "becomes",
            "drops",
            "rises",
            "jumps",
            "falls",
            "is now",
            "transitions",
            "switches",
            "returns",
            "arrives",
            "progresses",
            "advances",
            "ends up",
            "shows up",
            "comes",
            "escalates",
            "gets bumped",
        ])
        .then_some(())?;
        self.eat_any(&["to", "into", "in"]);
        self.moved_to(scope)
    }

    /// `a project`, `the "Q3" cycle`, `another team`: the container that a ticket enters or leaves.
    pub(super) fn holder(&mut self, start: usize) -> Option<Happening> {
        self.skip_any(&["a", "an", "another", "its", "the", "some", "any"]);
        self.skip_any(&["different", "other", "new", "current", "active", "running"]);
        let names = self.attempt(|line| {
            let names = line.proper_names(HOLDERS, false)?;
            HOLDERS.contains(&line.word(0)).then_some(names)
        });
        let (field, word) = self.holder_word()?;
        let mut words = vec![word];
        while let Some((_, word)) = self.attempt(|line| {
            line.eat("or").then_some(())?;
            line.skip_any(&["a", "an", "another", "to", "the"]);
            line.holder_word()
        }) {
            words.push(word);
        }
        let names = names.or_else(|| {
            self.attempt(|line| {
                line.eat_any(&["named", "called"]);
                line.quoted_names(true)
            })
        });
        let changed = self.says(Says::Test(is(Field::Changed, &words)), start);
        let guard = match names {
            Some(names) if words.len() == 1 => {
                changed.and(self.says(Says::Test(Test::new(field, Op::Is, names)), start))
            }
            Some(_) => return None,
            None => changed,
        };
        Some(Happening::with(&[Verb::Update], guard))
    }

    pub(super) fn holder_word(&mut self) -> Option<(Field, &'static str)> {
        let found = match self.word(0) {
            "project" => (Field::Project, "project"),
            "cycle" | "sprint" => (Field::Cycle, "cycle"),
            "milestone" => (Field::Milestone, "milestone"),
            "team" => (Field::Team, "team"),
            _ => return None,
        };
        self.at += 1;
        Some(found)
    }

    /// `moved to Done`, `set to urgent`, `assigned to Ines Varga`, `labelled Bug`, `raised to high priority`.
    pub(super) fn ticket_passive(&mut self, scope: Scope) -> Option<Happening> {
        let start = self.at;
        if self.eat_any(&["reassigned"]) {
            return Some(self.assignee_deed(Verb::Reassign, start));
        }
        let joined = self.attempt(|line| {
            line.eat_phrase(&[
                "added to",
                "moved to",
                "put into",
                "put in",
                "moved into",
                "removed from",
                "taken out of",
            ])
            .then_some(())?;
            line.holder(start)
        });
        if joined.is_some() {
            return joined;
        }
        let made = self.attempt(|line| {
            line.eat_any(&["made", "declared", "deemed"])
                .then_some(())?;
            line.moved_to(scope)
        });
        if made.is_some() {
            return made;
        }
        if self.eat_any(&["assigned", "given", "handed"]) {
            let given = self.word_at(start) != "assigned";
            (!given || self.word(0) == "to").then_some(())?;
            return Some(self.assignee_deed(Verb::Assign, start));
        }
        if self.eat_any(&["labelled", "labeled", "tagged"]) {
            self.skip_any(&["with", "as"]);
            let labels = self.attempt(|line| line.labels(added));
            return Some(Happening::with(
                &[Verb::Label],
                labels.unwrap_or(Formula::Always),
            ));
        }
        if self.eat_any(&[
            "moved",
            "set",
            "changed",
            "raised",
            "lowered",
            "bumped",
            "put",
            "sent",
            "dragged",
            "switched",
            "marked",
            "transitioned",
            "dropped",
            "escalated",
            "pushed",
            "placed",
        ]) {
            self.eat_any(&["back", "over"]);
            let to = self.eat_any(&["to", "into", "in", "as"]);
            let found = self.moved_to(scope)?;
            return (to || self.word_before() == "there").then_some(found);
        }
        if self.eat("now") || self.sees_known_state() {
            return self.moved_to(scope);
        }
        None
    }

    pub(super) fn sees_known_state(&mut self) -> bool {
        let at = self.at;
        let is_verb = self.sees_sense(|sense| sense.is_verb() && sense.forms.has(Forms::PAST));
        let is_state = self.attempt(|line| line.states(false)).is_some();
        self.at = at;
        is_state && !is_verb
    }

    pub(super) fn assignee_deed(&mut self, verb: Verb, start: usize) -> Happening {
        let names = self.attempt(|line| {
            line.eat("to").then_some(())?;
            let excluded = line.other_than();
            if line.eat_anyone() {
                return Some(Formula::Always);
            }
            let names = line.full_names()?;
            let found = line.says(Says::Test(Test::new(Field::Assignee, Op::Is, names)), start);
            Some(if excluded { found.not() } else { found })
        });
        Happening::with(&[verb], names.unwrap_or(Formula::Always))
    }

    /// The new state or priority of a ticket.
    pub(super) fn moved_to(&mut self, scope: Scope) -> Option<Happening> {
        let start = self.at;
        let excluded = self.other_than();
        self.skip_any(&["the", "a", "an"]);
        let of_type = self.attempt(Self::state_of_type);
        if let Some(found) = of_type {
            return Some(Happening::with(
                &[Verb::Move],
                if excluded { found.not() } else { found },
            ));
        }
        let priority = self.attempt(|line| {
            let before = line.eat("priority");
            let values = line.values()?;
            let after = line.eat("priority");
            let known = |value: &String| {
                matches!(
                    value.as_str(),
                    "urgent" | "high" | "medium" | "low" | "no priority"
                )
            };
            (values.iter().all(known) && (before || after || !values.is_empty())).then_some(values)
        });
        if let Some(values) = priority {
            let changed = self.says(Says::Test(is(Field::Changed, &["priority"])), start);
            let said = self.says(Says::Value(Some(Part::Priority), values), start);
            let said = if excluded { said.not() } else { said };
            return Some(Happening::with(&[Verb::Update], changed.and(said)));
        }
        self.eat_any(&["state", "status", "column"]);
        let values = self.states(true)?;
        if matches!(self.word(0), "team" | "project" | "cycle" | "milestone") {
            return None;
        }
        let _ = scope;
        let said = self.says(Says::Test(Test::new(Field::State, Op::Is, values)), start);
        Some(Happening::with(
            &[Verb::Move],
            if excluded { said.not() } else { said },
        ))
    }

    /// `a completed or canceled state`: a type of states in Linear.
    pub(super) fn state_of_type(&mut self) -> Option<Guard> {
        let start = self.at;
        matches!(self.word_before(), "a" | "an" | "any").then_some(())?;
        let mut values = Vec::new();
        loop {
            let value = match self.word(0) {
                "cancelled" | "canceled" => "canceled",
                "completed" => "completed",
                "started" => "started",
                "unstarted" => "unstarted",
                _ => return None,
            };
            values.push(value);
            self.at += 1;
            if !self.eat("or") {
                break;
            }
            self.skip_any(&["a", "an"]);
        }
        self.eat_any(&["state", "status"]).then_some(())?;
        Some(self.says(Says::Test(is(Field::StateType, &values)), start))
    }

    /// `gets the Bug label`, `loses its assignee`, `gets a new comment`.
    pub(super) fn gaining(&mut self, scope: Scope) -> Option<Happening> {
        let loses = self.eat_any(&["loses", "lose"]);
        if !loses {
            self.eat_any(&["gets", "receives", "gains", "picks up", "acquires"])
                .then_some(())?;
        }
        self.skip_any(&["its", "the", "a", "an", "new", "another"]);
        (scope.topic == Topic::Ticket).then_some(())?;
        if self.eat_any(&["assignee"]) {
            let verb = if loses { Verb::Unassign } else { Verb::Assign };
            return Some(Happening::plain(&[verb]));
        }
        if self.eat_any(&["label"]) {
            let verb = if loses { Verb::Unlabel } else { Verb::Label };
            return Some(Happening::plain(&[verb]));
        }
        let labels = self.labels(if loses { removed } else { added })?;
        let says =
            matches!(self.word_before(), "label" | "labels") || self.eat_any(&["label", "labels"]);
        says.then_some(())?;
        let verb = if loses { Verb::Unlabel } else { Verb::Label };
        Some(Happening::with(&[verb], labels))
    }

    /// `the priority changes to urgent`, `its due date is moved`: a changed attribute.
    pub(super) fn part_changed(
        &mut self,
        scope: Scope,
        part: Part,
        start: usize,
    ) -> Option<Happening> {
        match part {
            Part::Assignee => Some(Happening::plain(&[Verb::Reassign])),
            Part::Label => None,
            Part::Status => {
                let to = self.attempt(|line| {
                    line.eat_any(&["to"]).then_some(())?;
                    line.moved_to(scope)
                });
                Some(to.unwrap_or_else(|| Happening::plain(&[Verb::Move])))
            }
            _ => {
                let name = attribute_name(part)?;
                let changed = self.says(Says::Test(is(Field::Changed, &[name])), start);
                let to = self.attempt(|line| {
                    (part == Part::Priority || part == Part::Health).then_some(())?;
                    line.eat_any(&["to"]).then_some(())?;
                    let from = line.at;
                    let excluded = line.other_than();
                    let values = line.values()?;
                    let said = line.says(Says::Value(Some(part), values), from);
                    Some(if excluded { said.not() } else { said })
                });
                let guard = match to {
                    Some(to) => changed.and(to),
                    None => changed,
                };
                Some(Happening::with(&[Verb::Update], guard))
            }
        }
    }
}
