//! Inputs shared by the rows.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Returns the folder `fixtures` of the repository.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Reads the typical daemon files.
pub(crate) fn daemon_files() -> Result<Vec<Vec<u8>>> {
    let folder = folder().join("daemons/.agents/daemons");
    let entries = std::fs::read_dir(&folder)
        .with_context(|| format!("failed to list `{}`", folder.display()))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        paths.push(entry?.path().join("DAEMON.md"));
    }
    paths.sort();
    ensure!(
        paths.len() >= 18,
        "the corpus has shrunk to {} files",
        paths.len()
    );
    let read = |path: &PathBuf| {
        std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))
    };
    paths.iter().map(read).collect()
}
