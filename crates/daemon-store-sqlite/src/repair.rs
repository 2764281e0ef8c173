//! Repair: gives up the lost end of a damaged log, after a copy of all files.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use daemon_store::StoreError;
use rusqlite::Connection;

use crate::log::{self, LogState};
use crate::{SqliteStore, mark};

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// A description of the loss.
    pub loss: String,
    /// The directory with copies of the unchanged files.
    pub kept: PathBuf,
}

/// Makes a store whose log is damaged or missing usable again, up to the last commit that can be read; its files are copied
/// into the new directory `keep` first. Returns `None` if the store can be opened without a repair.
///
/// Nothing else may have the store open.
///
/// # Errors
/// The error with which the store is refused for another reason than its log, also after the repair;
/// `Unavailable` if a file cannot be read, copied or written.
pub fn repair(path: &Path, keep: &Path) -> Result<Option<Repaired>, StoreError> {
    let loss = match SqliteStore::open(path) {
        Ok(_) => return Ok(None),
        Err(StoreError::LogDamaged { context }) => context,
        Err(other) => return Err(other),
    };
    let failed = |error: io::Error| StoreError::Unavailable {
        context: format!("repair the store `{}`", path.display()),
        source: Some(Box::new(error)),
    };
    let found = LogState::read(path).map_err(failed)?;
    copy(path, keep).map_err(failed)?;
    cut(path, &found).map_err(failed)?;
    if found.is_blank() {
        // The file is marked as waiting for the log that was given up; see `log`.
        Connection::open(path)
            .and_then(|conn| conn.execute("UPDATE host SET merged = 1", []))
            .map_err(|error| failed(io::Error::other(error)))?;
    }
    drop(SqliteStore::open(path)?);
    Ok(Some(Repaired {
        loss,
        kept: keep.to_owned(),
    }))
}

/// Copies the files of a store into a new directory, and waits until they are on the disk.
fn copy(path: &Path, keep: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(keep)?;
    for file in [path.to_owned(), log::path_of(path), mark::path_of(path)] {
        let copy = keep.join(file.file_name().unwrap_or_default());
        match fs::copy(&file, &copy) {
            Ok(_) => File::open(&copy)?.sync_all()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    File::open(keep)?.sync_all()
}

/// Truncates the log after the last commit that can be read, and removes the mark, which counts later ones.
fn cut(path: &Path, found: &LogState) -> io::Result<()> {
    let absent_is_fine = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    let log = File::options().write(true).open(log::path_of(path));
    absent_is_fine(log.and_then(|log| {
        log.set_len(found.good_bytes())?;
        log.sync_all()
    }))?;
    absent_is_fine(fs::remove_file(mark::path_of(path)))
}
