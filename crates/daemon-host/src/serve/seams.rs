//! The host as its listeners see it: the intake of webhooks and the operations of a live host.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use daemon_agent::{Conversations, Skills};
use daemon_api::TokenHolders;
use daemon_api::control::ControlPlaces;
use daemon_api::http::{Admit, Hooks};
use daemon_api::ops::{CharterText, Live, Prune, RunReply, SettingsRequest};
use daemon_event::{ActivationId, RepoName, Source};
use daemon_ingest::SenderTokens;
use daemon_provider::StopReason;
use daemon_records::HeldRoster;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_roster::{SpawnFacts, WantedSpawn};
use daemon_runner::pruning::PruneScope;
use daemon_store::{Accepted, NewEvent, Rates, StoreError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::begin::{Deadlines, check_policies, parts};
use super::health;
use super::listener::{holders, sources};
use super::login_links::LoginLinks;
use super::{Compose, OpenFailure};
use crate::config::Config;
use crate::disk::Space;
use crate::driver::{Host, NotOpen, Unopened, roster_settings};

/// The delay before a repository that git refused is opened again.
const OPEN_AGAIN: Duration = Duration::from_secs(30);

/// Stores webhooks and wakes matching.
pub(super) struct Intake {
    pub(super) host: Arc<Host>,
}

impl Intake {
    /// Stores events, those of renamed repositories with the watched name.
    async fn store(&self, mut events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
        let (host, now) = (&self.host, self.host.now());
        let runtime = host.runtime();
        let is_watched = |name: &str| {
            let mut names = runtime.parts.names();
            names.any(|watched| watched.folded() == name)
        };
        let store = &*host.store;
        let renamed = host.renames.resolve(store, &is_watched, (&mut events, now));
        let bookmarks = renamed.await?;
        match bookmarks.is_empty() {
            true => store.accept(events).await,
            false => store.accept_marked(bookmarks, events).await,
        }
    }
}

#[async_trait]
impl Admit for Intake {
    fn now(&self) -> Timestamp {
        self.host.now()
    }

    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
        let accepted = self.store(events).await;
        match &accepted {
            Ok(accepted) => self.host.matcher.backlog.add(accepted),
            Err(error) => self
                .host
                .failures
                .store_failed("a webhook could not be stored", error),
        }
        accepted
    }

    fn backlog(&self) -> u64 {
        self.host.matcher.backlog.n_waiting()
    }

    fn missed(&self, source: Source) {
        self.host.gaps.note(source, self.host.now());
    }

    fn unsigned(&self, source: Source) {
        self.host.gaps.note_unsigned(source, self.host.now());
    }

    fn refusal(&self, bytes: u64) -> Option<String> {
        // Read for each webhook: with a figure that is a second old, a burst of large bodies would fill the disk.
        Space::of(self.host.home.root()).refusal_of(self.host.home.root(), bytes)
    }
}

/// The operations of a host that need the running process.
pub(super) struct HostLive {
    pub(super) host: Arc<Host>,
    roster: Arc<HeldRoster>,
    pub(super) compose: Arc<dyn Compose>,
    pub(super) started: Instant,
    /// The configuration of the start: its addresses and files stay in use until the host stops.
    initial: Arc<Config>,
    pub(super) hooks: Arc<Hooks>,
    /// The token that the host started with, for CloudEvents.
    own: SenderTokens,
    holders: TokenHolders,
    /// Held while the configuration or the parts are replaced.
    replacing: tokio::sync::Mutex<()>,
    /// Held while the configuration file is edited and put in force.
    pub(super) editing: tokio::sync::Mutex<()>,
    /// The places of clients of the control protocol, and of their requests.
    pub(super) clients: ControlPlaces,
    pub(super) dispatches: ControlPlaces,
    /// What makes links for browsers, once the HTTP listener serves.
    pub(super) logins: OnceLock<LoginLinks>,
}

/// Returns the keys of which the host keeps the values that it started with.
fn needs_restart(initial: &Config, new: &Config) -> Vec<&'static str> {
    let (before, after) = (&initial.host, &new.host);
    let keys = [
        ("host.listen", before.listen != after.listen),
        ("host.name", before.name != after.name),
        ("host.store", before.store != after.store),
        ("host.token_file", before.token_file != after.token_file),
        ("host.clients", before.clients != after.clients),
        ("host.dispatches", before.dispatches != after.dispatches),
        ("host.workers", before.workers != after.workers),
        ("uds.path", initial.uds.path != new.uds.path),
        ("tcp.listen", initial.tcp.listen != new.tcp.listen),
        ("tcp.public", initial.tcp.public != new.tcp.public),
    ];
    let differing = keys.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(key, _)| key).collect()
}

impl HostLive {
    /// Creates the operations of a host, before its listeners serve them.
    pub(super) fn new(
        (host, roster): (&Arc<Host>, &Arc<HeldRoster>),
        compose: &Arc<dyn Compose>,
        hooks: &Arc<Hooks>,
        (own, holders): (SenderTokens, TokenHolders),
        started: Instant,
    ) -> Self {
        let initial = Arc::clone(&host.runtime().config);
        Self {
            clients: ControlPlaces::new(initial.host.clients),
            dispatches: ControlPlaces::new(initial.host.dispatches),
            host: Arc::clone(host),
            roster: Arc::clone(roster),
            compose: Arc::clone(compose),
            started,
            initial,
            hooks: Arc::clone(hooks),
            own,
            holders,
            replacing: tokio::sync::Mutex::new(()),
            editing: tokio::sync::Mutex::new(()),
            logins: OnceLock::new(),
        }
    }

    async fn n_agents(&self) -> Result<usize, OpError> {
        let conversations = Arc::clone(&self.host.conversations);
        let listed = tokio::task::spawn_blocking(move || conversations.agents().list()).await;
        let listed = listed
            .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?;
        Ok(listed?.len())
    }

    /// Returns what keeps the host from doing all of its work; `None` if nothing does.
    fn degraded(&self) -> Option<Vec<String>> {
        let unread = self.host.registrations.states.unread().into_iter();
        let unread = unread.map(|(repo, why)| format!("`{repo}` is not read: {why}"));
        let panics = self.host.failures.recent_panics().err();
        let reasons = unread.chain(panics).chain(self.host.activations_pause());
        let reasons: Vec<String> = reasons.collect();
        Some(reasons).filter(|reasons| !reasons.is_empty())
    }

    /// Reads the files of the home again: those of crons and subscriptions, then the configuration.
    pub(super) async fn reload_all(&self) -> Result<Value, OpError> {
        // A recovery file that was repaired is used again, whether or not the configuration is.
        self.host.conversations.reopen_files().await;
        self.host.signals.ticks.notify_one();
        let reloaded = self.load_again().await;
        super::report(&reloaded);
        reloaded
    }

    /// Reads the configuration again and puts it in force as a whole, or not at all.
    pub(super) async fn load_again(&self) -> Result<Value, OpError> {
        let turn = self.replacing.lock().await;
        let config = self.compose.load()?;
        let sources = sources(&self.host.home, &config, &self.own)?;
        let tokens = holders(&self.host.home, &config)?;
        let deadlines = Deadlines::begin();
        let failure = OpenFailure::Refuse;
        let parts = parts(&self.compose, &config, deadlines.opened, failure).await?;
        let (host, compose) = (&self.host, &*self.compose);
        check_policies(host, compose, &config, &parts, deadlines.policies).await?;
        let old = Arc::clone(&self.host.runtime().config);
        let changed = *old != config;
        let needs_restart = needs_restart(&self.initial, &config);
        // Last of the steps that can fail, so that a refused reload has changed nothing.
        let (generation, unwatched) = self.host.replace(config, parts).await?;
        self.compose.note_in_force();
        self.hooks.replace(sources);
        self.holders.replace(tokens);
        let runtime = self.host.runtime();
        self.roster
            .configure(roster_settings(&runtime.config, &runtime.parts));
        super::warn_of(&runtime.config, &runtime.parts);
        drop(turn);
        self.host.registrations.states.force_all();
        self.host.registrations.end(unwatched).await;
        self.host
            .registrations
            .states
            .first_reading(deadlines.read)
            .await;
        self.host.signals.ticks.notify_one();
        self.host.signals.claims.notify_one();
        Ok(json!({"generation": generation, "changed": changed, "needs_restart": needs_restart}))
    }

    /// Composes the parts again, and puts them in force if they contain a repository that was not open before. Returns the
    /// repositories that are still not open.
    async fn compose_again(&self) -> Result<Vec<Unopened>, OpError> {
        let turn = self.replacing.lock().await;
        let host = &self.host;
        let old = host.runtime();
        let config = Config::clone(&old.config);
        let until = Deadlines::begin().opened;
        let parts = parts(&self.compose, &config, until, OpenFailure::Note).await?;
        let unopened = parts.unopened.clone();
        let was_open = |repo: &RepoName| old.parts.repos.iter().any(|old| old.name == *repo);
        // New parts make every repository be read again.
        if !parts.repos.iter().all(|repo| was_open(&repo.name)) {
            let settings = roster_settings(&config, &parts);
            let (_, unwatched) = self.host.replace(config, parts).await?;
            self.roster.configure(settings);
            host.signals.repos.notify_waiters();
            host.signals.ticks.notify_one();
            host.signals.claims.notify_one();
            host.registrations.end(unwatched).await;
        }
        drop(turn);
        for repo in &unopened {
            if let NotOpen::Refused(error) = &repo.why {
                tracing::error!(repo = %repo.name, error, "a repository could not be opened");
                host.registrations
                    .states
                    .reading_ended(&repo.name, Some(error.clone()));
            }
        }
        Ok(unopened)
    }
}

/// Adds repositories that git opens late, until the host stops.
pub(super) async fn open_late(live: Arc<HostLive>) {
    let host = &live.host;
    let current = || host.runtime().parts.unopened.clone();
    let mut unopened = current();
    loop {
        tokio::select! {
            () = host.stop().cancelled() => return,
            // A reload composes the parts itself, and may have opened a repository or removed it.
            () = host.signals.replaced.notified() => {
                unopened = current();
                continue;
            }
            () = may_open(&unopened) => {}
        }
        let composed = tokio::select! {
            () = host.stop().cancelled() => return,
            composed = live.compose_again() => composed,
        };
        match composed {
            Ok(now) => unopened = now,
            Err(error) => {
                let error = error.message;
                tracing::error!(error, "unopened repositories could not be added");
                for repo in &unopened {
                    host.registrations
                        .states
                        .reading_ended(&repo.name, Some(error.clone()));
                }
                tokio::select! {
                    () = host.stop().cancelled() => return,
                    () = host.signals.replaced.notified() => unopened = current(),
                    () = tokio::time::sleep(OPEN_AGAIN) => {}
                }
            }
        }
    }
}

/// Waits until one of the repositories may be opened; without repositories it never returns.
async fn may_open(unopened: &[Unopened]) {
    let waits = unopened.iter().map(|repo| {
        Box::pin(async {
            match &repo.why {
                NotOpen::Waiting(answered) => answered.cancelled().await,
                NotOpen::Refused(_) => tokio::time::sleep(OPEN_AGAIN).await,
            }
        })
    });
    match unopened.is_empty() {
        true => std::future::pending().await,
        false => drop(futures_util::future::select_all(waits).await),
    }
}

#[async_trait]
impl Live for HostLive {
    fn now(&self) -> Timestamp {
        self.host.now()
    }

    fn unread(&self) -> Vec<(RepoName, String)> {
        self.host.registrations.states.unread()
    }

    fn pause(&self) -> Option<String> {
        self.host.activations_pause()
    }

    fn rates(&self) -> Rates {
        self.host.runtime().config.limits.rates()
    }

    async fn is_over_budget(&self) -> Result<bool, OpError> {
        Ok(self.host.is_over_budget())
    }

    fn nudge(&self) {
        self.host.signals.claims.notify_one();
        self.host.signals.outputs.notify_one();
        self.host.signals.matches.notify_one();
    }

    fn accepted(&self, accepted: &[Accepted]) {
        self.host.matcher.backlog.add(accepted);
    }

    async fn stop_run(&self, activation: &ActivationId) -> Result<(), OpError> {
        self.host.runs().stop(activation, StopReason::Reclaim);
        Ok(())
    }

    async fn reload(&self) -> Result<Value, OpError> {
        self.reload_all().await
    }

    async fn doctor(&self) -> Result<Value, OpError> {
        Ok(crate::doctor::examine(&self.host).await)
    }

    fn login(&self) -> Result<Value, OpError> {
        let link = self.logins.get().and_then(LoginLinks::link);
        let link = link.ok_or_else(|| {
            let message = "the HTTP listener does not serve";
            OpError::new(OpErrorKind::Unavailable, "not-serving", message)
        })?;
        Ok(json!({ "login_url": link }))
    }

    async fn stats(&self) -> Result<Value, OpError> {
        let counts = self.host.store.counts().await?;
        let activations: serde_json::Map<String, Value> = counts
            .activations
            .iter()
            .map(|(state, n)| (state.as_str().to_owned(), json!(n)))
            .collect();
        Ok(json!({
            "uptime_s": self.started.elapsed().as_secs(),
            "daemons": self.host.registry().get().iter().count(),
            "gate": self.host.store.host_gate().await?.as_str(),
            "has_model": self.host.runtime().config.has_model(),
            "running": self.host.runs().leases().len(),
            "active_conversations": self.host.conversations.n_active(),
            "registered_agents": self.n_agents().await?,
            "active_model": self.host.runtime().config.active_model(),
            "clients": self.clients.n_taken(),
            "dispatches": self.dispatches.n_taken(),
            "rss_bytes": health::resident_bytes(),
            "degraded": self.degraded(),
            "crons": self.host.conversations.n_crons().await,
            "subscriptions": self.host.conversations.n_subscriptions().await,
            "events": counts.events,
            "unmatched": counts.unmatched,
            "activations": activations,
        }))
    }

    async fn prune(&self, request: Prune) -> Result<Value, OpError> {
        let context = &self.host.runs().context;
        let settings = context.host.settings();
        let scope = PruneScope {
            store: &*context.store,
            repositories: &settings.repositories,
            planner: &*settings.planner,
        };
        crate::prune::answer(scope, request).await
    }

    async fn run_call(&self, call: serde_json::Map<String, Value>) -> Result<RunReply, OpError> {
        let answer = daemon_runner::emanation::answer(&self.host.runs().context, call).await?;
        Ok(RunReply {
            members: answer.reply,
            later: answer.wait.map(|wait| Box::pin(wait.end()) as _),
        })
    }

    async fn notices(&self) -> Result<Value, OpError> {
        daemon_runner::emanation::notices(&self.host.runs().context).await
    }

    async fn dismiss_notices(&self) -> Result<usize, OpError> {
        daemon_runner::emanation::dismiss_notices(&self.host.runs().context).await
    }

    fn runs(&self) -> PathBuf {
        self.host.home.runs()
    }

    fn directories(&self) -> Vec<PathBuf> {
        let roots = self.host.runtime().config.tools.roots.clone();
        [vec![self.host.home.worktrees()], roots].concat()
    }

    async fn settings(&self, request: SettingsRequest) -> Result<Value, OpError> {
        self.answer_settings(request).await
    }

    fn skills(&self) -> Skills {
        Skills::new(self.host.home.skills())
    }

    fn conversations(&self) -> Option<&Arc<Conversations>> {
        Some(&self.host.conversations)
    }

    async fn roster(&self) -> Result<Arc<HeldRoster>, OpError> {
        Ok(Arc::clone(&self.roster))
    }

    async fn spawn_facts(&self, wanted: &WantedSpawn) -> Result<SpawnFacts, OpError> {
        Ok(self.host.spawning(&self.roster).facts(wanted).await)
    }

    async fn charters(&self) -> Result<Vec<CharterText>, OpError> {
        let home = self.host.home.clone();
        let read = tokio::task::spawn_blocking(move || crate::charters::all(&home)).await;
        read.map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?
    }
}
