//! Splits the reply of a provider into lines that may be wordings.

use serde_json::Value;

/// The most bytes of a reply that are read.
const LONGEST: usize = 64 * 1024;
/// The most lines that are tried.
const MOST: usize = 100;

/// Returns the strings of JSON in the reply, and its lines without list markers and quotes. Models use either form,
/// although the prompt asks for lines.
pub(super) fn offered(answer: &str) -> Vec<String> {
    let mut end = answer.len().min(LONGEST);
    while !answer.is_char_boundary(end) {
        end -= 1;
    }
    let answer = &answer[..end];
    let mut acc = Vec::new();
    for (open, close) in [('[', ']'), ('{', '}')] {
        let inside = answer.find(open).zip(answer.rfind(close));
        let json = inside.and_then(|(from, to)| answer.get(from..=to));
        if let Some(value) = json.and_then(|json| serde_json::from_str::<Value>(json).ok()) {
            strings(&value, &mut acc);
            break;
        }
    }
    acc.extend(answer.lines().map(|line| bare(line).to_owned()));
    acc.retain(|line| !line.trim().is_empty());
    acc.truncate(MOST);
    acc
}

fn strings(value: &Value, acc: &mut Vec<String>) {
    match value {
        Value::String(text) => acc.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, acc)),
        Value::Object(members) => members.values().for_each(|value| strings(value, acc)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Removes a list marker and the quotes around a line.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let unmarked = line
        .strip_prefix(['-', '*', '•'])
        .or_else(|| {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_numbered = rest.len() < line.len();
            rest.strip_prefix(['.', ')']).filter(|_| is_numbered)
        })
        .filter(|rest| rest.starts_with(char::is_whitespace))
        .unwrap_or(line)
        .trim();
    for quote in ['"', '`', '\''] {
        let inside = unmarked
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inside) = inside.filter(|inside| !inside.contains(quote)) {
            return inside;
        }
    }
    unmarked
}

/// Makes an error message of a provider safe for a terminal, and short.
pub(super) fn plain(text: &str) -> String {
    let mut chars = text.chars();
    let shown: String = chars.by_ref().take(400).collect();
    let shown = crate::out::plain(&shown);
    match chars.next() {
        Some(_) => format!("{shown}…"),
        None => shown,
    }
}
