//! Builds the wheel of `daemon-python` and tests it in a fresh virtual environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::shell;

/// Builds the wheel with maturin, installs it where nothing else is installed, and runs the tests and the type checker there.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let crate_folder = root.join("crates/daemon-python");
    let scratch = root.join("target/wheel");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    let tools = match tools(&scratch) {
        Ok(tools) => tools,
        Err(reason) => {
            println!("SKIPPED: the wheel was not built: {reason:#}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let wheels = scratch.join("wheels");
    let mut build = Command::new(tools.join("maturin"));
    build
        .args(["build", "--release", "--locked", "--out"])
        .arg(&wheels)
        .current_dir(&crate_folder);
    shell::run(&mut build)?;
    let wheel = fs::read_dir(&wheels)?
        .next()
        .context("maturin wrote no wheel")??;
    println!(
        "{} has {} bytes",
        wheel.path().display(),
        wheel.metadata()?.len()
    );
    let fresh = environment(&scratch.join("fresh"))?;
    shell::run(
        Command::new(fresh.join("pip"))
            .args(["install", "--quiet", "--no-index"])
            .arg(wheel.path()),
    )?;
    let test = crate_folder.join("tests/test_daemon_md.py");
    let mut python = Command::new(fresh.join("python"));
    shell::run(python.args(["-I", "-B"]).arg(&test))?;
    let mut types = Command::new(tools.join("mypy"));
    types
        .args(["--strict", "--python-executable"])
        .arg(fresh.join("python"))
        .arg("--cache-dir")
        .arg(scratch.join("mypy"))
        .arg(test)
        .current_dir(&scratch);
    shell::run(&mut types)?;
    println!("wheel: installed, tested and type-checked in a fresh environment");
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder of programs of an environment with maturin and mypy.
fn tools(scratch: &Path) -> Result<PathBuf> {
    let bin = environment(&scratch.join("tools"))?;
    let mut pip = Command::new(bin.join("pip"));
    shell::run(pip.args(["install", "--quiet", "maturin>=1.7,<2", "mypy"]))?;
    Ok(bin)
}

/// Creates a virtual environment and returns its folder of programs.
fn environment(folder: &Path) -> Result<PathBuf> {
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    Ok(folder.join("bin"))
}
