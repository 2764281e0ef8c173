//! Runs child processes.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};

/// Returns a `cargo` command at `root` that reads nothing from the terminal.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    // Cargo sets CARGO to its own path, which keeps a pinned toolchain pinned.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    // `cargo xtask` describes this package in variables that build scripts of others watch: with
    // them a build after one without them would compile those packages again.
    for (name, _) in std::env::vars_os().filter(|(name, _)| describes_a_package(name)) {
        command.env_remove(name);
    }
    // A task that waits for input would hang in CI.
    command.args(args).current_dir(root).stdin(Stdio::null());
    command
}

/// Reports whether cargo sets the variable for the package that it runs.
fn describes_a_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs `command`, which inherits the output streams.
///
/// # Errors
/// The command cannot be started or does not exit with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    // Printed first, so that a hanging command can be identified.
    eprintln!("$ {}", line(command));
    let status = command
        .status()
        .with_context(|| format!("failed to start `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(())
}

/// Runs `command` and returns its standard output; it inherits standard error.
///
/// # Errors
/// The command cannot be started, does not exit with 0 or prints something other than UTF-8.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let (status, text) = output(command)?;
    if !status.success() {
        bail!("`{}` ended with {status}", line(command));
    }
    Ok(text)
}

/// Runs `command` and returns its exit status and standard output.
///
/// # Errors
/// The command cannot be started or prints something other than UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<(ExitStatus, String)> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start `{}`", line(command)))?;
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something other than UTF-8", line(command)))?;
    Ok((output.status, text))
}

/// Runs `command`, copies its streams to ours line by line, and returns everything it printed.
///
/// # Errors
/// The command cannot be started, or a stream fails.
pub(crate) fn tee(command: &mut Command) -> Result<(ExitStatus, String)> {
    eprintln!("$ {}", line(command));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start `{}`", line(command)))?;
    let stdout = child.stdout.take().context("standard output was piped")?;
    let stderr = child.stderr.take().context("standard error was piped")?;
    // Both streams are drained concurrently, or a full pipe would block the child.
    let printed = std::thread::scope(|scope| {
        let errors = scope.spawn(|| pass_on(stderr, std::io::stderr()));
        let mut printed = pass_on(stdout, std::io::stdout())?;
        let errors = errors.join().expect("the copying thread does not panic")?;
        printed.push_str(&errors);
        anyhow::Ok(printed)
    })?;
    Ok((child.wait()?, printed))
}

fn pass_on(from: impl Read, mut to: impl Write) -> Result<String> {
    let mut from = BufReader::new(from);
    let mut acc = String::new();
    let mut bytes = Vec::new();
    while from.read_until(b'\n', &mut bytes)? > 0 {
        to.write_all(&bytes)?;
        acc.push_str(&String::from_utf8_lossy(&bytes));
        bytes.clear();
    }
    Ok(acc)
}

/// Reports whether `program` can be started with `argument`.
pub(crate) fn is_present(program: &str, argument: &str) -> bool {
    Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut acc = program
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    for arg in command.get_args() {
        acc.push(' ');
        acc.push_str(&arg.to_string_lossy());
    }
    acc
}
