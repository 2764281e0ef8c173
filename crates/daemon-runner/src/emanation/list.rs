//! The reply to `list`: filters over entries.

use serde_json::{Map, Value, json};

use super::call::{History, List};
use crate::runs::{EntryText, ListedRun};

/// The number of running runs, and the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// The number of running runs; `None` to count the entries.
    pub(crate) running: Option<usize>,
    pub(crate) most: u32,
}

/// Makes the reply from the entries of all runs, newest first.
pub(crate) fn reply(read: &[ListedRun], list: &List, room: Room) -> Map<String, Value> {
    let running = room.running.unwrap_or_else(|| {
        let running = read.iter().filter(|run| is_running(&run.entry));
        running.count()
    });
    let contains = list.contains.as_deref().map(str::to_lowercase);
    let matching: Vec<&EntryText> = read
        .iter()
        .map(|run| &*run.entry)
        .filter(|shown| matches(shown, list, contains.as_deref()))
        .collect();
    let shown = matching.iter().take(list.last);
    let shown: Vec<Value> = shown.map(|shown| shown.object()).collect();
    let mut reply = Map::new();
    for (name, value) in [
        ("showing", json!(shown.len())),
        ("emanations", Value::Array(shown)),
        ("running", json!(running)),
        ("max_emanations", json!(room.most)),
        ("history_included", json!(list.history == History::Included)),
        ("index", json!("daemon_run_dirs")),
        ("total_before_filter", json!(read.len())),
        ("total_matches", json!(matching.len())),
    ] {
        reply.insert(name.to_owned(), value);
    }
    reply
}

/// Returns whether an entry passes the filters; `contains` is in lower case.
fn matches(shown: &EntryText, list: &List, contains: Option<&str>) -> bool {
    let is = |value: Option<&str>, wanted: &Option<String>| {
        wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
    };
    is(shown.status(), &list.status)
        && is(shown.group(), &list.group_id)
        && (list.history == History::Included || is_running(shown))
        && list
            .after_seq
            .is_none_or(|after| shown.seq().is_some_and(|seq| seq > after))
        && contains.is_none_or(|wanted| shown.text().to_lowercase().contains(wanted))
}

fn is_running(shown: &EntryText) -> bool {
    shown.status() == Some("running")
}
