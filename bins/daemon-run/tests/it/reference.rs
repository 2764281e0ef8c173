//! Checks the pages of the documentation that list every command and every key of the configuration.

mod commands;
mod configuration;

use expect_test::expect_file;

/// `cargo xtask docs` runs this with `UPDATE_EXPECT` set, which writes the pages.
#[test]
fn the_reference_lists_every_command_and_every_key() {
    expect_file!["../../../../docs/commands.md"].assert_eq(&commands::page());
    expect_file!["../../../../docs/configuration.md"].assert_eq(&configuration::page());
}

/// A row of a table: lines are joined, and the text ends no cell.
fn row(cells: &[&str]) -> String {
    let cells = cells.iter().map(|cell| {
        let words: Vec<&str> = cell.split_whitespace().collect();
        words.join(" ").replace('|', "\\|")
    });
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}
