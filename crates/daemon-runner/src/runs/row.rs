//! The JSON of a run in its row of the store, written and read.

use daemon_store::RunRow;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entry::entry;
use super::index::Stamp;
use super::object::{RunObject, TokensObject, instant};
use super::recorded::RecordedRun;

/// The JSON of a row: the wire object, and the entry of `list` with the stamp of the document that it was made from.
#[derive(Serialize)]
struct RowJson {
    #[serde(flatten)]
    object: RunObject,
    stamp: Option<Stamp>,
    entry: Map<String, Value>,
}

/// The entry in the JSON of a row, with its stamp.
#[derive(Deserialize)]
pub(super) struct StoredEntry<'r> {
    pub(super) stamp: Stamp,
    #[serde(borrow)]
    pub(super) entry: &'r RawValue,
}

/// Writes the JSON of a row. `cost_usd` is the price of the provider's own model calls, which folders do not record.
pub(super) fn json(run: &RecordedRun, cost_usd: Option<f64>, now: Timestamp) -> String {
    let object = RunObject::of(run, now);
    let row = RowJson {
        object: RunObject {
            cost_usd: object.cost_usd.or(cost_usd),
            ..object
        },
        // Taken when the document is written. A later change of the file gives another stamp, and the entry is read again.
        stamp: Stamp::of(run.folder()),
        entry: entry(run, now),
    };
    serde_json::to_string(&row).expect("every key is text and every number is finite")
}

impl RunObject {
    /// Reads the object from its row. If its JSON is unreadable, the columns of the row give the object.
    pub fn from_row(row: &RunRow) -> Self {
        let object: Self = serde_json::from_str(&row.object).unwrap_or_else(|_| Self {
            id: row.id.clone(),
            activation_id: row.activation.as_ref().map(ToString::to_string),
            daemon_id: row.daemon.as_ref().map(|key| key.id.to_string()),
            attempt: row.attempt,
            provider: row.provider.clone(),
            state: row.state.clone(),
            reported: false,
            started_at: instant(row.started_at),
            finished_at: row.finished_at.map(instant),
            elapsed_s: 0.0,
            turn: 0,
            tool_call_count: 0,
            current_tool: None,
            tokens: TokensObject::default(),
            cost_usd: None,
            last_output_at: None,
            result_preview: None,
            result_path: None,
            error: None,
            folder: String::new(),
        });
        Self {
            // The end of a run whose folder was deleted is recorded only in the columns.
            state: row.state.clone(),
            finished_at: object.finished_at.or(row.finished_at.map(instant)),
            ..object
        }
    }
}
