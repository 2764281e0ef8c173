//! The registered daemons of the watched repositories, in the store and in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_event::RepoName;
use daemon_records::clock::Clock;
use daemon_registry::SharedRegistry;
use daemon_runner::secrets::HostSecrets;
use daemon_store::{DaemonRow, Registration, Store, StoreError};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Parts;
use super::failures::Failures;
use super::repository_states::RepositoryStates;
use super::run_directory::SharedRuntime;
use super::tick_health::TickHealth;

/// The stored daemons of repositories.
#[derive(Debug)]
pub(crate) struct StoredRegistry {
    /// The daemons of watched repositories, and of any that may be one whose name is not known yet.
    rows: Vec<DaemonRow>,
    /// The watched repositories, each with whether no host has ever read it.
    watched: BTreeMap<RepoName, bool>,
    /// The repositories that are registered and not watched.
    unwatched: BTreeSet<RepoName>,
}

/// The registry, the configuration that it belongs to, and the lock that keeps store and memory together; a clone shares them.
#[derive(Clone)]
pub(crate) struct Registrations {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(crate) runtime: SharedRuntime,
    pub(crate) registry: SharedRegistry,
    pub(crate) states: Arc<RepositoryStates>,
    pub(crate) schedules: Arc<TickHealth>,
    pub(super) failures: Arc<Failures>,
    pub(super) lock: Arc<RwLock<()>>,
    /// What neither the store nor an interface may contain.
    pub(super) secrets: HostSecrets,
}

impl Registrations {
    /// Keeps the registry as it is while a decision that depends on it is made and stored.
    pub(crate) async fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// Waits until no decision depends on the registry, and keeps others from being made while it is replaced.
    pub(crate) async fn replacing(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().await
    }

    /// Makes the registry what the store has for the watched repositories, and returns the registered ones that are not
    /// watched. The first reading of each watched repository begins.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn load(&self) -> Result<BTreeSet<RepoName>, StoreError> {
        let stored = self.stored(&self.runtime.get().parts).await?;
        Ok(self.install(stored))
    }

    /// Reads what the store has for the repositories of some parts. While the name of a repository is a guess, any
    /// registration may belong to it.
    ///
    /// # Errors
    /// If the store fails.
    pub(crate) async fn stored(&self, parts: &Parts) -> Result<StoredRegistry, StoreError> {
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
            // The cursors of the refs are stored at the very end of a first reading, after the daemons, so that a host which
            // dies in between leaves the repository as never read.
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
    pub(crate) fn install(&self, stored: StoredRegistry) -> BTreeSet<RepoName> {
        let known = self.registry.get();
        let rows = stored.rows.into_iter();
        let daemons = rows.map(|row| self.registry.renew(&known, row)).collect();
        self.registry.replace_all(daemons);
        self.states.watch(stored.watched, self.clock.now());
        stored.unwatched
    }

    /// Ends the registrations of repositories that are still not watched. That cancels their pending activations, so it is
    /// done last, after everything that a start or a reload can be refused for.
    ///
    /// What the store fails to end is found again by the next reload or start.
    pub(crate) async fn end(&self, unwatched: BTreeSet<RepoName>) {
        // Another host may watch them.
        if self.store.is_shared() {
            return;
        }
        // A reload that watches them again waits for this.
        let replacing = self.replacing().await;
        let runtime = self.runtime.get();
        let names: BTreeSet<&RepoName> = runtime.parts.names().collect();
        let is_incomplete = names.iter().any(|repo| runtime.parts.is_guessed(repo));
        let now = self.clock.now();
        for repo in unwatched {
            if is_incomplete || names.contains(&repo) {
                continue;
            }
            let empty = Registration {
                repo,
                commit: String::new(),
                daemons: Vec::new(),
                now,
                since: None,
            };
            if let Err(error) = self.store.register(empty).await {
                let what =
                    "the registration of a repository that is watched no longer could not be ended";
                self.failures.store_failed(what, &error);
            }
        }
        drop(replacing);
    }
}
