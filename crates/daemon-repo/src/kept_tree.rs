//! Checked-out trees that are kept between runs, so that a run costs the difference to the commit before and not the whole tree.
//!
//! A kept tree is a directory with the files, the index that git wrote with them, and a file with their commit. The last is removed
//! before anything changes and written after it, so that a crash leaves a tree that is not trusted. The index is at its path in a
//! directory that is a layer of overlays too: runs read it there, and what a run writes to it goes to the upper layer.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use daemon_process::boot_id;

use crate::layers::ancestors;
use crate::object::ObjectId;
use crate::ref_files::read_capped;
use crate::removal::remove_tree;
use crate::sparse::SparsePatterns;

/// The maximum size of the file with the commit, in bytes.
const MAX_MARK: u64 = 1 << 10;
/// The path of an index in a layer.
pub(crate) const INDEX: &str = ".git/index";
/// The size of the blocks that [`std::fs::Metadata::blocks`] counts, in bytes.
const BLOCK: u64 = 512;

/// What the files of a new work tree start from. The path is that of a kept tree, which need not exist yet.
#[derive(Clone, Copy, Debug)]
pub enum TreeStart<'a> {
    /// Nothing: every file is written.
    Empty,
    /// A kept tree that becomes the work tree. [`Worktree::keep`](crate::Worktree::keep) gives it back.
    Taken(&'a Path),
    /// A kept tree that no run uses. It is brought to the commit and becomes the lower layer of an overlay.
    Idle {
        /// The tree.
        kept: &'a Path,
        /// What shows that its files are as they were.
        trust: TreeTrust,
    },
    /// A kept tree that is the lower layer of other runs. The difference to its commit becomes a layer of its own.
    Shared(&'a Path),
}

/// What shows that the files of a kept tree are as git wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeTrust {
    /// The index: no other process could change the files since they were last compared with it.
    Index,
    /// The size and the times of every file, which are compared with the index. The time of the last change of a file cannot be set.
    Comparison,
}

/// What a kept tree has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeContent {
    /// The commit of the files.
    pub commit: ObjectId,
    /// The hash of the patterns that select them; `None` if all files of the commit are there.
    pub sparse: Option<String>,
}

/// The paths of a kept tree.
#[derive(Clone, Debug)]
pub struct KeptTree {
    dir: PathBuf,
}

impl KeptTree {
    /// Names the tree in a directory, whether it exists or not.
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    /// Returns the directory of the files.
    pub(crate) fn files(&self) -> PathBuf {
        self.dir.join("files")
    }

    /// Returns the layer with the index.
    pub(crate) fn index_layer(&self) -> PathBuf {
        self.dir.join("repository")
    }

    /// Returns the index that git wrote with the files.
    pub(crate) fn index(&self) -> PathBuf {
        self.index_layer().join(INDEX)
    }

    fn mark(&self) -> PathBuf {
        self.dir.join("commit")
    }

    /// Returns the content of the tree; `None` if there is no tree, or if one is not trusted: its last change was not completed, a part
    /// of it was removed, or the machine has started since, so that not all of it may have reached the disk.
    pub fn content(&self) -> Option<TreeContent> {
        let text = read_capped(&self.mark(), MAX_MARK).ok()??;
        let mut words = text.trim_end().split(' ');
        let (boot, commit, sparse) = (words.next()?, words.next()?, words.next());
        let same_boot = boot_id().is_ok_and(|id| id == boot);
        let is_whole = self.files().is_dir() && self.index().is_file();
        let commit = commit.parse().ok().filter(|_| same_boot && is_whole)?;
        Some(TreeContent {
            commit,
            sparse: sparse.map(str::to_owned),
        })
    }

    /// Returns the commit of the files if they are those that these patterns select, and the tree is trusted.
    pub(crate) fn commit(&self, sparse: Option<&SparsePatterns>) -> Option<ObjectId> {
        let content = self.content()?;
        let sparse = sparse.map(SparsePatterns::digest);
        (content.sparse == sparse).then_some(content.commit)
    }

    /// Returns the space on disk that the tree takes, in bytes.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn size(&self) -> io::Result<u64> {
        let mut left = vec![self.dir.clone()];
        let mut acc = 0;
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(dir)? {
                let entry = entry?;
                let metadata = entry.metadata()?;
                acc += metadata.blocks() * BLOCK;
                if metadata.is_dir() {
                    left.push(entry.path());
                }
            }
        }
        Ok(acc)
    }

    /// Declares that the files are about to change.
    pub(crate) fn begin(&self) -> io::Result<()> {
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(self.index_layer().join(".git"))?;
        remove_tree(&self.mark())
    }

    /// Declares that the files are at a commit, as far as the patterns select them.
    pub(crate) fn complete(
        &self,
        commit: &ObjectId,
        sparse: Option<&SparsePatterns>,
    ) -> io::Result<()> {
        let boot = boot_id()?;
        let mut file = File::create(self.mark())?;
        match sparse {
            None => writeln!(file, "{boot} {commit}"),
            Some(sparse) => writeln!(file, "{boot} {commit} {}", sparse.digest()),
        }
    }

    /// Removes files that an unfinished change left.
    pub(crate) fn discard(&self) -> io::Result<()> {
        remove_tree(&self.files())?;
        remove_tree(&self.index())
    }
}

/// Returns the names of a list that are terminated by NUL.
pub(crate) fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    list.split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
}

/// Returns the parent directories of the tracked paths.
pub(crate) fn directories<'a>(tracked: impl Iterator<Item = &'a [u8]>) -> HashSet<&'a [u8]> {
    let parents = tracked.filter_map(|name| {
        let slash = name.iter().rposition(|byte| *byte == b'/')?;
        name.get(..slash)
    });
    // Neighbours in the sorted list have the same parent.
    let mut acc = HashSet::new();
    let mut last: Option<&[u8]> = None;
    for parent in parents {
        if last.replace(parent) != Some(parent) {
            acc.extend(ancestors(parent));
        }
    }
    acc
}

/// Returns for removed paths what is to be hidden in a layer: the path, or the longest of its parents that is gone with it.
pub(crate) fn to_hide(removed: &[u8], kept: &[u8]) -> BTreeSet<Vec<u8>> {
    let remaining = directories(names(kept));
    let topmost = |path| ancestors(path).find(|part| !remaining.contains(part));
    names(removed)
        .filter_map(topmost)
        .map(<[u8]>::to_owned)
        .collect()
}

/// Returns a path below `dir` that may not exist.
pub(crate) fn below(dir: &Path, name: &[u8]) -> PathBuf {
    dir.join(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<u8> {
        names
            .iter()
            .flat_map(|name| [name.as_bytes(), &[0]].concat())
            .collect()
    }

    #[test]
    fn a_removed_directory_is_hidden_as_a_whole_and_a_file_alone() {
        let removed = list(&["a/b/c", "a/b/d", "e/f", "g"]);
        let kept = list(&["a/x", "e/h/i", "z"]);
        let hidden = to_hide(&removed, &kept);
        let names: Vec<_> = hidden.iter().map(|name| &**name).collect();
        assert_eq!(names, [b"a/b".as_slice(), b"e/f", b"g"]);
    }
}
