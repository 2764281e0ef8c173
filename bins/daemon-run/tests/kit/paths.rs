//! Paths into JSON, as transcripts and assertions write them: `runs.0.id`, `runs.*.id`, `runs.#`.

use serde_json::Value;

/// Follows a path: `*` is every member, `#` the number of members, a number a place from the start.
///
/// `absent` stands in a list for members that do not have the rest of the path.
pub(crate) fn select(value: &Value, path: &[&str], absent: &Value) -> Option<Value> {
    let Some((&part, rest)) = path.split_first() else {
        return Some(value.clone());
    };
    let each = |value: &Value| select(value, rest, absent).unwrap_or_else(|| absent.clone());
    match (part, value) {
        ("*", Value::Array(values)) => Some(values.iter().map(each).collect()),
        ("*", Value::Object(map)) => Some(map.values().map(each).collect()),
        ("#", Value::Array(values)) => Some(values.len().into()),
        ("#", Value::Object(map)) => Some(map.len().into()),
        (_, Value::Array(values)) => select(values.get(part.parse::<usize>().ok()?)?, rest, absent),
        (_, Value::Object(map)) => select(map.get(part)?, rest, absent),
        _ => None,
    }
}
