//! The JSON of a run in its row of the store, written and read.

use daemon_records::{RecordedRun, RunObject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entry::entry;
use super::index::Stamp;

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
