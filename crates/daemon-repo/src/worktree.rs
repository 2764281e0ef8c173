//! Work trees, each for one attempt or one-off run.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::git::GitCommand;
use crate::mark::Author;
use crate::object::{ObjectId, RefName};
use crate::repository::Repository;

/// The end of the name of the index that git made at the checkout, next to the work tree.
const BASE_INDEX: &str = ".base";
/// The end of the name of the index with which changes are read.
const SCRATCH_INDEX: &str = ".index";

/// The content of a new work tree and of its repository.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The commit that is checked out; HEAD is detached at it.
    pub commit: ObjectId,
    /// The branches of its repository.
    pub branches: BTreeMap<RefName, ObjectId>,
    /// The author that is configured for commits.
    pub author: Author,
}

/// A work tree of one commit for one run, with a repository of its own that borrows the objects of the watched one.
///
/// The run may write everything in it, so its `.git` directory is never used to read the changes of the run.
#[derive(Clone, Debug)]
pub struct Worktree {
    repository: Repository,
    dir: PathBuf,
    base: ObjectId,
    objects: Vec<PathBuf>,
}

impl Repository {
    /// Checks out a commit into the new directory `dir`, byte for byte: no hook, filter or line-end conversion runs.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist or the directory exists, and with
    /// [`GitProblem::UnusableObjects`](crate::GitProblem::UnusableObjects) if the path of an object directory cannot be written
    /// in git's format. An incomplete work tree is removed.
    pub fn create_worktree(&self, checkout: &Checkout, dir: &Path) -> Result<Worktree, GitError> {
        let dir = std::path::absolute(dir).map_err(|source| self.unwritable(dir, source))?;
        let objects = self.object_directories()?;
        fs::create_dir(&dir).map_err(|source| self.unwritable(&dir, source))?;
        let worktree = Worktree {
            repository: self.clone(),
            dir,
            base: checkout.commit.clone(),
            objects,
        };
        match worktree.fill(checkout) {
            Ok(()) => Ok(worktree),
            // The first error is the one to report. If the removal fails too, the next sweep repeats it.
            Err(error) => match worktree.remove() {
                Ok(()) | Err(_) => Err(error),
            },
        }
    }

    /// Removes what is left of a work tree in `dir`: its files, its repository and the indexes next to it, each if it exists.
    ///
    /// # Errors
    /// Returns [`GitError`] if a part cannot be removed.
    pub fn clear_worktree(&self, dir: &Path) -> Result<(), GitError> {
        let base = appended(dir, BASE_INDEX);
        let beside = [lock(&base), base, appended(dir, SCRATCH_INDEX)];
        for path in beside.iter().map(PathBuf::as_path).chain([dir]) {
            remove_tree(path).map_err(|source| self.unwritable(path, source))?;
        }
        Ok(())
    }

    /// Removes the records in `worktrees` of the git directory that name a directory below `below`.
    ///
    /// Earlier versions made work trees with `git worktree add`. The records are read as files: if one of them has an empty
    /// `commondir`, as after a kill, every `git worktree` command of the repository fails.
    ///
    /// # Errors
    /// Returns [`GitError`] if the records cannot be read or removed.
    pub fn forget_linked_worktrees(&self, below: &Path) -> Result<(), GitError> {
        let records = self.common_dir().join("worktrees");
        let entries = match fs::read_dir(&records) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(|source| self.unwritable(&records, source))?,
        };
        // Git recorded the resolved path, which differs from `below` if a parent directory is a link.
        let resolved = fs::canonicalize(below).unwrap_or_else(|_| below.to_owned());
        for entry in entries {
            let entry = entry.map_err(|source| self.unwritable(&records, source))?;
            let record = entry.path();
            // If the creation was interrupted, the file may not exist.
            let text = fs::read(record.join("gitdir")).unwrap_or_default();
            let named = Path::new(std::ffi::OsStr::from_bytes(text.trim_ascii_end()));
            if named.starts_with(below) || named.starts_with(&resolved) {
                remove_tree(&record).map_err(|source| self.unwritable(&record, source))?;
            }
        }
        // Git does the same: it removes the directory with the last record. The call fails while other records exist.
        fs::remove_dir(&records).unwrap_or_default();
        Ok(())
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

    /// Returns the watched repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the object directories of the watched repository, and of its store if the commit is there, which git in the work tree must be able to read.
    pub fn objects(&self) -> &[PathBuf] {
        &self.objects
    }

    /// Removes the work tree with its repository, and the indexes next to it, each if it exists.
    ///
    /// # Errors
    /// Returns [`GitError`] if a part cannot be removed.
    pub fn remove(self) -> Result<(), GitError> {
        self.repository.clear_worktree(&self.dir)
    }

    /// Writes the git directory, then the files and the index. No process of the run exists yet.
    fn fill(&self, checkout: &Checkout) -> Result<(), GitError> {
        let git_dir = self.dir.join(".git");
        self.repository
            .write_git_dir(&git_dir, checkout, &self.objects)?;
        let base = self.beside(BASE_INDEX);
        self.call("read-tree", &git_dir, &base)
            .args(["-u", "--reset"])
            .operand(checkout.commit.as_str())
            .stdout()?;
        let copied = || {
            fs::set_permissions(&base, Permissions::from_mode(0o600))?;
            // A copy: the run may write its index in place, and later reads of changes trust this one.
            fs::copy(&base, git_dir.join("index"))
        };
        copied().map_err(|source| self.repository.unwritable(&base, source))?;
        Ok(())
    }

    /// Returns a new index with the state of the files at the checkout.
    pub(crate) fn scratch_index(&self) -> Result<ScratchIndex, GitError> {
        let index = ScratchIndex(self.beside(SCRATCH_INDEX));
        let base = self.beside(BASE_INDEX);
        // A link keeps the time of the index, with which git decides whether a file may have changed in the second of its
        // checkout. Git replaces an index by another file and never writes into it.
        let linked = remove_tree(&index.0).and_then(|()| fs::hard_link(&base, &index.0));
        linked.map_err(|source| self.repository.unwritable(&index.0, source))?;
        Ok(index)
    }

    /// Creates a command on the files with the objects and the configuration of the watched repository, never those of the run.
    pub(crate) fn trusted_call(&self, command: &'static str, index: &ScratchIndex) -> GitCommand {
        let call = self.call(command, self.repository.common_dir(), &index.0);
        self.repository.on_objects(call)
    }

    fn call(&self, command: &'static str, git_dir: &Path, index: &Path) -> GitCommand {
        GitCommand::new(self.repository.git(), &self.dir, command)
            .env("GIT_DIR", git_dir)
            .env("GIT_WORK_TREE", &self.dir)
            .env("GIT_INDEX_FILE", index)
            // Attributes in a tree could name filters; the empty tree has none.
            .env("GIT_ATTR_SOURCE", self.repository.format().empty_tree())
    }

    /// Returns a path next to the work tree, where the run cannot write.
    fn beside(&self, end: &str) -> PathBuf {
        appended(&self.dir, end)
    }
}

/// An index next to the work tree. It is removed on drop.
pub(crate) struct ScratchIndex(PathBuf);

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        for path in [&self.0, &lock(&self.0)] {
            // The file may not exist; one that remains is removed by the next use.
            drop(fs::remove_file(path));
        }
    }
}

/// Returns the lock file of an index.
fn lock(index: &Path) -> PathBuf {
    appended(index, ".lock")
}

fn appended(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Removes a file or a directory tree if it exists; directories without write permission are made writable first.
///
/// # Errors
/// The error of the file system if a part cannot be removed.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                make_writable(path)?;
                fs::remove_dir_all(path)
            }
            other => other,
        },
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
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
