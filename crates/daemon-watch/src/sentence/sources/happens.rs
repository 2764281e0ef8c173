//! What happens to the things of the other sources: participles and verbs with the values behind them.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::subject::Matter;
use super::topic::{Scope, Topic};
use crate::filter::{Op, Test};
use crate::lexicon::{Forms, Part};
use crate::sentence::atom::{Atom, Guard, Says};
use crate::sentence::clauses::BE;
use crate::sentence::deeds::{Event, added, removed};
use crate::sentence::formula::{Formula, is};
use crate::sentence::line::Line;

/// What happens, in the verbs that it may be in the vocabulary, and what its own words add.
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

/// The attributes of tickets and projects, by what a payload calls their change.
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

/// The events of what happens to each thing; none where one of them cannot have it happen.
pub(super) fn done_to(matters: &[Matter], happening: &Happening) -> Option<Vec<Event>> {
    let mut events = Vec::new();
    for matter in matters {
        let mut of_it = matter.events(&happening.verbs)?;
        // Triage is where tickets begin: those that are created there enter it too.
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

/// Verbs of what comes into being by itself.
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
/// What a ticket belongs to.
const HOLDERS: &[&str] = &["project", "cycle", "sprint", "milestone", "team"];

/// Words between an auxiliary and its participle that change nothing.
const ADVERBS: &[&str] = &["newly", "just", "automatically"];

impl Line<'_> {
    /// Verbs joined by `or` and commas, with what narrows them; the words behind the last of a list are said of
    /// the ones before it that have none of their own.
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

    /// What narrows a verb, and guards without a comma before them.
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

    /// `occurs`, `goes critical`, `changes to warning`.
    fn trouble_comes(&mut self, scope: Scope) -> Option<Happening> {
        const OCCURS: &[&str] = &[
            "occurs",
            "happens",
            "is seen",
            "is caught",
            "is thrown",
            "shows up",
            "comes in",
            "arrives",
            "pops up",
        ];
        if self.eat_phrase(OCCURS) {
            return Some(Happening::plain(&[Verb::Create, Verb::Fire]));
        }
        matches!(scope.noun, Noun::MetricAlert | Noun::Alert).then_some(())?;
        self.eat_any(&[
            "goes",
            "changes",
            "turns",
            "moves",
            "rises",
            "drops",
            "becomes",
            "reaches",
            "switches",
            "falls",
            "gets",
            "escalates",
            "hits",
        ])
        .then_some(())?;
        let start = self.at;
        let mut values: Vec<String> = Vec::new();
        loop {
            self.eat_any(&["to", "into"]);
            self.skip_any(&["a", "the"]);
            let value = self.values()?;
            values.extend(value);
            self.eat_any(&["level", "status", "state", "threshold"]);
            if !self.eat("or") {
                break;
            }
        }
        let known = |value: &String| matches!(value.as_str(), "critical" | "warning");
        values.iter().all(known).then_some(())?;
        let all = |wanted: &str| values.iter().all(|value| value == wanted);
        if all("critical") {
            return Some(Happening::plain(&[Verb::GoCritical]));
        }
        if all("warning") {
            return Some(Happening::plain(&[Verb::GoWarning]));
        }
        let said = self.says(Says::Value(Some(Part::Severity), values), start);
        Some(Happening::with(&[Verb::Fire], said))
    }

    fn in_progress(&self, scope: Scope) -> Happening {
        let start = self.at - 1;
        if scope.topic == Topic::Deployment {
            let said = self.says(Says::Test(is(Field::Conclusion, &["in_progress"])), start);
            return Happening::with(&[Verb::Change], said);
        }
        let said = self.says(Says::Test(is(Field::State, &["in_progress"])), start);
        Happening::with(&[Verb::Start], said)
    }

    /// `ends in failure`, `completes with anything but success`, `reports an error`, `does not pass`, `goes red`.
    fn run_ends(&mut self, scope: Scope) -> Option<Happening> {
        let start = self.at;
        if self.eat_phrase(&[
            "does not succeed",
            "does not pass",
            "did not succeed",
            "did not pass",
            "do not pass",
            "do not succeed",
        ]) {
            if scope.topic == Topic::Deployment {
                return Some(Happening::plain(&[Verb::Fail]));
            }
            let said = self.says(
                Says::Value(Some(Part::Conclusion), vec!["success".to_owned()]),
                start,
            );
            return Some(Happening::with(&[Verb::Complete], said.not()));
        }
        if self.eat_phrase(&[
            "requires action",
            "needs action",
            "asks for action",
            "awaits action",
        ]) {
            let said = Says::Test(is(Field::Conclusion, &["action_required"]));
            return Some(Happening::with(&[Verb::Complete], self.says(said, start)));
        }
        let either_way = scope.topic == Topic::Deployment
            && matches!(
                self.word(0),
                "finishes" | "completes" | "ends" | "concludes"
            )
            && (self.at..self.tokens.len()).any(|at| {
                matches!(
                    self.word_at(at),
                    "whether" | "regardless" | "whatever" | "matter"
                )
            });
        if either_way {
            self.at += 1;
            let ended = is(Field::Conclusion, &["success", "failure", "error"]);
            return Some(Happening::with(
                &[Verb::Change],
                self.says(Says::Test(ended), start),
            ));
        }
        if scope.topic == Topic::Deployment {
            if self.eat_phrase(&[
                "goes through",
                "is successful",
                "is a success",
                "goes live",
                "works out",
                "makes it",
            ]) {
                return Some(Happening::plain(&[Verb::Succeed]));
            }
            if self.word(1) != "out" && self.eat_phrase(&["errors", "is an error"]) {
                let said = self.says(Says::Test(is(Field::Conclusion, &["error"])), start);
                return Some(Happening::with(&[Verb::Change], said));
            }
        }
        if self.eat_phrase(&[
            "goes in progress",
            "goes into progress",
            "enters progress",
            "moves to in progress",
            "goes to in progress",
            "starts running",
            "begins running",
            "is in progress",
        ]) {
            return Some(self.in_progress(scope));
        }
        let ends = self.eat_phrase(&[
            "ends up",
            "ends",
            "finishes",
            "completes",
            "concludes",
            "comes back",
            "reports",
            "exits",
            "turns",
            "turns out",
            "goes",
            "results",
            "moves",
            "changes",
            "switches",
            "becomes",
            "finished",
        ]);
        ends.then_some(())?;
        self.eat_phrase(&["its conclusion", "its status"]);
        self.eat_any(&["with", "in", "as", "to"]);
        self.skip_any(&["a", "an", "the"]);
        self.eat_phrase(&["conclusion", "result of", "result", "status", "state"]);
        let from = self.at;
        let said = self
            .attempt(|line| line.valued_complement(scope, from, "as"))
            .or_else(|| self.attempt(Self::ended_as))?;
        self.eat_any(&["result", "state", "status", "conclusion"]);
        Some(Happening::with(&[Verb::Complete, Verb::Change], said))
    }

    /// `moves to Done`, `enters Triage`, `becomes urgent`, `drops to low priority`, `changes state`, `is now Done`.
    fn ticket_moves(&mut self, scope: Scope) -> Option<Happening> {
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

    /// `a project`, `the "Q3" cycle`, `another team`: what a ticket belongs to, where it comes or goes.
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

    fn holder_word(&mut self) -> Option<(Field, &'static str)> {
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
    fn ticket_passive(&mut self, scope: Scope) -> Option<Happening> {
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
            return to.then_some(found);
        }
        if self.eat("now") || self.sees_known_state() {
            return self.moved_to(scope);
        }
        None
    }

    fn sees_known_state(&mut self) -> bool {
        let at = self.at;
        let is_verb = self.sees_sense(|sense| sense.is_verb() && sense.forms.has(Forms::PAST));
        let is_state = self.attempt(|line| line.states(false)).is_some();
        self.at = at;
        is_state && !is_verb
    }

    fn assignee_deed(&mut self, verb: Verb, start: usize) -> Happening {
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

    /// The state or the priority that a ticket comes to.
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

    /// `a completed or canceled state`: a class of states, by the word that Linear has for it.
    fn state_of_type(&mut self) -> Option<Guard> {
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
    fn gaining(&mut self, scope: Scope) -> Option<Happening> {
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

    /// `the priority changes to urgent`, `its due date is moved`: what happens to a part.
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
