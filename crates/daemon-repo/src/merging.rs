//! Merging one commit into another without a work tree.

use daemon_process::ExitStatus;
use jiff::Timestamp;

use crate::changes::CommitOrigin;
use crate::error::{GitError, GitProblem};
use crate::mark::{Author, CommitMark};
use crate::object::ObjectId;
use crate::repository::Repository;

/// The result of merging a commit into another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The merge has this tree.
    Tree(ObjectId),
    /// Both changed the same lines, or have no commit in common.
    Conflict,
}

impl Repository {
    /// Merges `theirs` into `ours`, and writes the tree of the result.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn merge(&self, ours: &ObjectId, theirs: &ObjectId) -> Result<Merge, GitError> {
        let call = self
            .call("merge-tree")
            .args(["--write-tree", "--no-messages"])
            .operand(ours.as_str())
            .operand(theirs.as_str());
        let output = call.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Also after a conflict, but not if a commit is missing, for which git exits with 1 as well.
        let tree = text.lines().next().and_then(|line| line.parse().ok());
        match (output.status, tree) {
            (ExitStatus::Code(0), Some(tree)) => Ok(Merge::Tree(tree)),
            (ExitStatus::Code(1), Some(_)) => Ok(Merge::Conflict),
            (ExitStatus::Code(0), None) => Err(call.error(GitProblem::Malformed {
                what: "a merged tree",
            })),
            _ if self.has_commit(ours)?
                && self.has_commit(theirs)?
                && !self.are_related(ours, theirs)? =>
            {
                Ok(Merge::Conflict)
            }
            _ => Err(call.failed(&output)),
        }
    }

    /// Writes the commit of a merge, with the daemon as author and its trailers. No ref points to it.
    ///
    /// # Errors
    /// Returns [`GitError`] if git fails.
    pub fn commit_merge(
        &self,
        tree: &ObjectId,
        parents: [&ObjectId; 2],
        message: &str,
        mark: &CommitMark,
        at: Timestamp,
    ) -> Result<ObjectId, GitError> {
        let signature = CommitOrigin {
            author: Author::daemon(&mark.daemon),
            trailers: mark.trailers(),
            at,
        };
        self.commit_tree(tree, &parents, message, &signature)
    }

    /// Reports whether two commits have one in common.
    fn are_related(&self, one: &ObjectId, other: &ObjectId) -> Result<bool, GitError> {
        let call = self.call("merge-base");
        call.operand(one.as_str()).operand(other.as_str()).holds()
    }
}
