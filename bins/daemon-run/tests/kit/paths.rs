//! Paths into JSON, as transcripts and assertions write them: `runs.0.id`, `runs.*.id`, `runs.*.(id,state)`, `runs.#`.

use serde_json::Value;

/// Follows a path: `*` is every member, `#` the number of members, a number a place from the start, and `(a,b)` at the end a
/// list of those members.
///
/// A list has `absent` for the members without the rest of the path.
pub(crate) fn select(value: &Value, path: &[&str], absent: &Value) -> Option<Value> {
    let Some((&part, rest)) = path.split_first() else {
        return Some(value.clone());
    };
    let each = |value: &Value| select(value, rest, absent).unwrap_or_else(|| absent.clone());
    match (part, value) {
        (_, Value::Object(map)) if part.starts_with('(') => {
            let names = part.trim_matches(['(', ')']).split(',');
            let values = names.map(|name| map.get(name).unwrap_or(absent).clone());
            Some(values.collect())
        }
        ("*", Value::Array(values)) => Some(values.iter().map(each).collect()),
        ("*", Value::Object(map)) => Some(map.values().map(each).collect()),
        ("#", Value::Array(values)) => Some(values.len().into()),
        ("#", Value::Object(map)) => Some(map.len().into()),
        (_, Value::Array(values)) => select(values.get(part.parse::<usize>().ok()?)?, rest, absent),
        (_, Value::Object(map)) => select(map.get(part)?, rest, absent),
        _ => None,
    }
}
