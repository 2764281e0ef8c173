//! Builds and runs the example programs; each must end with success and without input.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::shell;
use crate::tally::TestCounts;

/// The longest run of an example: they do little, so a longer one waits for input or a network.
const LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Builds and runs every example of the workspace.
pub(crate) fn run(root: &Path) -> Result<TestCounts> {
    let args = [
        "build",
        "--workspace",
        "--examples",
        "--quiet",
        "--message-format",
        "json-render-diagnostics",
    ];
    let messages = shell::capture(&mut shell::cargo(root, &args))?;
    let mut tally = TestCounts::default();
    for line in messages.lines() {
        let message: Message =
            serde_json::from_str(line).context("failed to read cargo's messages")?;
        // Messages about libraries and build scripts have no program.
        let (Some(program), Some(target)) = (message.executable, message.target) else {
            continue;
        };
        if !target.kind.iter().any(|kind| kind == "example") {
            continue;
        }
        match run_one(root, &program)? {
            None => tally.passed += 1,
            Some(problem) => {
                tally.failed += 1;
                println!("example `{}` failed: {problem}", target.name);
            }
        }
    }
    println!("examples: {}", tally.line());
    Ok(tally)
}

/// Runs one example, and returns the problem if it failed.
fn run_one(root: &Path, program: &Path) -> Result<Option<String>> {
    let mut child = Command::new(program)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("failed to start `{}`", program.display()))?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!status.success()).then(|| format!("ended with {status}")));
        }
        if started.elapsed() > LIMIT {
            // A kill without `wait` would leave a zombie.
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!("still ran after {} s", LIMIT.as_secs())));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
