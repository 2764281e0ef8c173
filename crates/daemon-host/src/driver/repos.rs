//! Reads repositories: moves of refs become events, and the tree of the default branch becomes the registry.

mod awaited;
mod moves;
mod registering;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use daemon_event::{DaemonKey, RepoName};
use daemon_repo::{
    DaemonSource, FetchSource, GitError, ObjectId, RefName, RefSnapshot, RemoteName, Repository,
};
use notify::Watcher as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::backlog::Backlog;
use super::matching::Matcher;
use super::registrations::Registrations;
use super::signals::Signals;
use crate::disk::Space;
use crate::home::Home;
pub(super) use awaited::AwaitedCommits;
use daemon_records::clock::Clock;
use daemon_store::Store;
use moves::{accept, moves};
use registering::{discover, register};

/// How long notices of the file system are collected before refs are read.
const SETTLE: Duration = Duration::from_millis(20);

/// One watched repository.
#[derive(Debug)]
pub struct Watched {
    /// Its name.
    pub name: RepoName,
    /// The repository.
    pub repository: Repository,
    /// The configured branch.
    pub branch: Option<String>,
    /// The remote whose refs are watched instead of the local ones.
    pub remote: Option<RemoteName>,
    /// Where commits are fetched from that events name and the repository does not have.
    pub source: FetchSource,
    /// The zone of its daemons' schedules.
    pub zone: Option<String>,
    /// The interval at which its refs are read without a notification.
    pub poll: Duration,
}

/// What went wrong with a repository.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepoError {
    /// Git failed.
    #[error("git failed in `{repo}`")]
    Git {
        /// The repository.
        repo: RepoName,
        /// The cause.
        #[source]
        source: GitError,
    },
    /// The store failed.
    #[error("the registry of `{repo}` could not be stored")]
    Store {
        /// The repository.
        repo: RepoName,
        /// The cause.
        #[source]
        source: daemon_store::StoreError,
    },
    /// The moves of its refs cannot be stored; they are found again.
    #[error("the moves in `{repo}` cannot be stored: the disk: {why}")]
    NoRoom {
        /// The repository.
        repo: RepoName,
        /// What is the matter with the disk.
        why: String,
    },
    /// The host stops, or has replaced its configuration.
    #[error("reading `{repo}` was stopped")]
    Stopped {
        /// The repository.
        repo: RepoName,
    },
    /// A task panicked.
    #[error("reading `{repo}` panicked")]
    Panicked {
        /// The repository.
        repo: RepoName,
        /// The cause.
        #[source]
        source: tokio::task::JoinError,
    },
}

/// Reads repositories; clones share the state.
#[derive(Clone)]
pub(crate) struct RepositoryReader {
    home: Home,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    registrations: Registrations,
    awaited: AwaitedCommits,
    backlog: Arc<Backlog>,
    signals: Arc<Signals>,
    locks: ReadingLocks,
}

impl RepositoryReader {
    /// Creates a reader whose moves of refs `matcher` matches.
    pub(super) fn new(home: &Home, matcher: &Matcher, awaited: &AwaitedCommits) -> Self {
        Self {
            home: home.clone(),
            store: Arc::clone(&matcher.store),
            clock: Arc::clone(&matcher.clock),
            registrations: matcher.registrations.clone(),
            awaited: awaited.clone(),
            backlog: Arc::clone(&matcher.backlog),
            signals: Arc::clone(&matcher.signals),
            locks: ReadingLocks::default(),
        }
    }

    /// Returns an error with its causes and without secrets: git repeats addresses and what servers say.
    fn problem(&self, error: &RepoError) -> String {
        let secrets = &self.registrations.secrets;
        secrets.removed_from(&daemon_records::error::chain(error))
    }
}

/// One lock for each repository, held while it is read.
#[derive(Clone, Debug, Default)]
struct ReadingLocks(Arc<Mutex<BTreeMap<RepoName, Arc<tokio::sync::Mutex<()>>>>>);

impl ReadingLocks {
    fn of(&self, repo: &RepoName) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().expect("no holder panics");
        Arc::clone(locks.entry(repo.clone()).or_default())
    }
}

/// Reads the watched repositories once, one after the other. An error of one of them is recorded in its state.
pub(super) async fn read_all(reader: &RepositoryReader, stop: &CancellationToken) {
    let runtime = reader.registrations.runtime.get();
    for repo in &runtime.parts.repos {
        let read = sync(reader, repo, stop).await;
        let problem = read.err().map(|error| reader.problem(&error));
        reader
            .registrations
            .states
            .reading_ended(&repo.name, problem);
    }
}

/// Reads one repository whenever its refs change, until the host stops.
pub(super) async fn run(reader: RepositoryReader, repo: Arc<Watched>, stop: CancellationToken) {
    let moved = Arc::new(Notify::new());
    // A remote sends no notification of a change, so it is fetched at each poll.
    let watcher = repo
        .remote
        .is_none()
        .then(|| watch(&repo, Arc::clone(&moved)));
    let mut seen = None;
    while !stop.is_cancelled() {
        // Taken before the refs are read: a move during the reading changes the next fingerprint and is not missed.
        let fingerprint = repo.repository.refs_fingerprint().ok();
        let is_forced = reader.registrations.states.take_forced(&repo.name);
        if repo.remote.is_some() || fingerprint.is_none() || fingerprint != seen || is_forced {
            match sync(&reader, &repo, &stop).await {
                Ok(()) => {
                    reader.registrations.states.reading_ended(&repo.name, None);
                    seen = fingerprint;
                }
                // A stopped reading is repeated by the next configuration, if that has the repository.
                Err(RepoError::Stopped { .. }) => break,
                Err(error) => {
                    let text = reader.problem(&error);
                    tracing::error!(repo = %repo.name, error = text, "a repository could not be read");
                    reader
                        .registrations
                        .states
                        .reading_ended(&repo.name, Some(text));
                }
            }
        }
        let git = Git {
            repo: &repo,
            stop: &stop,
        };
        match awaited::look(&reader, &git).await {
            Ok(()) | Err(RepoError::Stopped { .. }) => {}
            Err(error) => {
                let error = daemon_records::error::chain(&error);
                tracing::warn!(repo = %repo.name, error, "the search for awaited commits failed");
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = reader.signals.repos.notified() => {}
            () = moved.notified() => tokio::time::sleep(SETTLE).await,
            () = tokio::time::sleep(repo.poll) => {}
        }
    }
    drop(watcher);
}

/// Watches the refs of a repository for changes; without a watcher only polling finds them.
fn watch(repo: &Watched, moved: Arc<Notify>) -> Option<notify::RecommendedWatcher> {
    let notify_move = move |event: notify::Result<notify::Event>| {
        // Reading the refs causes access events, which would start the next reading.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            moved.notify_one();
        }
    };
    let begin = || -> notify::Result<notify::RecommendedWatcher> {
        let mut watcher = notify::recommended_watcher(notify_move)?;
        let common: PathBuf = repo.repository.common_dir().to_owned();
        // Not recursive: `objects` has many directories and no refs, while `HEAD` and `packed-refs` are at the top.
        watcher.watch(&common, notify::RecursiveMode::NonRecursive)?;
        watcher.watch(&common.join("refs"), notify::RecursiveMode::Recursive)?;
        Ok(watcher)
    };
    match begin() {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(repo = %repo.name, %error, "refs cannot be watched; they are polled");
            None
        }
    }
}

/// The refs of a repository and the tip of its default branch, read at one time.
struct Sight {
    refs: RefSnapshot,
    branch: RefName,
    tip: ObjectId,
}

/// Returns the daemons in the default branch of a repository, valid or not.
pub(super) async fn daemons(
    repo: &Arc<Watched>,
    stop: &CancellationToken,
) -> Result<Vec<DaemonKey>, RepoError> {
    let git = Git { repo, stop };
    let found = git
        .run(|repo| repo.repository.discover(&look(repo)?.tip))
        .await?;
    let key = |source: &DaemonSource| {
        Some(DaemonKey {
            repo: repo.name.clone(),
            id: source.dir.as_str().parse().ok()?,
        })
    };
    Ok(found.daemons.iter().filter_map(key).collect())
}

/// Stores the moves of refs since the last reading as events, then registers the daemons of the default branch.
///
/// # Errors
/// If git or the store fails, or `stop` comes first; everything is done again then.
pub(super) async fn sync(
    reader: &RepositoryReader,
    repo: &Arc<Watched>,
    stop: &CancellationToken,
) -> Result<(), RepoError> {
    // Two readings at a time could replace newer positions of the refs by older ones, and report the moves again.
    let turn = reader.locks.of(&repo.name);
    let turn = turn.lock().await;
    let git = Git { repo, stop };
    let sight = Arc::new(git.run(look).await?);
    let ref_moves = moves(reader, &git, &sight).await?;
    // Refused like a webhook. The cursors stay, so the next reading finds the same moves.
    if ref_moves
        .as_ref()
        .is_some_and(|ref_moves| !ref_moves.events.is_empty())
        && let Some(why) = Space::of(reader.home.root()).refusal(reader.home.root())
    {
        let repo = repo.name.clone();
        return Err(RepoError::NoRoom { repo, why });
    }
    // Before the lock, which matching waits for: reading and checking the files takes the longest.
    let found = discover(reader, &git, &sight.tip).await?;
    // A push is matched by the daemon files that it contains: a file that it made invalid is not woken by it.
    let registering = match &found {
        Some(_) => Some(reader.registrations.replacing().await),
        None => None,
    };
    // A reload may have replaced the parts since: what was found for the old ones would undo what belongs to the new ones.
    if !reader.registrations.runtime.is_watched(repo) {
        let repo = repo.name.clone();
        return Err(RepoError::Stopped { repo });
    }
    // The cursors of a first reading say that it is over: a host that dies before they are stored leaves the repository as
    // never read. Later, moves come first, so that a daemon that is new is not woken by those of the same push.
    let (first, then) = match ref_moves {
        Some(ref_moves) if ref_moves.is_baseline => (None, Some(ref_moves)),
        ref_moves => (ref_moves, None),
    };
    if let Some(ref_moves) = first {
        accept(reader, repo, ref_moves).await?;
    }
    daemon_records::failpoint::hit("D1");
    if let Some(found) = found {
        register(reader, repo, found).await?;
    }
    if let Some(ref_moves) = then {
        accept(reader, repo, ref_moves).await?;
    }
    drop((registering, turn));
    daemon_records::failpoint::hit("D4");
    reader.signals.matches.notify_one();
    Ok(())
}

/// Reads the refs, and which commit of which branch is the default.
fn look(repo: &Watched) -> Result<Sight, GitError> {
    let refs = match &repo.remote {
        Some(remote) => repo.repository.fetch(remote)?,
        None => repo.repository.refs()?,
    };
    let branch = match &repo.branch {
        Some(name) => repo.repository.find_ref(name, &refs)?,
        None => repo.repository.default_branch(&refs)?,
    };
    let tip = refs
        .get(&branch)
        .expect("a default branch is one of the refs")
        .clone();
    let tip = match repo.repository.uncommitted_directory() {
        Some(uncommitted) => uncommitted.commit.clone(),
        None => repo.repository.commit_of(&tip)?,
    };
    Ok(Sight { refs, branch, tip })
}

/// Git in one repository, waited for until a stop.
struct Git<'a> {
    repo: &'a Arc<Watched>,
    stop: &'a CancellationToken,
}

impl Git<'_> {
    /// Runs git on a thread for blocking calls. After a stop the thread continues until git ends, and its result is dropped.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Watched) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, RepoError> {
        let repo = self.repo.name.clone();
        let on_thread = Arc::clone(self.repo);
        let done = tokio::select! {
            () = self.stop.cancelled() => return Err(RepoError::Stopped { repo }),
            done = tokio::task::spawn_blocking(move || work(&on_thread)) => done,
        };
        match done {
            Ok(result) => result.map_err(|source| RepoError::Git { repo, source }),
            Err(source) => Err(RepoError::Panicked { repo, source }),
        }
    }
}

fn store_failed(repo: &Watched, source: daemon_store::StoreError) -> RepoError {
    RepoError::Store {
        repo: repo.name.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
