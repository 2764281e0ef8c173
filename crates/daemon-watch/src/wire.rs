//! The JSON forms that leave the program; field names are a contract of the command line.

mod back;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::explain::Explanation;
use crate::filter::{Filter, FilterVerdict, Mark, Op};
use crate::interpretation::{
    Clause, Correction, EventPattern, Interpretation, Status, TimeKind, WakeVerdict,
};
use crate::span::Span;

pub use back::InvalidWire;

/// An interpretation, with or without an event, as the command line prints it.
///
/// Offsets are bytes of the line in UTF-8. [`InterpretationWire::interpretation`] reads it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Interpretation of a condition")]
#[non_exhaustive]
pub struct InterpretationWire {
    /// The version of this form, [`InterpretationWire::VERSION`].
    #[schemars(schema_with = "version_schema")]
    pub schema_version: u32,
    /// How much of the line was understood.
    pub status: StatusWire,
    /// Whether it wakes; `false` without an event.
    pub wakes: bool,
    /// The words that became neither an event nor a filter.
    pub remainder: Vec<SpanWire>,
    /// The filters of all clauses, each once.
    pub filters: Vec<FilterWire>,
    /// The alternatives: one of them must be met.
    pub clauses: Vec<ClauseWire>,
    /// Default readings and reasons for the status.
    pub notes: Vec<String>,
    /// Indexes of the fewest filters that failed.
    pub nearest: Vec<usize>,
    /// The typos that were corrected.
    pub corrections: Vec<CorrectionWire>,
    /// The instruction inside the condition, if there is one.
    pub instruction: Option<SpanWire>,
    /// For a line that names no event, the nearest event phrase.
    pub suggestion: Option<String>,
    /// The time that a time-based line names.
    pub time: Option<TimeWire>,
    /// The events of the clauses that the format gives no example of.
    pub beyond_the_format: Vec<EventWire>,
}

/// How much of a line was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum StatusWire {
    /// Every word became an event or a filter.
    Mapped,
    /// An event is understood, and words are left over.
    Partial,
    /// A state or a quality: no event is named.
    Vague,
    /// The line names an event that no known source emits.
    Unmapped,
    /// A recurring time, or a state that lasts.
    TimeBased,
}

/// How a reading came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ReadingWire {
    /// The words name it without a default or a correction.
    Exact,
    /// A default reading; a note says which.
    Inferred,
    /// A typo was corrected; a note names it.
    Corrected,
}

/// The verdict of an event on a filter or a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum VerdictWire {
    /// The filter or clause passes.
    Pass,
    /// The filter or clause fails.
    Fail,
    /// A fact that decides it has not been fetched.
    Missing,
}

/// Words of the author, with their place in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SpanWire {
    /// The words as the author wrote them.
    pub text: String,
    /// The offset of the first byte in the line.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

/// The values that a filter compares with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ValueWire {
    /// The comparison has no value.
    None(()),
    /// One value, written as a string.
    One(String),
    /// Several values, of which one has to match.
    Many(Vec<String>),
}

/// A filter, and its verdict for an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FilterWire {
    /// The name of the field, as in the vocabulary.
    #[schemars(schema_with = "field_schema")]
    pub field: String,
    /// The name of the comparison, such as `is_not` or `any_of`.
    #[schemars(schema_with = "op_schema")]
    pub op: String,
    /// One value as text, several as a list, none as `null`.
    pub value: ValueWire,
    /// The words as the author wrote them.
    pub text: String,
    /// The offset of their first byte in the line.
    pub start: usize,
    /// The offset after their last byte.
    pub end: usize,
    /// How the reading came about.
    pub reading: ReadingWire,
    /// `null` without an event.
    pub verdict: Option<VerdictWire>,
    /// The value of the event; `null` without an event or if it is unknown.
    pub got: Option<String>,
    /// The fact that must be fetched to decide it, if there is one.
    pub needs: Option<String>,
}

/// An alternative, and its verdict for an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ClauseWire {
    /// The events, of which one must occur.
    pub events: Vec<EventWire>,
    /// Indexes of its filters, which must all pass.
    pub filters: Vec<usize>,
    /// The words as the author wrote them.
    pub text: String,
    /// The offset of their first byte in the line.
    pub start: usize,
    /// The offset after their last byte.
    pub end: usize,
    /// How the reading came about.
    pub reading: ReadingWire,
    /// `null` without an event.
    pub verdict: Option<VerdictWire>,
}

/// A kind and action of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EventWire {
    /// The name of the source: `github`, `linear`, `slack`, `sentry` or `git`.
    pub source: String,
    /// The kind, as the source names it.
    pub kind: String,
    /// The action; `null` for every action.
    pub action: Option<String>,
}

/// A word that was read as another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CorrectionWire {
    /// The word as the author wrote it.
    pub text: String,
    /// The offset of its first byte in the line.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// The word it was read as.
    pub replacement: String,
}

/// The time that a line names instead of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TimeWire {
    /// Whether it recurs or lasts.
    pub kind: TimeKindWire,
    /// The five fields that say it, where they do.
    pub schedule: Option<String>,
}

/// Whether a time recurs or lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TimeKindWire {
    /// A recurring time, which a schedule can express.
    Schedule,
    /// A state that lasts, which a routine can check.
    Elapsed,
}

fn version_schema(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"const": InterpretationWire::VERSION, "description": "The version of this form."})
}

fn field_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = daemon_event::Field::ALL
        .iter()
        .map(|field| field.name())
        .collect();
    schemars::json_schema!({"enum": names, "description": "The field's name."})
}

fn op_schema(_: &mut SchemaGenerator) -> Schema {
    let names = Op::ALL.map(Op::as_str);
    schemars::json_schema!({"enum": names, "description": "The comparison's name."})
}

impl InterpretationWire {
    /// The version of the form. Fields may be added to it; renaming, removing or retyping one raises it.
    pub const VERSION: u32 = 1;

    /// Returns the JSON Schema (2020-12) of an interpretation.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Self).to_value()
    }

    /// Writes an interpretation of a line, and its explanation for an event if there is one.
    pub fn new(
        line: &str,
        interpretation: &Interpretation,
        explanation: Option<&Explanation>,
    ) -> Self {
        let spans = |spans: &[Span]| {
            spans
                .iter()
                .map(|span| SpanWire::new(*span, line))
                .collect()
        };
        let filters = interpretation.filters.iter().enumerate();
        let clauses = interpretation.clauses.iter().enumerate();
        let corrections = interpretation.corrections.iter();
        let beyond = interpretation.beyond_the_format();
        Self {
            schema_version: Self::VERSION,
            status: interpretation.status.into(),
            wakes: explanation.is_some_and(|explanation| explanation.verdict == WakeVerdict::Wakes),
            remainder: spans(&interpretation.remainder),
            filters: filters
                .map(|(index, filter)| FilterWire::new(line, filter, index, explanation))
                .collect(),
            clauses: clauses
                .map(|(index, clause)| ClauseWire::new(line, clause, index, explanation))
                .collect(),
            notes: interpretation.notes.clone(),
            nearest: explanation
                .map(|explanation| explanation.nearest.clone())
                .unwrap_or_default(),
            corrections: corrections
                .map(|correction| CorrectionWire::new(line, correction))
                .collect(),
            instruction: interpretation
                .instruction
                .map(|span| SpanWire::new(span, line)),
            suggestion: interpretation.suggestion.clone(),
            time: interpretation.time.as_ref().map(TimeWire::new),
            beyond_the_format: beyond.iter().map(EventWire::new).collect(),
        }
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

impl FilterWire {
    fn new(line: &str, filter: &Filter, index: usize, explanation: Option<&Explanation>) -> Self {
        let decided = explanation.and_then(|explanation| explanation.filters.get(index));
        let SpanWire { text, start, end } = SpanWire::new(filter.span, line);
        Self {
            field: filter.test.field().name().to_owned(),
            op: filter.test.op().as_str().to_owned(),
            value: match filter.test.values() {
                [] => ValueWire::None(()),
                [one] => ValueWire::One(one.clone()),
                many => ValueWire::Many(many.to_vec()),
            },
            text,
            start,
            end,
            reading: filter.mark.into(),
            verdict: decided.map(|decided| decided.verdict.into()),
            got: decided.and_then(|decided| decided.got.clone()),
            needs: decided
                .and_then(|decided| decided.needs)
                .map(|need| need.as_str().to_owned()),
        }
    }
}

impl ClauseWire {
    fn new(line: &str, clause: &Clause, index: usize, explanation: Option<&Explanation>) -> Self {
        let SpanWire { text, start, end } = SpanWire::new(clause.span, line);
        let verdict = explanation.and_then(|explanation| explanation.clauses.get(index));
        Self {
            events: clause.events.iter().map(EventWire::new).collect(),
            filters: clause.filters.clone(),
            text,
            start,
            end,
            reading: clause.mark.into(),
            verdict: verdict.map(|verdict| (*verdict).into()),
        }
    }
}

impl EventWire {
    fn new(event: &EventPattern) -> Self {
        Self {
            source: event.source.as_str().to_owned(),
            kind: event.kind.to_owned(),
            action: event.action.map(str::to_owned),
        }
    }
}

impl CorrectionWire {
    fn new(line: &str, correction: &Correction) -> Self {
        let SpanWire { text, start, end } = SpanWire::new(correction.span, line);
        Self {
            text,
            start,
            end,
            replacement: correction.replacement.clone(),
        }
    }
}

impl TimeWire {
    fn new(time: &TimeKind) -> Self {
        match time {
            TimeKind::Schedule(schedule) => Self {
                kind: TimeKindWire::Schedule,
                schedule: schedule.clone(),
            },
            TimeKind::Elapsed => Self {
                kind: TimeKindWire::Elapsed,
                schedule: None,
            },
        }
    }
}

impl From<Status> for StatusWire {
    fn from(status: Status) -> Self {
        match status {
            Status::Mapped => Self::Mapped,
            Status::Partial => Self::Partial,
            Status::Vague => Self::Vague,
            Status::Unmapped => Self::Unmapped,
            Status::TimeBased => Self::TimeBased,
        }
    }
}

impl From<Mark> for ReadingWire {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Exact => Self::Exact,
            Mark::Inferred => Self::Inferred,
            Mark::Corrected => Self::Corrected,
        }
    }
}

impl From<FilterVerdict> for VerdictWire {
    fn from(verdict: FilterVerdict) -> Self {
        match verdict {
            FilterVerdict::Pass => Self::Pass,
            FilterVerdict::Fail => Self::Fail,
            FilterVerdict::Missing => Self::Missing,
        }
    }
}
