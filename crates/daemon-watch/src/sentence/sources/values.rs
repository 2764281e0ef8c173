//! Values of attributes: severities, levels, priorities, environments, conclusions.

use crate::lexicon::{Class, Part};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says};
use crate::sentence::line::Line;
use crate::sentence::people::OTHER_THAN;

use super::topic::{Scope, Topic};

/// Scales, from low to high.
const SCALES: &[&[&str]] = &[
    &["low", "medium", "high", "critical"],
    &["low", "medium", "high", "urgent"],
    &["debug", "info", "warning", "error", "fatal"],
];
const AND_UP: &[&str] = &[
    "or higher",
    "or above",
    "or worse",
    "or more",
    "and above",
    "and higher",
    "and up",
    "or greater",
    "or more severe",
    "or up",
];
const AND_DOWN: &[&str] = &["or lower", "or below", "or less", "and below", "and lower"];

/// The part of a scale that a value includes.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    Only,
    From,
    Above,
    UpTo,
    Below,
}

impl Line<'_> {
    fn attribute(&mut self) -> Option<Part> {
        let sense = self.eat_sense(|sense| {
            matches!(
                sense.part,
                Some(
                    Part::Priority
                        | Part::Severity
                        | Part::Level
                        | Part::Environment
                        | Part::Health
                        | Part::Conclusion
                )
            )
        })?;
        sense.part
    }

    /// `critical`, `high-severity`, `high or critical severity`, `fatal-level`, before a noun.
    pub(super) fn valued_before(&mut self) -> Option<Guard> {
        let start = self.at;
        let values = self.values()?;
        let part = self.attempt(|line| {
            line.eat_mark("-");
            line.attribute()
        });
        Some(self.says(Says::Value(part, values), start))
    }

    /// `of high severity`, `with level fatal`, `at least high`, `to production`, `in the staging environment`.
    pub(super) fn valued(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        let led = self.eat_any(&[
            "with", "of", "at", "in", "to", "for", "on", "as", "into", "from",
        ]);
        let lead = self.word_at(start).to_owned();
        let found = self.valued_complement(scope, start, if led { &lead } else { "" })?;
        // Without a preposition, a value needs its attribute next to it.
        let names_part = found.mentions(&|atom| matches!(&atom.says, Says::Value(Some(_), _)));
        (led || names_part).then_some(found)
    }

    pub(super) fn valued_complement(
        &mut self,
        scope: Scope,
        start: usize,
        lead: &str,
    ) -> Option<Guard> {
        let any_but = self.eats_any_but();
        self.skip_any(&["a", "an", "the", "its", "any", "some", "another", "every"]);
        let before = self.attribute();
        if before.is_some() {
            self.skip_any(&["of", "is", "set", "to", "level"]);
        }
        let negated = any_but || self.eat_phrase(OTHER_THAN) || self.eats_any_but();
        self.skip_any(&["a", "an", "the", "either"]);
        let reach = self.reach();
        if reach != Reach::Only {
            self.skip_any(&["a", "of"]);
        }
        let takes_names = matches!(before, Some(Part::Environment))
            || scope.topic == Topic::Deployment && matches!(lead, "to" | "in" | "for" | "into");
        let values = self
            .attempt(Self::values)
            .or_else(|| {
                if takes_names {
                    self.attempt(Self::environment_names)
                } else {
                    None
                }
            })
            .or_else(|| {
                if before.is_some() {
                    self.attempt(Self::quoted_values)
                } else {
                    None
                }
            })?;
        let after = self.attempt(Self::attribute);
        let reach = match reach {
            Reach::Only if self.eat_phrase(AND_UP) => Reach::From,
            Reach::Only if self.eat_phrase(AND_DOWN) => Reach::UpTo,
            reach => reach,
        };
        let after = after.or_else(|| self.attempt(Self::attribute));
        let part = before.or(after);
        let values = reached(values, reach)?;
        let is_ended = scope.runs() && values.iter().all(|value| is_ending(value));
        // A bare value after a preposition belongs to the topic that has it.
        let fits = match lead {
            "with" | "of" | "at" | "as" | "" => true,
            "in" => part.is_some() || is_ended || is_environment(&values) || takes_names,
            "to" | "on" | "for" | "into" | "from" => {
                part == Some(Part::Environment) || is_environment(&values) || takes_names
            }
            _ => false,
        };
        fits.then_some(())?;
        let part = part.or_else(|| takes_names.then_some(Part::Environment));
        let found = self.says(Says::Value(part, values), start);
        Some(if negated { found.not() } else { found })
    }

    /// `anything but`, `any result other than`: excluded values.
    fn eats_any_but(&mut self) -> bool {
        self.eat_phrase(&[
            "anything other than",
            "anything but",
            "anything except",
            "any result but",
            "any result other than",
            "any result except",
            "any conclusion but",
            "any conclusion other than",
            "any outcome but",
            "any outcome other than",
            "any status but",
            "any status other than",
            "any level but",
            "any level except",
            "any level other than",
            "any severity but",
            "any severity other than",
            "any environment but",
            "any environment other than",
            "any environment except",
            "any other result than",
        ])
    }

    fn reach(&mut self) -> Reach {
        if self.eat_phrase(&["at least", "no lower than", "no less than"]) {
            Reach::From
        } else if self.eat_phrase(&["above", "higher than", "more than", "over", "worse than"]) {
            Reach::Above
        } else if self.eat_phrase(&["at most", "no higher than", "no more than"]) {
            Reach::UpTo
        } else if self.eat_phrase(&["below", "lower than", "less than", "under"]) {
            Reach::Below
        } else {
            Reach::Only
        }
    }

    /// Value words joined by `or`, commas and slashes.
    pub(super) fn values(&mut self) -> Option<Vec<String>> {
        let mut values = vec![self.one_value()?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",") || line.eat_mark("/");
            let or = line.eat_any(&["or", "nor", "and"]);
            (comma || or).then_some(())?;
            line.skip_any(&["a", "an", "the", "in", "with", "to", "as"]);
            line.one_value()
        }) {
            values.push(value);
        }
        Some(values)
    }

    fn one_value(&mut self) -> Option<String> {
        let start = self.at;
        if matches!(self.kind(0)?, TokenKind::Quoted) {
            let value = self.value(0).to_lowercase();
            (crate::lexicon::exact(&value).is_some_and(|sense| sense.is_value)).then_some(())?;
            self.at += 1;
            return Some(value);
        }
        if self.kind(0) == Some(TokenKind::Code) && self.value(0).contains('/') {
            // `critical/high`
            return None;
        }
        self.eat_sense(|sense| sense.is_value)?;
        let range = start..self.at;
        Some(self.span(&range).of(self.text).to_lowercase())
    }

    fn quoted_values(&mut self) -> Option<Vec<String>> {
        let mut values = Vec::new();
        loop {
            (self.kind(0) == Some(TokenKind::Quoted)).then_some(())?;
            values.push(self.value(0));
            self.at += 1;
            let goes_on = self.attempt(|line| {
                line.eat_mark(",");
                line.eat("or").then_some(())?;
                (line.kind(0) == Some(TokenKind::Quoted)).then_some(())
            });
            if goes_on.is_none() {
                return Some(values);
            }
        }
    }

    fn environment_names(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.environment_name()?];
        while let Some(name) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.skip_any(&["the", "to", "in"]);
            line.environment_name()
        }) {
            names.push(name);
        }
        Some(names)
    }

    /// One environment: a literal, a form that no plain word has, a usual name, or the word before `environment`.
    fn environment_name(&mut self) -> Option<String> {
        const USUAL: &[&str] = &[
            "qa",
            "dev",
            "test",
            "testing",
            "sandbox",
            "canary",
            "beta",
            "uat",
            "preprod",
            "demo",
            "live",
            "integration",
            "development",
            "nightly",
        ];
        let word = self.word(0);
        let is_name = match self.kind(0)? {
            TokenKind::Quoted | TokenKind::Code => true,
            TokenKind::Word => {
                let has_form =
                    word.contains(['-', '_']) || word.bytes().any(|b| b.is_ascii_digit());
                let is_known = crate::lexicon::exact(word).is_some_and(|sense| sense.is_value);
                let is_led = matches!(self.word_before(), "environment" | "env");
                let is_named = is_led || matches!(self.word(1), "environment" | "env");
                is_known || has_form || USUAL.contains(&word) || is_named
            }
            TokenKind::User
            | TokenKind::Channel
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => false,
        };
        is_name.then(|| {
            let value = self.value(0);
            self.at += 1;
            value
        })
    }

    /// `as failed`, `as cancelled`: a conclusion as a participle.
    pub(super) fn ended_as(&mut self) -> Option<Guard> {
        let start = self.at;
        let value = match self.word(0) {
            "failed" => "failure",
            "passed" | "succeeded" => "success",
            "cancelled" | "canceled" => "cancelled",
            "skipped" => "skipped",
            _ => return None,
        };
        self.at += 1;
        Some(self.says(Says::Value(None, vec![value.to_owned()]), start))
    }

    /// `successfully`, `unsuccessfully`: a conclusion as an adverb.
    pub(super) fn ended_how(&mut self) -> Option<Guard> {
        let start = self.at;
        let ended: &[&str] = if self.eat_class(Class::Failure) {
            &["failure", "timed_out", "error"]
        } else if self.eat_class(Class::Success) {
            &["success"]
        } else {
            return None;
        };
        let values = ended.iter().map(|value| (*value).to_owned()).collect();
        Some(self.says(Says::Value(Some(Part::Conclusion), values), start))
    }
}

fn reached(values: Vec<String>, reach: Reach) -> Option<Vec<String>> {
    if reach == Reach::Only {
        return Some(values);
    }
    let [value] = values.as_slice() else {
        return None;
    };
    let scale = SCALES
        .iter()
        .find(|scale| scale.contains(&value.as_str()))?;
    let at = scale.iter().position(|step| step == value)?;
    let part = match reach {
        Reach::Only => return None,
        Reach::From => &scale[at..],
        Reach::Above => &scale[at + 1..],
        Reach::UpTo => &scale[..=at],
        Reach::Below => &scale[..at],
    };
    let mut steps: Vec<String> = part.iter().map(|step| (*step).to_owned()).collect();
    // The highest step has two names: `critical` for alerts and `urgent` for tickets.
    if steps.iter().any(|step| step == "critical") {
        steps.push("urgent".to_owned());
    }
    (!steps.is_empty()).then_some(steps)
}

fn is_environment(values: &[String]) -> bool {
    let known = ["production", "prod", "staging", "preview"];
    values.iter().all(|value| known.contains(&value.as_str()))
}

/// Whether a value is a conclusion.
pub(super) fn is_ending(value: &str) -> bool {
    matches!(
        value,
        "success"
            | "failure"
            | "error"
            | "errored"
            | "timed out"
            | "timed_out"
            | "time-out"
            | "timeout"
            | "cancelled"
            | "canceled"
            | "cancellation"
            | "action required"
            | "action_required"
            | "neutral"
            | "skipped"
            | "stale"
            | "startup_failure"
            | "pending"
            | "queued"
    )
}
