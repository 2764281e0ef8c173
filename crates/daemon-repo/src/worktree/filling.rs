//! How a work tree gets its files, its index and its repository.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use super::{BASE_INDEX, DIFFERENCE, TRUSTED, UPPER, WORK, Worktree};
use crate::error::{GitError, GitProblem};
use crate::kept_tree::{INDEX, KeptTree, TreeStart, TreeTrust, below, names, to_hide};
use crate::layers::{Layers, mark_removed};
use crate::removal::remove_untracked;
use crate::sparse::SparsePatterns;

impl Worktree {
    /// Writes the git directory, the files and the index. No process of the run exists yet.
    pub(super) fn fill(&mut self, start: TreeStart<'_>) -> Result<(), GitError> {
        match start {
            TreeStart::Empty => self.check_out()?,
            TreeStart::Taken(kept) => {
                self.take(&KeptTree::at(kept))?;
                self.check_out()?;
            }
            TreeStart::Idle { kept, trust } => {
                let tree = self.put_above(kept)?;
                self.write_git_dir(&self.git_dir())?;
                self.bring(&tree, trust)?;
            }
            TreeStart::Shared(kept) => {
                let tree = self.put_above(kept)?;
                self.write_git_dir(&self.git_dir())?;
                self.cover(&tree)?;
            }
        }
        if self.layers.is_none() {
            let base = self.beside(BASE_INDEX);
            // A copy: the run may write its index in place, and later reads of changes trust this one.
            let copied = fs::copy(&base, self.git_dir().join("index"));
            copied.map_err(|source| self.repository.unwritable(&base, source))?;
        }
        Ok(())
    }

    fn write_git_dir(&self, git_dir: &Path) -> Result<(), GitError> {
        self.repository.write_git_dir(
            git_dir,
            &self.checkout,
            (&self.objects, self.sparse.as_ref()),
        )
    }

    /// Writes the git directory of our own, unless it exists: a run above a tree at its commit starts without it.
    ///
    /// Attributes in that of the watched repository could name filters, which are programs.
    pub(super) fn write_trusted(&self) -> Result<(), GitError> {
        let trusted = self.beside(TRUSTED);
        match trusted.exists() {
            true => Ok(()),
            false => self.write_git_dir(&trusted),
        }
    }

    /// Writes the files of the commit into the root directory.
    fn check_out(&self) -> Result<(), GitError> {
        self.write_git_dir(&self.git_dir())?;
        self.read_tree("--reset", &self.dir, &self.beside(BASE_INDEX))
    }

    /// Brings the files in `root` to the commit. `-m` compares the commit with the index alone; `--reset` also replaces the files that
    /// changed since the index was written.
    fn read_tree(&self, how: &'static str, root: &Path, index: &Path) -> Result<(), GitError> {
        self.write_trusted()?;
        let call = self.call("read-tree", index);
        let call = call.env("GIT_WORK_TREE", root).args(["-u", how]);
        call.operand(self.base().as_str()).stdout()?;
        let closed = fs::set_permissions(index, Permissions::from_mode(0o600));
        closed.map_err(|source| self.repository.unwritable(index, source))
    }

    /// Moves the files of a kept tree into the root directory.
    fn take(&self, tree: &KeptTree) -> Result<(), GitError> {
        let base = self.beside(BASE_INDEX);
        let unwritable = |source| self.repository.unwritable(&self.dir, source);
        let take = || {
            let is_usable = tree.commit(self.sparse.as_ref()).is_some();
            tree.begin()?;
            if !is_usable {
                return tree.discard();
            }
            fs::rename(tree.index(), &base)?;
            // It is empty, and a directory can replace an empty one.
            fs::rename(tree.files(), &self.dir)
        };
        take().map_err(unwritable)
    }

    /// Removes from `root` what an index does not contain.
    pub(super) fn clean(&self, root: &Path, index: &Path) -> Result<(), GitError> {
        self.write_trusted()?;
        // Without the patterns: with them, git takes a file that a run made at a path that they leave out for a tracked one.
        let listing = self.call_with("ls-files", index, &[]);
        let listing = listing.args(["-t", "-z"]).stdout()?;
        let checked_out = names(&listing).filter_map(|line| line.strip_prefix(b"H "));
        remove_untracked(root, checked_out)
            .map_err(|source| self.repository.unwritable(root, source))
    }

    /// Makes a kept tree the lower layer of what the run writes.
    fn put_above(&mut self, kept: &Path) -> Result<KeptTree, GitError> {
        let tree = KeptTree::at(kept);
        let layers = Layers {
            lower: vec![tree.index_layer(), tree.files()],
            upper: self.beside(UPPER),
            work: self.beside(WORK),
        };
        let created = layers.create();
        created.map_err(|source| self.repository.unwritable(&layers.upper, source))?;
        self.layers = Some(layers);
        Ok(tree)
    }

    /// Brings a kept tree to the commit.
    fn bring(&self, tree: &KeptTree, trust: TreeTrust) -> Result<(), GitError> {
        let (files, index) = (tree.files(), tree.index());
        let unwritable = |source| self.repository.unwritable(&files, source);
        let commit = tree.commit(self.sparse.as_ref());
        let is_usable = commit.is_some();
        let finish = || {
            // Git reads every file again that is not older than its index. No file changed since the index was written.
            touch(&index)?;
            link_or_copy(&index, &self.beside(BASE_INDEX))
        };
        if commit.as_ref() == Some(self.base()) && trust == TreeTrust::Index {
            return finish().map_err(unwritable);
        }
        let begin = || {
            tree.begin()?;
            if !is_usable {
                tree.discard()?;
                fs::create_dir(&files)?;
            }
            Ok(())
        };
        begin().map_err(unwritable)?;
        // It fails if a file to be changed is not as the index has it.
        let is_trusted = is_usable && trust == TreeTrust::Index;
        if !(is_trusted && self.read_tree("-m", &files, &index).is_ok()) {
            if is_usable {
                self.clean(&files, &index)?;
            }
            self.read_tree("--reset", &files, &index)?;
        }
        let completed = tree.complete(self.base(), self.sparse.as_ref());
        completed.and_then(|()| finish()).map_err(unwritable)
    }

    /// Writes the difference from the commit of a kept tree into a layer above it, if there is one.
    fn cover(&mut self, tree: &KeptTree) -> Result<(), GitError> {
        let (layer, base) = (self.beside(DIFFERENCE), self.beside(BASE_INDEX));
        let unwritable = |source| self.repository.unwritable(&layer, source);
        link_or_copy(&tree.index(), &base).map_err(unwritable)?;
        let content = tree.content();
        let sparse = self.sparse.as_ref().map(SparsePatterns::digest);
        if content
            .as_ref()
            .is_some_and(|content| content.sparse != sparse)
        {
            // The caller chose the tree by its patterns, which have changed since.
            let (path, what) = (tree.files(), "has the files of other sparse patterns");
            let foreign = GitProblem::Foreign { path, what };
            return Err(self.repository.error("read-tree", foreign));
        }
        if content.is_some_and(|content| content.commit == *self.base()) {
            return Ok(());
        }
        fs::create_dir(&layer).map_err(unwritable)?;
        self.write_trusted()?;
        let removed = self.call("diff-index", &base);
        // Seen from the commit, the index adds what the commit does not have.
        let removed = removed.args(["--cached", "--name-only", "-z", "--diff-filter=A"]);
        let removed = removed.args(["--no-renames"]).operand(self.base().as_str());
        let removed = removed.stdout()?;
        self.read_tree("-m", &layer, &base)?;
        if !removed.is_empty() {
            let remaining = self.call("ls-files", &base).args(["-z"]);
            for name in to_hide(&removed, &remaining.stdout()?) {
                // A file can be where a directory was removed.
                if fs::symlink_metadata(below(&layer, &name)).is_err() {
                    mark_removed(&layer, &name).map_err(unwritable)?;
                }
            }
        }
        let link_index = || {
            fs::create_dir(layer.join(".git"))?;
            link_or_copy(&base, &layer.join(INDEX))
        };
        link_index().map_err(unwritable)?;
        if let Some(layers) = &mut self.layers {
            layers.lower = vec![layer, tree.files()];
        }
        Ok(())
    }
}

/// Gives an index another name. Git replaces an index by another file and never writes into it, and runs reach neither name.
fn link_or_copy(index: &Path, other: &Path) -> io::Result<()> {
    // Not every file system has links, and the trees may be on another one.
    fs::hard_link(index, other).or_else(|_| fs::copy(index, other).map(drop))
}

/// Sets the times of a file to the present.
fn touch(path: &Path) -> io::Result<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
}
