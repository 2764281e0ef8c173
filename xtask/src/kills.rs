//! Kills a real host hundreds of times.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// The settings of the scenarios: 20 kills, 15 s apart, during runs of 10 s, and 200 under load.
pub(crate) const FULL: [(&str, &str); 4] = [
    ("DAEMON_TEST_PACED_KILLS", "20"),
    ("DAEMON_TEST_PACE_MS", "15000"),
    ("DAEMON_TEST_RUN_MS", "10000"),
    ("DAEMON_TEST_STORM_KILLS", "200"),
];

/// Runs the scenarios one after the other, and prints what each left behind. Fails if anything is left.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let mut command = shell::cargo(
        root,
        &[
            "test",
            "--locked",
            "--package",
            "daemon-run",
            "--test",
            "host",
            "serve_kills",
            "--",
            "--nocapture",
            // One at a time, since each scenario needs the whole machine.
            "--test-threads",
            "1",
        ],
    );
    Ok(if command.envs(FULL).status()?.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
