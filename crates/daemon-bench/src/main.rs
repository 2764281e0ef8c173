//! Measures the libraries beside their peers: `daemon-bench [--json] [NAME...]`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports to its terminal"
)]

mod fixtures;
mod host;
mod kit;
mod machine;
mod report;
mod repositories;
mod rows;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::report::Report;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("daemon-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let (flags, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|arg| arg.starts_with('-'));
    if let Some(flag) = flags.iter().find(|flag| *flag != "--json") {
        bail!("no flag `{flag}`; usage: daemon-bench [--json] [NAME...]");
    }
    let mut report = Report::new();
    for row in rows::chosen(&names)? {
        eprintln!("measuring {}", row.name);
        report.rows.push((row.measure)()?);
    }
    if flags.is_empty() {
        print!("{}", report.text());
    } else {
        println!("{}", serde_json::to_string(&report)?);
    }
    Ok(())
}
