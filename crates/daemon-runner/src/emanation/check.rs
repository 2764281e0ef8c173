//! The reply to `check`: everything about one run.

use daemon_records::error::OpError;
use daemon_records::{RecordedRun, heartbeat_age, record_problem};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::call::CheckCall;
use super::find::{Found, unreadable};
use super::own_place::PlaceRecord;
use crate::runs::{HostPresence, details, filled, list_entry};

/// The suffix of a shortened string, as the event log itself writes it.
const CUT: &str = "...[truncated]";

/// Makes the reply and changes nothing.
///
/// # Errors
/// The folder could not be read.
pub(super) fn reply(
    found: &Found,
    check: &CheckCall,
    presence: HostPresence,
    now: Timestamp,
) -> Result<Map<String, Value>, OpError> {
    let folder = &found.folder;
    let run = RecordedRun::read(folder, now).ok_or_else(|| super::fault::unknown(&check.id))?;
    let log = folder
        .last_events(check.last)
        .map_err(|error| unreadable(&error))?;
    let mut reply = list_entry(&run, presence, now);
    reply.extend(details(&run));
    let age = heartbeat_age(folder, now).map(|age| age.as_secs_f64());
    let is_ambiguous = !found.others.is_empty();
    let events = log.events.into_iter().map(|event| {
        let members = event.into_iter();
        let shown = members.map(|(name, value)| (name, shorter(value, check.truncate)));
        Value::Object(shown.collect())
    });
    let events: Vec<Value> = events.collect();
    let others: Vec<String> = found
        .others
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    reply.extend(filled([
        ("problem", json!(record_problem(folder))),
        // A record that cannot be read is as good as none, as members of a damaged document are.
        ("place", json!(PlaceRecord::read(folder).ok().flatten())),
        ("source", json!(found.source.as_str())),
        ("ambiguous", json!(is_ambiguous.then_some(true))),
        (
            "match_count",
            json!(is_ambiguous.then_some(others.len() + 1)),
        ),
        ("other_run_dirs", json!(is_ambiguous.then_some(others))),
        (
            "heartbeat_age_s",
            json!(age.map(|age| (age * 10.0).round() / 10.0)),
        ),
        ("events_total", json!(log.total)),
        ("events_returned", json!(events.len())),
        ("events", Value::Array(events)),
    ]));
    Ok(reply)
}

fn shorter(value: Value, truncate: Option<usize>) -> Value {
    match (value, truncate) {
        (Value::String(text), Some(most)) => Value::String(shortened(text, most)),
        (value, _) => value,
    }
}

/// Shortens a string to `most` characters, with the suffix if it fits into them.
fn shortened(text: String, most: usize) -> String {
    if text.chars().count() <= most {
        return text;
    }
    match most.checked_sub(CUT.len()) {
        Some(kept) => text.chars().take(kept).chain(CUT.chars()).collect(),
        None => text.chars().take(most).collect(),
    }
}
