//! The reply to `list`: filters over entries.

use serde_json::{Map, Value, json};

use super::call::{History, List};

/// How many runs there are and may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// How many run; `None` where the entries tell.
    pub(super) running: Option<usize>,
    pub(super) most: u32,
}

/// Makes the reply from the entries of all runs, newest first.
pub(super) fn reply(
    entries: &[&Map<String, Value>],
    list: &List,
    room: Room,
) -> Map<String, Value> {
    let total = entries.len();
    let is_running = |entry: &&&Map<String, Value>| text(entry, "status") == Some("running");
    let running = room
        .running
        .unwrap_or_else(|| entries.iter().filter(is_running).count());
    let matching: Vec<&&Map<String, Value>> = entries
        .iter()
        .filter(|entry| matches(entry, list))
        .collect();
    let shown: Vec<Value> = matching
        .iter()
        .take(list.last)
        .map(|entry| Value::Object(Map::clone(entry)))
        .collect();
    let mut reply = Map::new();
    for (name, value) in [
        ("showing", json!(shown.len())),
        ("emanations", Value::Array(shown)),
        ("running", json!(running)),
        ("max_emanations", json!(room.most)),
        ("history_included", json!(list.history == History::Included)),
        ("index", json!("daemon_run_dirs")),
        ("total_before_filter", json!(total)),
        ("total_matches", json!(matching.len())),
    ] {
        reply.insert(name.to_owned(), value);
    }
    reply
}

fn matches(entry: &Map<String, Value>, list: &List) -> bool {
    let is = |name: &str, wanted: &Option<String>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| text(entry, name) == Some(wanted))
    };
    is("status", &list.status)
        && is("group_id", &list.group_id)
        && (list.history == History::Included || text(entry, "status") == Some("running"))
        && list.after_seq.is_none_or(|after| {
            let seq = entry.get("notified_seq").and_then(Value::as_u64);
            seq.is_some_and(|seq| seq > after)
        })
        && list.contains.as_deref().is_none_or(|wanted| {
            let written = Value::Object(entry.clone()).to_string();
            written.to_lowercase().contains(&wanted.to_lowercase())
        })
}

fn text<'e>(entry: &'e Map<String, Value>, name: &str) -> Option<&'e str> {
    entry.get(name).and_then(Value::as_str)
}
