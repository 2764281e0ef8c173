//! The driver: the tasks of a host, and what they share.

mod alone;
pub(crate) mod claims;
pub(crate) mod dispatch;
mod effects;
pub(crate) mod facts;
mod loops;
pub(crate) mod matching;
mod origin;
mod parts;
pub mod policies;
pub mod repos;
mod run_directory;
mod sight;
pub(crate) mod ticking;
mod upkeep;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use daemon_dispatch::Concern;
use daemon_engine::{HostEpoch, RunLease, Surface};
use daemon_event::{ActivationId, EventId, RepoName};
use daemon_provider::StopReason;
use daemon_store::{Accepted, Freshness, Store};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::home::Home;
pub use alone::run_one;
use daemon_api::control::RunTokens;
use daemon_registry::SharedRegistry;
use daemon_runner::clock::Clock;
use daemon_runner::secrets::HostSecrets;
use daemon_runner::{Lifetime, RunContext};
use dispatch::Driver;
pub use loops::start;
pub use parts::{Checked, Checker, Naming, NotOpen, Parts, Runtime, Unopened};
use repos::{AwaitedCommits, Watched};
use run_directory::{RunDirectory, SharedRuntime, run_paths};
pub use sight::RepoState;

/// How long a loop that panicked makes the host unready.
const DEFECT_SHOWS: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// What wakes the loops.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    pub(crate) matches: Notify,
    pub(crate) claims: Notify,
    pub(crate) facts: Notify,
    pub(crate) outputs: Notify,
    pub(crate) ticks: Notify,
    pub(crate) repos: Notify,
    /// A first reading of a repository is over.
    pub(crate) read: Notify,
    /// The configuration or the parts were replaced.
    pub(crate) replaced: Notify,
}

/// What the tasks of a host share.
pub struct Inner {
    pub(crate) home: Home,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: SharedRegistry,
    pub(crate) epoch: HostEpoch,
    pub(crate) signals: Signals,
    /// Begins the stop.
    pub(crate) stop: CancellationToken,
    /// Ends what must outlive the drain of runs.
    pub(crate) finished: CancellationToken,
    /// The store can never be written again.
    pub(crate) broken: CancellationToken,
    /// Held for reading by what decides with the registry, for writing by what replaces it.
    pub(crate) registering: Arc<tokio::sync::RwLock<()>>,
    /// Held while the ticks of a round are recorded: what is claimed meanwhile would take the processor from them.
    pub(crate) recording: tokio::sync::Mutex<()>,
    /// The tokens of runs that may ask for what they were granted.
    pub(crate) tokens: RunTokens,
    /// The runs under way, and what they use.
    pub(crate) runs: Arc<RunContext>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Before it nothing is claimed; set in a crash loop.
    claims_from: std::sync::OnceLock<claims::ClaimsFrom>,
    runtime: SharedRuntime,
    awaited: AwaitedCommits,
    state: Mutex<State>,
    backlog: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    repos: BTreeMap<RepoName, RepoState>,
    turns: BTreeMap<RepoName, Arc<tokio::sync::Mutex<()>>>,
    defects: BTreeMap<&'static str, jiff::Timestamp>,
    /// Events that a later report made due again.
    due_again: Vec<EventId>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("home", &self.home)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Puts together what tasks share; `secrets` comes to know what the configuration names.
    pub fn new(
        home: Home,
        store: Arc<dyn Store>,
        epoch: HostEpoch,
        runtime: Runtime,
        secrets: HostSecrets,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        secrets.add(crate::secrets::read(home.root(), &runtime.config));
        let registry = SharedRegistry::default();
        let registering = Arc::default();
        let tokens = RunTokens::default();
        let runtime = SharedRuntime::new(&home, runtime, tokens.clone());
        let awaited = AwaitedCommits::default();
        let directory = RunDirectory {
            home: home.clone(),
            runtime: runtime.clone(),
            registry: registry.clone(),
            registering: Arc::clone(&registering),
            awaited: awaited.clone(),
        };
        let lifetime = Lifetime::default();
        let runs = RunContext::new(
            run_paths(&home),
            Arc::clone(&store),
            Arc::new(directory),
            secrets,
            Arc::clone(&clock),
            lifetime.clone(),
        );
        Arc::new(Self {
            clock,
            home,
            store,
            registry,
            epoch,
            signals: Signals::default(),
            stop: lifetime.stop,
            finished: lifetime.finished,
            broken: CancellationToken::new(),
            registering,
            recording: tokio::sync::Mutex::new(()),
            tokens,
            runs: Arc::new(runs),
            claims_from: std::sync::OnceLock::new(),
            runtime,
            awaited,
            state: Mutex::new(State::default()),
            backlog: AtomicU64::new(0),
        })
    }

    /// Returns the configuration and parts as they are.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.runtime.get()
    }

    /// Returns the configuration.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.runtime().config)
    }

    /// Returns the registry.
    pub fn registry(&self) -> &SharedRegistry {
        &self.registry
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Replaces configuration and parts.
    pub(crate) fn replace_runtime(&self, config: Config, parts: Parts) -> u64 {
        let secrets = crate::secrets::read(self.home.root(), &config);
        self.runs.secrets.add(secrets);
        let generation = self.runtime.replace(config, parts);
        self.signals.replaced.notify_one();
        generation
    }

    /// Notes events that were stored, and has them matched.
    pub(crate) fn events_accepted(&self, accepted: &[Accepted]) {
        let mut n_new = 0;
        for one in accepted {
            match one.freshness {
                Freshness::New => n_new += 1,
                Freshness::Report => self.state().due_again.push(one.id.clone()),
                Freshness::Duplicate => {}
            }
        }
        self.backlog.fetch_add(n_new, Ordering::Relaxed);
        self.signals.matches.notify_one();
    }

    /// Takes the events that became due again.
    fn take_due_again(&self) -> Vec<EventId> {
        std::mem::take(&mut self.state().due_again)
    }

    /// Notes how many events are known to wait.
    pub(crate) fn set_backlog(&self, waiting: u64) {
        self.backlog.store(waiting, Ordering::Relaxed);
    }

    /// Returns about how many events wait to be matched.
    pub(crate) fn backlog(&self) -> u64 {
        self.backlog.load(Ordering::Relaxed)
    }

    /// Tells that the store failed; one that is broken ends the host, so that nothing is acknowledged in vain.
    pub(crate) fn trouble(&self, what: &'static str, error: &daemon_store::StoreError) {
        tracing::error!(error = daemon_runner::error::chain(error), "{what}");
        if matches!(error, daemon_store::StoreError::Broken { .. }) {
            self.broken.cancel();
        }
    }

    /// Returns a surface.
    pub(crate) fn surface(&self, name: &str) -> Option<Arc<dyn Surface>> {
        self.runtime().parts.surfaces.get(name).cloned()
    }

    /// Returns a watched repository, whatever the case of its name.
    pub(crate) fn repo(&self, name: &RepoName) -> Option<Arc<Watched>> {
        let folded = name.folded();
        self.runtime()
            .parts
            .repos
            .iter()
            .find(|repo| repo.name.folded() == folded)
            .cloned()
    }

    /// Reports whether a repository is one of the current parts; after a reload, the same name may be another one.
    pub(crate) fn is_watched(&self, repo: &Arc<Watched>) -> bool {
        let runtime = self.runtime();
        let mut watched = runtime.parts.repos.iter();
        watched.any(|known| Arc::ptr_eq(known, repo))
    }

    fn note_defect(&self, name: &'static str) {
        self.state().defects.insert(name, self.clock.now());
    }

    /// Tells whether a loop panicked within the last minute, and which.
    pub(crate) fn loops(&self) -> Result<(), String> {
        let state = self.state();
        let now = self.clock.now();
        let recent = state
            .defects
            .iter()
            .filter(|(_, at)| now.duration_since(**at) < DEFECT_SHOWS);
        let names: Vec<&str> = recent.map(|(name, _)| *name).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(format!("panicked and began again: {}", names.join(", ")))
    }

    /// Asks the attempt at an activation to stop; the first reason counts.
    pub(crate) fn stop_run(&self, id: &ActivationId, why: StopReason) {
        self.awaited.remove(id);
        self.runs.attempts.stop(id, why);
    }

    /// Returns the leases of what is running.
    pub(crate) fn leases(&self) -> Vec<(ActivationId, RunLease)> {
        self.runs.attempts.leases()
    }

    /// Returns what is held while a repository is read.
    pub(crate) fn turn(&self, repo: &RepoName) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.state().turns.entry(repo.clone()).or_default())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Matches everything that waits.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn match_events(self: &Arc<Self>) -> Result<(), daemon_store::StoreError> {
        matching::match_waiting(&mut Driver::new(self, &[Concern::Matching])).await
    }

    /// Takes back what earlier hosts of this home left leased, after their process trees were ended.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_back(&self) -> Result<(), daemon_store::StoreError> {
        upkeep::take_back(self).await?;
        Ok(())
    }

    /// Removes what earlier hosts of this home left of work trees.
    pub async fn clear_worktrees(self: &Arc<Self>) {
        upkeep::clear_worktrees(self, tokio::time::Instant::now() + upkeep::CLEARING).await;
    }
}
