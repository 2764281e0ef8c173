//! What is known of the repositories, and the first reading of each: until it is over, what is stored serves.

use std::collections::{BTreeMap, BTreeSet};

use daemon_event::{Event, RepoName};
use daemon_store::{DaemonRow, Registration, StoreError};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, timeout_at};

use super::{Inner, Parts, repos};
use daemon_runner::error::chain;

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
    /// While the name of a repository is not known: the names of all others, whose events do not wait for it.
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
    /// The daemons of watched repositories, and of any that may be one whose name is not known yet.
    rows: Vec<DaemonRow>,
    /// The watched repositories, each with whether no host has ever read it.
    watched: BTreeMap<RepoName, bool>,
    /// The repositories that are registered and not watched.
    unwatched: BTreeSet<RepoName>,
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

    /// Makes the registry what is stored, without repositories that are watched no longer, and returns these; each of the
    /// others is to be read then.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn load_registry(&self) -> Result<BTreeSet<RepoName>, StoreError> {
        let stored = self.stored_registry(&self.runtime().parts).await?;
        Ok(self.take_registry(stored))
    }

    /// Reads what is stored of the daemons of some parts. As long as the name of a repository is not known, every
    /// registration may be its.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn stored_registry(
        &self,
        parts: &Parts,
    ) -> Result<StoredRegistry, StoreError> {
        let is_complete = !parts.names().any(|repo| parts.is_guessed(repo));
        let names: BTreeSet<&RepoName> = parts.names().collect();
        let mut rows = self.store.daemons().await?;
        let mut unwatched = BTreeSet::new();
        if is_complete {
            let all = rows.iter().map(|row| &row.key.repo);
            unwatched.extend(all.filter(|repo| !names.contains(repo)).cloned());
            rows.retain(|row| !unwatched.contains(&row.key.repo));
        }
        let mut watched = BTreeMap::new();
        for repo in names {
            // They are stored after the daemons of a first reading, at its very end.
            let is_new = self.store.ref_cursors(repo).await?.is_empty();
            watched.insert(repo.clone(), is_new);
        }
        Ok(StoredRegistry {
            rows,
            watched,
            unwatched,
        })
    }

    /// Makes the registry what was read of the store, and returns the repositories that are registered and not watched.
    pub(crate) fn take_registry(&self, stored: StoredRegistry) -> BTreeSet<RepoName> {
        let known = self.registry.get();
        let rows = stored.rows.into_iter();
        let daemons = rows.map(|row| self.registry.renew(&known, row)).collect();
        self.registry.replace_all(daemons);
        let now = self.clock.now();
        let mut state = self.state();
        state
            .repos
            .retain(|repo, _| stored.watched.contains_key(repo));
        for (repo, is_new) in stored.watched {
            let state = state.repos.entry(repo).or_default();
            state.reading_since = Some(now);
            state.never_read_since = is_new.then(|| *state.never_read_since.get_or_insert(now));
        }
        stored.unwatched
    }

    /// Ends the registrations of repositories, unless they are watched by now. Their pending activations are cancelled, so
    /// this is done last, after all that a reload or a start can be refused for.
    ///
    /// What the store fails to end is found again by the next reload or start.
    pub(crate) async fn end_registrations(&self, unwatched: BTreeSet<RepoName>) {
        // A reload that watches them again waits for this.
        let registering = self.registering.write().await;
        let runtime = self.runtime();
        let names: BTreeSet<&RepoName> = runtime.parts.names().collect();
        let is_incomplete = names.iter().any(|repo| runtime.parts.is_guessed(repo));
        let now = self.clock.now();
        for repo in unwatched {
            if is_incomplete || names.contains(&repo) {
                continue;
            }
            let none = Registration {
                repo,
                commit: String::new(),
                daemons: Vec::new(),
                now,
                since: None,
            };
            if let Err(error) = self.store.register(none).await {
                let what =
                    "the registration of a repository that is watched no longer could not be ended";
                self.trouble(what, &error);
            }
        }
        drop(registering);
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
        let unwatched = self.load_registry().await?;
        self.end_registrations(unwatched).await;
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
