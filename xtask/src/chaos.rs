//! Kills and pauses real hosts that share a database.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::shell;

/// Runs the scenario for some minutes, then those in which a guard is taken away, and prints what each found.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<ExitCode> {
    let number = |flag: &str, otherwise: u64| {
        let pair = args.chunks(2).find(|pair| pair[0] == flag);
        let given = pair.and_then(|pair| pair[1].parse().ok());
        given.unwrap_or(otherwise)
    };
    let settings = [
        ("DAEMON_TEST_CHAOS_SECONDS", number("--minutes", 10) * 60),
        ("DAEMON_TEST_CHAOS_SEED", number("--seed", 7)),
        ("DAEMON_TEST_CHAOS_HOSTS", number("--hosts", 3)),
    ];
    let settings = settings.map(|(name, number)| (name, number.to_string()));
    let mut command = shell::cargo(
        root,
        &[
            "test",
            "--locked",
            // With the features of the workspace, so that what other tasks built is used.
            "--workspace",
            "--test",
            "host",
            "fleet_chaos",
            "--",
            "--nocapture",
            // One at a time, since each scenario needs the whole machine.
            "--test-threads",
            "1",
        ],
    );
    Ok(if command.envs(settings).status()?.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
