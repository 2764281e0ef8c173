//! Files that are replaced as a whole, and files of appended lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Serialize;

/// A file of a run folder could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{path}`")]
pub struct FolderError {
    /// The operation that failed.
    pub action: Action,
    /// The file or directory that it concerned.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

/// An operation on a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Creating it.
    Create,
    /// Reading it.
    Read,
    /// Writing it.
    Write,
    /// Taking its lock.
    Lock,
    /// Removing it.
    Remove,
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Lock => "lock",
            Self::Remove => "remove",
        })
    }
}

pub(crate) fn failed(action: Action, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    move |source| FolderError {
        action,
        path: path.to_owned(),
        source,
    }
}

/// When a replaced file reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before it replaces the old file.
    Synced,
    /// When the kernel writes it. A crash of this process loses nothing; a crash of the machine may.
    Unsynced,
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let no_follow = i32::try_from(OFlags::NOFOLLOW.bits()).expect("open flags fit into an int");
    // A program of the same user can write here, so a symbolic link in place of a file must not redirect a write.
    options.mode(0o600).custom_flags(no_follow);
    options
}

pub(crate) fn create_directory(path: &Path) -> Result<(), FolderError> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(failed(Action::Create, path))
}

/// Replaces a file of mode 0600 durably and atomically: a temporary file next to it is written and synced, and renamed over it;
/// then the directory is synced.
///
/// # Errors
/// If any step fails; the old file is unchanged then, unless only the last step failed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_whole(path, bytes, Durability::Synced).map_err(|error| error.source)
}

/// Replaces a file atomically: a reader sees the old content or the new one.
pub(crate) fn write_whole(
    path: &Path,
    content: &[u8],
    durability: Durability,
) -> Result<(), FolderError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let write = || -> io::Result<()> {
        let mut random = [0; 6];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let suffix: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let temporary = directory.join(format!(".{name}.{suffix}.tmp"));
        let mut file = options().write(true).create_new(true).open(&temporary)?;
        let written = file.write_all(content).and_then(|()| match durability {
            Durability::Synced => file.sync_all(),
            Durability::Unsynced => Ok(()),
        });
        if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
            // The first error is the useful one. A file that stays has a name that `remove_temporaries` recognises.
            fs::remove_file(&temporary).unwrap_or(());
            return Err(error);
        }
        match durability {
            Durability::Synced => File::open(directory)?.sync_all(),
            Durability::Unsynced => Ok(()),
        }
    };
    write().map_err(failed(Action::Write, path))
}

/// Syncs a new file that is in place, with its name. A crash before that leaves it empty or missing.
pub(crate) fn sync_new(path: &Path) -> Result<(), FolderError> {
    let sync = || {
        let file = options().read(true).open(path)?;
        file.sync_all()?;
        if syncs_names_with_files(&file) {
            return Ok(());
        }
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    sync().map_err(failed(Action::Write, path))
}

/// Reports whether syncing a file that was just made and renamed also syncs its directory entries.
///
/// ext4 commits the whole journal, which contains the file, its name and the directories above it. Syncing the directory after
/// that would write nothing and flush the disk a second time. Other file systems give no such promise.
fn syncs_names_with_files(file: &File) -> bool {
    const EXT4: u64 = 0xEF53;
    let kind = rustix::fs::fstatfs(file).map(|found| u64::try_from(found.f_type));
    matches!(kind, Ok(Ok(EXT4)))
}

/// Removes temporary files that a killed writer left. The caller must hold the lock.
///
/// Temporary files of publication marks stay: marks are made without the lock, so another process may be using them.
pub(crate) fn remove_temporaries(directory: &Path) -> Result<(), FolderError> {
    let entries = fs::read_dir(directory).map_err(failed(Action::Read, directory))?;
    for entry in entries {
        let entry = entry.map_err(failed(Action::Read, directory))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_left = name.starts_with('.') && name.ends_with(".tmp");
        if is_left && !name.starts_with(".notified") {
            let path = entry.path();
            fs::remove_file(&path).map_err(failed(Action::Remove, &path))?;
        }
    }
    Ok(())
}

/// Creates a file. Fails if it exists.
pub(crate) fn create_file(path: &Path) -> Result<File, FolderError> {
    options()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed(Action::Create, path))
}

/// Opens the lock file, creating it if it does not exist.
pub(crate) fn open_lock(path: &Path) -> Result<File, FolderError> {
    options()
        .write(true)
        .create(true)
        .open(path)
        .map_err(failed(Action::Lock, path))
}

/// A file of JSON lines, opened for appending.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    file: File,
    /// Whether the file ends in the middle of a line, after a short write.
    is_torn: bool,
}

impl Lines {
    pub(crate) fn open(path: PathBuf) -> Result<Self, FolderError> {
        let open = || -> io::Result<(File, bool)> {
            let mut file = options().read(true).append(true).create(true).open(&path)?;
            let is_torn = file.seek(SeekFrom::End(0))? > 0 && {
                let mut last = [0];
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
                last != *b"\n"
            };
            Ok((file, is_torn))
        };
        let (file, is_torn) = open().map_err(failed(Action::Write, &path))?;
        Ok(Self {
            path,
            file,
            is_torn,
        })
    }

    /// Appends one line and returns its length in bytes.
    pub(crate) fn append(&mut self, row: &impl Serialize) -> Result<u64, FolderError> {
        let mut line = Vec::new();
        // Ends the torn line, so that readers skip only that one.
        if self.is_torn {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, row)
            .expect("every key is text and every number is finite");
        line.push(b'\n');
        // One `write` in append mode: a concurrent reader sees no line half, and `write_all` would split a line that did not fit.
        let written = self
            .file
            .write(&line)
            .map_err(failed(Action::Write, &self.path))?;
        self.is_torn = written < line.len();
        if self.is_torn {
            let source = io::Error::from(io::ErrorKind::WriteZero);
            return Err(FolderError {
                action: Action::Write,
                path: self.path.clone(),
                source,
            });
        }
        Ok(line.len() as u64)
    }

    pub(crate) fn sync(&self) -> Result<(), FolderError> {
        self.file
            .sync_data()
            .map_err(failed(Action::Write, &self.path))
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn length(&self) -> Result<u64, FolderError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(failed(Action::Read, &self.path))?;
        Ok(metadata.len())
    }

    pub(crate) fn clear(&mut self) -> Result<(), FolderError> {
        self.file
            .set_len(0)
            .map_err(failed(Action::Write, &self.path))?;
        self.is_torn = false;
        Ok(())
    }
}

/// Reads at most `most` bytes from the end of a file, starting at a line; also returns the length of the file.
pub(crate) fn read_tail(path: &Path, most: u64) -> io::Result<(Vec<u8>, u64)> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let begin = length.saturating_sub(most);
    // The byte before the tail shows whether the tail starts at the beginning of a line.
    file.seek(SeekFrom::Start(begin.saturating_sub(1)))?;
    let mut tail = Vec::new();
    file.take(most + 1).read_to_end(&mut tail)?;
    if begin > 0 {
        let first = tail
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(tail.len(), |at| at + 1);
        tail.drain(..first);
    }
    Ok((tail, length))
}
