//! Removing the folders of ended runs.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use daemon_lifecycle::RunId;
use rustix::fs::{FlockOperation, flock};

use crate::disk::{Action, FolderError, failed};
use crate::folder::Folder;

/// The prefix of the name of a folder that is being removed; the run's id follows.
const LEAVING: &str = ".removed-";

/// The result of [`Folder::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The folder was removed.
    Removed,
    /// The folder did not exist.
    Absent,
    /// A writer holds the lock, so the folder stays.
    Live,
}

impl Folder {
    /// Removes the folder and everything in it, unless a writer holds its lock.
    ///
    /// The folder is renamed first, so that a reader finds all of it or nothing. After a crash,
    /// [`Folder::remove_leavings`] removes what is left under that name.
    ///
    /// # Errors
    /// The folder could not be locked, renamed or removed.
    pub fn remove(&self) -> Result<Removal, FolderError> {
        if !self.path().exists() {
            return Ok(Removal::Absent);
        }
        let lock = match fs::File::open(self.lock()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            file => Some(file.map_err(failed(Action::Lock, &self.lock()))?),
        };
        if let Some(file) = &lock {
            match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Removal::Live),
                Err(error) => return Err(failed(Action::Lock, &self.lock())(error.into())),
            }
        }
        let leaving = self
            .path()
            .with_file_name(format!("{LEAVING}{}", self.id()));
        fs::rename(self.path(), &leaving).map_err(failed(Action::Remove, self.path()))?;
        remove_tree(&leaving)?;
        Ok(Removal::Removed)
    }

    /// Removes the rest of folders whose removal was interrupted by a crash.
    ///
    /// # Errors
    /// The directory could not be read, or one of the folders could not be removed.
    pub fn remove_leavings(daemons: &Path) -> Result<(), FolderError> {
        let entries = match fs::read_dir(daemons) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(failed(Action::Read, daemons))?,
        };
        for entry in entries {
            let entry = entry.map_err(failed(Action::Read, daemons))?;
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_prefix(LEAVING));
            if id.is_some_and(|id| id.parse::<RunId>().is_ok()) {
                remove_tree(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Removes a directory tree, even if the child process made directories in it read-only.
fn remove_tree(path: &Path) -> Result<(), FolderError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_directories(path).map_err(failed(Action::Remove, path))?;
            fs::remove_dir_all(path).map_err(failed(Action::Remove, path))
        }
        removed => removed.map_err(failed(Action::Remove, path)),
    }
}

/// Makes every directory of a tree writable. Symbolic links are not followed.
fn open_directories(path: &Path) -> io::Result<()> {
    let mut waiting: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(directory) = waiting.pop() {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}
