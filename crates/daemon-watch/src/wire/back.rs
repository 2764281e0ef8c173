//! From the JSON form back to the interpretation.

use std::error::Error;
use std::fmt;

use daemon_event::{Field, Source, vocabulary};

use super::{
    ClauseWire, CorrectionWire, EventWire, FilterWire, InterpretationWire, ReadingWire, StatusWire,
    TimeKindWire, TimeWire, ValueWire,
};
use crate::filter::{Filter, Mark, Op, Test};
use crate::interpretation::{Clause, Correction, EventPattern, Interpretation, Status, TimeKind};
use crate::span::Span;

/// A JSON form with content that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidWire {
    /// The form is of another version.
    Version(u32),
    /// No event has a field of this name.
    Field(String),
    /// No comparison has this name.
    Op(String),
    /// The vocabulary has no such event.
    Event(String),
    /// A clause refers to a filter that does not exist.
    Filter(usize),
}

impl fmt::Display for InvalidWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                let known = InterpretationWire::VERSION;
                write!(f, "the form is of version {version}, not {known}")
            }
            Self::Field(name) => write!(f, "no event has a field `{name}`"),
            Self::Op(name) => write!(f, "there is no comparison `{name}`"),
            Self::Event(name) => write!(f, "the vocabulary has no event `{name}`"),
            Self::Filter(index) => write!(f, "there is no filter {index}"),
        }
    }
}

impl Error for InvalidWire {}

impl InterpretationWire {
    /// Parses the interpretation; verdicts for an event are not part of it.
    ///
    /// # Errors
    /// Fails if the form has another version, or names a field, comparison or event that this version does not know.
    pub fn interpretation(&self) -> Result<Interpretation, InvalidWire> {
        if self.schema_version != Self::VERSION {
            return Err(InvalidWire::Version(self.schema_version));
        }
        let missing = self
            .clauses
            .iter()
            .flat_map(|clause| &clause.filters)
            .find(|index| **index >= self.filters.len());
        if let Some(index) = missing {
            return Err(InvalidWire::Filter(*index));
        }
        let filters = self.filters.iter().map(FilterWire::filter);
        let clauses = self.clauses.iter().map(ClauseWire::clause);
        Ok(Interpretation {
            status: self.status.into(),
            clauses: clauses.collect::<Result<_, _>>()?,
            filters: filters.collect::<Result<_, _>>()?,
            remainder: (self.remainder.iter())
                .map(|words| Span::new(words.start, words.end))
                .collect(),
            notes: self.notes.clone(),
            time: self.time.as_ref().map(TimeWire::time),
            corrections: self
                .corrections
                .iter()
                .map(CorrectionWire::correction)
                .collect(),
            instruction: (self.instruction.as_ref()).map(|words| Span::new(words.start, words.end)),
            suggestion: self.suggestion.clone(),
        })
    }
}

impl FilterWire {
    /// Reads the filter back.
    fn filter(&self) -> Result<Filter, InvalidWire> {
        let mut fields = Field::ALL.iter().copied();
        let field = fields.find(|field| field.name() == self.field);
        let field = field.ok_or_else(|| InvalidWire::Field(self.field.clone()))?;
        let op = Op::ALL.into_iter().find(|op| op.as_str() == self.op);
        let op = op.ok_or_else(|| InvalidWire::Op(self.op.clone()))?;
        let values = match &self.value {
            ValueWire::None(()) => Vec::new(),
            ValueWire::One(one) => vec![one.clone()],
            ValueWire::Many(many) => many.clone(),
        };
        Ok(Filter {
            test: Test::new(field, op, values),
            span: Span::new(self.start, self.end),
            mark: self.reading.into(),
        })
    }
}

impl ClauseWire {
    fn clause(&self) -> Result<Clause, InvalidWire> {
        let events = self.events.iter().map(EventWire::event);
        Ok(Clause {
            events: events.collect::<Result<_, _>>()?,
            filters: self.filters.clone(),
            span: Span::new(self.start, self.end),
            mark: self.reading.into(),
        })
    }
}

impl EventWire {
    fn event(&self) -> Result<EventPattern, InvalidWire> {
        let unknown = || InvalidWire::Event(self.to_string());
        let source = Source::ALL
            .into_iter()
            .find(|source| source.as_str() == self.source);
        let source = source.ok_or_else(unknown)?;
        let kind = vocabulary::kind(source, &self.kind).ok_or_else(unknown)?;
        let action = match &self.action {
            None => None,
            Some(action) => {
                let mut actions = kind.rows.iter().filter_map(|row| row.action);
                Some(actions.find(|known| known == action).ok_or_else(unknown)?)
            }
        };
        Ok(EventPattern {
            source,
            kind: kind.name,
            action,
        })
    }
}

impl fmt::Display for EventWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source, self.kind)?;
        match &self.action {
            Some(action) => write!(f, ".{action}"),
            None => Ok(()),
        }
    }
}

impl CorrectionWire {
    fn correction(&self) -> Correction {
        Correction {
            span: Span::new(self.start, self.end),
            replacement: self.replacement.clone(),
        }
    }
}

impl TimeWire {
    fn time(&self) -> TimeKind {
        match self.kind {
            TimeKindWire::Schedule => TimeKind::Schedule(self.schedule.clone()),
            TimeKindWire::Elapsed => TimeKind::Elapsed,
        }
    }
}

impl From<StatusWire> for Status {
    fn from(status: StatusWire) -> Self {
        match status {
            StatusWire::Mapped => Self::Mapped,
            StatusWire::Partial => Self::Partial,
            StatusWire::Vague => Self::Vague,
            StatusWire::Unmapped => Self::Unmapped,
            StatusWire::TimeBased => Self::TimeBased,
        }
    }
}

impl From<ReadingWire> for Mark {
    fn from(reading: ReadingWire) -> Self {
        match reading {
            ReadingWire::Exact => Self::Exact,
            ReadingWire::Inferred => Self::Inferred,
            ReadingWire::Corrected => Self::Corrected,
        }
    }
}
