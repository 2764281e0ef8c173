//! The JSON forms that leave the program; field names are a contract of the command line.

use schemars::JsonSchema;
use serde::Serialize;

use crate::explain::Explanation;
use crate::interpretation::{Interpretation, Verdict};
use crate::span::Span;

/// An interpretation, with or without an event, as the command line prints it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct InterpretationWire {
    /// How far the line was understood.
    pub status: &'static str,
    /// Whether it wakes; false without an event.
    pub wakes: bool,
    /// The words not understood.
    pub remainder: Vec<SpanWire>,
    /// The filters.
    pub filters: Vec<FilterWire>,
    /// The alternatives.
    pub clauses: Vec<ClauseWire>,
    /// Default readings and what could not be read.
    pub notes: Vec<String>,
    /// Indexes of the fewest filters that failed.
    pub nearest: Vec<usize>,
}

/// Words of the author, with their place in bytes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct SpanWire {
    /// The words.
    pub text: String,
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// A filter, and its verdict for an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct FilterWire {
    /// The field's name.
    pub field: &'static str,
    /// The comparison's name.
    pub op: &'static str,
    /// One value as text, several as a list, none as `null`.
    pub value: serde_json::Value,
    /// The author's words.
    pub text: String,
    /// The first byte of them.
    pub start: usize,
    /// The byte after the last of them.
    pub end: usize,
    /// `exact`, `inferred` or `corrected`.
    pub reading: &'static str,
    /// `pass`, `fail` or `missing`; `null` without an event.
    pub verdict: Option<&'static str>,
    /// The value that decided it.
    pub got: Option<String>,
    /// The fact that must be fetched.
    pub needs: Option<&'static str>,
}

/// An alternative, and its verdict for an event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ClauseWire {
    /// The events that it names.
    pub events: Vec<EventWire>,
    /// Indexes of its filters.
    pub filters: Vec<usize>,
    /// The author's words.
    pub text: String,
    /// The first byte of them.
    pub start: usize,
    /// The byte after the last of them.
    pub end: usize,
    /// `exact`, `inferred` or `corrected`.
    pub reading: &'static str,
    /// `pass`, `fail` or `missing`; `null` without an event.
    pub verdict: Option<&'static str>,
}

/// A kind and action of a source.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct EventWire {
    /// The source's name.
    pub source: &'static str,
    /// The source's name for the kind.
    pub kind: &'static str,
    /// The action; `null` for every action.
    pub action: Option<&'static str>,
}

impl InterpretationWire {
    /// Returns the JSON Schema (2020-12) of an interpretation.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }
}

impl SpanWire {
    fn new(span: Span, line: &str) -> Self {
        Self {
            text: span.of(line).to_owned(),
            start: span.start,
            end: span.end,
        }
    }
}

impl InterpretationWire {
    /// Writes an interpretation of a line, and its explanation for an event if there is one.
    pub fn new(
        line: &str,
        interpretation: &Interpretation,
        explanation: Option<&Explanation>,
    ) -> Self {
        let filters = interpretation
            .filters
            .iter()
            .enumerate()
            .map(|(index, filter)| {
                let decided = explanation.and_then(|explanation| explanation.filters.get(index));
                let values = filter.test.values();
                let value = match values {
                    [] => serde_json::Value::Null,
                    [one] => serde_json::Value::from(one.as_str()),
                    many => serde_json::Value::from(many.to_vec()),
                };
                FilterWire {
                    field: filter.test.field().name(),
                    op: filter.test.op().as_str(),
                    value,
                    text: filter.span.of(line).to_owned(),
                    start: filter.span.start,
                    end: filter.span.end,
                    reading: filter.mark.as_str(),
                    verdict: decided.map(|decided| decided.verdict.as_str()),
                    got: decided.and_then(|decided| decided.got.clone()),
                    needs: decided
                        .and_then(|decided| decided.needs)
                        .map(daemon_event::Need::as_str),
                }
            });
        let clauses = interpretation
            .clauses
            .iter()
            .enumerate()
            .map(|(index, clause)| ClauseWire {
                events: clause
                    .events
                    .iter()
                    .map(|event| EventWire {
                        source: event.source.as_str(),
                        kind: event.kind,
                        action: event.action,
                    })
                    .collect(),
                filters: clause.filters.clone(),
                text: clause.span.of(line).to_owned(),
                start: clause.span.start,
                end: clause.span.end,
                reading: clause.mark.as_str(),
                verdict: explanation
                    .and_then(|explanation| explanation.clauses.get(index))
                    .map(|verdict| verdict.as_str()),
            });
        Self {
            status: interpretation.status.as_str(),
            wakes: explanation.is_some_and(|explanation| explanation.verdict == Verdict::Wakes),
            remainder: interpretation
                .remainder
                .iter()
                .map(|span| SpanWire::new(*span, line))
                .collect(),
            filters: filters.collect(),
            clauses: clauses.collect(),
            notes: interpretation.notes.clone(),
            nearest: explanation
                .map(|explanation| explanation.nearest.clone())
                .unwrap_or_default(),
        }
    }
}
