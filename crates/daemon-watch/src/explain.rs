//! Explanations: why a condition wakes for an event or stays asleep.

use daemon_event::{Event, Need};

use crate::filter::FilterVerdict;
use crate::interpretation::{Interpretation, WakeVerdict};

/// The verdict of an event on a condition, with those on every clause and filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the condition wakes for the event.
    pub verdict: WakeVerdict,
    /// One for each of [`Interpretation::filters`].
    pub filters: Vec<FilterExplanation>,
    /// One for each of [`Interpretation::clauses`].
    pub clauses: Vec<FilterVerdict>,
    /// Indexes of the filters that did not pass in the clause with the fewest of them; empty if no clause names the event.
    pub nearest: Vec<usize>,
}

/// One filter, decided for one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterExplanation {
    /// Whether the filter passes.
    pub verdict: FilterVerdict,
    /// The value of the event; `None` if it is unknown.
    pub got: Option<String>,
    /// The fact that must be fetched to decide it; `None` for other verdicts than missing.
    pub needs: Option<Need>,
}

impl Interpretation {
    /// Decides every clause and filter for an event.
    ///
    /// [`Interpretation::wakes`] is cheaper if only the verdict is needed.
    pub fn explain(&self, event: &Event) -> Explanation {
        let filters: Vec<FilterExplanation> = self
            .filters
            .iter()
            .map(|filter| {
                let verdict = filter.test.verdict(&event.facts, &event.kind);
                let got = event
                    .facts
                    .get(filter.test.field())
                    .map(ToString::to_string);
                let needs = match verdict {
                    FilterVerdict::Missing => Need::of(filter.test.field(), &event.kind),
                    FilterVerdict::Pass | FilterVerdict::Fail => None,
                };
                FilterExplanation {
                    verdict,
                    got,
                    needs,
                }
            })
            .collect();
        let clauses = self
            .clauses
            .iter()
            .map(|clause| self.clause_verdict(clause, event).0)
            .collect();
        let nearest = self.nearest(event, &filters);
        Explanation {
            verdict: self.wakes(event),
            filters,
            clauses,
            nearest,
        }
    }

    fn nearest(&self, event: &Event, filters: &[FilterExplanation]) -> Vec<usize> {
        let reached = self
            .clauses
            .iter()
            .filter(|clause| clause.events.iter().any(|pattern| pattern.is_met_by(event)));
        let failed = reached.map(|clause| -> Vec<usize> {
            let fails = |index: &usize| filters[*index].verdict != FilterVerdict::Pass;
            clause.filters.iter().copied().filter(fails).collect()
        });
        failed.min_by_key(Vec::len).unwrap_or_default()
    }
}
