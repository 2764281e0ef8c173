//! What is known of the repositories, and the first reading of each: until it is over, what is stored serves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use daemon_event::{Event, RepoName};
use daemon_store::{DaemonRow, Registration, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::{Inner, repos};
use crate::ops::chain;
use crate::random;

/// How long a start or a reload waits for repositories that are not read yet.
pub(crate) const FIRST_READING: Duration = Duration::from_secs(5);
/// How long the events of a repository wait that was never read.
const EVENTS_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// What is known of a repository.
#[derive(Clone, Debug, Default)]
pub struct RepoState {
    /// The commit its registry was read at.
    pub commit: Option<String>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Since when its first reading after the start, or a reload, is under way.
    pub reading_since: Option<Timestamp>,
    /// Since when this host watches it, as long as no host ever read it.
    pub(super) never_read_since: Option<Timestamp>,
    is_forced: bool,
}

/// The repositories whose events cannot be matched yet, since no host ever read their daemons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unread {
    repos: BTreeSet<String>,
    /// Whether one of them is being read for the first time; events that name no repository concern it too.
    is_reading: bool,
}

impl Unread {
    /// Reports whether an event has to wait.
    pub(super) fn concerns(&self, event: &Event) -> bool {
        match &event.repo {
            Some(repo) => self.repos.contains(&repo.folded()),
            None => self.is_reading,
        }
    }
}

impl Inner {
    /// Returns what is known of each repository.
    pub fn repo_states(&self) -> BTreeMap<RepoName, RepoState> {
        self.state().repos.clone()
    }

    /// Names the watched repositories whose daemons are not known as they are, each with the reason.
    pub fn unread(&self) -> Vec<(RepoName, String)> {
        let states = self.repo_states();
        let watched = self.runtime();
        let names = watched.parts.repos.iter().map(|repo| &repo.name);
        let unread = names.filter_map(|name| {
            let state = states.get(name)?;
            let why = match &state.problem {
                Some(problem) => problem.clone(),
                None => format!("it is being read since {}", state.reading_since?),
            };
            Some((name.clone(), why))
        });
        unread.collect()
    }

    pub(super) fn registered_at(&self, repo: &RepoName) -> Option<String> {
        let state = self.state();
        state.repos.get(repo).and_then(|state| state.commit.clone())
    }

    /// Reports whether no host ever read a repository.
    pub(super) fn was_never_read(&self, repo: &RepoName) -> bool {
        let state = self.state();
        let known = state.repos.get(repo);
        known.is_some_and(|state| state.never_read_since.is_some())
    }

    pub(super) fn note_registered(&self, repo: &RepoName, commit: &str) {
        let mut state = self.state();
        let state = state.repos.entry(repo.clone()).or_default();
        state.commit = Some(commit.to_owned());
        state.never_read_since = None;
    }

    /// Notes how a reading ended.
    pub(super) fn note_repo(&self, repo: &RepoName, problem: Option<String>) {
        let mut state = self.state();
        let state = state.repos.entry(repo.clone()).or_default();
        state.problem = problem;
        if state.reading_since.take().is_some() {
            self.signals.read.notify_waiters();
            // What waited for this reading can be matched.
            self.signals.matches.notify_one();
        }
    }

    /// Makes every repository be read again, and its daemons be registered again.
    pub(crate) fn force_repos(&self) {
        for state in self.state().repos.values_mut() {
            state.is_forced = true;
            state.commit = None;
        }
        self.signals.repos.notify_waiters();
    }

    pub(super) fn take_forced(&self, repo: &RepoName) -> bool {
        let mut state = self.state();
        let state = state.repos.get_mut(repo);
        state.is_some_and(|state| std::mem::take(&mut state.is_forced))
    }

    /// Returns whose events cannot be matched yet.
    pub(super) fn events_wait_for(&self, now: Timestamp) -> Unread {
        let state = self.state();
        let waited_for = state.repos.iter().filter(|(_, state)| {
            let since = state.never_read_since;
            since.is_some_and(|since| now.duration_since(since) < EVENTS_WAIT)
        });
        let mut unread = Unread::default();
        for (repo, state) in waited_for {
            unread.is_reading |= state.reading_since.is_some();
            unread.repos.insert(repo.folded());
        }
        unread
    }

    /// Makes the registry what is stored, without repositories that are watched no longer; each of the others is to be
    /// read then.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn load_registry(&self) -> Result<(), StoreError> {
        let runtime = self.runtime();
        let watched: BTreeSet<&RepoName> =
            runtime.parts.repos.iter().map(|repo| &repo.name).collect();
        let mut stored: BTreeMap<RepoName, Vec<DaemonRow>> = BTreeMap::new();
        for row in self.store.daemons().await? {
            stored.entry(row.key.repo.clone()).or_default().push(row);
        }
        let now = random::now();
        for repo in stored.keys().filter(|repo| !watched.contains(repo)) {
            let none = Registration {
                repo: repo.clone(),
                commit: String::new(),
                daemons: Vec::new(),
                now,
                since: None,
            };
            self.store.register(none).await?;
        }
        let known = self.registry.get();
        for repo in &watched {
            let rows = stored.remove(repo).unwrap_or_default().into_iter();
            let daemons = rows.map(|row| self.registry.renew(&known, row)).collect();
            self.registry.replace(repo, daemons);
            // They are stored after the daemons of a first reading, at its very end.
            let is_new = self.store.ref_cursors(repo).await?.is_empty();
            let mut state = self.state();
            let state = state.repos.entry(RepoName::clone(repo)).or_default();
            state.reading_since = Some(now);
            state.never_read_since = is_new.then(|| *state.never_read_since.get_or_insert(now));
        }
        self.state().repos.retain(|repo, _| watched.contains(repo));
        Ok(())
    }

    /// Waits until every repository was read or could not be, at most for [`FIRST_READING`].
    pub(crate) async fn first_reading(&self) {
        let wait = async {
            loop {
                let read = self.signals.read.notified();
                let mut read = std::pin::pin!(read);
                read.as_mut().enable();
                let is_over = |repo: &RepoState| repo.reading_since.is_none();
                if self.state().repos.values().all(is_over) {
                    return;
                }
                read.await;
            }
        };
        if tokio::time::timeout(FIRST_READING, wait).await.is_err() {
            for (repo, why) in self.unread() {
                tracing::warn!(%repo, why, "a repository is not read yet; the others do not wait for it");
            }
        }
    }

    /// Loads the registry and reads every repository, one after the other.
    ///
    /// # Errors
    /// If the store fails. A repository that cannot be read is noted and does not hinder the others.
    pub async fn first_sight(&self) -> Result<(), StoreError> {
        self.load_registry().await?;
        self.read_repos().await
    }

    /// Reads the watched repositories, and leaves those of others as they are stored.
    ///
    /// # Errors
    /// If the store fails. A repository that cannot be read is noted.
    pub async fn read_repos(&self) -> Result<(), StoreError> {
        for repo in &self.runtime().parts.repos {
            let read = repos::sync(self, repo, &self.stop).await;
            self.note_repo(&repo.name, read.err().map(|error| chain(&error)));
        }
        Ok(())
    }
}
