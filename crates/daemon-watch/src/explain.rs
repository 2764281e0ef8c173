//! Why a condition wakes for an event, or what kept it from waking.

use daemon_event::{Event, Need};

use crate::filter::FilterVerdict;
use crate::interpretation::{Interpretation, Verdict};

/// Every filter and clause of a condition, decided for one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the condition wakes.
    pub verdict: Verdict,
    /// By filter of the interpretation.
    pub filters: Vec<FilterExplanation>,
    /// By clause of the interpretation.
    pub clauses: Vec<FilterVerdict>,
    /// The fewest filters that failed, by index: what would have had to be otherwise.
    pub nearest: Vec<usize>,
}

/// One filter, decided for one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterExplanation {
    /// Whether it holds.
    pub verdict: FilterVerdict,
    /// The value that decided it, if the event has one.
    pub got: Option<String>,
    /// The fact that must be fetched to decide it.
    pub needs: Option<Need>,
}

impl Interpretation {
    /// Decides every clause and filter for an event.
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
