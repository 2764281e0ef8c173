//! The state of each repository: the commit that was read, or the reason why it was not read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_event::{Event, RepoName};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};

use super::run_directory::SharedRuntime;
use super::signals::Signals;

/// How long the events of a repository that was never read wait for its daemons. After that they are matched with the daemons
/// that are known, so that a repository which git cannot read does not keep events unmatched without end.
const EVENTS_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// The state of one repository.
#[derive(Clone, Debug, Default)]
pub struct RepoState {
    /// The commit whose daemons are registered; `None` until this host has read the repository.
    pub commit: Option<String>,
    /// Why the last reading failed.
    pub problem: Option<String>,
    /// When its first reading after a start or a reload began; `None` once that has ended.
    pub reading_since: Option<Timestamp>,
    /// When this host began to watch it, as long as no host has ever read it.
    never_read_since: Option<Timestamp>,
    is_forced: bool,
}

/// The repositories whose events cannot be matched yet, since no host has ever read their daemons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    repos: BTreeSet<String>,
    /// The names of all other repositories, while the name of an unread one is a guess: any other name may be its.
    others: Option<BTreeSet<String>>,
    /// Whether one of them is being read for the first time. An event that names no repository may concern it.
    is_reading: bool,
}

impl Unread {
    /// Reports whether an event has to wait.
    pub(super) fn concerns(&self, event: &Event) -> bool {
        match &event.repo {
            Some(repo) => {
                let name = repo.folded();
                let may_be_unnamed = |others: &BTreeSet<String>| !others.contains(&name);
                self.repos.contains(&name) || self.others.as_ref().is_some_and(may_be_unnamed)
            }
            None => self.is_reading,
        }
    }
}

/// The states of the watched repositories.
#[derive(Debug)]
pub(crate) struct RepositoryStates {
    runtime: SharedRuntime,
    signals: Arc<Signals>,
    states: Mutex<BTreeMap<RepoName, RepoState>>,
}

impl RepositoryStates {
    pub(super) fn new(runtime: &SharedRuntime, signals: &Arc<Signals>) -> Self {
        Self {
            runtime: runtime.clone(),
            signals: Arc::clone(signals),
            states: Mutex::default(),
        }
    }

    /// Returns the state of each repository.
    pub(crate) fn all(&self) -> BTreeMap<RepoName, RepoState> {
        self.states().clone()
    }

    /// Returns the watched repositories that were not read since the start, or not without an error, each with the reason.
    pub(crate) fn unread(&self) -> Vec<(RepoName, String)> {
        let states = self.all();
        let runtime = self.runtime.get();
        let unread = runtime.parts.names().filter_map(|name| {
            let state = states.get(name)?;
            let why = match &state.problem {
                Some(problem) => problem.clone(),
                None => format!("it is being read since {}", state.reading_since?),
            };
            Some((name.clone(), why))
        });
        unread.collect()
    }

    /// Returns the commit whose daemons are registered.
    pub(super) fn registered_at(&self, repo: &RepoName) -> Option<String> {
        let states = self.states();
        states.get(repo).and_then(|state| state.commit.clone())
    }

    /// Reports whether no host has ever read a repository.
    pub(super) fn was_never_read(&self, repo: &RepoName) -> bool {
        let states = self.states();
        let known = states.get(repo);
        known.is_some_and(|state| state.never_read_since.is_some())
    }

    /// Records that the daemons of a commit are registered.
    pub(super) fn registered(&self, repo: &RepoName, commit: &str) {
        let mut states = self.states();
        let state = states.entry(repo.clone()).or_default();
        state.commit = Some(commit.to_owned());
        state.never_read_since = None;
    }

    /// Records how a reading ended.
    pub(crate) fn reading_ended(&self, repo: &RepoName, problem: Option<String>) {
        let mut states = self.states();
        let state = states.entry(repo.clone()).or_default();
        state.problem = problem;
        if state.reading_since.take().is_some() {
            self.signals.read.notify_waiters();
            // Events that waited for this reading can be matched.
            self.signals.matches.notify_one();
        }
    }

    /// Makes every repository be read and its daemons be registered again.
    pub(crate) fn force_all(&self) {
        for state in self.states().values_mut() {
            state.is_forced = true;
            // The rows depend on the configuration too, such as its zone, so they are made again for the same commit.
            state.commit = None;
        }
        self.signals.repos.notify_waiters();
    }

    /// Reports whether a repository has to be read although its refs have not changed, and clears that.
    pub(super) fn take_forced(&self, repo: &RepoName) -> bool {
        let mut states = self.states();
        let state = states.get_mut(repo);
        state.is_some_and(|state| std::mem::take(&mut state.is_forced))
    }

    /// Returns the repositories whose events cannot be matched at an instant.
    pub(super) fn unmatchable(&self, now: Timestamp) -> Unread {
        let states = self.states();
        let waited_for = states.iter().filter(|(_, state)| {
            let since = state.never_read_since;
            since.is_some_and(|since| now.duration_since(since) < EVENTS_WAIT)
        });
        let mut unread = Unread::default();
        let parts = &self.runtime.get().parts;
        for (repo, state) in waited_for {
            unread.is_reading |= state.reading_since.is_some();
            unread.repos.insert(repo.folded());
            if parts.is_guessed(repo) {
                let others = parts.names().filter(|name| *name != repo);
                unread.others = Some(others.map(RepoName::folded).collect());
            }
        }
        unread
    }

    /// Replaces the watched repositories, each with whether no host has ever read it. Their first reading begins.
    pub(super) fn watch(&self, watched: BTreeMap<RepoName, bool>, now: Timestamp) {
        let mut states = self.states();
        states.retain(|repo, _| watched.contains_key(repo));
        for (repo, is_new) in watched {
            let state = states.entry(repo).or_default();
            state.reading_since = Some(now);
            // A reload does not extend the time that events wait.
            state.never_read_since = is_new.then(|| *state.never_read_since.get_or_insert(now));
        }
    }

    /// Waits until the first reading of every repository has ended, and no longer than `until`.
    pub(crate) async fn first_reading(&self, until: Instant) {
        let wait = async {
            loop {
                let read = self.signals.read.notified();
                let mut read = std::pin::pin!(read);
                // Enabled before the states are examined, so that a reading which ends in between is not missed.
                read.as_mut().enable();
                let is_over = |repo: &RepoState| repo.reading_since.is_none();
                if self.states().values().all(is_over) {
                    return;
                }
                read.await;
            }
        };
        if timeout_at(until, wait).await.is_err() {
            for (repo, why) in self.unread() {
                tracing::warn!(%repo, why, "a repository is not read yet; the others do not wait for it");
            }
        }
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<RepoName, RepoState>> {
        self.states.lock().expect("no holder panics")
    }

    /// Makes a repository one that no host has ever read, and whose reading has ended.
    #[cfg(test)]
    pub(super) fn never_read(&self, repo: RepoName, since: Timestamp) {
        let state = RepoState {
            never_read_since: Some(since),
            ..RepoState::default()
        };
        self.states().insert(repo, state);
    }
}
