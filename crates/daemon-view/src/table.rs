//! Tables: their layouts, and rows that are formatted by them.

use askama::Template;
use serde_json::Value;

use crate::cell::{PageCell, PageColumn};
use crate::text::visible;

/// A table with formatted rows; its `Display` is HTML.
#[derive(Clone, Debug, Template)]
#[template(path = "table.html")]
pub struct PageTable {
    /// The caption above the table.
    pub caption: &'static str,
    /// The text that replaces an empty table.
    pub empty: &'static str,
    /// The titles of its columns.
    pub titles: Vec<&'static str>,
    /// Its rows.
    pub rows: Vec<PageRow>,
}

/// A row of a table; its `Display` is HTML.
#[derive(Clone, Debug, Template)]
#[template(path = "row.html")]
pub struct PageRow {
    /// Identifies it within its table.
    pub key: String,
    /// Its cells, in the order of the columns.
    pub cells: Vec<PageCell>,
}

impl PageRow {
    /// Returns what a person reads in it, apart from its age.
    pub fn text(&self) -> String {
        let cells = self.cells.iter().filter(|cell| cell.age.is_none());
        let texts: Vec<_> = cells.map(PageCell::all_text).collect();
        texts.join("\n")
    }

    /// Returns its age in seconds.
    pub fn age(&self) -> Option<u64> {
        self.cells.iter().find_map(|cell| cell.age)
    }
}

/// The layout of a table: the columns of rows of one kind.
#[derive(Clone, Copy, Debug)]
pub struct TableKind {
    /// The member of a result that contains the rows, and the name of the page.
    pub plural: &'static str,
    /// The caption above the table.
    pub caption: &'static str,
    /// The text that replaces an empty table.
    pub empty: &'static str,
    /// The columns in their order.
    pub columns: &'static [PageColumn],
}

impl PageTable {
    /// Adds a column: its title, and a cell for each row in order.
    pub fn add_column(&mut self, title: &'static str, cells: impl IntoIterator<Item = PageCell>) {
        self.titles.push(title);
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.cells.push(cell);
        }
    }
}

impl TableKind {
    /// Formats rows.
    pub fn table(&self, rows: &[Value]) -> PageTable {
        let row = |row: &Value| PageRow {
            key: key(row),
            cells: self.columns.iter().map(|column| column.cell(row)).collect(),
        };
        PageTable {
            caption: self.caption,
            empty: self.empty,
            titles: self.columns.iter().map(|column| column.title).collect(),
            rows: rows.iter().map(row).collect(),
        }
    }
}

/// Returns what identifies a row within its table: its id, or the members that are unique together.
fn key(row: &Value) -> String {
    let member = |name: &str| row[name].as_str().unwrap_or_default();
    if let Some(number) = row["id"].as_u64() {
        return number.to_string();
    }
    match (member("id"), member("key")) {
        ("", "") => {
            let names = [
                "repo",
                "project",
                "role",
                "daemon_id",
                "scheduled_at",
                "path",
                "need",
                "name",
                "agent",
                "sender",
            ];
            visible(&names.map(member).join(" "))
        }
        ("", key) => visible(key),
        (id, _) => visible(id),
    }
}
