//! Whether any ref moved, without starting git.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::{GitError, Problem};
use crate::repository::Repository;

/// The most bytes of a loose ref that count; git writes at most a name.
const MAX_LOOSE_REF: u64 = 8 << 10;
const MAX_DEPTH: usize = 64;

/// A summary of the files that hold the branches and tags; it differs whenever one of them moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefsFingerprint([u8; 32]);

impl Repository {
    /// Summarises the files that hold the refs.
    ///
    /// Loose refs count by their bytes, since two moves can share a timestamp; the packed ones by the identity and times of
    /// their file, which git only ever replaces whole. Take it before [`Repository::refs`], so that a move between the two
    /// is seen by the next comparison.
    ///
    /// # Errors
    /// [`GitError`] when a file or directory cannot be read.
    pub fn refs_fingerprint(&self) -> Result<RefsFingerprint, GitError> {
        let root = self.common_dir();
        let mut acc = Sha256::new();
        let summarised = add_file(&mut acc, &root.join("HEAD"))
            .and_then(|()| add_identity(&mut acc, &root.join("packed-refs")))
            .and_then(|()| add_file(&mut acc, &root.join("reftable/tables.list")))
            .and_then(|()| add_file(&mut acc, &root.join("refs/remotes/origin/HEAD")))
            .and_then(|()| add_directory(&mut acc, &root.join("refs/heads"), MAX_DEPTH))
            .and_then(|()| add_directory(&mut acc, &root.join("refs/tags"), MAX_DEPTH));
        summarised.map_err(|source| self.error("for-each-ref", Problem::Unreadable { source }))?;
        Ok(RefsFingerprint(acc.finalize().into()))
    }
}

/// What is not there is a fact like any other: a ref may be packed or deleted while it is looked at.
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
