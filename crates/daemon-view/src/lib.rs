//! How the rows of the API look on a page: cells, tables, charts and terminal colours.
//!
//! ```
//! use daemon_view::{PageColumn, CellForm, TableKind};
//! use serde_json::json;
//!
//! const RUNS: TableKind = TableKind {
//!     plural: "runs",
//!     caption: "Runs",
//!     empty: "No runs.",
//!     columns: &[
//!         PageColumn::new("Run", "/id", CellForm::Id("/runs/")),
//!         PageColumn::new("State", "/state", CellForm::State),
//!     ],
//! };
//!
//! let table = RUNS.table(&[json!({"id": "<b>", "state": "failed"})]);
//! assert_eq!(table.rows[0].cells[1].text, "failed");
//! let html = table.to_string();
//! assert!(html.contains("/runs/%3Cb%3E") && !html.contains("<b>"));
//! assert!(RUNS.table(&[]).to_string().contains("No runs."));
//! ```
//!
//! # Overview
//!
//! - A [`PageColumn`] says where a value is in a row, by a JSON pointer, and its [`CellForm`]. A [`PageCell`] is what a page shows of it: text,
//!   a link, a [`Badge`].
//! - A [`TableKind`] is a list of columns; [`TableKind::table`] formats rows with it.
//! - A [`Chart`] has bars drawn as SVG, and the table of its values. [`daemon_charts`] are those of the usage of a daemon.
//! - [`columns`] aligns rows of JSON for a terminal, with instants as [`Times`] writes them.
//! - [`ansi`] splits the output of programs where its colours change; [`text`] formats strings, numbers and instants.
//!
//! # What this crate does not do
//!
//! It serves no page, reads no clock and asks no store: a row is a JSON value, and a table is a string of HTML. The style sheet
//! and the script that refer to its classes belong to the host.
//!
//! # Guarantees
//!
//! - Text of rows is escaped, and its hidden characters are shown by their codes.
//! - A link is the path of a page or an HTTP URL, never a `javascript:` or `data:` URL.
//!
//! # Features and versions
//!
//! The crate has no features. `serde_json::Value` is part of its public API. The minimum supported Rust version is that of the
//! workspace.

pub mod ansi;
mod cell;
mod chart;
pub mod columns;
mod table;
pub mod text;
mod times;

pub use cell::{Badge, CellForm, PageCell, PageColumn, state_word};
pub use chart::{Bar, Chart, daemon_charts};
pub use table::{PageRow, PageTable, TableKind};
pub use times::Times;
