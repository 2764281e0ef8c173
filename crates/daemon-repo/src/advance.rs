//! Branches that exist: adding commits to them, never by force, and removing them.

use daemon_process::{CapturedOutput, ExitStatus};

use crate::branch::{Remote, RemoteName, push_options};
use crate::error::{GitError, GitProblem};
use crate::object::{ObjectId, RefName};
use crate::repository::Repository;

/// A branch and the commit at which it is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTip {
    /// The branch.
    pub branch: RefName,
    /// The commit; `None` if the branch must not exist.
    pub at: Option<ObjectId>,
}

/// How a branch at its destination relates to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchPosition {
    /// The branch does not exist.
    Absent,
    /// The branch is at the commit, or at one that follows from it.
    Contains,
    /// The branch is at this commit, which does not contain the other one.
    Elsewhere(ObjectId),
}

impl Repository {
    /// Looks up a branch and whether it contains a commit.
    ///
    /// # Errors
    /// Returns [`GitError`] if the repository or the remote cannot be read.
    pub fn branch_position(
        &self,
        remote: &Remote,
        branch: &RefName,
        commit: &ObjectId,
    ) -> Result<BranchPosition, GitError> {
        let Some(tip) = self.branch_tip(remote, branch)? else {
            return Ok(BranchPosition::Absent);
        };
        if tip == *commit {
            return Ok(BranchPosition::Contains);
        }
        self.fetch_tip(remote, &tip)?;
        // A tip that contains the commit was fetched with it.
        let contains = self.has_commit(commit)? && self.is_ancestor(commit, &tip)?;
        Ok(match contains {
            true => BranchPosition::Contains,
            false => BranchPosition::Elsewhere(tip),
        })
    }

    /// Moves a branch forward to a commit that follows from the one at which it is expected.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::BranchMoved`] if the branch is elsewhere, does not exist, or would lose commits; with
    /// [`GitProblem::CheckedOut`] if a work tree of this repository has it; with [`GitProblem::PushRefused`] if the remote does not
    /// accept it. After any other error the branch may have moved.
    pub fn advance_branch(
        &self,
        remote: &Remote,
        (branch, from): (&RefName, &ObjectId),
        commit: &ObjectId,
    ) -> Result<(), GitError> {
        // The lease of a push replaces git's own check for commits that would be lost.
        if !self.is_ancestor(from, commit)? {
            return Err(self.moved(branch, Some(from)));
        }
        match remote {
            Remote::Here => {
                let at = self.refs()?.get(branch).cloned();
                if at.as_ref() != Some(from) {
                    return Err(self.moved(branch, at.as_ref()));
                }
                self.check_not_checked_out(branch)?;
                self.import_from_store(commit)?;
                self.call("update-ref")
                    .arg("--no-deref")
                    .operand(branch.as_str())
                    .operand(commit.as_str())
                    .operand(from.as_str())
                    .stdout()
                    .map(drop)
            }
            Remote::Named(name) => self.push(name, branch, Some(from), Some(commit)),
        }
    }

    /// Removes a branch that is at a commit.
    ///
    /// # Errors
    /// Returns [`GitError`] as [`Repository::advance_branch`] does.
    pub fn remove_branch(
        &self,
        remote: &Remote,
        branch: &RefName,
        at: &ObjectId,
    ) -> Result<(), GitError> {
        match remote {
            Remote::Here => {
                self.check_not_checked_out(branch)?;
                self.call("update-ref")
                    .args(["--no-deref", "-d"])
                    .operand(branch.as_str())
                    .operand(at.as_str())
                    .stdout()
                    .map(drop)
            }
            Remote::Named(name) => self.push(name, branch, Some(at), None),
        }
    }

    /// Lists the branches below `daemon/` at a destination, with their commits.
    ///
    /// # Errors
    /// Returns [`GitError`] if the repository or the remote cannot be read.
    pub fn branches_of_daemons(
        &self,
        remote: &Remote,
    ) -> Result<Vec<(RefName, ObjectId)>, GitError> {
        const BELOW: &str = "refs/heads/daemon/";
        let is_below = |name: &RefName| name.as_str().starts_with(BELOW);
        match remote {
            Remote::Here => {
                let refs = self.refs()?;
                let listed = refs.iter().filter(|(name, _)| is_below(name));
                Ok(listed
                    .map(|(name, at)| (name.clone(), at.clone()))
                    .collect())
            }
            Remote::Named(name) => {
                let mut listed = self.remote_refs(name, &format!("{BELOW}*"))?;
                listed.retain(|(name, _)| is_below(name));
                Ok(listed)
            }
        }
    }

    /// Returns the error for a change of a branch that no daemon changes.
    pub fn protected(&self, branch: &RefName) -> GitError {
        let (name, why) = (branch.as_str().into(), "it is the default branch".into());
        self.error("push", GitProblem::PushRefused { name, why })
    }

    /// Pushes one branch: to a commit, or without one its removal. It must be at `from`, or must not exist.
    pub(crate) fn push(
        &self,
        name: &RemoteName,
        branch: &RefName,
        from: Option<&ObjectId>,
        to: Option<&ObjectId>,
    ) -> Result<(), GitError> {
        let to = to.map_or("", ObjectId::as_str);
        let push = push_options(self.call("push"), name, (branch, from))
            .operand(name.as_str())
            .operand(format!("{to}:{branch}"));
        let output = push.output()?;
        if output.status == ExitStatus::Code(0) {
            return Ok(());
        }
        Err(match rejection(&output) {
            Some(Rejection::Moved) => self.moved(branch, self.remote_tip(name, branch)?.as_ref()),
            Some(Rejection::Refused(why)) => {
                let name = branch.as_str().into();
                self.error("push", GitProblem::PushRefused { name, why })
            }
            None => push.failed(&output),
        })
    }

    fn moved(&self, branch: &RefName, at: Option<&ObjectId>) -> GitError {
        let name = branch.as_str().into();
        let at = at.cloned();
        self.error("push", GitProblem::BranchMoved { name, at })
    }

    /// Checks that no work tree has the branch: its files would seem to be changed.
    fn check_not_checked_out(&self, branch: &RefName) -> Result<(), GitError> {
        let listed = self
            .call("worktree")
            .args(["list", "--porcelain", "-z"])
            .stdout()?;
        let listed = String::from_utf8_lossy(&listed);
        let mut place = "";
        for line in listed.split('\0') {
            if let Some(path) = line.strip_prefix("worktree ") {
                place = path;
            }
            if line.strip_prefix("branch ") == Some(branch.as_str()) {
                let (name, place) = (branch.as_str().into(), place.into());
                return Err(self.error("update-ref", GitProblem::CheckedOut { name, place }));
            }
        }
        Ok(())
    }
}

/// Why a remote did not change a branch.
#[derive(Debug, PartialEq, Eq)]
enum Rejection {
    /// The branch is not where it was expected.
    Moved,
    /// The remote does not accept it, for this reason.
    Refused(Box<str>),
}

/// Reads the rejection of a push with `--porcelain`: `! TAB <from>:<to> TAB [<kind>] (<reason>)`. Returns `None` if git failed for
/// another reason, after which the branch may have changed.
fn rejection(output: &CapturedOutput) -> Option<Rejection> {
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed.lines().find_map(|line| line.strip_prefix("!\t"))?;
    let (_, summary) = line.split_once('\t')?;
    let (kind, reason) = summary.split_once("] (")?;
    let reason = reason.strip_suffix(')').unwrap_or(reason);
    match kind {
        "[rejected" => Some(Rejection::Moved),
        // The remote changes the branch for someone else at this moment.
        "[remote rejected" if reason.contains("lock") || reason.starts_with("failed to") => None,
        "[remote rejected" => {
            let plain = reason.chars().filter(|c| !c.is_control());
            Some(Rejection::Refused(plain.take(300).collect()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Rejection, rejection};
    use daemon_process::{CapturedOutput, ExitStatus};

    #[test]
    fn the_reason_of_a_rejected_push_is_read() {
        for (line, expected) in [
            (
                "!\tab:refs/heads/x\t[rejected] (stale info)",
                Some(Rejection::Moved),
            ),
            (
                "!\tab:refs/heads/x\t[remote rejected] (protected branch hook declined)",
                Some(Rejection::Refused("protected branch hook declined".into())),
            ),
            (
                "!\tab:refs/heads/x\t[remote rejected] (cannot lock ref 'refs/heads/x')",
                None,
            ),
            (
                "!\tab:refs/heads/x\t[remote rejected] (failed to update ref)",
                None,
            ),
            (
                "!\tab:refs/heads/x\t[remote failure] (remote failed to report status)",
                None,
            ),
            ("=\tab:refs/heads/x\t[up to date]", None),
            ("", None),
        ] {
            let output = CapturedOutput {
                status: ExitStatus::Code(1),
                stdout: format!("To /r\n{line}\nDone\n").into_bytes(),
                stderr: Vec::new(),
                truncated: false,
            };
            assert_eq!(rejection(&output), expected, "{line}");
        }
    }
}
