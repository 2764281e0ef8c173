//! Rows of JSON objects as a table for a terminal.

use std::collections::BTreeSet;

use anstyle::AnsiColor;
use daemon_validate::visible;
use serde_json::Value;

use crate::{Times, state_word};

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    /// A JSON pointer to the value in a row.
    pointer: &'static str,
    kind: ColumnKind,
}

/// The kind of values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    /// Words, of which a beginning is of use.
    Text,
    /// A name or a URL, of which a part is of no use.
    Name,
    /// An id, of which commands accept the beginning.
    Id,
    /// An instant.
    Time,
    /// The state of an object, for which the pointer is.
    State,
}

/// Returns a column of words.
pub const fn column(title: &'static str, pointer: &'static str) -> Column {
    let kind = ColumnKind::Text;
    Column {
        title,
        pointer,
        kind,
    }
}

/// Returns a column of names or URLs.
pub const fn names(title: &'static str, pointer: &'static str) -> Column {
    let kind = ColumnKind::Name;
    Column {
        title,
        pointer,
        kind,
    }
}

/// Returns a column of ids whose beginnings commands accept.
pub const fn ids(title: &'static str, pointer: &'static str) -> Column {
    let kind = ColumnKind::Id;
    Column {
        title,
        pointer,
        kind,
    }
}

/// Returns a column of instants.
pub const fn times(title: &'static str, pointer: &'static str) -> Column {
    let kind = ColumnKind::Time;
    Column {
        title,
        pointer,
        kind,
    }
}

/// Returns a column of the states of the objects at a pointer.
pub const fn states(title: &'static str, pointer: &'static str) -> Column {
    let kind = ColumnKind::State;
    Column {
        title,
        pointer,
        kind,
    }
}

/// How a table is laid out.
#[derive(Clone, Debug)]
pub struct TableLayout {
    /// How instants are written.
    pub times: Times,
    /// The columns of the terminal; `None` without one.
    pub width: Option<usize>,
}

/// The most characters of a cell of words; longer ones are truncated.
const WIDEST: usize = 60;
/// The fewest characters that a truncated cell keeps.
const NARROWEST: usize = 8;
/// The fewest characters of an id that are shown: its milliseconds, for ids that begin with a time.
const SHORTEST_ID: usize = 10;
/// The length of ids that are shown shortened.
const LONG_ID: usize = 26;
/// The cell of a value that is absent.
const ABSENT: &str = "-";

/// Aligns rows under the titles of their columns. Columns without values are left out.
pub fn table(columns: &[Column], rows: &[Value], layout: &TableLayout) -> String {
    let filled = columns.iter().enumerate().map(|(index, column)| {
        let cells = cells(*column, rows, layout);
        let is_empty = index > 0 && cells.iter().all(|cell| cell == ABSENT);
        (!is_empty).then_some((*column, cells))
    });
    let mut filled: Vec<(Column, Vec<String>)> = filled.flatten().collect();
    if let Some(width) = layout.width {
        fit(&mut filled, width);
    }
    let titles = filled.iter().map(|(column, _)| column.title.to_owned());
    let mut text = line(&filled, titles.collect(), None);
    for (index, row) in rows.iter().enumerate() {
        let cells = filled.iter().map(|(_, cells)| cells[index].clone());
        text.push_str(&line(&filled, cells.collect(), Some(row)));
    }
    text
}

/// Formats one row of a listing that is followed, without titles.
pub fn row(columns: &[Column], row: &Value, layout: &TableLayout) -> String {
    let cells = columns
        .iter()
        .map(|column| match (column.kind, row.pointer(column.pointer)) {
            (ColumnKind::State, object) => state(object),
            // The reader sees the line at another time than that of its printing.
            (ColumnKind::Time, Some(Value::String(at))) => {
                plain(&layout.times.of_text(at, Times::exact))
            }
            (ColumnKind::Text, value) => cut(&whole(value), WIDEST),
            (_, value) => whole(value),
        });
    cells.collect::<Vec<_>>().join("  ")
}

/// Joins the cells of one line, each as wide as its column. States of a row are coloured.
fn line(columns: &[(Column, Vec<String>)], cells: Vec<String>, row: Option<&Value>) -> String {
    let mut text = String::new();
    let last = cells.len().saturating_sub(1);
    for (index, ((column, _), cell)) in columns.iter().zip(&cells).enumerate() {
        let is_state = row.is_some() && column.kind == ColumnKind::State;
        let color = is_state.then(|| color(cell)).flatten();
        let style = color.map(AnsiColor::on_default).unwrap_or_default();
        let style_end = style.render_reset();
        text.extend([style.to_string(), cell.clone(), style_end.to_string()]);
        if index < last {
            let padding = width_of(&columns[index]) - cell.chars().count() + 2;
            text.extend(std::iter::repeat_n(' ', padding));
        }
    }
    format!("{}\n", text.trim_end())
}

fn width_of((column, cells): &(Column, Vec<String>)) -> usize {
    let lengths = cells.iter().map(|cell| cell.chars().count());
    lengths.max().unwrap_or(0).max(column.title.len())
}

/// Truncates cells of words, the last column first, and then leaves such columns out, until a line fits.
fn fit(columns: &mut Vec<(Column, Vec<String>)>, width: usize) {
    let excess = |columns: &[(Column, Vec<String>)]| {
        let total: usize = columns.iter().map(|column| width_of(column) + 2).sum();
        total.saturating_sub(2).saturating_sub(width)
    };
    let is_text = |column: &Column| column.kind == ColumnKind::Text;
    for index in (0..columns.len()).rev() {
        let excess = excess(columns);
        if excess > 0 && is_text(&columns[index].0) {
            let least = NARROWEST.max(columns[index].0.title.len());
            let kept = width_of(&columns[index]).saturating_sub(excess).max(least);
            for cell in &mut columns[index].1 {
                *cell = cut(cell, kept);
            }
        }
    }
    while excess(columns) > 0 {
        let Some(last) = columns.iter().rposition(|(column, _)| is_text(column)) else {
            return;
        };
        columns.remove(last);
    }
}

/// Returns the cells of a column.
fn cells(column: Column, rows: &[Value], layout: &TableLayout) -> Vec<String> {
    let values = rows.iter().map(|row| row.pointer(column.pointer));
    match column.kind {
        ColumnKind::State => values.map(state).collect(),
        ColumnKind::Time => values
            .map(|value| match value {
                Some(Value::String(at)) => plain(&layout.times.of_text(at, Times::short)),
                other => whole(other),
            })
            .collect(),
        ColumnKind::Text => values.map(|value| cut(&whole(value), WIDEST)).collect(),
        ColumnKind::Name => values.map(whole).collect(),
        ColumnKind::Id => shortened(values.map(whole).collect()),
    }
}

/// Shortens ids to the beginnings by which they still differ from each other.
fn shortened(ids: Vec<String>) -> Vec<String> {
    let different: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    let start = |id: &str, length: usize| match id.len() {
        LONG_ID => id.chars().take(length).collect(),
        _ => id.to_owned(),
    };
    let differ = |length: usize| {
        let starts: BTreeSet<String> = different.iter().map(|id| start(id, length)).collect();
        starts.len() == different.len()
    };
    let length = (SHORTEST_ID..LONG_ID).find(|length| differ(*length));
    let length = length.unwrap_or(LONG_ID);
    ids.iter().map(|id| start(id, length)).collect()
}

/// Returns the state word of an object, which is `reported` where no model ran.
fn state(object: Option<&Value>) -> String {
    match object.map(state_word).filter(|word| !word.is_empty()) {
        Some(word) => plain(word),
        None => ABSENT.to_owned(),
    }
}

/// Returns the colour of a state.
fn color(state: &str) -> Option<AnsiColor> {
    Some(match state {
        "succeeded" | "done" | "confirmed" => AnsiColor::Green,
        "failed" | "dead" | "timeout" | "refused" => AnsiColor::Red,
        "running" | "pending" | "sending" => AnsiColor::Cyan,
        "reported" | "cancelled" | "unknown" => AnsiColor::Yellow,
        _ => return None,
    })
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

/// Makes untrusted text safe for one line of a terminal: control characters become spaces, invisible ones are shown escaped.
pub fn plain(text: &str) -> String {
    let spaced = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    visible(&spaced.collect::<String>())
}

/// Returns one value as text that is safe for a terminal.
fn whole(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => ABSENT.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => values
            .iter()
            .map(|value| whole(Some(value)))
            .collect::<Vec<_>>()
            .join(", "),
        Some(other) => other.to_string(),
    };
    plain(&text)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::{Value, json};

    use super::{Column, TableLayout, column, ids, names, row, states, table, times};
    use crate::Times;

    fn layout(width: Option<usize>) -> TableLayout {
        let now = "2026-11-28T10:00:00Z".parse().unwrap();
        TableLayout {
            times: Times::Local(now, TimeZone::UTC),
            width,
        }
    }

    fn shown(columns: &[Column], rows: &[Value], width: Option<usize>) -> String {
        table(columns, rows, &layout(width))
    }

    #[test]
    fn urls_are_shown_whole_and_other_long_values_truncated() {
        let long = format!("https://github.com/acme/{}", "x".repeat(60));
        let columns = [names("A", "/url"), column("A", "/error")];
        let text = shown(&columns, &[json!({"url": long, "error": long})], None);
        let cut: String = long.chars().take(59).collect();
        assert!(text.ends_with(&format!("\n{long}  {cut}…\n")), "{text}");
    }

    #[test]
    fn control_characters_in_a_value_do_not_reach_the_terminal() {
        let columns = [column("A", "/a"), column("B", "/b/c")];
        let rows = [
            json!({"a": "x\u{1b}[31m", "b": {"c": null}}),
            json!({"a": "longer one", "b": {"c": [1, 2]}}),
        ];
        assert_eq!(
            shown(&columns, &rows, None),
            "A           B\nx [31m      -\nlonger one  1, 2\n"
        );
    }

    #[test]
    fn a_column_without_values_is_left_out() {
        let columns = [column("A", "/a"), column("B", "/b"), column("C", "/c")];
        let rows = [json!({"a": null, "c": 1}), json!({"c": 2})];
        assert_eq!(shown(&columns, &rows, None), "A  C\n-  1\n-  2\n");
    }

    #[test]
    fn ids_are_shown_as_far_as_they_differ() {
        let rows = [
            json!({"id": "01M8GT2QQ8PHW5XSE8HHFD7WYT"}),
            json!({"id": "01M8GT2QQ8PHWZXSE8HHFD7WYT"}),
            json!({"id": "em-1-20261128-100913-be1e74"}),
        ];
        assert_eq!(
            shown(&[ids("ID", "/id")], &rows, None),
            "ID\n01M8GT2QQ8PHW5\n01M8GT2QQ8PHWZ\nem-1-20261128-100913-be1e74\n"
        );
        assert_eq!(
            shown(&[ids("ID", "/id")], &rows[..1], None),
            "ID\n01M8GT2QQ8\n"
        );
    }

    #[test]
    fn a_line_fits_the_terminal_by_shorter_words_and_then_by_fewer_columns() {
        let columns = [
            names("NAME", "/name"),
            times("AT", "/at"),
            column("TASK", "/task"),
            column("REASON", "/reason"),
        ];
        let rows = [json!({
            "name": "n".repeat(12), "at": "2026-11-28T09:00:00Z", "task": "t".repeat(20), "reason": "r".repeat(40),
        })];
        let lines = |width| {
            let text = shown(&columns, &rows, Some(width));
            text.lines().last().unwrap().to_owned()
        };
        assert_eq!(
            lines(60),
            format!("nnnnnnnnnnnn  1 h ago  {}  rrrrrrrrrrrrrr…", "t".repeat(20))
        );
        assert_eq!(lines(42), "nnnnnnnnnnnn  1 h ago  tttttttt…  rrrrrrr…");
        assert_eq!(lines(41), "nnnnnnnnnnnn  1 h ago  ttttttt…  rrrrrrr…");
        assert_eq!(lines(40), "nnnnnnnnnnnn  1 h ago  ttttttt…");
        assert_eq!(lines(10), "nnnnnnnnnnnn  1 h ago");
    }

    #[test]
    fn a_state_is_coloured_and_aligned() {
        let columns = [states("STATE", ""), column("B", "/b")];
        let rows = [
            json!({"state": "failed", "b": 1}),
            json!({"state": "held", "b": 2}),
        ];
        assert_eq!(
            shown(&columns, &rows, None),
            "STATE   B\n\u{1b}[31mfailed\u{1b}[0m  1\nheld    2\n"
        );
    }

    #[test]
    fn a_row_of_a_stream_has_the_time_at_which_it_was() {
        let columns = [times("AT", "/at"), states("STATE", "/of"), ids("ID", "/id")];
        let one = json!({"at": "2026-11-28T09:00:00Z", "of": {"state": "done"}, "id": "01M8GT2QQ8PHW5XSE8HHFD7WYT"});
        assert_eq!(
            row(&columns, &one, &layout(None)),
            "Sat 2026-11-28 09:00:00 UTC  done  01M8GT2QQ8PHW5XSE8HHFD7WYT"
        );
    }
}
