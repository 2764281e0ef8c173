//! Output of a program, kept within bounds.

mod text;

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::Value;

pub(crate) use self::text::BoundedText;

/// The usage objects of a program as it printed them.
#[derive(Debug, Default)]
pub(crate) struct RawUsage {
    values: Vec<Value>,
    bytes: usize,
}

/// The most bytes of JSON that are kept; token counts are far shorter.
const USAGE_BYTES: usize = 4_000;

impl RawUsage {
    pub(crate) fn of(value: Option<&Value>) -> Self {
        let mut raw = Self::default();
        raw.push(value);
        raw
    }

    pub(crate) fn push(&mut self, value: Option<&Value>) {
        let Some(value) = value.filter(|_| self.bytes <= USAGE_BYTES) else {
            return;
        };
        self.bytes += value.to_string().len();
        if self.bytes > USAGE_BYTES {
            // Half of the objects would read like all of them, so none is kept.
            self.values.clear();
        } else {
            self.values.push(value.clone());
        }
    }

    /// Returns one object, or an array of several; null without an object or over [`USAGE_BYTES`].
    pub(crate) fn to_json(&self) -> Value {
        match self.values.as_slice() {
            [] => Value::Null,
            [one] => one.clone(),
            all => Value::Array(all.to_vec()),
        }
    }
}

/// The last lines of a program's standard error.
#[derive(Debug, Default)]
pub(crate) struct LastLines {
    lines: VecDeque<String>,
}

const LAST_LINES: usize = 20;
const LAST_CHARACTERS: usize = 500;

impl LastLines {
    pub(crate) fn push(&mut self, line: &str) {
        if self.lines.len() == LAST_LINES {
            self.lines.pop_front();
        }
        // `join` shows at most this much, so that a longer line would only take memory.
        let line = without_colours(line);
        self.lines.push_back(last_characters(&line).to_owned());
    }

    /// Returns the last 500 characters of the last 20 lines.
    pub(crate) fn join(&self) -> String {
        let text: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        last_characters(text.join("\n").trim()).to_owned()
    }
}

/// Removes colour escape sequences, which some programs print without a terminal as well.
fn without_colours(line: &str) -> Cow<'_, str> {
    if !line.contains("\u{1b}[") {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut rest = part
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .chars();
        rest.next();
        plain.push_str(rest.as_str());
    }
    Cow::Owned(plain)
}

fn last_characters(text: &str) -> &str {
    match text.char_indices().nth_back(LAST_CHARACTERS - 1) {
        Some((begin, _)) => &text[begin..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_last_500_characters_of_20_lines() {
        let mut lines = LastLines::default();
        for n in 0..30 {
            lines.push(&format!("line {n}"));
        }
        let expected: Vec<String> = (10..30).map(|n| format!("line {n}")).collect();
        assert_eq!(lines.join(), expected.join("\n"));
        lines.push("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mno session \u{1b}[1;2é");
        assert!(
            lines.join().ends_with("\nError: no session"),
            "{}",
            lines.join()
        );
        lines.push(&"é".repeat(600));
        assert_eq!(lines.join(), "é".repeat(500));
    }
}
