//! Prints the conditions of the corpus with a second parse that costs little more and means something else.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// Runs the example of the crate that reads conditions.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let args = [
        "run",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "daemon-watch",
        "--example",
        "near",
    ];
    shell::run(&mut shell::cargo(root, &args))?;
    Ok(ExitCode::SUCCESS)
}
