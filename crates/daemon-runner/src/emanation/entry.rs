//! One run as lists show it, made from its `daemon.json`.

use std::path::Path;

use daemon_run_folder::Document;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The longest task that is shown.
const TASK_CHARS: usize = 120;
/// The longest text of the parameters that is shown.
const PARAMETER_CHARS: usize = 500;

/// Makes the entry of a document.
pub(crate) fn of_document(document: &Document, path: &Path, now: Timestamp) -> Map<String, Value> {
    match serde_json::to_value(document) {
        Ok(Value::Object(map)) => of(&map, path, now),
        _ => unreachable!("a document is an object"),
    }
}

/// Makes the entry of a run. What is null is left out.
pub(crate) fn of(document: &Map<String, Value>, path: &Path, now: Timestamp) -> Map<String, Value> {
    let get = |name: &str| document.get(name).cloned().unwrap_or_default();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let task = text("task").map(|task| cut(task, TASK_CHARS));
    let members = [
        ("id", get("handle")),
        ("run_id", get("run_id")),
        ("parent_addr", get("parent_addr")),
        ("group_id", get("group_id")),
        ("activation", get("activation")),
        ("task", json!(task)),
        ("status", get("state")),
        ("reported", get("reported")),
        ("backend", get("backend")),
        ("started_at", get("started_at")),
        ("finished_at", get("finished_at")),
        ("elapsed_s", elapsed(document, now)),
        ("result_preview", get("result_preview")),
        ("result_path", get("result_path")),
        ("path", json!(path.to_string_lossy())),
        ("error", get("error")),
        ("call_parameters", shortened(get("call_parameters"))),
        ("migration", get("migration")),
        ("notified_seq", get("notified_seq")),
    ];
    filled(members)
}

/// Makes an object of what is not null.
pub(crate) fn filled<'m>(
    members: impl IntoIterator<Item = (&'m str, Value)>,
) -> Map<String, Value> {
    let present = members.into_iter().filter(|(_, value)| !value.is_null());
    present
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Returns how long a run has taken; of a live one, until `now`.
fn elapsed(document: &Map<String, Value>, now: Timestamp) -> Value {
    let recorded = document.get("elapsed_s").cloned().unwrap_or_default();
    if document.get("state").and_then(Value::as_str) != Some("running") {
        return recorded;
    }
    let started = document.get("started_at").and_then(Value::as_str);
    let started: Option<Timestamp> = started.and_then(|text| text.parse().ok());
    started.map_or(recorded, |started| {
        let seconds = now.duration_since(started).as_secs_f64().max(0.0);
        json!((seconds * 1000.0).round() / 1000.0)
    })
}

/// Shortens every text below a value.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text, PARAMETER_CHARS)),
        Value::Array(values) => values.into_iter().map(shortened).collect(),
        Value::Object(map) if map.is_empty() => Value::Null,
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, shortened(value)))
                .collect(),
        ),
        other => other,
    }
}

/// Returns the first characters of a text; the last one tells that there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
