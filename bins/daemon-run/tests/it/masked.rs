//! Replacing what no two runs share.

use std::path::Path;

use serde_json::Value;

/// Replaces ids, hashes, times, elapsed seconds and the scratch directory.
pub(crate) fn masked(value: &Value, root: &Path) -> Value {
    match value {
        Value::String(text) => Value::String(text_masked(text, &root.display().to_string())),
        Value::Array(values) => values.iter().map(|value| masked(value, root)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| {
                let value = match name.as_str() {
                    "elapsed_s" if value.is_number() => Value::String("[SECONDS]".to_owned()),
                    _ => masked(value, root),
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn text_masked(text: &str, root: &str) -> String {
    if text.parse::<jiff::Timestamp>().is_ok() {
        return "[TIME]".to_owned();
    }
    let mut masked = String::new();
    let mut word = String::new();
    for c in text.replace(root, "[ROOT]").chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || c == '-' {
            word.push(c);
        } else {
            masked.push_str(&word_masked(&word));
            word.clear();
            masked.push(c);
        }
    }
    masked.pop();
    masked
}

fn word_masked(word: &str) -> String {
    let is_hex = word.bytes().all(|b| b.is_ascii_hexdigit());
    let is_id = word.len() == 26
        && word.starts_with("01")
        && word
            .bytes()
            .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    let masked = match word.len() {
        _ if word.starts_with("em-") => "[RUN]",
        26 if is_id => "[ID]",
        64 if is_hex => "[SHA256]",
        40 if is_hex => "[COMMIT]",
        16 if is_hex => "[HEX]",
        26 if word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) =>
        {
            "[KEY]"
        }
        _ => word,
    };
    masked.to_owned()
}
