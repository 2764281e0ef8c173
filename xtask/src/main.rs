//! Workspace tasks: `cargo xtask tidy|samples|test|bench|agents|inspector|docs|simulate|kills|ci|help`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to its terminal"
)]

mod agents;
mod bench;
mod ci;
mod cli;
mod docs;
mod examples;
mod inspector;
mod kills;
mod shell;
mod simulate;
mod tally;
mod test;
mod tidy;

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, Result};

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
    run(task).unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: TaskCommand) -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the folder of xtask has no parent")?;
    match task {
        TaskCommand::Help => Ok(cli::print_help()),
        TaskCommand::Tidy(mode) => tidy::run(root, mode),
        TaskCommand::Samples(seed) => tidy::samples(root, seed),
        TaskCommand::Test(tier) => test::run(root, tier),
        TaskCommand::Bench(names) => bench::run(root, &names),
        TaskCommand::Agents(names) => agents::run(root, &names),
        TaskCommand::Docs => docs::run(root),
        TaskCommand::Simulate(args) => simulate::run(root, &args),
        TaskCommand::Inspector => inspector::run(root),
        TaskCommand::Kills => kills::run(root),
        TaskCommand::Ci => ci::run(root),
    }
}
