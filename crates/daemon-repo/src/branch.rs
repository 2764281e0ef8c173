//! Branches created by daemons, in the repository and at remotes.

use std::time::Duration;

use crate::error::{GitError, GitProblem};
use crate::git::GitCommand;
use crate::mark::CommitMark;
use crate::object::{InvalidName, ObjectId, RefName};
use crate::refs::RefSnapshot;
use crate::repository::Repository;

/// The timeout for a remote's response to a trial push.
const PROBE: Duration = Duration::from_secs(20);

/// The destination of a daemon's branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// The watched repository itself.
    Here,
    /// A remote by its configured name, or a URL.
    Named(RemoteName),
}

/// The name or URL of a remote, from the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteName(Box<str>);

impl RemoteName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for RemoteName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_plain =
            !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control);
        // A URL of this form makes git run an arbitrary program.
        let runs_a_program = text.starts_with("ext::");
        if is_plain && !runs_a_program {
            Ok(Self(text.into()))
        } else {
            Err(InvalidName::new(text, "the name of a remote, or a URL"))
        }
    }
}

impl std::str::FromStr for Remote {
    type Err = InvalidName;

    /// Parses `.` as the repository itself, anything else as a remote.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        match text {
            "." => Ok(Self::Here),
            _ => text.parse().map(Self::Named),
        }
    }
}

impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Here => ".",
            Self::Named(name) => &name.0,
        })
    }
}

/// The state of an output's branch at its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStatus {
    /// The branch does not exist.
    Absent,
    /// The branch exists, and its tip is the daemon's commit with the output's key.
    Ours(ObjectId),
    /// The branch exists with a commit from another source.
    Taken(ObjectId),
}

impl Repository {
    /// Looks up the branch of an output and reads the origin of its tip.
    ///
    /// # Errors
    /// Returns [`GitError`] if the repository or the remote cannot be read; the state is unknown then.
    pub fn branch_status(
        &self,
        remote: &Remote,
        branch: &RefName,
        output: &str,
    ) -> Result<BranchStatus, GitError> {
        let Some(tip) = self.branch_tip(remote, branch)? else {
            return Ok(BranchStatus::Absent);
        };
        self.fetch_tip(remote, &tip)?;
        let commit = self.commit(&tip)?;
        let is_ours = CommitMark::in_message(&commit.message).is_some_and(|mark| {
            *mark.output == *output && mark.is_committed_by(&commit.committer.email)
        });
        Ok(if is_ours {
            BranchStatus::Ours(tip)
        } else {
            BranchStatus::Taken(tip)
        })
    }

    /// Returns the commit of a branch at its destination.
    ///
    /// # Errors
    /// Returns [`GitError`] if the repository or the remote cannot be read.
    pub fn branch_tip(
        &self,
        remote: &Remote,
        branch: &RefName,
    ) -> Result<Option<ObjectId>, GitError> {
        match remote {
            Remote::Here => Ok(self.refs()?.get(branch).cloned()),
            Remote::Named(name) => self.remote_tip(name, branch),
        }
    }

    /// Fetches the commit of a branch at its destination, if this repository does not have it.
    ///
    /// # Errors
    /// Returns [`GitError`] if it cannot be fetched.
    pub fn fetch_tip(&self, remote: &Remote, tip: &ObjectId) -> Result<(), GitError> {
        match remote {
            Remote::Named(name) if !self.has_commit(tip)? => self.fetch_commit(name, tip),
            Remote::Named(_) | Remote::Here => Ok(()),
        }
    }

    /// Creates a branch; an existing branch is not changed.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::BranchTaken`] if the branch exists, or a branch that is a prefix of its name;
    /// with [`GitProblem::PushRefused`] if the remote does not accept it. Other errors mean that git failed; a remote may have
    /// created the branch nevertheless.
    pub fn create_branch(
        &self,
        remote: &Remote,
        branch: &RefName,
        commit: &ObjectId,
    ) -> Result<(), GitError> {
        if let Remote::Here = remote {
            self.import_from_store(commit)?;
        }
        let created = match remote {
            Remote::Here => self
                .call("update-ref")
                .arg("--no-deref")
                .operand(branch.as_str())
                .operand(commit.as_str())
                // The zero name as the expected value: the update fails if the ref exists.
                .operand(self.format().zero())
                .stdout()
                .map(drop),
            Remote::Named(name) => self.push(name, branch, None, Some(commit)),
        };
        match created {
            Ok(()) => Ok(()),
            // Looked up afterwards, because git's message does not distinguish a name that is taken from other failures.
            Err(error) => Err(self.taken(remote, branch)?.unwrap_or(error)),
        }
    }

    /// Asks a remote whether it would accept a branch, without creating it.
    ///
    /// # Errors
    /// Returns [`GitError`] with git's reason.
    pub(crate) fn probe_push(
        &self,
        name: &RemoteName,
        branch: &RefName,
        commit: &ObjectId,
    ) -> Result<(), GitError> {
        push_options(self.call("push"), name, (branch, None))
            .within(PROBE)
            .arg("--dry-run")
            .operand(&*name.0)
            .operand(format!("{commit}:{branch}"))
            .stdout()
            .map(drop)
    }

    /// Checks that a branch can be created here.
    ///
    /// # Errors
    /// Returns [`GitError`] with [`GitProblem::BranchTaken`] if it exists, or a branch that excludes it.
    pub fn check_free(&self, branch: &RefName) -> Result<(), GitError> {
        self.taken(&Remote::Here, branch)?.map_or(Ok(()), Err)
    }

    /// Returns an error that names the branch of the destination that excludes another one: itself, or a part of its name.
    fn taken(&self, remote: &Remote, branch: &RefName) -> Result<Option<GitError>, GitError> {
        let found = match remote {
            Remote::Here => {
                let excludes = |name: &RefName| {
                    name == branch
                        || is_below(name.as_str(), branch.as_str())
                        || is_below(branch.as_str(), name.as_str())
                };
                let refs = self.refs()?;
                let mut names = refs.iter().map(|(name, _)| name);
                names.find(|name| excludes(name)).cloned()
            }
            Remote::Named(name) => self.remote_tip(name, branch)?.map(|_| branch.clone()),
        };
        Ok(found.map(|found| {
            let name = found.as_str().into();
            self.error("update-ref", GitProblem::BranchTaken { name })
        }))
    }

    /// Fetches the branches and tags of a remote and returns them with the names that they have there.
    ///
    /// They are stored below `refs/daemon/`, apart from all refs that people use. Their objects become part of this repository, so
    /// commits can be discovered and moves reported as for local refs.
    ///
    /// # Errors
    /// Returns [`GitError`] if the remote cannot be read; refs fetched earlier stay.
    pub fn fetch(&self, remote: &RemoteName) -> Result<RefSnapshot, GitError> {
        self.call("fetch")
            .args([
                "--quiet",
                "--prune",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
            ])
            .operand(&*remote.0)
            .operand("+refs/heads/*:refs/daemon/heads/*")
            .operand("+refs/tags/*:refs/daemon/tags/*")
            .stdout()?;
        self.refs_below("refs/daemon/")
    }

    pub(crate) fn remote_tip(
        &self,
        remote: &RemoteName,
        branch: &RefName,
    ) -> Result<Option<ObjectId>, GitError> {
        // Git matches names by their end, so other refs can be listed as well.
        let mut listed = self.remote_refs(remote, branch.as_str())?.into_iter();
        Ok(listed.find(|(name, _)| name == branch).map(|(_, tip)| tip))
    }

    /// Lists the refs of a remote that match a pattern; names that this crate cannot use are left out.
    pub(crate) fn remote_refs(
        &self,
        remote: &RemoteName,
        pattern: &str,
    ) -> Result<Vec<(RefName, ObjectId)>, GitError> {
        let output = self
            .call("ls-remote")
            .args(["--refs", "--quiet"])
            .operand(self.push_url(remote)?)
            .operand(pattern)
            .stdout()?;
        let text = String::from_utf8_lossy(&output);
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let named =
            lines.filter_map(|(object, name)| Some((name.parse().ok()?, object.parse().ok()?)));
        Ok(named.collect())
    }

    fn fetch_commit(&self, remote: &RemoteName, commit: &ObjectId) -> Result<(), GitError> {
        self.call("fetch")
            .args([
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
            ])
            .operand(self.push_url(remote)?)
            .operand(commit.as_str())
            .stdout()
            .map(drop)
    }

    /// Returns the URL for pushes, which differs from the fetch URL if the remote has a `pushurl`.
    fn push_url(&self, remote: &RemoteName) -> Result<String, GitError> {
        let call = self.call("remote").args(["get-url", "--push"]);
        let output = call.operand(&*remote.0).output()?;
        let url = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        // A name that is not a configured remote is a URL itself.
        Ok(match url.is_empty() {
            true => remote.0.as_ref().to_owned(),
            false => url,
        })
    }
}

/// Adds the options by which a push changes exactly one branch, regardless of the remote's configuration: one that is at a commit, or
/// without a commit one that does not exist.
pub(crate) fn push_options(
    push: GitCommand,
    name: &RemoteName,
    (branch, from): (&RefName, Option<&ObjectId>),
) -> GitCommand {
    let from = from.map_or("", ObjectId::as_str);
    // Git refuses to push single branches to a mirror.
    push.setting(format!("remote.{}.mirror", name.0), "false")
        .args([
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ])
        // The push fails if the ref is not at the expected value; an empty value means that it does not exist.
        .arg(format!("--force-with-lease={branch}:{from}"))
}

/// Whether `name` is below the directory `other`.
fn is_below(name: &str, other: &str) -> bool {
    name.strip_prefix(other)
        .is_some_and(|rest| rest.starts_with('/'))
}
