//! Kills a real host hundreds of times.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// The settings of the scenarios: 20 kills, 15 s apart, during runs of 10 s, 200 under load, 200 while 50,000 webhooks come,
/// 3 while 10,000 webhooks come up to five times each, 200 at each of the five steps of the outputs of 1,000 activations, a third of
/// 1,000 turns, and 500 of crons that run once. In the night tier, ten minutes of random lines on the control protocol, ten million requests for each fuzz target of
/// the webhooks, a million measurements of a comparison of signatures, 1,000 traced webhooks, 10,000 times 100
/// starts against one budget, and 99,000 events that wait.
pub(crate) const FULL: [(&str, &str); 19] = [
    ("DAEMON_TEST_PACED_KILLS", "20"),
    ("DAEMON_TEST_PACE_MS", "15000"),
    ("DAEMON_TEST_RUN_MS", "10000"),
    ("DAEMON_TEST_STORM_KILLS", "200"),
    ("DAEMON_TEST_INTAKE_HOOKS", "50000"),
    ("DAEMON_TEST_INTAKE_KILLS", "200"),
    ("DAEMON_TEST_REPEATED_HOOKS", "9700"),
    ("DAEMON_TEST_REPEATED_PUSHES", "300"),
    ("DAEMON_TEST_REPEATED_KILLS", "3"),
    ("DAEMON_TEST_OUTBOX_ACTIVATIONS", "1000"),
    ("DAEMON_TEST_OUTBOX_KILLS", "200"),
    ("DAEMON_TEST_TURNS", "1000"),
    ("DAEMON_TEST_CRON_KILLS", "500"),
    ("DAEMON_TEST_FUZZ_SECONDS", "600"),
    ("DAEMON_TEST_FUZZ_RUNS", "10000000"),
    ("DAEMON_TEST_STARTS", "10000"),
    ("DAEMON_TEST_TIMINGS", "1000000"),
    ("DAEMON_TEST_TRACED_HOOKS", "1000"),
    ("DAEMON_TEST_BACKLOG", "99000"),
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
            "--features",
            "daemon-run/internal-testing",
            "--test",
            "host",
            "kills",
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
