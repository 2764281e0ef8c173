//! Measures the libraries and compares them with their peers: `daemon-bench [--json] [NAME...]`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports to its terminal"
)]

mod fixtures;
mod host;
mod kit;
mod machine;
mod postgres;
mod report;
mod repositories;
mod rows;
mod session;
mod webhook;

use std::process::ExitCode;

fn main() -> ExitCode {
    match session::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("daemon-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
