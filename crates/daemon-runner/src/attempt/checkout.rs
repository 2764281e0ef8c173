//! The work tree of an attempt: its commit and its branches, and the instructions of its repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_engine::Activation;
use daemon_event::{DaemonId, Event, Field, Source, is_zeros};
use daemon_provider::Provider;
use daemon_records::error::chain;
use daemon_registry::Registered;
use daemon_repo::{
    Author, Checkout, GitError, GitProblem, Instructions, ObjectId, RefName, RefSnapshot,
    Repository,
};
use daemon_store::EventRow;
use serde::Deserialize;

use super::AttemptRefusal;
use super::place::{Prepared, RunPlace, tip};
use super::rolling::Rolling;
use crate::policy::RunPolicy;
use crate::run_context::RunContext;
use crate::settings::{Overlays, RunRepository, RunSettings};
use crate::trees::Workplace;

/// The commit and branches of a run's work tree, and the instructions of the repository.
#[derive(Clone, Debug)]
pub struct RunSource {
    /// The repository in which git finds the commit.
    pub repository: Repository,
    /// What is checked out.
    pub checkout: Checkout,
    /// The branch of the commit, if it is known.
    pub branch: Option<RefName>,
    /// The branch that the pull request of the commit targets.
    pub base: Option<RefName>,
    /// The instructions in the default branch; none if the policy leaves them out.
    pub instructions: Instructions,
}

impl RunSource {
    /// Reads the branches for a run at a commit.
    ///
    /// The instructions are those at the tip of the default branch, never those of the work tree: what a pull request changes must
    /// not instruct the run that reviews it.
    ///
    /// # Errors
    /// git failed.
    pub fn read(
        repository: &Repository,
        events: &[Event],
        daemon: &DaemonId,
        commit: ObjectId,
        instructions: Instructions,
    ) -> Result<Self, GitError> {
        let refs = repository.refs()?;
        let default = default_branch(repository, &refs)?;
        let branches = branches(&refs, events, &commit, default.clone());
        let (branch, base) = match naming(events) {
            Some((event, _)) => branch_and_base(event, &commit),
            None => (default, None),
        };
        Ok(Self {
            repository: repository.clone(),
            checkout: Checkout {
                commit,
                branches,
                author: Author::daemon(daemon),
            },
            branch,
            base,
            instructions,
        })
    }
}

/// Chooses the commit of an attempt, and reads its branches and instructions.
///
/// # Errors
/// The refusal says whether the attempt may be tried again.
pub(super) async fn source(
    run_context: &RunContext,
    repo: &RunRepository,
    events: &[EventRow],
    daemon: &Registered,
    (policy, rolling): (&RunPolicy, Option<&Rolling>),
) -> Result<RunSource, AttemptRefusal> {
    let events: Vec<Event> = events.iter().map(|row| row.event.clone()).collect();
    let tip = tip(daemon)?;
    let (holder, commit) = match (rolling, naming(&events)) {
        (Some(rolling), _) => (repo.repository.clone(), rolling.start.clone()),
        (None, Some((_, NamedCommits::Unclear(name)))) => {
            return Err(AttemptRefusal::unclear_commit(&repo.name, &name));
        }
        (None, Some((event, NamedCommits::Commits(commits)))) => {
            let pull = event.facts.number(Field::Number);
            locate(run_context, repo, (commits, pull)).await?
        }
        (None, None) => (repo.repository.clone(), tip.clone()),
    };
    let holder = with_files(run_context, repo, (holder, &commit)).await?;
    let repo = repo.clone();
    let (daemon, is_instructed) = (daemon.row.key.id.clone(), policy.is_instructed);
    let ends = rolling.map(|rolling| (rolling.onto.branch.clone(), rolling.base.clone()));
    blocking("reading the branches", move || {
        let instructions = match is_instructed {
            true => repo.instructions.at(&repo.repository, &tip)?,
            false => Instructions::default(),
        };
        let mut source = RunSource::read(&holder, &events, &daemon, commit, instructions)?;
        if let Some((branch, base)) = ends {
            let at = source.checkout.commit.clone();
            source.checkout.branches.insert(branch.clone(), at);
            (source.branch, source.base) = (Some(branch), base);
        }
        Ok(source)
    })
    .await
}

/// Creates the work tree of an attempt, from a kept tree if there is one.
///
/// # Errors
/// The refusal says whether the attempt may be tried again.
pub(super) async fn place(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
) -> Result<RunPlace, AttemptRefusal> {
    let dir = run_context
        .paths
        .worktree(&activation.id, activation.run_lease);
    let (run_context, source) = (Arc::clone(run_context), prepared.source.clone());
    let workplace = workplace(&prepared.settings, &*prepared.provider);
    let limits = prepared.settings.bounds.trees;
    let (worktree, tree) = blocking("making the worktree", move || {
        let from = (&source.repository, &source.checkout);
        run_context.trees.worktree(from, workplace, limits, &dir)
    })
    .await?;
    daemon_records::failpoint::hit("R2");
    let turn = prepared.rolling.as_ref();
    let turn = turn.map(|rolling| Arc::clone(&rolling.turn));
    Ok(RunPlace {
        worktree,
        tree,
        turn,
    })
}

/// Returns where the runs of a provider work.
fn workplace(settings: &RunSettings, provider: &dyn Provider) -> Workplace {
    match settings.sandboxes.overlays() {
        Overlays::Mounted if provider.works_in_overlays() => Workplace::Overlay,
        Overlays::Mounted | Overlays::Unused(_) => Workplace::Directory,
    }
}

/// Runs git on a thread for blocking calls: checking out a large repository takes seconds.
async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, AttemptRefusal> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => Err(unmade(&error)),
        Err(error) => Err(AttemptRefusal::retryable(format!(
            "{what} panicked: {error}"
        ))),
    }
}

/// Returns the branch of the commit, and the branch that its pull request targets.
fn branch_and_base(event: &Event, commit: &ObjectId) -> (Option<RefName>, Option<RefName>) {
    let named = |field| {
        let name = event.facts.text(field)?;
        RefName::branch(name).ok()
    };
    let base = named(Field::Base);
    let after = event.facts.text(Field::After).unwrap_or_default();
    // Otherwise it is the merge commit of a pull request, which is a commit of the base.
    if !after.eq_ignore_ascii_case(commit.as_str()) {
        return (base, None);
    }
    (named(Field::Head).or_else(|| named(Field::Branch)), base)
}

/// Returns the default branch, what the pull requests of the events target and come from, and the branches that moved, each
/// with its commit.
///
/// The head of a pull request need not be a branch of the repository, and may have the name of another branch there: it is at
/// the commit of the work tree if the event is about that commit.
fn branches(
    refs: &RefSnapshot,
    events: &[Event],
    commit: &ObjectId,
    default: Option<RefName>,
) -> BTreeMap<RefName, ObjectId> {
    let names = |field| {
        let names = events.iter().flat_map(move |event| {
            let after = event.facts.text(Field::After).unwrap_or_default();
            let at = after.eq_ignore_ascii_case(commit.as_str());
            let at = at.then_some(commit);
            event.facts.texts(field).map(move |name| (name, at))
        });
        names.filter_map(|(name, at)| Some((RefName::branch(name).ok()?, at)))
    };
    let moved = names(Field::Branch).filter_map(|(name, at)| {
        let at = refs.get(&name).or(at)?.clone();
        Some((name, at))
    });
    let heads = names(Field::Head).filter_map(|(name, at)| {
        let at = at.or(refs.get(&name))?.clone();
        Some((name, at))
    });
    let bases = names(Field::Base).map(|(name, _)| name).chain(default);
    let bases = bases.filter_map(|name| Some((refs.get(&name)?.clone(), name)));
    let bases = bases.map(|(at, name)| (name, at));
    moved.chain(heads).chain(bases).collect()
}

/// Returns the default branch, if there is one.
pub(super) fn default_branch(
    repository: &Repository,
    refs: &RefSnapshot,
) -> Result<Option<RefName>, GitError> {
    match repository.default_branch(refs) {
        Ok(branch) => Ok(Some(branch)),
        Err(error) => match error.problem() {
            // Without one, for example with a detached HEAD, a run works all the same.
            GitProblem::MissingRef { .. } | GitProblem::Unborn => Ok(None),
            _ => Err(error),
        },
    }
}

fn unmade(error: &GitError) -> AttemptRefusal {
    AttemptRefusal::retryable(format!("the worktree: {}", chain(error)))
}

/// Finds the first of some commits that the repository or its store contains, and fetches one if neither has any.
///
/// # Errors
/// The refusal says why none of them could be had.
async fn locate(
    run_context: &RunContext,
    repo: &RunRepository,
    (commits, pull): (Vec<ObjectId>, Option<u64>),
) -> Result<(Repository, ObjectId), AttemptRefusal> {
    let (seeker, wanted) = (repo.clone(), commits.clone());
    let sought = tokio::task::spawn_blocking(move || seek(&seeker, &wanted, pull));
    let sought = tokio::select! {
        sought = sought => sought,
        // Git continues until its own time limit, and what it fetches stays in the store.
        () = run_context.lifetime.stop.cancelled() => return Err(AttemptRefusal::given_back()),
    };
    match sought {
        Ok(Ok(Sought::Found(repository, commit))) => Ok((*repository, commit)),
        Ok(Ok(Sought::Missing(why))) => {
            // Git may print what a remote or a credential helper printed.
            let why = why.map(|why| run_context.secrets.redactor().text(&why).into_owned());
            Err(AttemptRefusal::commit(&repo.name, commits, why.as_deref()))
        }
        Ok(Err(error)) => Err(unmade(&error)),
        Err(error) => Err(AttemptRefusal::retryable(format!(
            "finding the commit panicked: {error}"
        ))),
    }
}

/// Returns the repository in which git finds the files of a commit, and fetches those that are missing in a partial one.
///
/// # Errors
/// The refusal names a file that could not be had.
async fn with_files(
    run_context: &RunContext,
    repo: &RunRepository,
    (holder, commit): (Repository, &ObjectId),
) -> Result<Repository, AttemptRefusal> {
    let commit = commit.clone();
    let found = tokio::task::spawn_blocking(move || holder.with_files(&commit));
    let found = tokio::select! {
        found = found => found,
        () = run_context.lifetime.stop.cancelled() => return Err(AttemptRefusal::given_back()),
    };
    match found {
        Ok(Ok(repository)) => Ok(repository),
        Ok(Err(error)) => match error.problem() {
            GitProblem::MissingFiles { .. } => {
                // Git may print what a remote or a credential helper printed.
                let why = run_context
                    .secrets
                    .redactor()
                    .text(&error.brief())
                    .into_owned();
                Err(AttemptRefusal::files(&repo.name, &why))
            }
            _ => Err(unmade(&error)),
        },
        Err(error) => Err(AttemptRefusal::retryable(format!(
            "finding the files panicked: {error}"
        ))),
    }
}

/// The result of looking for commits.
enum Sought {
    /// The repository in which git finds this commit.
    Found(Box<Repository>, ObjectId),
    /// None of them could be had; the error of the fetch, if there is a remote.
    Missing(Option<String>),
}

fn seek(repo: &RunRepository, commits: &[ObjectId], pull: Option<u64>) -> Result<Sought, GitError> {
    for commit in commits {
        if let Some(holder) = repo.repository.holding(commit)? {
            return Ok(Sought::Found(Box::new(holder), commit.clone()));
        }
    }
    let mut why = None;
    for commit in commits {
        match repo.repository.fetch_into_store(&repo.source, commit, pull) {
            Ok(Some(holder)) => return Ok(Sought::Found(Box::new(holder), commit.clone())),
            Ok(None) => break,
            Err(error) => {
                let failed = || {
                    format!(
                        "it cannot be fetched from `{}`: {}",
                        repo.source,
                        error.brief()
                    )
                };
                why.get_or_insert_with(failed);
            }
        }
    }
    Ok(Sought::Missing(why))
}

/// Returns the first of the commits that the repository contains.
///
/// # Errors
/// git failed.
pub fn present(
    repository: &Repository,
    commits: &[ObjectId],
) -> Result<Option<ObjectId>, GitError> {
    for commit in commits {
        if repository.has_commit(commit)? {
            return Ok(Some(commit.clone()));
        }
    }
    Ok(None)
}

/// The commits that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedCommits {
    /// The run works at the first of these that the repository contains; there is at least one.
    Commits(Vec<ObjectId>),
    /// The event contains this, which is not the full name of a commit.
    Unclear(String),
}

impl NamedCommits {
    /// Returns the commits of the newest event that names one, because it is about the latest state. The events are those of an
    /// activation, oldest first.
    pub fn of(events: &[Event]) -> Option<Self> {
        naming(events).map(|(_, named)| named)
    }
}

/// Returns the newest event that names a commit, with its commits.
pub(super) fn naming(events: &[Event]) -> Option<(&Event, NamedCommits)> {
    let mut newest = events.iter().rev();
    newest.find_map(|event| Some((event, commits_of(event)?)))
}

/// Returns the commits that an event is about: the head of the pull request, or the pushed or checked commit; then the merge
/// commit of a merged pull request.
fn commits_of(event: &Event) -> Option<NamedCommits> {
    // Payloads spell the digits in either case; `ObjectId` accepts lower case only.
    let name = |text: &str| text.to_ascii_lowercase();
    let head = event.facts.text(Field::After).map(name);
    let head = head.filter(|head| !(removes_ref(event) && is_zeros(head)));
    let merged = merge_commit(event);
    let merged = merged.as_deref().map(name);
    let named = head.iter().chain(&merged);
    let commits: Vec<ObjectId> = named.filter_map(|text| text.parse().ok()).collect();
    match commits.is_empty() {
        true => head.map(NamedCommits::Unclear),
        false => Some(NamedCommits::Commits(commits)),
    }
}

/// Returns whether an event may be about a deleted ref, whose new commit is written as zeros.
fn removes_ref(event: &Event) -> bool {
    event.source == Source::Git || matches!(event.kind.as_str(), "push" | "delete")
}

/// Returns the merge commit of the event's pull request; `None` if it is not merged.
fn merge_commit(event: &Event) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        pull_request: Option<PullRequest>,
    }
    #[derive(Deserialize)]
    struct PullRequest {
        merged: Option<bool>,
        merge_commit_sha: Option<String>,
    }
    if event.kind != "pull_request" {
        return None;
    }
    let body: Body = serde_json::from_slice(&event.payload).ok()?;
    let request = body.pull_request?;
    // GitHub sets `merge_commit_sha` of an open pull request to a test merge that no branch contains.
    request
        .merge_commit_sha
        .filter(|_| request.merged == Some(true))
}
