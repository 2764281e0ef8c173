//! How a transcript shows JSON: over several lines where it is long, or some fields of it.

use serde_json::Value;

use crate::paths::select;

/// The longest line of JSON that is not broken.
const WIDTH: usize = 120;
/// Values that no two runs share and that only the name of their field shows: numbers, and instants after the run.
const MASKED: [(&str, &str); 6] = [
    ("elapsed_s", "[SECONDS]"),
    ("heartbeat_age_s", "[SECONDS]"),
    ("pid", "[PID]"),
    ("parent_pid", "[PID]"),
    ("next_tick", "[TIME]"),
    ("next_try_at", "[TIME]"),
];

/// Parses a string that is one JSON object, and masks its fields.
pub(super) fn object(line: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(line).ok().filter(Value::is_object)?;
    mask_fields(&mut value);
    Some(value)
}

fn mask_fields(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(mask_fields),
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                let is_time = value
                    .as_str()
                    .is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
                match MASKED.iter().find(|(masked, _)| masked == name) {
                    Some((_, mask))
                        if is_time == (*mask == "[TIME]") && (is_time || value.is_number()) =>
                    {
                        *value = (*mask).into();
                    }
                    _ => mask_fields(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Writes a value over as many lines as it needs.
pub(super) fn pretty(value: &Value) -> Vec<String> {
    let mut lines = vec![String::new()];
    write(value, 0, 0, &mut lines);
    lines
}

/// Writes a value behind what the last line holds; `after` more characters follow on its last line.
fn write(value: &Value, indent: usize, after: usize, lines: &mut Vec<String>) {
    let whole = value.to_string();
    let last = lines.last_mut().expect("there is a first line");
    let fits = last.len() + whole.len() + after <= WIDTH;
    let (open, close, members) = match value {
        Value::Array(values) if !fits && !values.is_empty() => {
            let members: Vec<_> = values.iter().map(|value| (None, value)).collect();
            ("[", "]", members)
        }
        Value::Object(map) if !fits && !map.is_empty() => {
            let members = map.iter().map(|(name, value)| (Some(name), value));
            ("{", "}", members.collect())
        }
        _ => {
            last.push_str(&whole);
            return;
        }
    };
    last.push_str(open);
    let n_members = members.len();
    for (n, (name, value)) in members.into_iter().enumerate() {
        let key = name.map(|name| format!("{}: ", Value::from(name.as_str())));
        lines.push(format!(
            "{}{}",
            " ".repeat(indent + 2),
            key.unwrap_or_default()
        ));
        write(value, indent + 2, 1, lines);
        if n + 1 < n_members {
            lines.last_mut().expect("a line was written").push(',');
        }
    }
    lines.push(format!("{}{close}", " ".repeat(indent)));
}

/// Shows some fields of an object, each as `path = value`.
pub(super) fn fields(object: &Value, paths: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for path in paths.split_whitespace() {
        let parts: Vec<&str> = path.split('.').collect();
        let found = select(object, &parts, &"absent".into());
        let shown = found
            .as_ref()
            .map_or_else(|| vec!["absent".to_owned()], pretty);
        let mut shown = shown.into_iter();
        lines.push(format!("{path} = {}", shown.next().unwrap_or_default()));
        lines.extend(shown);
    }
    lines
}
