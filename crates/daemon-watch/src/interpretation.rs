//! The meaning of a line.

use std::fmt;

use daemon_event::{Event, Need, Source};

use crate::filter::{Filter, FilterVerdict, Mark, Test};
use crate::span::Span;

/// How much of a line was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every word is accounted for by the filter.
    Mapped,
    /// An event is understood; the remainder has to be confirmed.
    Partial,
    /// A state or a quality: no event is named.
    Vague,
    /// The line names an event that no known source emits.
    Unmapped,
    /// A recurring time, or a state that lasts.
    TimeBased,
}

impl Status {
    /// Every status, in the order of this enum.
    pub const ALL: [Self; 5] = [
        Self::Mapped,
        Self::Partial,
        Self::Vague,
        Self::Unmapped,
        Self::TimeBased,
    ];

    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mapped => "mapped",
            Self::Partial => "partial",
            Self::Vague => "vague",
            Self::Unmapped => "unmapped",
            Self::TimeBased => "time-based",
        }
    }

    /// Whether a condition of this status can wake a daemon.
    pub fn can_wake(self) -> bool {
        matches!(self, Self::Mapped | Self::Partial)
    }
}

/// A kind and action of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventPattern {
    /// The source that emits it.
    pub source: Source,
    /// The source's name for the kind.
    pub kind: &'static str,
    /// The action; `None` matches every action.
    pub action: Option<&'static str>,
}

impl fmt::Display for EventPattern {
    /// Writes source, kind and action: `github pull_request.opened`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source, self.kind)?;
        match self.action {
            Some(action) => write!(f, ".{action}"),
            None => Ok(()),
        }
    }
}

impl EventPattern {
    /// Whether an event is of this kind and action.
    pub fn is_met_by(&self, event: &Event) -> bool {
        self.source == event.source
            && self.kind == event.kind
            && self
                .action
                .is_none_or(|action| event.action.as_deref() == Some(action))
    }
}

/// Alternative events and the filters that must all pass for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The events, of which one must occur.
    pub events: Vec<EventPattern>,
    /// Indexes into [`Interpretation::filters`].
    pub filters: Vec<usize>,
    /// The author's words for the clause.
    pub span: Span,
    /// The least certain reading among its events and filters.
    pub mark: Mark,
}

/// The kind of time that a line names instead of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeKind {
    /// A recurring time, with the five-field cron expression if there is one.
    Schedule(Option<String>),
    /// A state that has lasted for some time.
    Elapsed,
}

/// A word that was read as another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The misspelt word of the line.
    pub span: Span,
    /// The word it was read as.
    pub replacement: String,
}

/// The meaning of a line: alternatives of events and filters, and the remainder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpretation {
    /// How much of the line was understood.
    pub status: Status,
    /// The alternatives: one of them must be met.
    pub clauses: Vec<Clause>,
    /// The filters of all clauses, each once.
    pub filters: Vec<Filter>,
    /// The words that became neither an event nor a filter; empty if `status` is [`Status::Mapped`].
    pub remainder: Vec<Span>,
    /// Default readings and reasons for a status, as sentences for the author.
    pub notes: Vec<String>,
    /// The time that a time-based line names; `None` for every other status.
    pub time: Option<TimeKind>,
    /// The typos that were corrected.
    pub corrections: Vec<Correction>,
    /// The instruction inside the condition, such as `then post a summary`; it is part of the remainder.
    pub instruction: Option<Span>,
    /// For a line that names no event, the nearest event phrase.
    pub suggestion: Option<String>,
}

/// Whether an interpretation wakes a daemon for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeVerdict {
    /// A clause is met: the daemon wakes.
    Wakes,
    /// No clause can be met by this event.
    Sleeps,
    /// A clause may be met; this fact has to be fetched first.
    Missing(Need),
}

impl Interpretation {
    /// Decides whether the condition wakes for an event.
    pub fn wakes(&self, event: &Event) -> WakeVerdict {
        let mut verdict = WakeVerdict::Sleeps;
        if !self.status.can_wake() {
            return verdict;
        }
        for clause in &self.clauses {
            match self.clause_verdict(clause, event) {
                (FilterVerdict::Pass, _) => return WakeVerdict::Wakes,
                (FilterVerdict::Missing, Some(need)) => verdict = WakeVerdict::Missing(need),
                (FilterVerdict::Missing | FilterVerdict::Fail, _) => {}
            }
        }
        verdict
    }

    /// Decides one clause: its events, then its filters; names the first fact that is missing.
    pub(crate) fn clause_verdict(
        &self,
        clause: &Clause,
        event: &Event,
    ) -> (FilterVerdict, Option<Need>) {
        if !clause.events.iter().any(|pattern| pattern.is_met_by(event)) {
            return (FilterVerdict::Fail, None);
        }
        let tests = clause
            .filters
            .iter()
            .map(|index| &self.filters[*index].test);
        all_hold(tests, event)
    }

    /// Returns the facts that are needed to decide clauses that otherwise pass, at most one for each clause.
    ///
    /// Empty if the condition wakes without them.
    pub fn missing(&self, event: &Event) -> Vec<Need> {
        let mut missing: Vec<Need> = Vec::new();
        if !self.status.can_wake() {
            return missing;
        }
        for clause in &self.clauses {
            match self.clause_verdict(clause, event) {
                (FilterVerdict::Pass, _) => return Vec::new(),
                (_, Some(need)) if !missing.contains(&need) => missing.push(need),
                (FilterVerdict::Missing | FilterVerdict::Fail, _) => {}
            }
        }
        missing
    }

    /// Returns every fact outside the payload that deciding this condition can require.
    pub fn needs(&self) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        for clause in &self.clauses {
            for filter in &clause.filters {
                let field = self.filters[*filter].test.field();
                needs.extend(
                    clause
                        .events
                        .iter()
                        .filter_map(|event| Need::of(field, event.kind)),
                );
            }
        }
        needs.sort_unstable();
        needs.dedup();
        needs
    }
}

/// Decides tests that must all hold, and names the first fact that is missing.
pub(crate) fn all_hold<'a>(
    tests: impl Iterator<Item = &'a Test>,
    event: &Event,
) -> (FilterVerdict, Option<Need>) {
    let mut missing = None;
    for test in tests {
        match test.verdict(&event.facts, &event.kind) {
            FilterVerdict::Pass => {}
            FilterVerdict::Fail => return (FilterVerdict::Fail, None),
            FilterVerdict::Missing => {
                missing = missing.or_else(|| Need::of(test.field(), &event.kind));
            }
        }
    }
    match missing {
        Some(need) => (FilterVerdict::Missing, Some(need)),
        None => (FilterVerdict::Pass, None),
    }
}
