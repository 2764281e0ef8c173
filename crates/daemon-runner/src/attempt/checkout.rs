//! The work tree of an attempt: its commit and its branches.

use std::collections::BTreeMap;

use daemon_engine::Activation;
use daemon_event::{Event, Field, Source, is_zeros};
use daemon_records::error::chain;
use daemon_registry::Registered;
use daemon_repo::{
    Author, Checkout, GitError, GitProblem, ObjectId, RefName, Repository, Worktree,
};
use daemon_store::EventRow;
use serde::Deserialize;

use super::AttemptRefusal;
use crate::run_context::RunContext;
use crate::settings::RunRepository;

/// Creates the work tree of an attempt.
///
/// # Errors
/// The refusal says whether the attempt may be tried again.
pub(super) async fn worktree(
    run_context: &RunContext,
    repo: &RunRepository,
    activation: &Activation,
    events: &[EventRow],
    daemon: &Registered,
) -> Result<Worktree, AttemptRefusal> {
    let dir = run_context
        .paths
        .worktree(&activation.id, activation.run_lease);
    let named = events.iter().rev().map(|row| {
        let pull = row.event.facts.number(Field::Number);
        (commits_of(&row.event), pull)
    });
    // The newest event that names a commit decides, because it is about the latest state.
    let named = named.into_iter().find(|(named, _)| !named.is_none());
    let (repository, commit) = match named {
        Some((NamedCommits::Unclear(name), _)) => {
            return Err(AttemptRefusal::unclear_commit(&repo.name, &name));
        }
        Some((NamedCommits::Commits(commits), pull)) => {
            locate(run_context, repo, (commits, pull)).await?
        }
        None => {
            let registered = daemon.row.commit.parse().map_err(|error| {
                AttemptRefusal::final_(format!("the registered commit: {error}"))
            })?;
            (repo.repository.clone(), registered)
        }
    };
    let events: Vec<Event> = events.iter().map(|row| row.event.clone()).collect();
    let author = Author::daemon(&daemon.row.key.id);
    // git blocks, and checking out a large repository takes seconds.
    let made = tokio::task::spawn_blocking(move || {
        let branches = branches(&repository, &events, &commit)?;
        let checkout = Checkout {
            commit,
            branches,
            author,
        };
        repository.create_worktree(&checkout, &dir)
    });
    match made.await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => Err(unmade(&error)),
        Err(error) => Err(AttemptRefusal::retryable(format!(
            "making the worktree panicked: {error}"
        ))),
    }
}

/// Returns the default branch, what the pull requests of the events target and come from, and the branches that moved, each
/// with its commit.
///
/// The head of a pull request need not be a branch of the repository, and may have the name of another branch there: it is at
/// the commit of the work tree if the event is about that commit.
fn branches(
    repository: &Repository,
    events: &[Event],
    commit: &ObjectId,
) -> Result<BTreeMap<RefName, ObjectId>, GitError> {
    let refs = repository.refs()?;
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
    let default = match repository.default_branch(&refs) {
        Ok(branch) => Some(branch),
        Err(error) => match error.problem() {
            // Without one, for example with a detached HEAD, a run works all the same.
            GitProblem::MissingRef { .. } | GitProblem::Unborn => None,
            _ => return Err(error),
        },
    };
    let bases = names(Field::Base).map(|(name, _)| name).chain(default);
    let bases = bases.filter_map(|name| Some((refs.get(&name)?.clone(), name)));
    let bases = bases.map(|(at, name)| (name, at));
    Ok(moved.chain(heads).chain(bases).collect())
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
        Ok(Ok(Sought::Found(repository, commit))) => Ok((repository, commit)),
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

/// The result of looking for commits.
enum Sought {
    /// The repository in which git finds this commit.
    Found(Repository, ObjectId),
    /// None of them could be had; the error of the fetch, if there is a remote.
    Missing(Option<String>),
}

fn seek(repo: &RunRepository, commits: &[ObjectId], pull: Option<u64>) -> Result<Sought, GitError> {
    for commit in commits {
        if let Some(holder) = repo.repository.holding(commit)? {
            return Ok(Sought::Found(holder, commit.clone()));
        }
    }
    let mut why = None;
    for commit in commits {
        match repo.repository.fetch_into_store(&repo.source, commit, pull) {
            Ok(Some(holder)) => return Ok(Sought::Found(holder, commit.clone())),
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

/// The commits that an event is about.
#[derive(Debug, PartialEq, Eq)]
enum NamedCommits {
    /// The run works at the first of these that the repository contains.
    Commits(Vec<ObjectId>),
    /// The event contains this, which is not the full name of a commit.
    Unclear(String),
}

impl NamedCommits {
    fn is_none(&self) -> bool {
        matches!(self, Self::Commits(commits) if commits.is_empty())
    }
}

/// Returns the commits that an event is about: the head of the pull request, or the pushed or checked commit; then the merge
/// commit of a merged pull request.
fn commits_of(event: &Event) -> NamedCommits {
    // Payloads spell the digits in either case; `ObjectId` accepts lower case only.
    let name = |text: &str| text.to_ascii_lowercase();
    let head = event.facts.text(Field::After).map(name);
    let head = head.filter(|head| !(removes_ref(event) && is_zeros(head)));
    let merged = merge_commit(event);
    let merged = merged.as_deref().map(name);
    let named = head.iter().chain(&merged);
    let commits: Vec<ObjectId> = named.filter_map(|text| text.parse().ok()).collect();
    match head {
        Some(head) if commits.is_empty() => NamedCommits::Unclear(head),
        _ => NamedCommits::Commits(commits),
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
