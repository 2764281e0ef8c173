//! The repository of a caller, whose files a run may have written.
//!
//! A run that shares a directory with its caller can make a repository there. What such a repository refers to would be read, and
//! what it names would be executed, by the host for the next run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{GitError, GitProblem};
use crate::git::GitCommand;
use crate::mark::Author;
use crate::object::ObjectId;
use crate::ref_files::read_capped;
use crate::removal::remove_tree;
use crate::repository::Repository;
use crate::worktree::Checkout;

/// The maximum size of a file with a path, in bytes.
const MAX_PATH_FILE: u64 = 8 << 10;
/// Files of a git directory that git or this crate opens, and that a pipe or a link could be in place of.
const FILES: [&str; 6] = [
    "HEAD",
    "config",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
];
/// Directories of a git directory that a link could be in place of.
const DIRECTORIES: [&str; 4] = ["objects", "objects/info", "refs", "info"];
/// The beginning of the names of the parts of a split index.
const SHARED_INDEX: &str = "sharedindex.";

impl Repository {
    /// Checks that git finds the repository of `directory` in the work tree itself, or in one that names this work tree, and
    /// that nothing in it refers to files elsewhere.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::Foreign`] if not.
    pub fn check_contained(&self, directory: &Path) -> Result<(), GitError> {
        let directory = self.resolved(directory)?;
        let common = self.resolved(self.common_dir())?;
        let git_dir = self.resolved(self.git_dir())?;
        let is_of = |root: &Path| {
            directory.starts_with(root)
                && (git_dir == root.join(".git") || self.is_linked(root, &git_dir))
        };
        let is_own = match self.work_tree() {
            Some(root) => is_of(&self.resolved(root)?),
            None => true,
        };
        let is_whole = git_dir == common || git_dir.parent() == Some(&common.join("worktrees"));
        if !(is_own && is_whole) {
            return Err(self.foreign(&git_dir, "is not the git directory of this work tree"));
        }
        for name in DIRECTORIES {
            let path = common.join(name);
            if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
                return Err(self.foreign(&path, "is no directory"));
            }
        }
        let files = FILES.iter().map(|name| common.join(name));
        for path in files.chain([git_dir.join("HEAD"), git_dir.join("index")]) {
            if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
                return Err(self.foreign(&path, "is no file"));
            }
        }
        let alternates = common.join("objects/info/alternates");
        match fs::symlink_metadata(&alternates) {
            Ok(found) if found.len() > 0 || !found.is_file() => {
                Err(self.foreign(&alternates, "names objects elsewhere"))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Reports whether the file `.git` of a work tree names a git directory, and this names the work tree.
    fn is_linked(&self, root: &Path, git_dir: &Path) -> bool {
        let named_in = |path: PathBuf, prefix: &str| {
            let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            let text = is_file.then(|| read_capped(&path, MAX_PATH_FILE).ok()?)??;
            let named = Path::new(text.trim_end_matches('\n').strip_prefix(prefix)?);
            path.parent()?.join(named).canonicalize().ok()
        };
        let file = root.join(".git");
        if named_in(file.clone(), "gitdir: ").as_deref() != Some(git_dir) {
            return false;
        }
        // Git writes the first for linked work trees, the second for submodules.
        named_in(git_dir.join("gitdir"), "") == Some(file) || {
            let call = self.call("config").args(["--get", "core.worktree"]);
            let named = call.stdout().ok();
            let named = named.and_then(|text| String::from_utf8(text).ok());
            let named = named.map(|named| git_dir.join(named.trim_end()).canonicalize().ok());
            named.flatten().as_deref() == Some(root)
        }
    }

    /// Returns the commit of HEAD in the work tree that was opened.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::Unborn`] if HEAD leads to no commit.
    pub fn head_commit(&self) -> Result<ObjectId, GitError> {
        let call = self
            .call("rev-parse")
            .env("GIT_DIR", self.git_dir())
            .args(["--verify", "--quiet"])
            .operand("HEAD^{commit}");
        let output = call.output()?;
        let name = String::from_utf8_lossy(&output.stdout).trim().parse();
        name.ok().ok_or_else(|| call.error(GitProblem::Unborn))
    }

    /// Returns the paths below the work tree that was opened whose content is not that of a commit, untracked ones included; none
    /// for a bare repository. A directory with only untracked files is one path. The index is not written.
    ///
    /// Git gets a git directory of ours in `scratch`, which must be in no use and is removed.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn uncommitted(&self, commit: &ObjectId, scratch: &Path) -> Result<Vec<String>, GitError> {
        let Some(work_tree) = self.work_tree() else {
            return Ok(Vec::new());
        };
        let listing = self
            .write_scratch(commit, scratch)
            .and_then(|()| self.status(work_tree, scratch));
        let removed = remove_tree(scratch).map_err(|source| self.unwritable(scratch, source));
        let listing = listing?;
        removed?;
        let entries = listing.split(|byte| *byte == 0);
        // Two letters for the state and a space precede each path.
        let paths = entries.filter_map(|entry| entry.get(3..));
        Ok(paths
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect())
    }

    fn status(&self, work_tree: &Path, scratch: &Path) -> Result<Vec<u8>, GitError> {
        GitCommand::new(self.git(), work_tree, "status")
            .env("GIT_DIR", scratch)
            .env("GIT_WORK_TREE", work_tree)
            .env("GIT_INDEX_FILE", self.git_dir().join("index"))
            .env("GIT_ATTR_SOURCE", self.format().empty_tree())
            // Without `dirty`, git would start another process in each submodule.
            .args([
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "--untracked-files=normal",
                "--ignore-submodules=dirty",
            ])
            .stdout()
    }

    /// Writes a git directory with HEAD at a commit and the objects of this repository.
    ///
    /// To compare files, git executes the filters that `info/attributes` and the configuration of a repository name, with the
    /// rights of the host. This one has neither.
    pub(crate) fn write_scratch(&self, commit: &ObjectId, scratch: &Path) -> Result<(), GitError> {
        let failed = |source| self.unwritable(scratch, source);
        remove_tree(scratch).map_err(failed)?;
        let checkout = Checkout {
            commit: commit.clone(),
            branches: BTreeMap::new(),
            author: Author::run("status"),
        };
        self.write_git_dir(scratch, &checkout, (&self.object_directories()?, None))?;
        // Git looks for the parts of a split index next to HEAD.
        for entry in fs::read_dir(self.git_dir()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(SHARED_INDEX.as_bytes()) {
                std::os::unix::fs::symlink(entry.path(), scratch.join(&name)).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn resolved(&self, path: &Path) -> Result<PathBuf, GitError> {
        fs::canonicalize(path).map_err(|source| self.unwritable(path, source))
    }

    fn foreign(&self, path: &Path, what: &'static str) -> GitError {
        let path = path.to_owned();
        self.error("rev-parse", GitProblem::Foreign { path, what })
    }
}
