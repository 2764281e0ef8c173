//! Work trees of single activations.

use std::ffi::OsString;
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

/// Git's record of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeRecord {
    /// Its name among the records: that of the directory, with a number behind it where the name was taken.
    pub name: OsString,
    /// The directory of the work tree; `None` where its making was cut off before it was recorded.
    pub dir: Option<PathBuf>,
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

    /// Lists git's records of work trees, also of those whose directory is gone or whose making was cut off.
    ///
    /// They are read as files: with an empty `commondir` in one record, git refuses every `worktree` command of the
    /// repository.
    ///
    /// # Errors
    /// [`GitError`] when the records cannot be read.
    pub fn worktree_records(&self) -> Result<Vec<WorktreeRecord>, GitError> {
        let place = self.records();
        let entries = match fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| self.unwritable(&place, source))?,
        };
        let mut records = Vec::new();
        for entry in entries {
            let record = entry
                .map_err(|source| self.unwritable(&place, source))?
                .path();
            // A making that was cut off may not have written it.
            let text = fs::read(record.join("gitdir")).unwrap_or_default();
            let git_file = Path::new(std::ffi::OsStr::from_bytes(text.trim_ascii_end()));
            let dir = git_file.parent().filter(|dir| dir.is_absolute());
            records.push(WorktreeRecord {
                name: record.file_name().unwrap_or_default().to_owned(),
                dir: dir.map(Path::to_owned),
            });
        }
        Ok(records)
    }

    /// Removes git's record of a work tree, with the index and the locks that are kept in it.
    ///
    /// # Errors
    /// [`GitError`] when it cannot be removed.
    pub fn forget_worktree(&self, record: &WorktreeRecord) -> Result<(), GitError> {
        let path = self.records().join(&record.name);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.unwritable(&path, error));
            }
            Err(_) | Ok(()) => {}
        }
        // As git does it: the folder goes with the last record, and stays where another one is in it.
        fs::remove_dir(self.records()).unwrap_or_default();
        Ok(())
    }

    /// Removes a work tree with everything in it, also when only its directory or only git's record of it is left.
    ///
    /// # Errors
    /// [`GitError`] when something of it cannot be removed.
    pub fn remove_worktree(&self, dir: &Path) -> Result<(), GitError> {
        remove_tree(dir).map_err(|source| self.unwritable(dir, source))?;
        let name = dir.file_name().unwrap_or_default();
        let parent = dir
            .parent()
            .and_then(|parent| fs::canonicalize(parent).ok());
        let resolved = parent.map(|parent| parent.join(name));
        for record in self.worktree_records()? {
            let told = record.dir.as_deref();
            if told.is_some() && (told == Some(dir) || told == resolved.as_deref()) {
                self.forget_worktree(&record)?;
            }
        }
        Ok(())
    }

    fn records(&self) -> PathBuf {
        self.common_dir().join("worktrees")
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
