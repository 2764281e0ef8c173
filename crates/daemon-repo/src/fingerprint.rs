//! Detects moved refs without starting git.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::{GitError, GitProblem};
use crate::repository::Repository;

/// The maximum number of bytes read from a loose ref; git writes at most one name.
const MAX_LOOSE_REF: u64 = 8 << 10;
const MAX_DEPTH: usize = 64;

/// A summary of the files that contain branches and tags. It differs if any of them moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefsFingerprint([u8; 32]);

impl Repository {
    /// Computes the summary of the files that contain refs.
    ///
    /// Loose refs are compared by their bytes, because two moves can have the same timestamp. The packed refs are compared by the
    /// identity and times of their file, which git only replaces as a whole. Compute the summary before [`Repository::refs`], so
    /// that a move between the two calls is found by the next comparison.
    ///
    /// # Errors
    /// Returns [`GitError`] if a file or directory cannot be read.
    pub fn refs_fingerprint(&self) -> Result<RefsFingerprint, GitError> {
        let root = self.common_dir();
        let mut acc = Sha256::new();
        let summarised = add_file(&mut acc, &root.join("HEAD"))
            .and_then(|()| add_identity(&mut acc, &root.join("packed-refs")))
            .and_then(|()| add_file(&mut acc, &root.join("reftable/tables.list")))
            .and_then(|()| add_file(&mut acc, &root.join("refs/remotes/origin/HEAD")))
            .and_then(|()| add_directory(&mut acc, &root.join("refs/heads"), MAX_DEPTH))
            .and_then(|()| add_directory(&mut acc, &root.join("refs/tags"), MAX_DEPTH));
        summarised
            .map_err(|source| self.error("for-each-ref", GitProblem::Unreadable { source }))?;
        Ok(RefsFingerprint(acc.finalize().into()))
    }
}

/// Converts a missing file into `None`: a ref can be packed or deleted between listing and reading.
fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn add_file(acc: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut content = Vec::new();
    let Some(metadata) = present(fs::symlink_metadata(path))? else {
        return Ok(());
    };
    // Not a regular file, such as a symbolic link used as a ref: its times have to do.
    if metadata.is_file()
        && let Some(file) = present(File::open(path))?
    {
        file.take(MAX_LOOSE_REF).read_to_end(&mut content)?;
    } else {
        add_times(acc, &metadata);
    }
    add_text(acc, path, &content);
    Ok(())
}

fn add_identity(acc: &mut Sha256, path: &Path) -> io::Result<()> {
    if let Some(metadata) = present(fs::metadata(path))? {
        add_text(acc, path, b"");
        add_times(acc, &metadata);
    }
    Ok(())
}

fn add_times(acc: &mut Sha256, metadata: &Metadata) {
    for number in [
        metadata.ino(),
        metadata.size(),
        metadata.mtime().cast_unsigned(),
        metadata.mtime_nsec().cast_unsigned(),
        metadata.ctime().cast_unsigned(),
        metadata.ctime_nsec().cast_unsigned(),
    ] {
        acc.update(number.to_le_bytes());
    }
}

fn add_text(acc: &mut Sha256, path: &Path, content: &[u8]) {
    let name = path.as_os_str().as_encoded_bytes();
    for part in [name, content] {
        acc.update(part.len().to_le_bytes());
        acc.update(part);
    }
}

fn add_directory(acc: &mut Sha256, path: &Path, depth: usize) -> io::Result<()> {
    let Some(entries) = present(fs::read_dir(path))? else {
        return Ok(());
    };
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match present(entry.file_type())? {
            Some(kind) if kind.is_dir() && depth > 0 => {
                add_directory(acc, &entry.path(), depth - 1)?;
            }
            Some(_) => add_file(acc, &entry.path())?,
            None => {}
        }
    }
    Ok(())
}
