//! Writing a support tree out for a run.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::error::{GitError, Problem};
use crate::repository::Repository;
use crate::support::SupportTree;

impl Repository {
    /// Writes the files of a support tree below the new directory `into`, readable and, where they were, executable.
    ///
    /// Contents come from the object database, so the files are those of the revision whatever the work tree holds. Nobody
    /// may write to them. The directory must not exist, and its parent must not be writable by strangers.
    ///
    /// # Errors
    /// [`GitError`] when a file is not in the repository, or cannot be written; what was written stays.
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
            Problem::File {
                path: path.to_owned(),
                source,
            },
        )
    }
}

fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // A new file in a directory that is ours: no link can stand where it is written.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))
}
