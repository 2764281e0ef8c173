//! What carrying out runs uses of the host around it.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_engine::{Activation, Gate, RunLease};
use daemon_event::{ActivationId, DaemonKey};
use daemon_lifecycle::StopReason;
use daemon_records::clock::Clock;
use daemon_registry::Registered;
use daemon_repo::ObjectId;
use daemon_run_folder::RunId;
use daemon_store::Store;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::budget::DailyBudget;
use crate::emanation::Emanations;
use crate::mail::Postbox;
use crate::rolling_turns::RollingTurns;
use crate::running::RunningAttempts;
use crate::secrets::HostSecrets;
use crate::settings::RunSettings;
use crate::trees::Trees;

/// The name of the directory of notices below a home.
pub const NOTICES: &str = ".notification";

/// The part of a host that runs ask while they are carried out.
#[async_trait]
pub trait RunHost: Send + Sync {
    /// Returns the settings in force; a reload replaces them between two calls.
    fn settings(&self) -> Arc<RunSettings>;

    /// Returns a registered daemon, after a registration that is being written has reached the memory.
    async fn daemon(&self, key: &DaemonKey) -> Option<Arc<Registered>>;

    /// Records the gate of a daemon as the end of an attempt left it.
    fn set_gate(&self, daemon: &DaemonKey, gate: Gate);

    /// Records that an activation waits for one of some commits, or, without commits, for its repository.
    fn await_commits(&self, activation: &Activation, commits: Vec<ObjectId>);

    /// Records that an attempt at an activation begins, so that the activation waits for no commit any more.
    fn attempt_begins(&self, activation: &ActivationId);

    /// Returns why no run may start, if so.
    fn pause(&self) -> Option<String>;

    /// Returns what delivers the mail of one-off runs; `None` if nothing does.
    fn postbox(&self) -> Option<Arc<dyn Postbox>> {
        None
    }
}

/// The directories of a home that runs use.
#[derive(Clone, Debug)]
pub struct RunPaths {
    /// The run folders.
    pub runs: PathBuf,
    /// The work trees of attempts and one-off runs.
    pub worktrees: PathBuf,
    /// The trees that are kept between runs.
    pub trees: PathBuf,
    /// The places of conversations.
    pub conversations: PathBuf,
    /// The working directories of granted MCP servers.
    pub servers: PathBuf,
    /// The presets of model providers.
    pub presets: PathBuf,
    /// The notices of ended one-off runs.
    pub notices: PathBuf,
    /// The directory of files that exist only while the host runs.
    pub running: PathBuf,
}

/// Why a run may not work in a directory, after its path.
pub(crate) const EXPOSED: &str = "is or contains the home of the host, or is in it: no run may reach its token and configuration";

/// The number of scratch directories that were named since the start.
static N_SCRATCH: AtomicUsize = AtomicUsize::new(0);

impl RunPaths {
    /// Reports whether a run in a directory would reach what the home keeps from runs: its token, its configuration, the records of
    /// other runs. Links are followed. The places that the home makes for runs are excepted.
    pub fn exposes_home(&self, directory: &Path) -> bool {
        let resolved = |path: &Path| {
            path.canonicalize()
                .unwrap_or_else(|_missing| path.to_owned())
        };
        let (Some(home), directory) = (self.runs.parent().map(resolved), resolved(directory))
        else {
            return false;
        };
        let places = [&self.worktrees, &self.conversations];
        let is_place = places
            .iter()
            .any(|place| directory.starts_with(resolved(place)));
        home.starts_with(&directory) || (directory.starts_with(&home) && !is_place)
    }

    /// Returns the directory of one attempt's work tree.
    pub fn worktree(&self, id: &ActivationId, lease: RunLease) -> PathBuf {
        self.worktrees.join(format!("{id}-{}", lease.0))
    }

    /// Returns the path of a directory that no other task of this host uses. A dead host may have left one there.
    pub(crate) fn scratch(&self) -> PathBuf {
        let n = N_SCRATCH.fetch_add(1, Ordering::Relaxed);
        self.running.join(format!("scratch-{n}"))
    }

    /// Returns the directory of a one-off run's own work tree.
    pub fn own_worktree(&self, id: RunId) -> PathBuf {
        self.worktrees.join(id.to_string())
    }
}

/// When runs end with their host.
#[derive(Clone, Debug, Default)]
pub struct Lifetime {
    /// Cancelled when the host begins to stop: nothing new starts.
    pub stop: CancellationToken,
    /// Cancelled when the runs have drained: what serves them may end.
    pub finished: CancellationToken,
    /// Notified whenever a run ends.
    pub ended: Arc<Notify>,
}

/// What carrying out runs uses of the host around it.
pub struct RunContext {
    /// The directories of the home.
    pub paths: RunPaths,
    /// The store.
    pub store: Arc<dyn Store>,
    /// The host.
    pub host: Arc<dyn RunHost>,
    /// The secrets of the host, which no record may contain.
    pub secrets: HostSecrets,
    /// The cost of model calls within a day.
    pub budget: Arc<DailyBudget>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// The attempts under way.
    pub attempts: RunningAttempts,
    /// The one-off runs under way.
    pub emanations: Emanations,
    /// The short names that were given.
    pub handles: Handles,
    /// The trees that are kept between runs.
    pub trees: Trees,
    /// Which attempts work on rolling branches.
    pub(crate) rolling: RollingTurns,
    /// When runs end with their host.
    pub lifetime: Lifetime,
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext")
            .field("paths", &self.paths)
            .finish_non_exhaustive()
    }
}

impl RunContext {
    /// Puts together what runs use.
    pub fn new(
        paths: RunPaths,
        store: Arc<dyn Store>,
        host: Arc<dyn RunHost>,
        secrets: HostSecrets,
        clock: Arc<dyn Clock>,
        lifetime: Lifetime,
    ) -> Self {
        Self {
            trees: Trees::new(&paths.trees),
            paths,
            store,
            host,
            secrets,
            budget: Arc::new(DailyBudget::new(Arc::clone(&clock))),
            clock,
            attempts: RunningAttempts::default(),
            emanations: Emanations::default(),
            handles: Handles::default(),
            rolling: RollingTurns::default(),
            lifetime,
        }
    }

    /// Returns the time of the wall clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Stops every run: attempts and one-off runs.
    pub fn stop_all(&self, why: StopReason) {
        self.emanations.stop_all(why);
        self.attempts.stop_all(why);
    }
}

/// The last short name of each parent; the names count from 1 after each start of the host.
#[derive(Debug, Default)]
pub struct Handles(Mutex<HashMap<String, NonZeroU32>>);

impl Handles {
    /// Returns the next number of a parent.
    pub(crate) fn next(&self, parent: &str) -> NonZeroU32 {
        let mut last = self.0.lock().expect("no holder panics");
        let next = last
            .get(parent)
            .map_or(NonZeroU32::MIN, |last| last.saturating_add(1));
        last.insert(parent.to_owned(), next);
        next
    }

    /// Makes the numbers of a parent begin at 1 again.
    pub(crate) fn reset(&self, parent: &str) {
        // The caller has no active run, so that no two live runs get one name.
        self.0.lock().expect("no holder panics").remove(parent);
    }
}
