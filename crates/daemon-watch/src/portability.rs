//! Which events of a condition the format itself gives no example of.

use daemon_event::Field;
use daemon_event::vocabulary::{self, Portability, RowGuard};

use crate::filter::Test;
use crate::interpretation::{EventPattern, Interpretation};
use crate::phrasing::names_files;

impl Interpretation {
    /// Returns the events of the clauses that the format itself gives no example of.
    ///
    /// Other runtimes may read the words for these events differently, or not at all.
    pub fn beyond_the_format(&self) -> Vec<EventPattern> {
        let mut acc = Vec::new();
        for clause in &self.clauses {
            let tests = clause.filters.iter();
            let tests: Vec<&Test> = tests.map(|index| &self.filters[*index].test).collect();
            for event in &clause.events {
                if !acc.contains(event) && !is_of_the_format(event, &tests) {
                    acc.push(*event);
                }
            }
        }
        acc
    }
}

/// Whether an event is one that the format names, perhaps narrowed further.
fn is_of_the_format(event: &EventPattern, tests: &[&Test]) -> bool {
    let speaks_of_files = tests.iter().any(|test| FILES.contains(&test.field()));
    let kind = vocabulary::kind(event.source, event.kind);
    let mut rows = kind.into_iter().flat_map(|kind| kind.rows);
    rows.any(|row| {
        row.portability == Portability::Common
            && row.action == event.action
            && (speaks_of_files || !names_files(row))
            && row
                .guards
                .iter()
                .all(|guard| tests.iter().any(|test| says(test, guard)))
    })
}

const FILES: [Field; 3] = [Field::ChangedFiles, Field::AddedFiles, Field::RemovedFiles];

/// Whether a filter says what a guard says.
pub(crate) fn says(test: &Test, guard: &RowGuard) -> bool {
    *test == Test::from(guard)
}
