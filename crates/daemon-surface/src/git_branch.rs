//! The surface `git`: outputs that are branches.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use daemon_engine::{
    Found, Output, OutputKey, PlaceCondition, PlaceReport, RemoteId, Surface, SurfaceError,
    SurfaceErrorKind,
};
use daemon_event::RepoName;
use daemon_repo::{
    BranchDoubt, BranchPosition, BranchStatus, BranchTip, DaemonBranch, GitError, GitProblem,
    ObjectId, RefName, Remote, Repository, WorktreeChanges, daemon_branch,
};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

/// The name of this surface in outputs.
pub const GIT: &str = "git";

const CONTENT_VERSION: u32 = 1;
/// How long the examination of one remote may take.
const EXAMINATION: Duration = Duration::from_secs(25);

/// Creates and finds the branches that carry the outputs of daemons.
#[derive(Clone, Debug)]
pub struct GitBranch {
    places: HashMap<RepoName, Place>,
}

#[derive(Clone, Debug)]
struct Place {
    repository: Repository,
    remote: Remote,
}

/// The stored content of an output.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Pushed {
    v: u32,
    commit: String,
    files: usize,
    insertions: u64,
    deletions: u64,
    /// Present if the commit is added to a branch that is not the activation's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    onto: Option<Onto>,
}

/// Where a branch is when a commit is added to it.
#[derive(Debug, Serialize, Deserialize)]
struct Onto {
    /// The commit of the branch; `None` if the push creates it.
    at: Option<String>,
}

impl Pushed {
    pub(crate) fn new(
        commit: &ObjectId,
        changes: &WorktreeChanges,
        onto: Option<&BranchTip>,
    ) -> Self {
        Self {
            v: CONTENT_VERSION,
            commit: commit.to_string(),
            files: changes.files.len(),
            insertions: changes.files.iter().map(|file| file.insertions).sum(),
            deletions: changes.files.iter().map(|file| file.deletions).sum(),
            onto: onto.map(|tip| Onto {
                at: tip.at.as_ref().map(ObjectId::to_string),
            }),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and text are always JSON")
    }
}

impl GitBranch {
    /// Makes the surface from repositories, each with the remote that its branches are pushed to.
    pub fn new(repositories: impl IntoIterator<Item = (Repository, Remote)>) -> Self {
        let place = |(repository, remote): (Repository, Remote)| {
            (repository.name().clone(), Place { repository, remote })
        };
        Self {
            places: repositories.into_iter().map(place).collect(),
        }
    }

    fn place(&self, output: &Output) -> Result<Place, SurfaceError> {
        self.places
            .get(&output.daemon.repo)
            .cloned()
            .ok_or_else(|| {
                let message = format!("no repository `{}` is watched here", output.daemon.repo);
                SurfaceError::new(SurfaceErrorKind::Retryable, message)
            })
    }
}

#[async_trait]
impl Surface for GitBranch {
    fn name(&self) -> &str {
        GIT
    }

    async fn find(&self, output: &Output) -> Result<Found, SurfaceError> {
        let (place, output) = (self.place(output)?, output.clone());
        blocking(move || place.find(&output)).await
    }

    async fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError> {
        let (place, output) = (self.place(output)?, output.clone());
        blocking(move || place.deliver(&output)).await
    }

    async fn examine(&self) -> Vec<PlaceReport> {
        let mut examined = JoinSet::new();
        for (repo, place) in self.places.clone() {
            let examine = tokio::task::spawn_blocking(move || place.examine());
            examined.spawn(async move {
                let condition = match tokio::time::timeout(EXAMINATION, examine).await {
                    Ok(Ok(condition)) => condition,
                    Ok(Err(error)) => unexamined(&format!("examining it panicked: {error}")),
                    Err(_) => unexamined(&format!("git did not answer within {EXAMINATION:?}")),
                };
                PlaceReport {
                    place: repo.to_string(),
                    condition,
                }
            });
        }
        let mut reports = examined.join_all().await;
        reports.sort_by(|a, b| a.place.cmp(&b.place));
        reports
    }
}

/// Runs git on a blocking thread. A panic is `Ambiguous`, because the push may have happened before it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SurfaceError> + Send + 'static,
) -> Result<T, SurfaceError> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|error| SurfaceError::new(SurfaceErrorKind::Ambiguous, error.to_string()))?
}

fn unexamined(why: &str) -> PlaceCondition {
    PlaceCondition::Refuses {
        detail: why.to_owned(),
        remedy: "see that git can read it".to_owned(),
    }
}

/// Returns what to do if a push is refused. Git has no codes for it, so this reads its messages, which are in English by the locale.
fn push_remedy(error: &GitError) -> &'static str {
    let message = with_causes(error);
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["could not read Username"]) {
        "set surfaces.github.token_file, or an App: git uses the same credentials"
    } else if says(&["Authentication failed", "403", "Permission denied"]) {
        "see that the token may read and write contents of the repository, and that the URL is right"
    } else if says(&["not found", "does not appear to be a git repository"]) {
        "compare the URL of the remote with the repository, and give the token access to it"
    } else {
        "see surfaces.git.remote, and what git says"
    }
}

impl Place {
    fn examine(&self) -> PlaceCondition {
        match self.repository.examine_delivery(&self.remote) {
            Ok(BranchDoubt::None) => PlaceCondition::Takes {
                detail: format!("branches are delivered to `{}`", self.remote),
            },
            Ok(BranchDoubt::MirrorOf(remote)) => PlaceCondition::Doubtful {
                detail: format!(
                    "branches are delivered to a mirror of `{remote}`: a fetch that prunes removes them"
                ),
                remedy: format!("set surfaces.git.remote = \"{remote}\""),
            },
            Err(error) => PlaceCondition::Refuses {
                detail: format!("`{}` takes no branch: {}", self.remote, with_causes(&error)),
                remedy: push_remedy(&error).to_owned(),
            },
        }
    }

    fn find(&self, output: &Output) -> Result<Found, SurfaceError> {
        let push = Push::of(output)?;
        self.found(&push)
            .map_err(|error| failed(SurfaceErrorKind::Retryable, &error))
    }

    fn found(&self, push: &Push) -> Result<Found, GitError> {
        let Push { branch, commit, .. } = push;
        let tip = match &push.to {
            PushTo::Own(key) => match self.repository.branch_status(&self.remote, branch, key)? {
                BranchStatus::Ours(tip) => Some(tip),
                // A branch of that name with other marks does not carry this output. Sending it will be refused.
                BranchStatus::Absent | BranchStatus::Taken(_) => None,
            },
            PushTo::Onto(_) => {
                let holder = self.repository.holding(commit)?;
                let holder = holder.as_ref().unwrap_or(&self.repository);
                match holder.branch_position(&self.remote, branch, commit)? {
                    BranchPosition::Contains => Some(commit.clone()),
                    BranchPosition::Absent | BranchPosition::Elsewhere(_) => None,
                }
            }
        };
        Ok(tip.map_or(Found::Absent, |tip| Found::At(remote_id(branch, &tip))))
    }

    fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError> {
        let push = Push::of(output)?;
        let Push { branch, commit, .. } = &push;
        // A retry may come after the commit was pruned; git would report that less clearly.
        let holder = self.repository.holding(commit);
        let holder = holder.map_err(|error| failed(SurfaceErrorKind::Retryable, &error))?;
        let Some(holder) = holder else {
            let message = format!("commit `{commit}` is not in the repository any more");
            return Err(SurfaceError::new(SurfaceErrorKind::Refused, message));
        };
        let sent = match &push.to {
            PushTo::Own(_) | PushTo::Onto(None) => {
                holder.create_branch(&self.remote, branch, commit)
            }
            PushTo::Onto(Some(from)) => self
                .check_unprotected(branch)
                .and_then(|()| holder.advance_branch(&self.remote, (branch, from), commit)),
        };
        let Err(error) = sent else {
            return Ok(remote_id(branch, commit));
        };
        match error.problem() {
            // Two sends of one output may race, or the reply to an earlier push was lost: then the branch has it.
            GitProblem::BranchTaken { .. } | GitProblem::BranchMoved { .. } => {
                match self.found(&push) {
                    Ok(Found::At(remote)) => Ok(remote),
                    Ok(Found::Absent | Found::Unreadable) => {
                        Err(failed(SurfaceErrorKind::Refused, &error))
                    }
                    Err(error) => Err(failed(SurfaceErrorKind::Ambiguous, &error)),
                }
            }
            GitProblem::PushRefused { .. } => Err(failed(SurfaceErrorKind::Refused, &error)),
            // A person works on it at the moment.
            GitProblem::CheckedOut { .. } => Err(failed(SurfaceErrorKind::Retryable, &error)),
            _ => Err(failed(SurfaceErrorKind::Ambiguous, &error)),
        }
    }

    /// Checks that a branch is not the default branch, which may have been renamed since the output was planned.
    fn check_unprotected(&self, branch: &RefName) -> Result<(), GitError> {
        let default = self
            .repository
            .default_branch_name(&self.repository.refs()?)?;
        match default == *branch {
            true => Err(self.repository.protected(branch)),
            false => Ok(()),
        }
    }
}

/// A push as it is stored.
struct Push {
    branch: RefName,
    commit: ObjectId,
    to: PushTo,
}

/// The branch of a push.
enum PushTo {
    /// A new branch of the activation, whose tip has this key.
    Own(String),
    /// A branch that is at this commit, or does not exist.
    Onto(Option<ObjectId>),
}

impl Push {
    fn of(output: &Output) -> Result<Self, SurfaceError> {
        let refused = |message| SurfaceError::new(SurfaceErrorKind::Refused, message);
        let pushed: Pushed = serde_json::from_str(&output.content)
            .map_err(|error| refused(format!("the stored output cannot be read: {error}")))?;
        if pushed.v != CONTENT_VERSION {
            return Err(refused(format!(
                "the stored output is of version {}",
                pushed.v
            )));
        }
        let named = |name: &str| {
            name.parse::<ObjectId>()
                .map_err(|error| refused(format!("the stored output names no commit: {error}")))
        };
        let to = match &pushed.onto {
            None => PushTo::Own(output.key.to_string()),
            Some(onto) => PushTo::Onto(onto.at.as_deref().map(named).transpose()?),
        };
        Ok(Self {
            branch: branch_of(output, &to).map_err(refused)?,
            commit: named(&pushed.commit)?,
            to,
        })
    }
}

/// Returns the branch of an output.
// The name is checked and not only taken from the row, so that a changed row cannot push to another branch.
fn branch_of(output: &Output, to: &PushTo) -> Result<RefName, String> {
    let (target, daemon) = (&output.target, &output.daemon.id);
    let own = daemon_branch(daemon, &output.activation);
    let key = OutputKey::derive(&output.activation, output.ordinal, GIT, target);
    match to {
        PushTo::Own(_) if *target != own.as_str() => Err(format!(
            "`{target}` is not `{own}`, the branch of this activation"
        )),
        PushTo::Own(_) => Ok(own),
        PushTo::Onto(_) if key != output.key => Err(format!(
            "`{target}` is not the branch that the output was planned for"
        )),
        PushTo::Onto(at) => {
            let branch: RefName = target.parse().map_err(|error| format!("{error}"))?;
            let is_rolling = matches!(
                DaemonBranch::parse(&branch),
                Some(DaemonBranch::Rolling(of, _)) if of == *daemon
            );
            // Only a rolling branch is created under a name that is not the activation's own.
            match at.is_some() || is_rolling {
                true => Ok(branch),
                false => Err(format!("`{target}` is no rolling branch of `{daemon}`")),
            }
        }
    }
}

fn remote_id(branch: &RefName, tip: &ObjectId) -> RemoteId {
    RemoteId {
        id: format!("{branch}@{tip}"),
        url: None,
        revision: None,
    }
}

/// Converts an error of git with all its causes, because the outbox stores one string.
fn failed(kind: SurfaceErrorKind, error: &GitError) -> SurfaceError {
    SurfaceError::new(kind, with_causes(error))
}

fn with_causes(error: &GitError) -> String {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
