//! What a run whose owner died had come to.

use std::fs;

use serde_json::Value;

use crate::document::Document;
use crate::folder::Folder;
use crate::hash::sha256;

/// How far an orphaned run had come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Orphan {
    /// Its provider had ended well, its whole text was stored, and nobody was stopping it.
    WasDone { text: String },
    /// Anything else.
    WasCutOff,
}

/// The mark of a provider's end is among the last lines: only output of a process that stayed can follow it.
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
        if !is_done || document.cli_termination.is_some() {
            return Self::WasCutOff;
        }
        let stored = end
            .and_then(|row| row.get("result_sha256"))
            .and_then(Value::as_str);
        // A text that cannot be read matches no hash, as it should.
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
