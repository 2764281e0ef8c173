//! Branches that daemons create, here and at remotes.

use std::time::Duration;

use crate::error::{GitError, Problem};
use crate::git::Call;
use crate::mark::Mark;
use crate::object::{InvalidName, ObjectId, RefName};
use crate::refs::RefSnapshot;
use crate::repository::Repository;

/// How long a remote may take to say whether it would take a branch.
const PROBE: Duration = Duration::from_secs(20);

/// Where a daemon's branch goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// Into the watched repository itself.
    Here,
    /// To a remote that git knows by this name, or to this URL.
    Named(RemoteName),
}

/// The name or URL of a remote, as its operator configured it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteName(Box<str>);

impl std::str::FromStr for RemoteName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_plain =
            !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control);
        // This form runs a program of the writer's choice.
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

    /// Reads `.` as the repository itself, anything else as a remote.
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

/// What stands at the place of an output's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no such branch.
    Absent,
    /// The branch is there, and its tip is marked with the output's key by the daemon itself.
    Ours(ObjectId),
    /// The branch is there, and somebody else's.
    Taken(ObjectId),
}

impl Repository {
    /// Looks for the branch of an output, and reads at its tip whose it is.
    ///
    /// # Errors
    /// [`GitError`] when the repository or the remote cannot be read: nothing is known then.
    pub fn standing(
        &self,
        remote: &Remote,
        branch: &RefName,
        output: &str,
    ) -> Result<Standing, GitError> {
        let tip = match remote {
            Remote::Here => self.refs()?.get(branch).cloned(),
            Remote::Named(name) => self.remote_tip(name, branch)?,
        };
        let Some(tip) = tip else {
            return Ok(Standing::Absent);
        };
        if let Remote::Named(name) = remote
            && !self.has_commit(&tip)?
        {
            self.fetch_commit(name, &tip)?;
        }
        let commit = self.commit(&tip)?;
        let is_ours = Mark::in_message(&commit.message).is_some_and(|mark| {
            *mark.output == *output && mark.is_committed_by(&commit.committer.email)
        });
        Ok(if is_ours {
            Standing::Ours(tip)
        } else {
            Standing::Taken(tip)
        })
    }

    /// Creates a branch; one that exists is left as it is.
    ///
    /// # Errors
    /// [`GitError`] with [`Problem::BranchTaken`] when the branch, or one that its name would lie in, exists; else when git
    /// fails, and then the branch may have been created at a remote.
    pub fn create_branch(
        &self,
        remote: &Remote,
        branch: &RefName,
        commit: &ObjectId,
    ) -> Result<(), GitError> {
        let created = match remote {
            Remote::Here => self
                .call("update-ref")
                .arg("--no-deref")
                .operand(branch.as_str())
                .operand(commit.as_str())
                .operand(self.format().zero())
                .stdout(),
            Remote::Named(name) => {
                let push = push_options(self.call("push"), name, branch);
                push_operands(push, name, branch, commit).stdout()
            }
        };
        match created {
            Ok(_) => Ok(()),
            Err(error) => Err(self.taken(remote, branch)?.unwrap_or(error)),
        }
    }

    /// Asks a remote whether it would take a branch, without creating it.
    ///
    /// # Errors
    /// [`GitError`] with git's own reason.
    pub(crate) fn probe_push(
        &self,
        name: &RemoteName,
        branch: &RefName,
        commit: &ObjectId,
    ) -> Result<(), GitError> {
        let push = push_options(self.call("push"), name, branch).within(PROBE);
        push_operands(push.arg("--dry-run"), name, branch, commit)
            .stdout()
            .map(drop)
    }

    /// Tells a refusal, because the name is taken, from other failures.
    fn taken(&self, remote: &Remote, branch: &RefName) -> Result<Option<GitError>, GitError> {
        let is_taken = match remote {
            Remote::Here => {
                let inside = |name: &RefName| {
                    lies_in(name.as_str(), branch.as_str())
                        || lies_in(branch.as_str(), name.as_str())
                };
                self.refs()?
                    .iter()
                    .any(|(name, _)| name == branch || inside(name))
            }
            Remote::Named(name) => self.remote_tip(name, branch)?.is_some(),
        };
        let taken = || {
            self.error(
                "update-ref",
                Problem::BranchTaken {
                    name: branch.as_str().into(),
                },
            )
        };
        Ok(is_taken.then(taken))
    }

    /// Fetches the branches and tags of a remote, and returns them under the names they have there.
    ///
    /// They are kept below `refs/daemon/`, apart from everything a person works with. Their objects are those of this
    /// repository from then on, so that commits can be discovered and moves told like local ones.
    ///
    /// # Errors
    /// [`GitError`] when the remote cannot be read; what was fetched before stays.
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

    fn remote_tip(
        &self,
        remote: &RemoteName,
        branch: &RefName,
    ) -> Result<Option<ObjectId>, GitError> {
        let output = self
            .call("ls-remote")
            .args(["--refs", "--quiet"])
            .operand(self.push_url(remote)?)
            .operand(branch.as_str())
            .stdout()?;
        // Git matches the end of names, so other refs can be listed as well.
        let text = String::from_utf8_lossy(&output);
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        let found = lines
            .filter(|(_, name)| *name == branch.as_str())
            .map(|(object, _)| object)
            .next();
        Ok(found.and_then(|object| object.parse().ok()))
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

    /// Returns where branches are pushed to, which is not where a remote with a `pushurl` is fetched from.
    fn push_url(&self, remote: &RemoteName) -> Result<String, GitError> {
        let call = self.call("remote").args(["get-url", "--push"]);
        let output = call.operand(&*remote.0).output()?;
        let url = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        // What git knows no remote by is a URL itself.
        Ok(match url.is_empty() {
            true => remote.0.as_ref().to_owned(),
            false => url,
        })
    }
}

/// Adds what makes a push create one branch and nothing else, whatever is configured for the remote.
fn push_options(push: Call, name: &RemoteName, branch: &RefName) -> Call {
    // A mirror refuses to push single branches. The name goes by the environment, since `-c` would end it at a `=`.
    push.env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", format!("remote.{}.mirror", name.0))
        .env("GIT_CONFIG_VALUE_0", "false")
        .args([
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ])
        // An empty expectation: the ref must not be there.
        .arg(format!("--force-with-lease={branch}:"))
}

fn push_operands(push: Call, name: &RemoteName, branch: &RefName, commit: &ObjectId) -> Call {
    push.operand(&*name.0).operand(format!("{commit}:{branch}"))
}

/// Whether `name` lies in the directory that `other` would have to be.
fn lies_in(name: &str, other: &str) -> bool {
    name.strip_prefix(other)
        .is_some_and(|rest| rest.starts_with('/'))
}
