//! Writes a support tree to disk for a run.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::error::{GitError, GitProblem};
use crate::repository::Repository;
use crate::support::SupportTree;

impl Repository {
    /// Writes the files of a support tree into the new directory `into`, read-only, and executable where they were.
    ///
    /// Contents come from the object database, so they belong to the revision regardless of the work tree. The directory must not
    /// exist, and other users must not be able to write to its parent.
    ///
    /// # Errors
    /// Returns [`GitError`] if a file is not in the repository or cannot be written. Files written before stay.
    pub fn materialise(&self, support: &SupportTree, into: &Path) -> Result<(), GitError> {
        let blobs = self.blobs(support.files.iter().map(|file| (&file.object, file.size)))?;
        fs::create_dir(into).map_err(|source| self.unwritable(into, source))?;
        for file in &support.files {
            let content = blobs
                .get(&file.object)
                .ok_or_else(|| self.missing(file.object.as_str()))?;
            let path = into.join(file.path.as_str());
            let mode = if file.executable { 0o555 } else { 0o444 };
            write_new(&path, content, mode).map_err(|source| self.unwritable(&path, source))?;
        }
        Ok(())
    }

    pub(crate) fn unwritable(&self, path: &Path, source: io::Error) -> GitError {
        self.error(
            "cat-file",
            GitProblem::File {
                path: path.to_owned(),
                source,
            },
        )
    }
}

pub(crate) fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // The file is new and its directory is ours, so no link can redirect the write.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))
}
