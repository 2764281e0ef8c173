//! Runs the simulator in an optimised build.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// The simulator's part of the night tier.
const NIGHT: [&[&str]; 4] = [
    &["--seeds", "10000"],
    &["--host", "--seeds", "10000"],
    &["--replays", "1000"],
    &["--calendar", "1000000"],
];

/// Runs the simulator with its own arguments, and returns its exit code.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<ExitCode> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(if is_green(root, &args)? {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the night tier, and returns whether all of it passed.
pub(crate) fn night(root: &Path) -> Result<bool> {
    let mut is_all_green = true;
    // All parts run, so that one night reports every failure.
    for args in NIGHT {
        is_all_green &= is_green(root, args)?;
    }
    Ok(is_all_green)
}

fn is_green(root: &Path, args: &[&str]) -> Result<bool> {
    let mut all = vec![
        "run",
        "--quiet",
        "--locked",
        "--profile",
        "measure",
        "-p",
        "daemon-testkit",
        "--bin",
        "simulate",
        "--",
    ];
    all.extend(args);
    Ok(shell::cargo(root, &all).status()?.success())
}
