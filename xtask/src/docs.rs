//! Writes the parts of documents that are generated from code.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// Tests that compare a document with the code, and write it if `UPDATE_EXPECT` is set: package, name.
const WRITERS: [(&str, &str); 4] = [
    (
        "daemon-ffi",
        "header::the_header_declares_what_the_library_exports",
    ),
    (
        "daemon-watch",
        "page::the_page_of_conditions_holds_the_readings_and_the_vocabulary",
    ),
    (
        "daemon-surface",
        "page::the_page_of_outputs_holds_the_table_of_verbs",
    ),
    (
        "daemon-run",
        "reference::the_reference_lists_every_command_and_every_key",
    ),
];

/// Writes every document; `git diff` shows the changes.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    for (package, name) in WRITERS {
        let arguments = ["test", "--locked", "-p", package, "--test", "it", name];
        let mut command = shell::cargo(root, &arguments);
        shell::run(command.env("UPDATE_EXPECT", "1"))?;
    }
    Ok(ExitCode::SUCCESS)
}
