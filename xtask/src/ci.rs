//! All checks of a change, the cheap ones first.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::cli::Tier;
use crate::{shell, test, tidy};

/// Runs formatting, tidy, lints and tests; stops at the first failure.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    shell::run(&mut shell::cargo(root, &["fmt", "--all", "--check"]))?;
    let code = tidy::run(root, tidy::Mode::Check)?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    dependencies(root)?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        // A change must contain its `Cargo.lock`.
        "--locked",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    shell::run(&mut shell::cargo(root, &clippy))?;
    // What a build without the client of model APIs, or without the store of many hosts, has instead. No other check compiles it.
    for package in ["daemon-provider-llm", "daemon-home-store"] {
        let small = [
            "clippy",
            "--package",
            package,
            "--no-default-features",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ];
        shell::run(&mut shell::cargo(root, &small))?;
    }
    test::run(root, Tier::Change)
}

/// Checks licences, sources and banned crates of the dependencies, if `cargo-deny` is installed.
fn dependencies(root: &Path) -> Result<()> {
    if !shell::is_present("cargo-deny", "--version") {
        println!("skipped: licences and sources of dependencies: no `cargo-deny`");
        return Ok(());
    }
    let check = ["deny", "--offline", "check", "bans", "licenses", "sources"];
    shell::run(&mut shell::cargo(root, &check))
}
