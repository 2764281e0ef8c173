//! Removing the branches of daemons that are merged, or whose pull request is closed.

use daemon_engine::proposal::OutputVerb;
use daemon_engine::{ActivationState, Output, OutputState};
use daemon_event::{DaemonId, RepoName};
use daemon_records::error::chain;
use daemon_repo::{DaemonBranch, GitError, Merge, ObjectId, RefName};
use daemon_store::{MAX_PAGE, OutputPlace, Query, Store, StoreError};
use jiff::Timestamp;

use crate::planner::{OutputPlanner, PullState};
use crate::settings::RunRepository;

/// The surface whose outputs are branches.
const GIT: &str = "git";

/// What pruning uses of a host.
#[derive(Clone, Copy)]
pub struct PruneScope<'a> {
    /// The store with the outputs.
    pub store: &'a dyn Store,
    /// The watched repositories.
    pub repositories: &'a [RunRepository],
    /// The planner, which knows the state of pull requests.
    pub planner: &'a dyn OutputPlanner,
}

impl std::fmt::Debug for PruneScope<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PruneScope")
            .field("repositories", &self.repositories)
            .finish_non_exhaustive()
    }
}

/// Which branches are pruned.
#[derive(Clone, Debug)]
pub struct PruneFilter {
    /// Only those of this daemon.
    pub daemon: Option<String>,
    /// Only those delivered before.
    pub before: Option<Timestamp>,
    /// Whether they are removed.
    pub mode: PruneMode,
}

/// Whether branches are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneMode {
    /// They are removed.
    Remove,
    /// They are only listed.
    List,
}

/// A branch that has served its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedBranch {
    /// The repository.
    pub repo: RepoName,
    /// The daemon.
    pub daemon: DaemonId,
    /// The branch.
    pub branch: RefName,
    /// Its commit.
    pub commit: ObjectId,
    /// Why it is removed.
    pub reason: PruneReason,
    /// Whether it was removed.
    pub is_removed: bool,
    /// Why it could not be removed.
    pub error: Option<String>,
}

/// Why a branch has served its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneReason {
    /// The default branch has its changes.
    Merged,
    /// Its pull request is closed.
    Closed,
}

impl PruneReason {
    /// Returns the words for people and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Closed => "pull request closed",
        }
    }
}

/// The result of pruning.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    /// The branches, by repository and name.
    pub branches: Vec<PrunedBranch>,
    /// What could not be examined, each with the reason.
    pub problems: Vec<String>,
}

/// Removes branches of daemons. Only a branch whose newest commit is one that an output of that daemon put there is touched: its
/// name alone proves nothing, and a commit of a person on it would be lost.
///
/// # Errors
/// The store failed.
pub async fn prune(scope: PruneScope<'_>, filter: &PruneFilter) -> Result<Pruned, StoreError> {
    let mut pruned = Pruned::default();
    for repo in scope.repositories {
        let listed = blocking(repo, |repo| {
            repo.repository.branches_of_daemons(&repo.delivery)
        });
        let mut listed = match listed.await {
            Ok(listed) => listed,
            Err(why) => {
                pruned.problems.push(format!("`{}`: {why}", repo.name));
                continue;
            }
        };
        listed.sort();
        for (branch, commit) in listed {
            let Some(pushed) = pushed(scope.store, repo, (&branch, &commit), filter).await? else {
                continue;
            };
            match reason(scope, repo, &pushed, (&branch, &commit)).await? {
                Ok(None) => {}
                // An activation that runs began at this commit, and its push would find no branch.
                Ok(Some(_)) if is_in_use(scope.store, &pushed).await? => {
                    let why = "an activation of its daemon is not finished; prune again after it";
                    pruned.problems.push(format!("`{branch}`: {why}"));
                }
                Ok(Some(reason)) => {
                    let found = PrunedBranch {
                        repo: repo.name.clone(),
                        daemon: pushed.daemon.id,
                        branch,
                        commit,
                        reason,
                        is_removed: false,
                        error: None,
                    };
                    pruned
                        .branches
                        .push(removed(repo, found, filter.mode).await);
                }
                Err(why) => pruned.problems.push(format!("`{branch}`: {why}")),
            }
        }
    }
    Ok(pruned)
}

/// Returns the output that put a branch where it is, if the filter accepts the branch.
async fn pushed(
    store: &dyn Store,
    repo: &RunRepository,
    (branch, commit): (&RefName, &ObjectId),
    filter: &PruneFilter,
) -> Result<Option<Output>, StoreError> {
    let Some(named) = DaemonBranch::parse(branch) else {
        return Ok(None);
    };
    let daemon = named.daemon();
    if filter
        .daemon
        .as_ref()
        .is_some_and(|id| id != daemon.as_str())
    {
        return Ok(None);
    }
    let place = OutputPlace::Revision(commit.to_string());
    let outputs = store.outputs_at(GIT, &place).await?;
    let is_it = |output: &Output| {
        let delivered = output.delivered_at.unwrap_or(output.created_at);
        output.state == OutputState::Confirmed
            && output.target == branch.as_str()
            && output.daemon.id == *daemon
            && output.daemon.repo.folded() == repo.name.folded()
            && filter.before.is_none_or(|before| delivered < before)
    };
    Ok(outputs.into_iter().find(is_it))
}

/// Returns why a branch has served its purpose; `None` if it has not. The inner error is the reason why that is not known.
async fn reason(
    scope: PruneScope<'_>,
    repo: &RunRepository,
    pushed: &Output,
    (branch, commit): (&RefName, &ObjectId),
) -> Result<Result<Option<PruneReason>, String>, StoreError> {
    let commit = commit.clone();
    let merged = blocking(repo, move |repo| is_merged(repo, &commit)).await;
    match merged {
        Ok(true) => return Ok(Ok(Some(PruneReason::Merged))),
        Ok(false) => {}
        Err(why) => return Ok(Err(why)),
    }
    let Some(opened) = opened(scope, pushed, branch).await? else {
        return Ok(Ok(None));
    };
    let state = scope.planner.pull_state(&opened).await;
    Ok(state.map(|state| (state == PullState::Closed).then_some(PruneReason::Closed)))
}

/// Returns the output that opened the pull request of a branch.
async fn opened(
    scope: PruneScope<'_>,
    pushed: &Output,
    branch: &RefName,
) -> Result<Option<Output>, StoreError> {
    let mut query = of_daemon(pushed, OutputState::Confirmed.as_str());
    loop {
        let page = scope.store.outputs(&query).await?;
        let opened = page.rows.into_iter().find(|output| {
            let own = scope.planner.own_output(output);
            own.is_some_and(|own| {
                own.verb == OutputVerb::OpenPullRequest
                    && own.head.as_deref() == Some(branch.as_str())
            })
        });
        query.after = page.next;
        if opened.is_some() || query.after.is_none() {
            return Ok(opened);
        }
    }
}

/// Reports whether an activation may be about to add to a rolling branch: it runs, or its push is not settled.
async fn is_in_use(store: &dyn Store, pushed: &Output) -> Result<bool, StoreError> {
    let is_rolling = RefName::branch(pushed.target.trim_start_matches("refs/heads/"))
        .ok()
        .and_then(|name| DaemonBranch::parse(&name))
        .is_some_and(|name| matches!(name, DaemonBranch::Rolling(..)));
    if !is_rolling {
        return Ok(false);
    }
    for state in [
        ActivationState::Claimed,
        ActivationState::Running,
        ActivationState::Delivering,
    ] {
        let query = of_daemon(pushed, state.as_str());
        if !store.activations(&query).await?.rows.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the query for rows of the daemon of an output in a state.
fn of_daemon(pushed: &Output, state: &str) -> Query {
    Query {
        limit: MAX_PAGE,
        daemon: Some(pushed.daemon.id.to_string()),
        repo: Some(pushed.daemon.repo.clone()),
        state: Some(state.to_owned()),
        ..Query::default()
    }
}

/// Reports whether the default branch has the changes of a commit, by a merge or by a squash.
fn is_merged(repo: &RunRepository, commit: &ObjectId) -> Result<bool, GitError> {
    let (repository, remote) = (&repo.repository, &repo.delivery);
    let default = repository.default_branch_name(&repository.refs()?)?;
    let Some(tip) = repository.branch_tip(remote, &default)? else {
        return Ok(false);
    };
    repository.fetch_tip(remote, &tip)?;
    repository.fetch_tip(remote, commit)?;
    if repository.is_ancestor(commit, &tip)? {
        return Ok(true);
    }
    match repository.merge(commit, &tip)? {
        Merge::Tree(tree) => Ok(tree == repository.tree_of(&tip)?),
        Merge::Conflict => Ok(false),
    }
}

async fn removed(repo: &RunRepository, found: PrunedBranch, mode: PruneMode) -> PrunedBranch {
    if mode == PruneMode::List {
        return found;
    }
    let (branch, commit) = (found.branch.clone(), found.commit.clone());
    let removed = blocking(repo, move |repo| {
        repo.repository
            .remove_branch(&repo.delivery, &branch, &commit)
    });
    let removed = removed.await;
    PrunedBranch {
        is_removed: removed.is_ok(),
        error: removed.err(),
        ..found
    }
}

/// Runs git on a thread for blocking calls.
async fn blocking<T: Send + 'static>(
    repo: &RunRepository,
    work: impl FnOnce(&RunRepository) -> Result<T, GitError> + Send + 'static,
) -> Result<T, String> {
    let repo = repo.clone();
    match tokio::task::spawn_blocking(move || work(&repo)).await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => Err(chain(&error)),
        Err(error) => Err(format!("git panicked: {error}")),
    }
}
