//! What is known of the repositories, and the first reading of each: until it is over, what is stored serves.

use std::collections::{BTreeMap, BTreeSet};

use daemon_event::{Event, RepoName};
use daemon_store::{DaemonRow, Registration, StoreError};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};

use super::{Inner, Parts, repos};
use crate::ops::chain;
use crate::random;

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
    /// While git has not told the name of a repository: the names of all others, whose events do not wait for it.
    others: Option<BTreeSet<String>>,
    /// Whether one of them is being read for the first time; events that name no repository concern it too.
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

/// What the store holds of the daemons of repositories.
#[derive(Debug)]
pub(crate) struct StoredRegistry {
    /// Of each watched repository its daemons, and whether no host has ever read it.
    watched: BTreeMap<RepoName, (Vec<DaemonRow>, bool)>,
    /// Daemons of repositories that may be one whose name is not known yet.
    kept: Vec<(RepoName, Vec<DaemonRow>)>,
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
        let unread = watched.parts.names().filter_map(|name| {
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
    pub(crate) fn note_repo(&self, repo: &RepoName, problem: Option<String>) {
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
        let parts = &self.runtime().parts;
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

    /// Makes the registry what is stored, without repositories that are watched no longer; each of the others is to be
    /// read then.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn load_registry(&self) -> Result<(), StoreError> {
        let stored = self.stored_registry(&self.runtime().parts).await?;
        self.take_registry(stored);
        Ok(())
    }

    /// Reads what is stored of the daemons of some parts, and ends the registrations of repositories that these do not
    /// watch. As long as the name of a repository is not known, every registration may be its, and stays.
    ///
    /// # Errors
    /// If the store fails; what was registered before has to be registered again then.
    pub(crate) async fn stored_registry(
        &self,
        parts: &Parts,
    ) -> Result<StoredRegistry, StoreError> {
        let mut daemons: BTreeMap<RepoName, Vec<DaemonRow>> = BTreeMap::new();
        for row in self.store.daemons().await? {
            daemons.entry(row.key.repo.clone()).or_default().push(row);
        }
        let mut stored = StoredRegistry {
            watched: BTreeMap::new(),
            kept: Vec::new(),
        };
        for repo in parts.names() {
            // The guessed name of one may be the name of another.
            if stored.watched.contains_key(repo) {
                continue;
            }
            let rows = daemons.remove(repo).unwrap_or_default();
            // They are stored after the daemons of a first reading, at its very end.
            let is_new = self.store.ref_cursors(repo).await?.is_empty();
            stored.watched.insert(repo.clone(), (rows, is_new));
        }
        if parts.names().any(|repo| parts.is_guessed(repo)) {
            stored.kept.extend(daemons);
            return Ok(stored);
        }
        let now = random::now();
        for repo in daemons.into_keys() {
            let none = Registration {
                repo,
                commit: String::new(),
                daemons: Vec::new(),
                now,
                since: None,
            };
            self.store.register(none).await?;
        }
        Ok(stored)
    }

    /// Makes the registry what was read of the store.
    pub(crate) fn take_registry(&self, stored: StoredRegistry) {
        let known = self.registry.get();
        let renew = |repo: &RepoName, rows: Vec<DaemonRow>| {
            let daemons = rows.into_iter();
            let daemons = daemons.map(|row| self.registry.renew(&known, row));
            self.registry.replace(repo, daemons.collect());
        };
        for repo in known.iter().map(|daemon| &daemon.row.key.repo) {
            let is_kept = stored.kept.iter().any(|(kept, _)| kept == repo);
            if !is_kept && !stored.watched.contains_key(repo) {
                self.registry.replace(repo, Vec::new());
            }
        }
        let now = random::now();
        let mut state = self.state();
        state
            .repos
            .retain(|repo, _| stored.watched.contains_key(repo));
        for (repo, (rows, is_new)) in stored.watched {
            renew(&repo, rows);
            let state = state.repos.entry(repo).or_default();
            state.reading_since = Some(now);
            state.never_read_since = is_new.then(|| *state.never_read_since.get_or_insert(now));
        }
        drop(state);
        for (repo, rows) in stored.kept {
            renew(&repo, rows);
        }
    }

    /// Waits until every repository was read or could not be, and no longer than `until`.
    pub(crate) async fn first_reading(&self, until: Instant) {
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
        if timeout_at(until, wait).await.is_err() {
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
