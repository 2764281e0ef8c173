//! The changes of Linear that both a webhook and a comparison can report.

use daemon_event::{Event, Field};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::reconciled::Change;

/// The attributes of an issue whose changes comparisons find, each with whether they know the later value.
const ATTRIBUTES: [(&str, bool); 11] = [
    ("stateId", true),
    ("assigneeId", true),
    ("labelIds", true),
    ("priority", true),
    ("title", true),
    ("description", false),
    ("estimate", true),
    ("dueDate", true),
    ("teamId", true),
    ("projectId", true),
    ("cycleId", true),
];
/// The same of a comment.
const OF_COMMENT: [(&str, bool); 2] = [("body", false), ("resolvedAt", false)];
/// The length of the spans into which time is divided, in seconds.
///
/// The times of a webhook and of what a comparison finds differ by less. A change in a neighbouring span counts as the same.
const SPAN: i64 = 300;

/// Returns the changes of an issue or a comment: one for its creation, one for each changed attribute.
pub(super) fn changes(event: &Event) -> Vec<Change> {
    let attributes: &[(&str, bool)] = match event.kind.as_str() {
        "Issue" => &ATTRIBUTES,
        "Comment" => &OF_COMMENT,
        _ => return Vec::new(),
    };
    let Some(id) = event.facts.text(Field::Key) else {
        return Vec::new();
    };
    let object = format!("linear:{}:{id}", event.kind);
    match event.action.as_deref() {
        Some("create") => vec![Change::new(object, false)],
        Some("update") => {
            let Ok(body) = serde_json::from_slice::<Value>(&event.payload) else {
                return Vec::new();
            };
            let span = event.time.as_second().div_euclid(SPAN);
            let changed = attributes
                .iter()
                .filter(|(name, _)| body["updatedFrom"].get(name).is_some());
            let changed = changed.map(|(name, has_value)| {
                let value = match has_value {
                    true => digest(&body["data"][name]),
                    false => String::new(),
                };
                let key = |span: i64| format!("{object}:{name}:{value}:{span}");
                Change {
                    key: key(span),
                    others: [span - 1, span, span + 1].map(key).to_vec(),
                    recurs: false,
                }
            });
            changed.collect()
        }
        Some(_) | None => Vec::new(),
    }
}

/// Returns a short form of a value, which is equal for equal values in any order and form.
fn digest(value: &Value) -> String {
    let text = match value {
        Value::Array(items) => {
            let mut items: Vec<String> = items.iter().map(Value::to_string).collect();
            items.sort();
            items.join(",")
        }
        Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    };
    let hash = Sha256::digest(text);
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
