//! Changes of Linear's tickets by users: parts, labels, assignees and states.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::happens::{Happening, attribute_name, done_to};
use super::topic::{Scope, Topic};
use crate::filter::{Op, Test};
use crate::lexicon::Part;
use crate::sentence::atom::Says;
use crate::sentence::deeds::{Event, added, removed};
use crate::sentence::formula::{Formula, is};
use crate::sentence::line::Line;

/// A part of a ticket, and the name of its change in payloads.
type Attribute = (Option<Part>, &'static str);

impl Line<'_> {
    /// `the priority of a Linear issue changes to urgent`, `a Linear issue's due date is changed`.
    pub(super) fn part_of_matter(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let of_part = self.attempt(|line| {
            line.skip_any(&["the", "a"]);
            let parts = line.attributes()?;
            line.eat_any(&["of", "on"]).then_some(())?;
            Some((parts, line.matters()?))
        });
        let (parts, matters) = of_part.or_else(|| {
            self.attempt(|line| {
                let matters = line.matters()?;
                line.eat("'s").then_some(())?;
                Some((line.attributes()?, matters))
            })
        })?;
        let part = parts.first()?.0;
        let scope = matters.first()?.scope()?.behind_verb();
        (scope.topic == Topic::Ticket || scope.noun == Noun::Project).then_some(())?;
        let changes = self.eat_phrase(&[
            "is changed",
            "gets changed",
            "has been changed",
            "is updated",
            "gets updated",
            "is edited",
            "gets edited",
            "is modified",
            "changes",
            "is set",
            "gets set",
            "is raised",
            "is lowered",
            "is bumped",
            "moves",
            "is moved",
            "gets raised",
            "goes up",
            "becomes",
            "goes",
            "is adjusted",
            "is different now",
            "is different",
            "is now different",
            "is altered",
            "is rewritten",
            "is reworded",
            "gets bumped",
        ]);
        changes.then_some(())?;
        let verb = self.word_before().to_owned();
        let happening = if let Some(part) = part.filter(|_| parts.len() == 1) {
            self.part_becomes(scope, part, &verb, start)?
        } else {
            self.attributes_changed(&parts, start)
        };
        let mut events = done_to(&matters, &happening)?;
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// `changes to urgent`, `becomes Done`, `is raised to high`, behind a part.
    pub(super) fn part_becomes(
        &mut self,
        scope: Scope,
        part: Part,
        verb: &str,
        start: usize,
    ) -> Option<Happening> {
        if matches!(verb, "becomes" | "goes") {
            matches!(part, Part::Priority | Part::Status).then_some(())?;
            self.eat("to");
            return self.moved_to(scope);
        }
        let found = self.part_changed(scope, part, start)?;
        // `is raised`: no payload contains the direction of a change.
        let is_one_way = matches!(verb, "raised" | "lowered" | "bumped" | "up");
        let has_value = found
            .guard
            .mentions(&|atom| matches!(atom.says, Says::Value(..)));
        (!is_one_way || has_value).then_some(found)
    }

    pub(super) fn attributes_changed(&self, attributes: &[Attribute], start: usize) -> Happening {
        let names: Vec<&str> = attributes.iter().map(|(_, name)| *name).collect();
        let changed = self.says(Says::Test(is(Field::Changed, &names)), start);
        Happening::with(&[Verb::Update], changed)
    }

    /// `title or description`: attributes of a ticket, with the names of their changes in payloads.
    pub(super) fn attributes(&mut self) -> Option<Vec<Attribute>> {
        let mut found = vec![self.attribute_of_ticket()?];
        while let Some(attribute) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "and"]);
            (comma || or).then_some(())?;
            line.skip_any(&["the", "its"]);
            line.attribute_of_ticket()
        }) {
            found.push(attribute);
        }
        Some(found)
    }

    pub(super) fn attribute_of_ticket(&mut self) -> Option<Attribute> {
        if self.eat("project") {
            return Some((None, "project"));
        }
        if self.eat("milestone") {
            return Some((None, "milestone"));
        }
        let part = self.eat_sense(|sense| sense.part.is_some())?.part?;
        Some((Some(part), attribute_name(part)?))
    }

    /// `the Bug label is added to a Linear issue`.
    pub(super) fn label_on_ticket(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let gained = self.labels(added)?;
        let says = matches!(self.word_before(), "label" | "labels");
        says.then_some(())?;
        self.eat_any(&["is", "gets", "are"]).then_some(())?;
        let verb =
            if self.eat_phrase(&["added to", "put on", "applied to", "attached to", "set on"]) {
                Verb::Label
            } else {
                self.eat_phrase(&["removed from", "taken off", "dropped from", "stripped from"])
                    .then_some(())?;
                Verb::Unlabel
            };
        let end = self.at;
        let guard = if verb == Verb::Label {
            gained
        } else {
            self.at = start;
            let lost = self.labels(removed)?;
            self.at = end;
            lost
        };
        self.on_tickets(&Happening::with(&[verb], guard))
    }

    pub(super) fn on_tickets(&mut self, happening: &Happening) -> Option<Vec<Event>> {
        let matters = self.matters()?;
        let mut events = done_to(&matters, happening)?;
        let scope = matters.first()?.scope()?.behind_verb();
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// `moves a Linear issue to Done`, `assigns a Linear issue to X`, `adds the Bug label to a Linear issue`,
    /// `changes the priority of a Linear issue`.
    pub(super) fn handles_ticket(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let label = self.attempt(|line| {
            let verb = if line.eat_any(&["adds", "puts", "applies", "add", "attaches", "adding"]) {
                Verb::Label
            } else {
                line.eat_any(&["removes", "drops", "strips", "takes", "removing"])
                    .then_some(())?;
                Verb::Unlabel
            };
            let guard = line.labels(if verb == Verb::Label { added } else { removed })?;
            let says = matches!(line.word_before(), "label" | "labels");
            says.then_some(())?;
            line.eat_any(&["to", "on", "from", "off"]).then_some(())?;
            line.on_tickets(&Happening::with(&[verb], guard))
        });
        if label.is_some() {
            return label;
        }
        let part = self.attempt(|line| {
            line.eat_any(&[
                "changes", "sets", "edits", "updates", "adjusts", "modifies", "changing",
                "rewrites",
            ])
            .then_some(())?;
            line.skip_any(&["the", "a"]);
            let parts = line.attributes()?;
            line.eat_any(&["of", "on"]).then_some(())?;
            let matters = line.matters()?;
            let scope = matters.first()?.scope()?.behind_verb();
            (scope.topic == Topic::Ticket).then_some(())?;
            let happening = match parts.as_slice() {
                [(Some(part), _)] => line.part_changed(scope, *part, start)?,
                parts => line.attributes_changed(parts, start),
            };
            line.all_done_to(&matters, &happening)
        });
        if part.is_some() {
            return part;
        }
        let assigned = self.attempt(|line| {
            let person = line.attempt(|line| {
                line.eat_any(&["assigns", "adds"]).then_some(())?;
                let from = line.at;
                let names = line.full_names()?;
                line.eat("to").then_some(())?;
                let guard = line.says(Says::Test(Test::new(Field::Assignee, Op::Is, names)), from);
                line.on_tickets(&Happening::with(&[Verb::Assign], guard))
            });
            if person.is_some() {
                return person;
            }
            let verb = if line.eat_any(&["assigns", "gives", "hands", "assigning"]) {
                Verb::Assign
            } else {
                line.eat_any(&["reassigns"]).then_some(())?;
                Verb::Reassign
            };
            let matters = line.matters()?;
            (matters.first()?.scope()?.topic == Topic::Ticket).then_some(())?;
            let from = line.at;
            let guard = line.attempt(|line| {
                line.eat("to").then_some(())?;
                if line.eat_anyone() {
                    return Some(Formula::Always);
                }
                let names = line.full_names()?;
                Some(line.says(Says::Test(Test::new(Field::Assignee, Op::Is, names)), from))
            });
            let happening = Happening::with(&[verb], guard.unwrap_or(Formula::Always));
            line.all_done_to(&matters, &happening)
        });
        if assigned.is_some() {
            return assigned;
        }
        self.eat_any(&[
            "moves",
            "sets",
            "puts",
            "drags",
            "marks",
            "sends",
            "raises",
            "bumps",
            "lowers",
            "transitions",
            "switches",
            "moving",
            "pushes",
            "drops",
            "changes",
            "escalates",
        ])
        .then_some(())?;
        let matters = self.matters()?;
        let scope = matters.first()?.scope()?.behind_verb();
        (scope.topic == Topic::Ticket).then_some(())?;
        self.eat_any(&["back"]);
        self.eat_any(&["to", "into", "in", "as"]).then_some(())?;
        let happening = self.moved_to(scope)?;
        self.all_done_to(&matters, &happening)
    }
}
