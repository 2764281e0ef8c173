//! Work trees of single activations.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::git::Call;
use crate::object::ObjectId;
use crate::repository::Repository;

/// A work tree of one commit, on no branch, for one activation.
///
/// What a run left in it is read without trusting anything git keeps there: neither its `.git` file nor its index.
#[derive(Clone, Debug)]
pub struct Worktree {
    repository: Repository,
    dir: PathBuf,
    base: ObjectId,
}

impl Repository {
    /// Checks a commit out into the new directory `dir`, byte for byte: no hook, filter or line-end conversion runs.
    ///
    /// # Errors
    /// [`GitError`] when the commit is not there or the directory exists; what was begun is removed.
    pub fn create_worktree(&self, commit: &ObjectId, dir: &Path) -> Result<Worktree, GitError> {
        let dir = std::path::absolute(dir).map_err(|source| self.unwritable(dir, source))?;
        if dir.symlink_metadata().is_ok() {
            return Err(self.unwritable(&dir, io::ErrorKind::AlreadyExists.into()));
        }
        let added = self
            .call("worktree")
            .args(["add", "--quiet", "--detach", "--no-guess-remote"])
            .operand(&dir)
            .operand(commit.as_str())
            .stdout();
        if let Err(error) = added {
            // The reason of the failure is worth more than that of a failed removal, which the next sweep repeats.
            return match self.remove_worktree(&dir) {
                Ok(()) | Err(_) => Err(error),
            };
        }
        Ok(self.worktree(dir, commit.clone()))
    }

    /// Takes up a work tree that an earlier process created.
    pub fn worktree(&self, dir: PathBuf, base: ObjectId) -> Worktree {
        Worktree {
            repository: self.clone(),
            dir,
            base,
        }
    }

    /// Lists the work trees of this repository below `parent`, whether or not their directories still exist.
    ///
    /// # Errors
    /// [`GitError`] when git fails.
    pub fn worktrees_below(&self, parent: &Path) -> Result<Vec<PathBuf>, GitError> {
        let parent = fs::canonicalize(parent).map_err(|source| self.unwritable(parent, source))?;
        let listing = self
            .call("worktree")
            .args(["list", "--porcelain", "-z"])
            .stdout()?;
        let paths = listing
            .split(|byte| *byte == 0)
            .filter_map(|line| line.strip_prefix(b"worktree "))
            .map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)));
        Ok(paths.filter(|path| path.starts_with(&parent)).collect())
    }

    /// Removes a work tree with everything in it, also when only its directory or only git's record of it is left.
    ///
    /// # Errors
    /// [`GitError`] when something of it cannot be removed.
    pub fn remove_worktree(&self, dir: &Path) -> Result<(), GitError> {
        remove_tree(dir)
            .and_then(|()| self.forget_half_made(dir))
            .map_err(|source| self.unwritable(dir, source))?;
        let is_recorded = match dir.parent() {
            Some(parent) if parent.exists() => {
                let parent =
                    fs::canonicalize(parent).map_err(|source| self.unwritable(dir, source))?;
                let name = dir.file_name().unwrap_or_default();
                self.worktrees_below(&parent)?.contains(&parent.join(name))
            }
            _ => false,
        };
        if is_recorded {
            self.call("worktree")
                .args(["remove", "--force", "--force"])
                .operand(dir)
                .stdout()?;
        }
        Ok(())
    }

    /// Removes the record of a work tree whose making was killed: with an empty `commondir` in one record, git refuses
    /// every `worktree` command of the repository.
    fn forget_half_made(&self, dir: &Path) -> io::Result<()> {
        let records = match fs::read_dir(self.common_dir().join("worktrees")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            records => records?,
        };
        let parent = dir
            .parent()
            .and_then(|parent| fs::canonicalize(parent).ok());
        let name = dir.file_name().unwrap_or_default();
        let own = parent.map(|parent| parent.join(name).join(".git"));
        for record in records {
            let record = record?.path();
            let told = fs::read(record.join("gitdir")).unwrap_or_default();
            let told = Path::new(std::ffi::OsStr::from_bytes(told.trim_ascii_end()));
            let is_whole = fs::metadata(record.join("commondir")).is_ok_and(|file| file.len() > 0);
            if !is_whole && (told == dir.join(".git") || Some(told) == own.as_deref()) {
                fs::remove_dir_all(&record)?;
            }
        }
        Ok(())
    }
}

impl Worktree {
    /// Returns its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the commit it was made from.
    pub fn base(&self) -> &ObjectId {
        &self.base
    }

    /// Returns its repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Removes it.
    ///
    /// # Errors
    /// [`GitError`] when something of it cannot be removed.
    pub fn remove(self) -> Result<(), GitError> {
        self.repository.remove_worktree(&self.dir)
    }

    /// Starts a command on the files of this work tree and an index of ours.
    ///
    /// The repository is named outright, because a run may have rewritten the `.git` file to name one of its own.
    pub(crate) fn call(&self, command: &'static str, index: &Path) -> Call {
        Call::new(self.repository.git(), &self.dir, command)
            .env("GIT_DIR", self.repository.common_dir())
            .env("GIT_WORK_TREE", &self.dir)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_ATTR_SOURCE", self.repository.format().empty_tree())
    }
}

/// Removes a directory tree; directories that a run made unwritable are made writable first.
fn remove_tree(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(dir)?;
            fs::remove_dir_all(dir)
        }
        other => other,
    }
}

fn make_writable(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}
