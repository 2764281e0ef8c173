//! Work trees, each for one attempt or one-off run.

mod filling;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::git::GitCommand;
use crate::kept_tree::{KeptTree, TreeStart};
use crate::layers::Layers;
use crate::mark::Author;
use crate::object::{ObjectId, RefName};
use crate::removal::{make_writable, open_directories, remove_tree};
use crate::repository::Repository;
use crate::sparse::{self, SparsePatterns};

/// The end of the name of the index that git made at the checkout, next to the work tree.
const BASE_INDEX: &str = ".base";
/// The end of the name of the index with which changes are read.
const SCRATCH_INDEX: &str = ".index";
/// The end of the name of the git directory with which git reads and writes what belongs to the work tree.
const TRUSTED: &str = ".git";
/// The end of the name of the layer with the difference to the commit of a shared tree.
const DIFFERENCE: &str = ".layer";
/// The end of the name of the layer with what the run changes.
const UPPER: &str = ".upper";
/// The end of the name of the directory that the kernel uses for an overlay.
const WORK: &str = ".work";

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
    checkout: Checkout,
    objects: Vec<PathBuf>,
    sparse: Option<SparsePatterns>,
    layers: Option<Layers>,
}

impl Repository {
    /// Checks out a commit into the new directory `dir`, byte for byte: no hook, filter or line-end conversion runs. If the work tree
    /// of the repository is sparse, the new one has the same patterns.
    ///
    /// # Errors
    /// Returns [`GitError`] if the commit does not exist or the directory exists, and with
    /// [`GitProblem::UnusableObjects`](crate::GitProblem::UnusableObjects) if the path of an object directory cannot be written
    /// in git's format. An incomplete work tree is removed.
    pub fn create_worktree(&self, checkout: &Checkout, dir: &Path) -> Result<Worktree, GitError> {
        self.create_worktree_from(checkout, TreeStart::Empty, dir)
    }

    /// Creates a work tree as [`Repository::create_worktree`] does, from a kept tree.
    ///
    /// If that becomes a lower layer, `dir` is empty, and the files are seen in an overlay of [`Worktree::layers`].
    ///
    /// # Errors
    /// Returns [`GitError`] as [`Repository::create_worktree`] does. The kept tree may be lost, which a later use of it notices.
    pub fn create_worktree_from(
        &self,
        checkout: &Checkout,
        start: TreeStart<'_>,
        dir: &Path,
    ) -> Result<Worktree, GitError> {
        let dir = std::path::absolute(dir).map_err(|source| self.unwritable(dir, source))?;
        let objects = self.object_directories()?;
        let sparse = self.sparse_patterns()?;
        fs::create_dir(&dir).map_err(|source| self.unwritable(&dir, source))?;
        let mut worktree = Worktree {
            repository: self.clone(),
            dir,
            checkout: checkout.clone(),
            objects,
            sparse,
            layers: None,
        };
        match worktree.fill(start) {
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
        let others =
            [SCRATCH_INDEX, TRUSTED, DIFFERENCE, UPPER, WORK].map(|end| appended(dir, end));
        let all = [lock(&base), base].into_iter().chain(others);
        for path in all.chain([dir.to_owned()]) {
            let path = &path;
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
        &self.checkout.commit
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

    /// Returns the layers of the overlay that the run works in; `None` if it works in the directory itself.
    pub fn layers(&self) -> Option<&Layers> {
        self.layers.as_ref()
    }

    /// Returns the directory with what the run wrote: the upper layer of an overlay, or the root directory.
    pub(crate) fn written(&self) -> &Path {
        self.layers
            .as_ref()
            .map_or(&self.dir, |layers| &layers.upper)
    }

    /// Removes the repository of the work tree and what git does not track, and keeps its files as the tree in `kept`, where nothing
    /// may be yet.
    ///
    /// # Errors
    /// Returns [`GitError`] if a part cannot be removed or moved.
    pub fn keep(self, kept: &Path) -> Result<(), GitError> {
        let tree = KeptTree::at(kept);
        let unwritable = |source| self.repository.unwritable(kept, source);
        make_writable(&self.dir).map_err(unwritable)?;
        let base = self.beside(BASE_INDEX);
        // The next run would wait for it.
        self.clean(&self.dir, &base)?;
        let kept_here = || {
            tree.begin()?;
            fs::rename(&self.dir, tree.files())?;
            fs::rename(&base, tree.index())?;
            tree.complete(self.base(), self.sparse.as_ref())
        };
        kept_here().map_err(unwritable)?;
        self.remove()
    }

    /// Gives the host the permissions to read what the run wrote, which the run can take away from its directories.
    pub(crate) fn open(&self) -> Result<(), GitError> {
        let opened = open_directories(self.written());
        opened.map_err(|source| self.repository.unwritable(self.written(), source))
    }

    fn git_dir(&self) -> PathBuf {
        self.written().join(".git")
    }

    /// Returns a new index with the state of the files at the checkout.
    pub(crate) fn scratch_index(&self) -> Result<ScratchIndex, GitError> {
        self.write_trusted()?;
        let index = ScratchIndex(self.beside(SCRATCH_INDEX));
        let base = self.beside(BASE_INDEX);
        // A link keeps the time of the index, with which git decides whether a file may have changed in the second of its
        // checkout. Git replaces an index by another file and never writes into it.
        let linked = remove_tree(&index.0).and_then(|()| fs::hard_link(&base, &index.0));
        linked.map_err(|source| self.repository.unwritable(&index.0, source))?;
        Ok(index)
    }

    /// Creates a command on the files with a scratch index, never with the git directory of the run.
    pub(crate) fn trusted_call(&self, command: &'static str, index: &ScratchIndex) -> GitCommand {
        let call = self.call(command, &index.0);
        match self.objects.first() {
            // What is written goes to the watched repository or its store.
            Some(objects) => call.env("GIT_OBJECT_DIRECTORY", objects),
            None => call,
        }
    }

    /// Writes the tree of an index, and returns its name as git prints it.
    pub(crate) fn write_tree(&self, index: &ScratchIndex) -> Result<Vec<u8>, GitError> {
        let call = self.trusted_call("write-tree", index);
        match &self.sparse {
            None => call.stdout(),
            // A partial repository has no files that its patterns leave out.
            Some(_) => call.args(["--missing-ok"]).stdout(),
        }
    }

    fn call(&self, command: &'static str, index: &Path) -> GitCommand {
        match &self.sparse {
            None => self.call_with(command, index, &[]),
            Some(_) => self.call_with(command, index, &sparse::SETTINGS),
        }
    }

    fn call_with(&self, command: &'static str, index: &Path, settings: &[&str]) -> GitCommand {
        GitCommand::with_settings(self.repository.git(), self.written(), command, settings)
            .env("GIT_DIR", self.beside(TRUSTED))
            .env("GIT_WORK_TREE", self.written())
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
