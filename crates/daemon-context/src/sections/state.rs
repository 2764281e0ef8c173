//! The daemon's memory.

use crate::page::{RenderedSection, SectionWriter};
use crate::parts::{HistoryEntry, StateView};
use crate::sections::payload::fitting;

/// The maximum number of earlier activations shown.
const MAX_HISTORY: usize = 10;

/// The maximum size of a summary, in bytes.
const MAX_SUMMARY: usize = 1 << 10;

/// The maximum size of a value with its key, in bytes: the engine accepts values of 16 KiB.
const MAX_VALUE: usize = 17 << 10;

pub(crate) fn state(state: &StateView<'_>, limit: usize, boundary: &str) -> RenderedSection {
    let mut page = SectionWriter::new("What you remember", limit, boundary);
    let counters = state
        .counters
        .iter()
        .map(|counter| format!("- {}: {}", counter.name, counter.value));
    page.lines("counters", counters);

    // Newest first: what does not fit is cut at the end, where the values are, which a run can also read as a file.
    let mut entries = Vec::new();
    for past in state.history.iter().take(MAX_HISTORY) {
        entries.push(history(&mut page, past));
    }
    for output in state.open_outputs {
        let text = format!("open output on {}: {}", output.surface, output.target);
        entries.push(page.quote(&text, MAX_SUMMARY));
    }
    for (key, value) in state.values {
        entries.push(page.quote(&format!("{key} = {value}"), MAX_VALUE));
    }
    if entries.is_empty() {
        page.line("Nothing yet.");
        return page.finish();
    }
    let n_fitting = fitting(&entries, page.fence_room("state"));
    if n_fitting < entries.len() {
        page.line(&format!(
            "({} more entries are not shown)",
            entries.len() - n_fitting
        ));
    }
    if n_fitting > 0 {
        page.fence("state", &entries[..n_fitting]);
    }
    page.finish()
}

fn history(page: &mut SectionWriter<'_>, past: &HistoryEntry<'_>) -> String {
    let mut text = format!(
        "activation {} {} at {}, trigger {}",
        past.id, past.outcome, past.finished_at, past.trigger
    );
    if !past.outputs.is_empty() {
        text.push_str(", outputs ");
        text.push_str(&past.outputs.join(" "));
    }
    if let Some(summary) = past.summary {
        text.push_str(": ");
        text.push_str(summary);
    }
    page.quote(&text, MAX_SUMMARY)
}
