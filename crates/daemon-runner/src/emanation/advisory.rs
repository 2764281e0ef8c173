//! The advisory for a caller that repeats a call.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The time for which a call counts.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// The number of equal calls from which the advisory is returned.
const ADVISED_FROM: usize = 4;
/// The most times that are kept for one call.
const REMEMBERED: usize = 100;
/// The number of different calls above which old ones are removed.
const KINDS: usize = 10_000;

/// The calls of the last minutes.
#[derive(Debug, Default)]
pub(super) struct Repetitions {
    seen: HashMap<[u8; 32], VecDeque<Timestamp>>,
}

impl Repetitions {
    /// Notes a call, and returns the advisory if it was repeated too often. No call is refused for that.
    pub(super) fn note(
        &mut self,
        parent: &str,
        call: &Map<String, Value>,
        now: Timestamp,
    ) -> Option<Value> {
        let is_recent = |at: &Timestamp| now.duration_since(*at) < WINDOW;
        // Removing on every call would scan the whole map; the map grows by at most one call at a time.
        if self.seen.len() >= KINDS {
            self.seen
                .retain(|_, times| times.back().is_some_and(is_recent));
        }
        let times = self.seen.entry(key(parent, call)).or_default();
        times.retain(is_recent);
        times.push_back(now);
        if times.len() > REMEMBERED {
            times.pop_front();
        }
        let n = times.len();
        let severity = match n {
            0..ADVISED_FROM => return None,
            ADVISED_FROM => "caution",
            5..10 => "warning",
            _ => "strong_warning",
        };
        let action = call.get("action").and_then(Value::as_str).unwrap_or("call");
        Some(json!({
            "type": "duplicate_tool_call",
            "severity": severity,
            "semantic_duplicate": true,
            "repeat_count": n,
            "ignored_fields": [],
            "allowed": true,
            "blocked": false,
            "advisory_only": true,
            "message": format!(
                "the same `{action}` came {n} times within 10 minutes; the end of a run is announced, so that no caller has to ask"
            ),
        }))
    }
}

/// Hashes the caller and the call. Calls that differ only in the order of members or in nulls have the same key.
fn key(parent: &str, call: &Map<String, Value>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(parent.as_bytes());
    hash.update([0]);
    hash.update(sorted(&Value::Object(call.clone())).to_string().as_bytes());
    hash.finalize().into()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> =
                map.iter().filter(|(_, value)| !value.is_null()).collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, value)| (name.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(values) => Value::Array(values.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fourth_equal_call_within_ten_minutes_gets_an_advisory_and_later_ones_a_stronger_one() {
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let call = |text: &str| -> Map<String, Value> { serde_json::from_str(text).unwrap() };
        let one = call(r#"{"action":"check","id":"em-1","last":5}"#);
        let same = call(r#"{"last":5,"truncate":null,"id":"em-1","action":"check"}"#);
        let mut seen = Repetitions::default();
        let mut severities = Vec::new();
        for n in 0..10 {
            let now = start + SignedDuration::from_secs(n);
            let advisory = seen.note("cli:1", if n % 2 == 0 { &one } else { &same }, now);
            let severity = |advisory: &Value| advisory["severity"].as_str().map(str::to_owned);
            severities.push(advisory.as_ref().and_then(severity).unwrap_or_default());
        }
        let expected = [
            "",
            "",
            "",
            "caution",
            "warning",
            "warning",
            "warning",
            "warning",
            "warning",
            "strong_warning",
        ];
        assert_eq!(severities, expected);
        assert_eq!(seen.note("cli:2", &one, start), None, "another caller");
        let later = start + SignedDuration::from_mins(20);
        assert_eq!(seen.note("cli:1", &one, later), None, "long ago");
    }
}
