//! The progress of a run whose owner died.

use std::fs;

use serde_json::Value;

use crate::document::Document;
use crate::folder::Folder;
use crate::hash::sha256;

/// The progress of an orphaned run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Orphan {
    /// The provider reported success, its whole text is stored, and no stop had begun.
    WasDone { text: String },
    /// The run had not ended.
    WasCutOff,
}

/// Bytes of the log that are searched for `provider_terminal`. Only output of a process that did not exit can follow it.
const TAIL: u64 = 64 << 10;

impl Orphan {
    pub(crate) fn of(folder: &Folder, document: &Document) -> Self {
        let (events, _) = folder.event_tail(TAIL);
        let end = events
            .iter()
            .rev()
            .find(|row| row.get("event").and_then(Value::as_str) == Some("provider_terminal"));
        let is_done =
            end.is_some_and(|row| row.get("outcome").and_then(Value::as_str) == Some("done"));
        // No writer saw whether the stop took hold. An attempt that is tried again is better than one that
        // counts as stopped and may have continued.
        if !is_done || document.cli_termination.is_some() {
            return Self::WasCutOff;
        }
        let stored = end
            .and_then(|row| row.get("result_sha256"))
            .and_then(Value::as_str);
        // An unreadable result becomes an empty string, which matches no stored hash.
        let text = fs::read_to_string(folder.result()).unwrap_or_default();
        let matches = match stored {
            Some(hash) => sha256(text.as_bytes()) == hash,
            None => text.is_empty(),
        };
        if matches {
            Self::WasDone { text }
        } else {
            Self::WasCutOff
        }
    }
}
