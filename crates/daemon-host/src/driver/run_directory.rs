//! The host as its runs see it: the settings in force and the registered daemons.

use std::path::Path;
use std::sync::{Arc, RwLock};

use async_trait::async_trait;
use daemon_api::control::{HostTools, RunTokens};
use daemon_engine::{Activation, Gate, Surface};
use daemon_event::{ActivationId, DaemonKey, RepoName};
use daemon_provider::tool_access::ToolAccess;
use daemon_registry::{Registered, SharedRegistry};
use daemon_repo::{ObjectId, Remote};
use daemon_runner::mail::Postbox;
use daemon_runner::policy::micros;
use daemon_runner::settings::{
    ConfiguredProvider, DayBounds, HostBounds, KnownInstructions, RunRepository, RunSettings,
};
use daemon_runner::{NOTICES, RunHost, RunPaths, TreeLimits};

use super::mail::HostPostbox;
use super::repos::{AwaitedCommits, Watched};
use super::{Parts, Runtime};
use crate::config::Config;
use crate::disk::Space;
use crate::home::Home;
use crate::policy::ConfiguredPolicies;

/// Returns the directories of a home that runs use.
pub(super) fn run_paths(home: &Home) -> RunPaths {
    RunPaths {
        runs: home.runs(),
        worktrees: home.worktrees(),
        trees: home.trees(),
        conversations: home.places(),
        servers: home.servers(),
        presets: home.below(Path::new("presets")),
        notices: home.below(Path::new(NOTICES)),
        running: home.below(Path::new("run")),
    }
}

/// The configuration in force with what was composed from it; a clone shares it.
#[derive(Clone)]
pub(crate) struct SharedRuntime {
    current: Arc<RwLock<Current>>,
    home: Home,
    tokens: RunTokens,
}

impl std::fmt::Debug for SharedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedRuntime").field(&self.get()).finish()
    }
}

// One value under one lock, so that a run never gets the settings of another configuration.
struct Current {
    runtime: Arc<Runtime>,
    settings: Arc<RunSettings>,
}

impl SharedRuntime {
    /// Shares a configuration.
    pub(super) fn new(home: &Home, runtime: Runtime, tokens: RunTokens) -> Self {
        let settings = settings(home, &runtime, &tokens);
        let current = Current {
            runtime: Arc::new(runtime),
            settings: Arc::new(settings),
        };
        Self {
            current: Arc::new(RwLock::new(current)),
            home: home.clone(),
            tokens,
        }
    }

    /// Returns the configuration in force with its parts.
    pub(crate) fn get(&self) -> Arc<Runtime> {
        Arc::clone(&self.current.read().expect("no holder panics").runtime)
    }

    /// Returns the configuration in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.get().config)
    }

    /// Returns a configured surface.
    pub(super) fn surface(&self, name: &str) -> Option<Arc<dyn Surface>> {
        self.get().parts.surfaces.get(name).cloned()
    }

    /// Returns a watched repository; the case of its name does not matter.
    pub(super) fn repo(&self, name: &RepoName) -> Option<Arc<Watched>> {
        let folded = name.folded();
        let runtime = self.get();
        let mut repos = runtime.parts.repos.iter();
        repos.find(|repo| repo.name.folded() == folded).cloned()
    }

    /// Reports whether a repository is one of the current parts. After a reload the same name may be another repository.
    pub(super) fn is_watched(&self, repo: &Arc<Watched>) -> bool {
        let runtime = self.get();
        let mut watched = runtime.parts.repos.iter();
        watched.any(|known| Arc::ptr_eq(known, repo))
    }

    /// Puts another configuration in force, and returns how often that was done.
    pub(super) fn replace(&self, config: Config, parts: Parts) -> u64 {
        let mut current = self.current.write().expect("no holder panics");
        let generation = current.runtime.generation + 1;
        let runtime = Runtime {
            config: Arc::new(config),
            parts,
            generation,
        };
        current.settings = Arc::new(settings(&self.home, &runtime, &self.tokens));
        current.runtime = Arc::new(runtime);
        generation
    }
}

/// Collects what runs use of a configuration.
fn settings(home: &Home, runtime: &Runtime, tokens: &RunTokens) -> RunSettings {
    let Runtime { config, parts, .. } = runtime;
    let providers = parts.providers.iter().map(|(name, provider)| {
        let section = config.provider.named.get(name);
        let configured = ConfiguredProvider {
            provider: Arc::clone(provider),
            variables: section.map_or_else(Vec::new, |section| section.env.clone()),
            has_bash: section.is_some_and(|section| section.bash),
            has_web: section.is_some_and(|section| {
                let has_hosts = section
                    .egress
                    .as_ref()
                    .is_some_and(|hosts| !hosts.is_empty());
                has_hosts || section.network == Some(true)
            }),
        };
        (name.clone(), configured)
    });
    let delivery = config.surfaces.git.remote.parse();
    let delivery: Remote = delivery.expect("the surfaces were composed with it");
    let repositories = parts.repos.iter().map(|repo| RunRepository {
        name: repo.name.clone(),
        repository: repo.repository.clone(),
        source: repo.source.clone(),
        delivery: delivery.clone(),
        instructions: KnownInstructions::default(),
    });
    let tools = parts.program.as_ref().map(|program| {
        let socket = home.below(&config.uds.path);
        Arc::new(HostTools::new(program.clone(), socket, tokens.clone())) as Arc<dyn ToolAccess>
    });
    RunSettings {
        policies: Arc::new(ConfiguredPolicies(Arc::clone(config))),
        providers: providers.collect(),
        active_model: config.model.active.clone(),
        presets: parts.presets.clone(),
        repositories: repositories.collect(),
        has_unopened: !parts.unopened.is_empty(),
        servers: parts.servers.clone(),
        surfaces: config.surfaces.served(),
        facts: Arc::clone(&parts.facts),
        planner: Arc::clone(&parts.planner),
        tools,
        standing_allowlist: config.roster.allowlist.clone(),
        sandboxes: parts.sandboxes.clone(),
        bounds: HostBounds {
            day: DayBounds {
                limit: config.budget.day_usd.map(micros),
                start: micros(config.budget.activation_usd),
            },
            emanations: config.limits.emanations,
            drain: config.host.drain.unsigned(),
            trees: TreeLimits {
                most: config.limits.trees,
                bytes: config.limits.trees_bytes.bytes(),
            },
        },
    }
}

/// The host as its runs see it.
pub(super) struct RunDirectory {
    pub(super) home: Home,
    pub(super) runtime: SharedRuntime,
    pub(super) registry: SharedRegistry,
    /// Held for writing while a registration is stored and then taken into the registry.
    pub(super) registering: Arc<tokio::sync::RwLock<()>>,
    pub(super) awaited: AwaitedCommits,
    pub(super) postbox: HostPostbox,
}

#[async_trait]
impl RunHost for RunDirectory {
    fn settings(&self) -> Arc<RunSettings> {
        let current = self.runtime.current.read().expect("no holder panics");
        Arc::clone(&current.settings)
    }

    async fn daemon(&self, key: &DaemonKey) -> Option<Arc<Registered>> {
        // A registration that is being written has changed the store and not yet the registry.
        let reading = self.registering.read().await;
        let registry = self.registry.get();
        drop(reading);
        registry.find_key(key).cloned()
    }

    fn set_gate(&self, daemon: &DaemonKey, gate: Gate) {
        self.registry.set_gate(daemon, gate);
    }

    fn await_commits(&self, activation: &Activation, commits: Vec<ObjectId>) {
        self.awaited.insert(activation, commits);
    }

    fn attempt_begins(&self, activation: &ActivationId) {
        self.awaited.remove(activation);
    }

    fn pause(&self) -> Option<String> {
        Space::of(self.home.root()).pause_of_runs(self.home.root())
    }

    fn postbox(&self) -> Option<Arc<dyn Postbox>> {
        Some(Arc::new(self.postbox.clone()))
    }
}
