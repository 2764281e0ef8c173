//! Checks the table of verbs in `docs/outputs.md`.

use std::fmt::Write as _;

use daemon_engine::proposal::{FieldRow, VERBS, VerbRow};
use expect_test::expect_file;

const OPENING: &str = "<!-- verbs: written by `cargo xtask docs` -->\n";
const CLOSING: &str = "<!-- end of verbs -->\n";

/// `cargo xtask docs` runs this with `UPDATE_EXPECT` set, which writes the page.
#[test]
fn the_page_of_outputs_holds_the_table_of_verbs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/outputs.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let (before, rest) = page.split_once(OPENING).expect("the table has a beginning");
    let (_, after) = rest.split_once(CLOSING).expect("the table has an end");
    let whole = format!("{before}{OPENING}{}{CLOSING}{after}", table());
    expect_file![path].assert_eq(&whole);
}

fn table() -> String {
    let mut acc =
        "|verb|what it does|targets|fields|capability|\n|---|---|---|---|---|\n".to_owned();
    for row in VERBS {
        let targets = row.targets.iter().map(|kind| format!("`{}`", kind.form()));
        let targets = targets.collect::<Vec<_>>().join(" ");
        let (name, summary) = (row.name, row.summary);
        let (fields, capability) = (fields(row), capability(row));
        writeln!(acc, "|`{name}`|{summary}|{targets}|{fields}|{capability}|")
            .expect("a string takes it");
    }
    acc
}

fn fields(row: &VerbRow) -> String {
    let field = |field: &FieldRow| match field.is_required {
        true => format!("`{}`", field.name),
        false => format!("[`{}`]", field.name),
    };
    row.fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

fn capability(row: &VerbRow) -> String {
    match row.own == row.capability {
        true => format!("`{}`", row.capability.as_str()),
        false => format!("`{}`, own `{}`", row.capability.as_str(), row.own.as_str()),
    }
}
