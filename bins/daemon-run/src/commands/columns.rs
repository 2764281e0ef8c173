//! Rows of JSON objects as a table of text.

use daemon_api::wire::state_word;
use serde_json::Value;

use crate::out::plain;

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// A JSON pointer to the value in a row.
    pub(crate) pointer: &'static str,
}

/// The most characters of a cell; longer values are truncated.
const WIDEST: usize = 60;

/// Aligns rows under the titles of their columns.
pub(crate) fn table(columns: &[Column], rows: &[Value]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            columns
                .iter()
                .map(|column| match object_of(column.pointer) {
                    Some(of) => state(row.pointer(of)),
                    None if column.pointer.ends_with("/url") => whole(row.pointer(column.pointer)),
                    None => cell(row.pointer(column.pointer)),
                })
                .collect()
        })
        .collect();
    let width = |index: usize, column: &Column| {
        let widest = cells
            .iter()
            .filter_map(|row| row.get(index))
            .map(|cell| cell.chars().count())
            .max();
        widest.unwrap_or(0).max(column.title.len())
    };
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| width(index, column))
        .collect();
    let titles: Vec<String> = columns
        .iter()
        .map(|column| column.title.to_owned())
        .collect();
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(&cells) {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Returns the state word of an object, which is `reported` where no model ran.
fn state(object: Option<&Value>) -> String {
    match object.map(state_word).filter(|word| !word.is_empty()) {
        Some(word) => plain(word),
        None => cell(None),
    }
}

/// Returns the pointer of the object whose state a column shows; `None` for another column.
fn object_of(pointer: &str) -> Option<&str> {
    pointer
        // The word for a state depends on the whole object: `reported` replaces it where no model ran.
        .strip_suffix("/state")
        .or(pointer.strip_suffix("/status"))
}

/// Returns one value as text that is safe for a terminal, truncated if it is long.
fn cell(value: Option<&Value>) -> String {
    let clean = whole(value);
    if clean.chars().count() <= WIDEST {
        return clean;
    }
    clean.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// Returns one value as text that is safe for a terminal. A part of a URL is of no use.
fn whole(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| cell(Some(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Some(other) => other.to_string(),
    };
    plain(&text)
}

#[cfg(test)]
mod tests {
    use super::{Column, table};
    use serde_json::json;

    #[test]
    fn urls_are_shown_whole_and_other_long_values_truncated() {
        let long = format!("https://github.com/acme/{}", "x".repeat(60));
        let columns = ["/url", "/error"].map(|pointer| Column {
            title: "A",
            pointer,
        });
        let text = table(&columns, &[json!({"url": long, "error": long})]);
        let cut: String = long.chars().take(59).collect();
        assert!(text.ends_with(&format!("\n{long}  {cut}…\n")), "{text}");
    }

    #[test]
    fn control_characters_in_a_value_do_not_reach_the_terminal() {
        let columns = [
            Column {
                title: "A",
                pointer: "/a",
            },
            Column {
                title: "B",
                pointer: "/b/c",
            },
        ];
        let rows = [
            json!({"a": "x\u{1b}[31m", "b": {"c": null}}),
            json!({"a": "longer one", "b": {"c": [1, 2]}}),
        ];
        assert_eq!(
            table(&columns, &rows),
            "A           B\nx [31m      -\nlonger one  1, 2\n"
        );
    }
}
