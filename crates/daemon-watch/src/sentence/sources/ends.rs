//! Conclusions of runs and deployments, and new alerts.

use daemon_event::Field;
use daemon_event::vocabulary::{Noun, Verb};

use super::happens::Happening;
use super::topic::{Scope, Topic};
use crate::lexicon::Part;
use crate::sentence::atom::Says;
use crate::sentence::formula::is;
use crate::sentence::line::Line;

impl Line<'_> {
    /// `occurs`, `goes critical`, `changes to warning`.
    pub(super) fn trouble_comes(&mut self, scope: Scope) -> Option<Happening> {
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

    pub(super) fn in_progress(&self, scope: Scope) -> Happening {
        let start = self.at - 1;
        if scope.topic == Topic::Deployment {
            let said = self.says(Says::Test(is(Field::Conclusion, &["in_progress"])), start);
            return Happening::with(&[Verb::Change], said);
        }
        let said = self.says(Says::Test(is(Field::State, &["in_progress"])), start);
        Happening::with(&[Verb::Start], said)
    }

    /// `ends in failure`, `completes with anything but success`, `reports an error`, `does not pass`, `goes red`.
    pub(super) fn run_ends(&mut self, scope: Scope) -> Option<Happening> {
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
        if scope.topic == Topic::Run && self.eat_phrase(&["errors out", "errors"]) {
            return Some(Happening::plain(&[Verb::Fail]));
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
}
