//! Tests the language server with clients that are not ours, and packs the extension of VS Code.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::shell;

const EXTENSION: &str = "crates/daemon-lsp/editors/vscode";

/// Builds the extension in a scratch folder, runs its tests, and packs it.
///
/// The tests drive `daemon-run lsp`, and measure the server alone, which is built with `--release` in two minutes; the whole
/// program would take many.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    if !shell::is_present("npm", "--version") {
        println!("SKIPPED: no `npm`, so `daemon-run lsp` was not tested with other clients");
        return Ok(ExitCode::SUCCESS);
    }
    let program = ["build", "--locked", "--package", "daemon-run"];
    shell::run(&mut shell::cargo(root, &program))?;
    let server = [
        "build",
        "--release",
        "--locked",
        "--package",
        "daemon-lsp",
        "--example",
        "stdio",
    ];
    shell::run(&mut shell::cargo(root, &server))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let target = root.join(target);
    let scratch = target.join("editors/vscode");
    copy(root, &scratch)?;
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command
            .args(arguments)
            .current_dir(&scratch)
            .env("DAEMON_RUN", target.join("debug/daemon-run"))
            .env("DAEMON_LSP", target.join("release/examples/stdio"));
        shell::run(&mut command)
    };
    npm(&["ci", "--no-audit", "--no-fund"]).context("the packages could not be downloaded")?;
    npm(&["test"])?;
    npm(&["run", "package"])?;
    println!("{}", scratch.join("dist/daemon-md.vsix").display());
    Ok(ExitCode::SUCCESS)
}

/// Copies the files of the extension that git tracks, and the licences.
fn copy(root: &Path, scratch: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--", EXTENSION]).current_dir(root);
    for path in shell::capture(&mut git)?.lines() {
        let to = scratch.join(Path::new(path).strip_prefix(EXTENSION)?);
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(root.join(path), to).with_context(|| format!("failed to copy `{path}`"))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root.join(licence), scratch.join(licence))?;
    }
    Ok(())
}
