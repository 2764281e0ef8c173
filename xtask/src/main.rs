//! Workspace tasks: `cargo xtask tidy|samples|test|bench|agents|inspector|editors|wheel|dist|docs|simulate|kills|chaos|near|ci|help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to its terminal"
)]

mod agents;
mod bench;
mod chaos;
mod ci;
mod cli;
mod dist;
mod docs;
mod editors;
mod examples;
mod inspector;
mod kills;
mod near;
mod shell;
mod simulate;
mod tally;
mod test;
mod tidy;
mod wheel;

use std::{path::Path, process::ExitCode};

use crate::cli::TaskCommand;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let task = match TaskCommand::parse(&args) {
        Ok(task) => task,
        Err(usage) => {
            eprintln!("xtask: {usage}\n\n{}", cli::HELP);
            return ExitCode::from(64);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in a folder");
    task.run(root).unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}
