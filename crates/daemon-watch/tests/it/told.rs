//! Readings as the tests write them.

use daemon_watch::{Clause, Interpretation};

/// Writes a clause: its events, then its filters, each as `told` writes it.
pub(crate) fn clause(
    meaning: &Interpretation,
    clause: &Clause,
    told: impl Fn(String) -> String,
) -> String {
    let events: Vec<String> = clause
        .events
        .iter()
        .map(|event| {
            let action = event.action.unwrap_or("*");
            format!("{}:{}.{action}", event.source, event.kind)
        })
        .collect();
    let filters: Vec<String> = clause
        .filters
        .iter()
        .map(|index| told(meaning.filters[*index].test.to_string()))
        .collect();
    format!("{} [{}]", events.join(" "), filters.join("; "))
}
