//! Events of the other sources: participles and verbs with the values after them.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::subject::Matter;
use super::topic::{Scope, Topic};
use crate::lexicon::{Forms, Part};
use crate::sentence::atom::{Atom, Guard, Says};
use crate::sentence::clauses::BE;
use crate::sentence::deeds::Event;
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;

/// An event: its possible verbs in the vocabulary, and the filters of its own words.
#[derive(Clone)]
pub(super) struct Happening {
    pub(super) verbs: Vec<Verb>,
    pub(super) guard: Guard,
}

impl Happening {
    pub(super) fn plain(verbs: &[Verb]) -> Self {
        Self::with(verbs, Formula::Always)
    }

    pub(super) fn with(verbs: &[Verb], guard: Guard) -> Self {
        Self {
            verbs: verbs.to_vec(),
            guard,
        }
    }
}

/// The attributes of tickets and projects, with the names of their changes in payloads.
const ATTRIBUTES: &[(Part, &str)] = &[
    (Part::Priority, "priority"),
    (Part::Estimate, "estimate"),
    (Part::DueDate, "due date"),
    (Part::Cycle, "cycle"),
    (Part::Team, "team"),
    (Part::TargetDate, "target date"),
    (Part::StartDate, "start date"),
    (Part::Lead, "lead"),
    (Part::Parent, "parent"),
    (Part::Title, "title"),
    (Part::Body, "body"),
    (Part::Health, "health"),
    (Part::Members, "members"),
    (Part::Assignee, "assignee"),
    (Part::Status, "state"),
    (Part::Label, "labels"),
];

pub(super) fn attribute_name(part: Part) -> Option<&'static str> {
    ATTRIBUTES
        .iter()
        .find(|(known, _)| *known == part)
        .map(|(_, name)| *name)
}

/// Returns the events for each thing, or `None` if one of the things does not have the event.
pub(super) fn done_to(matters: &[Matter], happening: &Happening) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    for matter in matters {
        let mut of_it = matter.events(&happening.verbs)?;
        // Issues are created in triage, so `enters Triage` includes the creation there.
        if happening.verbs == [Verb::Move] && happening.guard.mentions(&is_triage) {
            of_it.extend(matter.events(&[Verb::Create])?);
        }
        of_it
            .iter_mut()
            .for_each(|event| event.require(happening.guard.clone()));
        events.extend(of_it);
    }
    Some(events)
}

fn is_triage(atom: &Atom) -> bool {
    let Says::Test(test) = &atom.says else {
        return false;
    };
    test.field() == Field::State
        && test
            .values()
            .iter()
            .any(|value| value.eq_ignore_ascii_case("triage"))
}

/// Adverbs between an auxiliary and its participle that add nothing.
const ADVERBS: &[&str] = &["newly", "just", "automatically"];

impl Line<'_> {
    /// Reads verbs joined by `or` and commas with their modifiers; the words after the last one of a list apply to
    /// those without words of their own.
    pub(super) fn happenings(&mut self, matters: &[Matter]) -> Option<Vec<Event>> {
        let scope = matters.first()?.scope()?.behind_verb();
        let mut groups: Vec<(Vec<Event>, bool)> = Vec::new();
        let mut commas = 0;
        while let Some((happening, comma, or)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "and/or"]);
            (groups.is_empty() != (comma || or)).then_some(())?;
            line.eat_any(&["when", "it"]);
            let found = line.happening(scope, groups.is_empty())?;
            Some((found, comma, or))
        }) {
            commas += usize::from(comma);
            let is_apart = comma && or && commas == 1;
            let mut events = done_to(matters, &happening)?;
            let start = self.at;
            let mut on = Vec::new();
            let behind = self.behind_happening(scope, &mut on);
            let has_own = self.at > start;
            let shares = !(is_apart && groups.len() == 1);
            for event in &mut events {
                event.require(behind.clone());
                event.on.extend(on.iter().copied());
            }
            if has_own && shares {
                for (before, own) in groups.iter_mut().rev() {
                    if *own {
                        break;
                    }
                    *own = true;
                    for event in before {
                        event.require(behind.clone());
                        event.on.extend(on.iter().copied());
                    }
                }
            }
            groups.push((events, has_own));
        }
        (!groups.is_empty()).then(|| groups.into_iter().flat_map(|(events, _)| events).collect())
    }

    /// Reads the words that narrow a verb, and guards without a comma.
    pub(super) fn behind_happening(&mut self, scope: Scope, on: &mut Vec<Noun>) -> Guard {
        let mut found = Formula::Always;
        loop {
            let start = self.at;
            found = found.and(self.narrowings(scope, on));
            if let Some(guard) = self.attempt(|line| line.clause_guard(scope)) {
                found = found.and(guard);
            }
            if self.at == start {
                return found;
            }
        }
    }

    fn happening(&mut self, scope: Scope, is_first: bool) -> Option<Happening> {
        self.attempt(|line| line.by_topic(scope))
            .or_else(|| {
                self.attempt(|line| {
                    let be = line.eat_phrase(BE);
                    (be || !is_first).then_some(())?;
                    line.skip_any(ADVERBS);
                    line.by_topic_passive(scope)
                        .or_else(|| line.verb_of(scope, Forms::PAST))
                })
            })
            .or_else(|| self.attempt(|line| line.gaining(scope)))
            .or_else(|| {
                self.attempt(|line| {
                    let forms = Forms(Forms::THIRD.0 | Forms::BASE.0);
                    line.verb_of(scope, forms)
                })
            })
    }

    /// Any verb of the vocabulary that the noun has, with a value behind it.
    pub(super) fn verb_of(&mut self, scope: Scope, forms: Forms) -> Option<Happening> {
        let start = self.at;
        let verbs = self.eat_verb(forms)?;
        let moves = verbs.iter().any(|verb| {
            matches!(
                verb,
                Verb::Move | Verb::Label | Verb::Unlabel | Verb::Assign
            )
        }) && scope.topic == Topic::Ticket;
        if moves {
            self.at = start;
            return None;
        }
        let wanted: Vec<Verb> = verbs
            .iter()
            .copied()
            .filter(|verb| {
                !matches!(verb, Verb::Move | Verb::Touch) || scope.topic != Topic::Ticket
            })
            .collect();
        (!wanted.is_empty()).then(|| Happening::plain(&wanted))
    }

    fn by_topic(&mut self, scope: Scope) -> Option<Happening> {
        match scope.topic {
            Topic::Run | Topic::Deployment => self.run_ends(scope),
            Topic::Ticket => self.ticket_moves(scope),
            Topic::Trouble => self.trouble_comes(scope),
            Topic::Talk => self
                .eat_phrase(&[
                    "arrives",
                    "appears",
                    "comes in",
                    "shows up",
                    "lands",
                    "is left",
                    "is dropped",
                    "turns up",
                    "pops up",
                ])
                .then(|| Happening::plain(&[Verb::Post, Verb::Create])),
            Topic::Alert | Topic::Remark | Topic::Other => self
                .eat_phrase(&[
                    "comes in", "arrives", "shows up", "appears", "turns up", "pops up",
                ])
                .then(|| Happening::plain(&[Verb::Create])),
        }
    }

    pub(super) fn by_topic_passive(&mut self, scope: Scope) -> Option<Happening> {
        match scope.topic {
            Topic::Ticket => self.attempt(|line| line.ticket_passive(scope)),
            Topic::Run | Topic::Deployment => {
                if self.eat_phrase(&["in progress", "running", "underway"]) {
                    return Some(self.in_progress(scope));
                }
                let is_state = self.attempt(|line| {
                    let start = line.at;
                    matches!(line.word_before(), "is" | "becomes").then_some(())?;
                    let values = line.values()?;
                    values
                        .iter()
                        .all(|value| super::values::is_ending(value))
                        .then_some(())?;
                    (!line.sees_sense(crate::lexicon::Sense::is_verb)).then_some(())?;
                    let deed = values
                        .iter()
                        .any(|value| value.starts_with("cancel") || value == "queued");
                    (!deed).then(|| line.says(Says::Value(None, values), start))
                });
                if let Some(said) = is_state {
                    return Some(Happening::with(&[Verb::Complete, Verb::Change], said));
                }
                let ended = self.attempt(|line| {
                    let start = line.at;
                    line.eat_any(&["reported", "marked", "concluded"])
                        .then_some(())?;
                    line.eat_any(&["as", "with", "to"]);
                    line.eat_any(&["have", "being", "be"]);
                    line.valued_complement(scope, start, "as")
                        .or_else(|| line.ended_how())
                })?;
                Some(Happening::with(&[Verb::Complete, Verb::Change], ended))
            }
            Topic::Trouble => self
                .eat_any(&["seen", "caught", "thrown", "captured", "new"])
                .then(|| Happening::plain(&[Verb::Create, Verb::Fire])),
            Topic::Talk => {
                let start = self.at;
                self.eat_any(&["left", "written", "sent", "dropped", "put"])
                    .then_some(())?;
                let _ = start;
                Some(Happening::plain(&[Verb::Post, Verb::Create, Verb::Add]))
            }
            Topic::Other if scope.noun == Noun::Sla => self
                .eat_phrase(&["at high risk", "at risk"])
                .then(|| Happening::plain(&[Verb::GoHighRisk, Verb::GoWarning])),
            Topic::Alert | Topic::Remark | Topic::Other => None,
        }
    }
}
