//! Removing the folders of runs that are over.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use daemon_lifecycle::RunId;

use crate::disk::{Action, FolderError, failed};
use crate::folder::Folder;

/// What a folder that is being removed is called, before the run's id.
const LEAVING: &str = ".removed-";

/// What became of a folder that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is gone.
    Removed,
    /// It was not there.
    Absent,
    /// A writer holds it: it stays.
    Live,
}

impl Folder {
    /// Removes the folder with everything in it, unless a writer holds it.
    ///
    /// It takes another name first, so that a reader sees all of it or nothing; what a crash leaves under that name goes with
    /// [`Folder::remove_leavings`].
    ///
    /// # Errors
    /// It could not be locked, renamed or removed.
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

    /// Removes what a crash left of folders that were being removed.
    ///
    /// # Errors
    /// The directory could not be read, or something in it not removed.
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

/// Removes a directory, also one whose child took away its own right to write there.
fn remove_tree(path: &Path) -> Result<(), FolderError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_directories(path).map_err(failed(Action::Remove, path))?;
            fs::remove_dir_all(path).map_err(failed(Action::Remove, path))
        }
        removed => removed.map_err(failed(Action::Remove, path)),
    }
}

/// Makes every directory below writable; symbolic links are left alone.
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
