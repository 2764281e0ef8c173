//! A directory of the work tree that no commit has, as one that a run can start at.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::changes::{CommitOrigin, object_name};
use crate::error::{GitError, GitProblem};
use crate::git::GitCommand;
use crate::mark::Author;
use crate::object::ObjectId;
use crate::path::TreePath;
use crate::removal::remove_tree;
use crate::repository::Repository;

/// The mode of a directory in a tree.
const DIRECTORY: &str = "040000 tree";

/// A commit of HEAD with one directory as it is in the work tree. No ref points to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommittedDirectory {
    /// The commit with the directory.
    pub commit: ObjectId,
    /// The commit of HEAD, its only parent.
    pub head: ObjectId,
    /// The path of the directory from the root.
    pub directory: TreePath,
}

impl Repository {
    /// Writes the commit of HEAD with one directory as it is in the work tree, ignored files included. Neither a ref nor the index
    /// is written.
    ///
    /// Git gets a git directory of ours in `scratch`, which must be in no use and is removed: no filter of the repository runs.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::Unborn`] without a commit, with [`GitProblem::NotARepository`] if the repository has
    /// no work tree, or if git fails, which it does if the directory has no file.
    pub fn with_directory_of_work_tree(
        &self,
        directory: &TreePath,
        at: Timestamp,
        scratch: &Path,
    ) -> Result<UncommittedDirectory, GitError> {
        let head = self.head_commit()?;
        let written = self
            .write_scratch(&head, scratch)
            .and_then(|()| self.tree_of_files(directory, scratch));
        let removed = remove_tree(scratch).map_err(|source| self.unwritable(scratch, source));
        let files = written?;
        removed?;
        let tree = self.tree_of(&head)?;
        let tree = self.with_subtree(&tree, directory.as_str(), Some(&files))?;
        let tree = tree.expect("a tree with a directory is not empty");
        let origin = CommitOrigin {
            author: Author::run("working tree"),
            trailers: String::new(),
            at,
        };
        let message = format!("{directory} as it is in the working tree");
        let commit = self.commit_tree(&tree, &[&head], &message, &origin)?;
        Ok(UncommittedDirectory {
            commit,
            head,
            directory: directory.clone(),
        })
    }

    /// Makes runs that start at the commit of such a directory deliver their changes on top of HEAD, without the directory.
    #[must_use]
    pub fn with_uncommitted(mut self, uncommitted: Option<UncommittedDirectory>) -> Self {
        self.uncommitted = uncommitted.map(Arc::new);
        self
    }

    /// Returns the directory that was set with [`Repository::with_uncommitted`].
    pub fn uncommitted_directory(&self) -> Option<&UncommittedDirectory> {
        self.uncommitted.as_deref()
    }

    /// Returns the uncommitted directory whose commit this is.
    pub(crate) fn uncommitted_at(&self, commit: &ObjectId) -> Option<&UncommittedDirectory> {
        self.uncommitted
            .as_deref()
            .filter(|one| one.commit == *commit)
    }

    /// Returns a tree with an uncommitted directory replaced by that of HEAD.
    pub(crate) fn without_uncommitted(
        &self,
        tree: &ObjectId,
        uncommitted: &UncommittedDirectory,
    ) -> Result<ObjectId, GitError> {
        let directory = uncommitted.directory.as_str();
        let committed = self.subtree(&self.tree_of(&uncommitted.head)?, directory)?;
        let tree = self.with_subtree(tree, directory, committed.as_ref())?;
        Ok(tree.unwrap_or_else(|| self.empty_tree()))
    }

    /// Writes the files of a directory of the work tree as a tree.
    fn tree_of_files(&self, directory: &TreePath, scratch: &Path) -> Result<ObjectId, GitError> {
        let missing = || self.error("add", GitProblem::NotARepository);
        let work_tree = self.work_tree().ok_or_else(missing)?;
        let call = |command| {
            let call = GitCommand::new(self.git(), work_tree, command)
                .env("GIT_DIR", scratch)
                .env("GIT_WORK_TREE", work_tree)
                // A new index, which has only this directory.
                .env("GIT_INDEX_FILE", scratch.join("index"))
                .env("GIT_ATTR_SOURCE", self.format().empty_tree())
                .env("GIT_OBJECT_DIRECTORY", self.common_dir().join("objects"));
            self.on_objects(call)
        };
        call("add")
            .args(["--force", "--all"])
            .operand(directory.as_str())
            .stdout()?;
        let written = call("write-tree").stdout()?;
        let whole = object_name(self, "write-tree", "the name of a tree", &written)?;
        let found = self.subtree(&whole, directory.as_str())?;
        found.ok_or_else(missing)
    }

    /// Returns the tree at a path of a tree.
    fn subtree(&self, tree: &ObjectId, path: &str) -> Result<Option<ObjectId>, GitError> {
        let listing = self.list_entry(tree, Some(path))?;
        let entry = listing.split(|byte| *byte == 0).next().unwrap_or_default();
        let entry = String::from_utf8_lossy(entry);
        let object = entry
            .strip_prefix(DIRECTORY)
            .and_then(|rest| rest.trim_start().split('\t').next());
        Ok(object.and_then(|name| name.parse().ok()))
    }

    /// Returns a tree with a directory replaced, or removed; `None` if nothing is left.
    pub(crate) fn with_subtree(
        &self,
        tree: &ObjectId,
        path: &str,
        subtree: Option<&ObjectId>,
    ) -> Result<Option<ObjectId>, GitError> {
        let (name, rest) = match path.split_once('/') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let below = match rest {
            None => subtree.cloned(),
            Some(rest) => match self.subtree(tree, name)? {
                Some(found) => self.with_subtree(&found, rest, subtree)?,
                None if subtree.is_some() => {
                    self.with_subtree(&self.empty_tree(), rest, subtree)?
                }
                None => None,
            },
        };
        let listing = self.list_entry(tree, None)?;
        let others = listing.split(|byte| *byte == 0).filter(|entry| {
            let found = entry.splitn(2, |byte| *byte == b'\t').nth(1);
            found.is_some_and(|found| found != name.as_bytes())
        });
        let mut entries: Vec<Vec<u8>> = others.map(<[u8]>::to_vec).collect();
        entries.extend(below.map(|object| format!("{DIRECTORY} {object}\t{name}").into_bytes()));
        if entries.is_empty() {
            return Ok(None);
        }
        let mut input = entries.join(&0);
        input.push(0);
        let written = self
            .call("mktree")
            // A partial repository does not have every object.
            .args(["-z", "--missing"])
            .stdin(input)
            .stdout()?;
        object_name(self, "mktree", "the name of a tree", &written).map(Some)
    }

    fn empty_tree(&self) -> ObjectId {
        let name = self.format().empty_tree().parse();
        name.expect("the name of the empty tree is one of an object")
    }

    /// Lists the entries of a tree, or the one at a path.
    fn list_entry(&self, tree: &ObjectId, path: Option<&str>) -> Result<Vec<u8>, GitError> {
        let call = self.call("ls-tree").args(["-z", "--full-tree"]);
        let call = call.operand(tree.as_str());
        match path {
            Some(path) => call.operand(path).stdout(),
            None => call.stdout(),
        }
    }
}
