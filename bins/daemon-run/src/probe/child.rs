//! The program of the runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daemon_records::environment;

use super::table::PROBES;
use super::targets::{ATTEMPTED, Attempted, SECRET, STAYS, TARGETS, Targets};
use crate::cli::ProbeRunArgs;
use crate::failure::CommandFailure;

/// How long a run stays if the host does not stop it.
const LONGEST: Duration = Duration::from_secs(120);

/// Makes the attempts, or stays as their target.
pub(crate) fn run(args: &ProbeRunArgs) -> Result<(), CommandFailure> {
    let home = environment::variable("HOME").map_or_else(PathBuf::new, PathBuf::from);
    let ran = match &args.targets {
        Some(directory) => attempt(directory, &home),
        None => stay(&home),
    };
    ran.map_err(|error| CommandFailure::unwritable(&home, &error))
}

fn attempt(directory: &Path, home: &Path) -> io::Result<()> {
    let targets: Targets = serde_json::from_slice(&fs::read(directory.join(TARGETS))?)?;
    let attempted: Vec<Attempted> = PROBES
        .iter()
        .map(|probe| Attempted {
            id: probe.id,
            refusal: (probe.attempt)(&targets)
                .err()
                .map(|error| error.to_string()),
        })
        .collect();
    fs::write(home.join(ATTEMPTED), serde_json::to_vec(&attempted)?)
}

fn stay(home: &Path) -> io::Result<()> {
    fs::write(home.join(SECRET), "kept\n")?;
    let worktree = std::env::current_dir()?;
    let new = home.join("new");
    fs::write(&new, worktree.as_os_str().as_encoded_bytes())?;
    // Renamed, so that it is complete when it appears.
    fs::rename(new, home.join(STAYS))?;
    std::thread::sleep(LONGEST);
    Ok(())
}
