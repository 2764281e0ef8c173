//! Work trees, each for one activation.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::git::GitCommand;
use crate::object::ObjectId;
use crate::repository::Repository;

/// A work tree of one commit with a detached HEAD, for one activation.
///
/// Its `.git` file and its index are not trusted when the changes of a run are read.
#[derive(Clone, Debug)]
pub struct Worktree {
    repository: Repository,
    dir: PathBuf,
    base: ObjectId,
}

/// Git's record of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeRecord {
    /// The name of the record: that of the directory, with a number appended if the name was taken.
    pub name: OsString,
    /// The directory of the work tree; `None` if its creation was interrupted before it was recorded.
    pub dir: Option<PathBuf>,
}

impl Repository {
    /// Checks out a commit into the new directory `dir`, byte for byte: no hook, filter or line-end conversion runs.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist or the directory exists. An incomplete work tree is removed.
    pub fn create_worktree(&self, commit: &ObjectId, dir: &Path) -> Result<Worktree, GitError> {
        let dir = std::path::absolute(dir).map_err(|source| self.unwritable(dir, source))?;
        if dir.symlink_metadata().is_ok() {
            return Err(self.unwritable(&dir, io::ErrorKind::AlreadyExists.into()));
        }
        // Detached, because git refuses to check out one branch in two work trees.
        let added = self
            .call("worktree")
            .args(["add", "--quiet", "--detach", "--no-guess-remote"])
            .operand(&dir)
            .operand(commit.as_str())
            .stdout();
        if let Err(error) = added {
            // The first error is the one to report. If the removal fails too, the next sweep repeats it.
            return match self.remove_worktree(&dir) {
                Ok(()) | Err(_) => Err(error),
            };
        }
        Ok(self.worktree(dir, commit.clone()))
    }

    /// Returns a work tree that an earlier process created.
    pub fn worktree(&self, dir: PathBuf, base: ObjectId) -> Worktree {
        Worktree {
            repository: self.clone(),
            dir,
            base,
        }
    }

    /// Lists git's records of work trees, including those whose directory is missing or whose creation was interrupted.
    ///
    /// The records are read as files: if one of them has an empty `commondir`, every `git worktree` command of the repository fails.
    ///
    /// # Errors
    /// Returns [`GitError`] if the records cannot be read.
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
            // If the creation was interrupted, the file may not exist.
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

    /// Removes git's record of a work tree, with the index and the locks in it.
    ///
    /// # Errors
    /// Returns [`GitError`] if the record cannot be removed.
    pub fn forget_worktree(&self, record: &WorktreeRecord) -> Result<(), GitError> {
        let path = self.records().join(&record.name);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.unwritable(&path, error));
            }
            Err(_) | Ok(()) => {}
        }
        // Git does the same: it removes the directory with the last record. The call fails while other records exist.
        fs::remove_dir(self.records()).unwrap_or_default();
        Ok(())
    }

    /// Removes a work tree with its files and git's record of it, each if it exists.
    ///
    /// # Errors
    /// Returns [`GitError`] if a part cannot be removed.
    pub fn remove_worktree(&self, dir: &Path) -> Result<(), GitError> {
        remove_tree(dir).map_err(|source| self.unwritable(dir, source))?;
        let name = dir.file_name().unwrap_or_default();
        // Git records the resolved path, which differs from `dir` if a parent directory is a link.
        let parent = dir
            .parent()
            .and_then(|parent| fs::canonicalize(parent).ok());
        let resolved = parent.map(|parent| parent.join(name));
        for record in self.worktree_records()? {
            let recorded = record.dir.as_deref();
            if recorded.is_some() && (recorded == Some(dir) || recorded == resolved.as_deref()) {
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
    /// Returns the root directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the commit that was checked out.
    pub fn base(&self) -> &ObjectId {
        &self.base
    }

    /// Returns the repository that it belongs to.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Removes the work tree; see [`Repository::remove_worktree`].
    ///
    /// # Errors
    /// Returns [`GitError`] if a part cannot be removed.
    pub fn remove(self) -> Result<(), GitError> {
        self.repository.remove_worktree(&self.dir)
    }

    /// Creates a command on the files of this work tree with an index of the caller.
    ///
    /// The repository is passed explicitly, because a run may have changed the `.git` file to name another one.
    pub(crate) fn call(&self, command: &'static str, index: &Path) -> GitCommand {
        GitCommand::new(self.repository.git(), &self.dir, command)
            .env("GIT_DIR", self.repository.common_dir())
            .env("GIT_WORK_TREE", &self.dir)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_ATTR_SOURCE", self.repository.format().empty_tree())
    }
}

/// Removes a directory tree; directories without write permission are made writable first.
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
