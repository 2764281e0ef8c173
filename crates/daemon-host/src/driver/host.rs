//! The components of a host, put together over a store and a configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use daemon_agent::Conversations;
use daemon_api::control::RunTokens;
use daemon_dispatch::Concern;
use daemon_engine::HostEpoch;
use daemon_event::{ActivationId, RepoName};
use daemon_records::HeldRoster;
use daemon_records::clock::Clock;
use daemon_registry::SharedRegistry;
use daemon_roster::Bridge;
use daemon_runner::secrets::HostSecrets;
use daemon_runner::servers::SharedServers;
use daemon_runner::settings::Policies as _;
use daemon_runner::{Lifetime, RunContext};
use daemon_store::{Store, StoreError};
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::active_runs::ActiveRuns;
use super::claims::ClaimsPause;
use super::conversing;
use super::crons::CronTicks;
use super::dispatch::Driver;
use super::facts::{FactFinder, ServiceDelays};
use super::failures::Failures;
use super::gaps::SharedGaps;
use super::mail::HostPostbox;
use super::matching::{self, Matcher};
use super::reconciling::{Comparer, PlaceStates};
use super::registrations::Registrations;
use super::renames::Renames;
use super::repos::{AwaitedCommits, RepositoryReader};
use super::repository_states::{RepoState, RepositoryStates};
use super::rostering::{RosterRounds, Spawning};
use super::run_directory::{RunDirectory, SharedRuntime, run_paths};
use super::signals::Signals;
use super::ticking::TickRecorder;
use super::traces::TraceQueue;
use super::upkeep::{self, Upkeep};
use super::{Parts, Runtime, repos};
use crate::charters::Charters;
use crate::config::Config;
use crate::disk::Space;
use crate::dispatching::AgentDispatch;
use crate::home::Home;
use crate::policy::ConfiguredPolicies;
use crate::spending;

/// The parts of a new host.
pub struct HostParts {
    /// Its home.
    pub home: Home,
    /// Its store.
    pub store: Arc<dyn Store>,
    /// Its epoch; `HostEpoch(0)` if nothing is claimed.
    pub epoch: HostEpoch,
    /// The configuration and what was composed from it.
    pub runtime: Runtime,
    /// The secrets that no log and no record may contain. Those that the configuration names are added.
    pub secrets: HostSecrets,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// The tokens of runs, which the control socket checks.
    pub tokens: RunTokens,
    /// The pause of claims after a crash loop.
    pub claims: ClaimsPause,
}

impl std::fmt::Debug for HostParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostParts")
            .field("home", &self.home)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// A host: one component for each concern. A component gets the state that it uses and not the host.
pub struct Host {
    pub(crate) home: Home,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) registrations: Registrations,
    pub(crate) matcher: Matcher,
    pub(crate) reader: RepositoryReader,
    pub(crate) ticks: TickRecorder,
    pub(crate) upkeep: Upkeep,
    pub(crate) claims: ClaimsPause,
    pub(crate) gaps: SharedGaps,
    pub(crate) places: PlaceStates,
    pub(crate) renames: Renames,
    pub(crate) conversations: Arc<Conversations>,
    /// What the agents of conversations reach of the host, once it has operations.
    pub(crate) dispatch: AgentDispatch,
    /// The MCP servers of agents.
    pub(crate) servers: Arc<SharedServers>,
    pub(crate) traces: TraceQueue,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("home", &self.home)
            .field("epoch", &self.upkeep.epoch)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Puts a host together. Nothing runs until [`super::start`].
    pub fn new(parts: HostParts) -> Arc<Self> {
        let HostParts {
            home,
            store,
            epoch,
            runtime,
            secrets,
            clock,
            tokens,
            claims,
        } = parts;
        // Before any component can log or record one of them.
        secrets.add(crate::secrets::read(home.root(), &runtime.config));
        let signals = Arc::<Signals>::default();
        let failures = Arc::new(Failures::new(&clock));
        let runtime = SharedRuntime::new(&home, runtime, tokens);
        let registrations = Registrations {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            registry: SharedRegistry::default(),
            states: Arc::new(RepositoryStates::new(&runtime, &signals)),
            schedules: Arc::default(),
            failures: Arc::clone(&failures),
            lock: Arc::default(),
            secrets: secrets.clone(),
            runtime,
        };
        let (runs, postbox) = runs(&home, &registrations, secrets);
        let matcher = Matcher::new(&registrations, &signals);
        let servers = servers(&runs, &registrations);
        let shared = (&registrations.runtime, &signals);
        let (conversations, dispatch) = agents(&home, (&runs, &postbox), &servers, shared);
        let crons = CronTicks::new(&store, &conversations);
        Arc::new(Self {
            reader: RepositoryReader::new(&home, &matcher, &runs.awaited),
            ticks: TickRecorder::new(&registrations, &runs, &signals, crons),
            matcher,
            upkeep: Upkeep {
                home: home.clone(),
                store: Arc::clone(&store),
                clock,
                epoch,
                runtime: registrations.runtime.clone(),
                runs,
            },
            home,
            store,
            signals,
            failures,
            registrations,
            claims,
            gaps: SharedGaps::default(),
            places: PlaceStates::default(),
            renames: Renames::default(),
            conversations,
            servers,
            dispatch,
            traces: TraceQueue::default(),
        })
    }

    /// Returns the configuration and parts in force.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.registrations.runtime.get()
    }

    /// Returns the registered daemons.
    pub fn registry(&self) -> &SharedRegistry {
        &self.registrations.registry
    }

    /// Returns the state of each watched repository.
    pub fn repo_states(&self) -> BTreeMap<RepoName, RepoState> {
        self.registrations.states.all()
    }

    /// Reads the wall clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.registrations.clock.now()
    }

    /// Returns why no run may start, if so.
    pub fn pause(&self) -> Option<String> {
        Space::of(self.home.root()).pause_of_runs(self.home.root())
    }

    /// Returns why no activation may start, if so.
    pub(crate) fn activations_pause(&self) -> Option<String> {
        self.pause().or_else(|| self.claims.reason())
    }

    /// Reports whether the budget of the day is used up.
    pub fn is_over_budget(&self) -> bool {
        let context = &self.runs().context;
        let day = context.host.settings().bounds.day;
        !context.budget.lets_start(day)
    }

    /// Notes that an activation may have ended, if traces are sent.
    pub(crate) fn trace(&self, id: &ActivationId) {
        if self.runtime().config.telemetry.traces.is_some() {
            self.traces.add(id.clone());
        }
    }

    /// Matches all events that wait.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn match_events(self: &Arc<Self>) -> Result<(), StoreError> {
        matching::match_waiting(&mut Driver::new(self, &[Concern::Matching])).await
    }

    /// Takes back the activations that earlier hosts of this home left leased, after their process trees were ended, and counts
    /// what their runs cost. Call it once, before a run starts.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_back(&self) -> Result<(), StoreError> {
        upkeep::take_back(&self.upkeep).await?;
        let budget = &self.runs().context.budget;
        spending::count(budget, (&*self.store, &self.conversations), self.now()).await
    }

    /// Removes the work trees that earlier hosts of this home left.
    pub async fn clear_worktrees(&self) {
        upkeep::clear_worktrees(&self.upkeep, Instant::now() + upkeep::CLEARING).await;
    }

    /// Loads the registry and reads every repository.
    ///
    /// # Errors
    /// If the store fails. The error of a repository is recorded in its state.
    pub async fn read_first(&self) -> Result<(), StoreError> {
        let unwatched = self.registrations.load().await?;
        self.registrations.end(unwatched).await;
        self.read_repos().await;
        Ok(())
    }

    /// Reads the watched repositories; the registrations of others stay as they are stored. The error of a repository is
    /// recorded in its state.
    pub async fn read_repos(&self) {
        repos::read_all(&self.reader, self.stop()).await;
    }

    /// Puts another configuration and its parts in force, with the registry that belongs to them. Returns the generation, and the
    /// repositories whose registrations are to be ended.
    ///
    /// # Errors
    /// If the store fails; nothing is replaced then.
    pub(crate) async fn replace(
        &self,
        config: Config,
        parts: Parts,
    ) -> Result<(u64, BTreeSet<RepoName>), StoreError> {
        // A registration between the reading of the store and the installation would be missing in the registry.
        let replacing = self.registrations.replacing().await;
        let stored = self.registrations.stored(&parts).await?;
        let generation = self.replace_runtime(config, parts);
        let unwatched = self.registrations.install(stored);
        drop(replacing);
        Ok((generation, unwatched))
    }

    /// Puts another configuration and its parts in force, and returns the generation.
    pub(super) fn replace_runtime(&self, config: Config, parts: Parts) -> u64 {
        let secrets = crate::secrets::read(self.home.root(), &config);
        // Added, not replaced: a run that began before the secrets were rotated still prints the earlier ones.
        self.runs().context.secrets.add(secrets);
        let generation = self.registrations.runtime.replace(config, parts);
        take_servers(&self.servers, &self.runtime());
        self.signals.replaced.notify_one();
        generation
    }

    /// Returns the runs under way.
    pub(crate) fn runs(&self) -> &ActiveRuns {
        &self.upkeep.runs
    }

    /// Returns the token that begins the stop.
    pub(crate) fn stop(&self) -> &CancellationToken {
        &self.runs().context.lifetime.stop
    }

    /// Returns the token that ends what must outlive the drain of runs.
    pub(crate) fn finished(&self) -> &CancellationToken {
        &self.runs().context.lifetime.finished
    }

    pub(super) fn comparer(&self) -> Comparer {
        Comparer {
            home: self.home.clone(),
            matcher: self.matcher.clone(),
            failures: Arc::clone(&self.failures),
            gaps: Arc::clone(&self.gaps),
            states: self.places.clone(),
            stop: self.stop().clone(),
        }
    }

    /// Returns what spawns are planned from.
    pub(crate) fn spawning(&self, roster: &Arc<HeldRoster>) -> Spawning {
        Spawning {
            registrations: self.registrations.clone(),
            runs: Arc::clone(&self.runs().context),
            roster: Arc::clone(roster),
            charters: Charters::of(&self.home),
        }
    }

    pub(super) fn roster_rounds(
        &self,
        roster: &Arc<HeldRoster>,
        bridge: &Arc<dyn Bridge>,
    ) -> RosterRounds {
        RosterRounds {
            spawning: self.spawning(roster),
            bridge: Arc::clone(bridge),
            home: self.home.clone(),
            conversations: Arc::clone(&self.conversations),
            stop: self.stop().clone(),
        }
    }

    pub(super) fn fact_finder(&self) -> FactFinder {
        FactFinder {
            matcher: self.matcher.clone(),
            failures: Arc::clone(&self.failures),
            stop: self.stop().clone(),
            delays: Arc::new(ServiceDelays::default()),
        }
    }
}

/// Makes the context of runs, over the host as they see it.
/// Lets agents use the MCP servers of a configuration, as far as the general policy allows.
fn take_servers(servers: &SharedServers, runtime: &Runtime) {
    let policies = ConfiguredPolicies(Arc::clone(&runtime.config));
    let permissions = policies.policy(None, None).permissions;
    servers.replace(&runtime.parts.servers, permissions);
}

fn runs(
    home: &Home,
    registrations: &Registrations,
    secrets: HostSecrets,
) -> (ActiveRuns, HostPostbox) {
    let postbox = HostPostbox::default();
    let awaited = AwaitedCommits::default();
    let directory = RunDirectory {
        home: home.clone(),
        runtime: registrations.runtime.clone(),
        registry: registrations.registry.clone(),
        registering: Arc::clone(&registrations.lock),
        awaited: awaited.clone(),
        postbox: postbox.clone(),
    };
    let context = RunContext::new(
        run_paths(home),
        Arc::clone(&registrations.store),
        Arc::new(directory),
        secrets,
        Arc::clone(&registrations.clock),
        Lifetime::default(),
    );
    let runs = ActiveRuns {
        context: Arc::new(context),
        awaited,
        is_day_low: Arc::default(),
    };
    (runs, postbox)
}

/// Connects to the MCP servers of agents.
fn servers(runs: &ActiveRuns, registrations: &Registrations) -> Arc<SharedServers> {
    let servers = Arc::new(SharedServers::of(&runs.context));
    take_servers(&servers, &registrations.runtime.get());
    servers
}

/// Makes the conversations of agents, which take the mail of runs, and what agents reach of the host.
fn agents(
    home: &Home,
    (runs, postbox): (&ActiveRuns, &HostPostbox),
    servers: &Arc<SharedServers>,
    shared: (&SharedRuntime, &Arc<Signals>),
) -> (Arc<Conversations>, AgentDispatch) {
    let dispatch = AgentDispatch::default();
    let context = &runs.context;
    let conversations = conversing::conversations(home, context, servers, shared, &dispatch);
    postbox.begin(&conversations, context);
    (conversations, dispatch)
}
