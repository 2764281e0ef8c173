//! From a configuration to a host that is ready.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_api::HostTokens;
use daemon_api::control::{self, Control, RunTokens};
use daemon_api::http::{self, Access, AppState, Hooks, McpCaller, McpServers, Opening};
use daemon_api::ops::Operations;
use daemon_engine::Gate;
use daemon_records::HeldRoster;
use daemon_records::clock::{Clock, SystemClock};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_roster::Bridge;
use daemon_store::Store;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::task::TaskTracker;

use super::health::HostHealth;
use super::listener::{ListenerSecrets, hosts};
use super::seams::{HostLive, Intake};
use super::{Compose, HostInputs, OpenFailure, begin_epoch, tcp_address, unusable, warn_of};
use crate::config::Config;
use crate::driver::{
    self, BuiltInBridge, ClaimsPause, Host, HostParts, MakeTools, Parts, Runtime, policies,
};
use crate::home::Home;

/// The deadlines for git at a start or a reload. Together they take 5 s, with any number of repositories that hang: a part
/// is reserved for the readings at the end, so that one that hangs does not use up the time of the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    /// For opening the repositories.
    pub(super) opened: Instant,
    /// For the daemons that policy names.
    pub(super) policies: tokio::time::Instant,
    /// For the first reading of the repositories.
    pub(super) read: tokio::time::Instant,
}

impl Deadlines {
    /// Begins now.
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        Self {
            opened: after(3_000),
            policies: after(4_000).into(),
            read: after(5_000).into(),
        }
    }
}

/// A host that is ready to serve.
pub(super) struct Begun {
    pub(super) live: Arc<HostLive>,
    pub(super) app: Arc<AppState>,
    pub(super) control: (UnixListener, Control),
    /// The listener of the control protocol over TCP, if one is configured.
    pub(super) tcp: Option<TcpListener>,
    pub(super) socket: BoundSocket,
    pub(super) tasks: TaskTracker,
}

/// The path of a bound socket, which is removed when this is dropped.
pub(super) struct BoundSocket(PathBuf);

impl BoundSocket {
    /// Returns the path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        // An error is ignored: the next host replaces a socket that is left.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

/// Opens the store, reads the repositories and starts the loops.
///
/// # Errors
/// If the configuration cannot be used, or the store or the socket fails.
pub(super) async fn begin(
    start: &mut HostInputs,
    http_secrets: ListenerSecrets,
    bound: SocketAddr,
    opening: &Opening,
) -> Result<Begun, OpError> {
    let started = Instant::now();
    opening.step("the store is being opened, and converted if an older version wrote it");
    let store = open_store(&start.compose, &start.home, &start.config).await?;
    opening.step("the repositories are being read");
    let deadlines = Deadlines::begin();
    let tokens = RunTokens::default();
    let host = put_together(start, store, deadlines, tokens.clone()).await?;
    // If the start fails or is stopped, the tasks that it has begun end.
    let stop = host.stop().clone().drop_guard();
    host.take_back().await?;
    let unwatched = host.registrations.load().await?;
    check_start(&host, start, deadlines).await?;
    let (compose, config) = (&start.compose, &start.config);
    let (listener, socket) = bind(&host, config)?;
    let tcp = bind_tcp(config).await?;
    // A start that is refused holds nothing, and ends no registration.
    if config.host.hold {
        host.store.set_host_gate(Gate::Held).await?;
    }
    host.registrations.end(unwatched).await;
    compose.note_in_force();
    let roster = load_roster(&host).await?;
    let intake = Intake {
        host: Arc::clone(&host),
    };
    let hooks = Hooks::new(http_secrets.sources, Arc::new(intake));
    let holders = http_secrets.holders;
    let replaced = (http_secrets.own, holders.clone());
    let parts = (&host, &roster);
    let live = Arc::new(HostLive::new(parts, compose, &hooks, replaced, started));
    let store = Arc::clone(&host.store);
    let operations = Operations::new(store, host.registry().clone(), Arc::clone(&live) as _);
    host.dispatch
        .begin((&host.store, host.registry()), &(Arc::clone(&live) as _));
    let bridge = bridge(&host, &roster, compose, &operations);
    let tasks = driver::start(&host, (&roster, &bridge), deadlines.read).await;
    let tokens_of_host = HostTokens::new(&http_secrets.token, holders);
    let access = Access::new(tokens_of_host.clone(), hosts(bound));
    let mcp = mcp(&host, compose, &operations);
    let app = app(&host, (access, hooks, mcp), &socket, &operations, &roster);
    let control = control(&host, &live, (operations, roster), (tokens, tokens_of_host));
    stop.disarm();
    Ok(Begun {
        live,
        app,
        control: (listener, control),
        tcp,
        socket,
        tasks,
    })
}

/// Rejects a start with a policy for a daemon that was never registered.
async fn check_start(host: &Host, start: &HostInputs, deadlines: Deadlines) -> Result<(), OpError> {
    let (compose, config) = (&*start.compose, &start.config);
    let parts = &host.runtime().parts;
    check_policies(host, compose, config, parts, deadlines.policies).await
}

/// Loads the roster with the effects that an earlier host may not have performed.
async fn load_roster(host: &Host) -> Result<Arc<HeldRoster>, OpError> {
    let runtime = host.runtime();
    let settings = driver::roster_settings(&runtime.config, &runtime.parts);
    let (store, clock) = (Arc::clone(&host.store), Arc::clone(&host.upkeep.clock));
    Ok(Arc::new(HeldRoster::load(store, clock, settings).await?))
}

/// Binds the control socket.
fn bind(host: &Host, config: &Config) -> Result<(UnixListener, BoundSocket), OpError> {
    let path = host.home.below(&config.uds.path);
    let listener = control::bind(&path)
        .map_err(|error| unusable(&format!("cannot bind `{}`", path.display()), &error))?;
    Ok((listener, BoundSocket(path)))
}

/// Binds the listener of the control protocol over TCP, if one is configured.
async fn bind_tcp(config: &Config) -> Result<Option<TcpListener>, OpError> {
    let Some(address) = tcp_address(config)? else {
        return Ok(None);
    };
    let failed = |error| unusable(&format!("cannot listen on {address}"), &error);
    let listener = control::bind_tcp(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    tracing::info!("the control protocol is on tcp://{bound}");
    Ok(Some(listener))
}

/// Composes the parts, begins the epoch and puts the host together.
async fn put_together(
    start: &mut HostInputs,
    store: Arc<dyn Store>,
    deadlines: Deadlines,
    tokens: RunTokens,
) -> Result<Arc<Host>, OpError> {
    let config = &start.config;
    let opened = deadlines.opened;
    let parts = parts(&start.compose, config, opened, OpenFailure::Refuse).await?;
    warn_if_held(&*store).await?;
    warn_of(config, &parts);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let epoch = begin_epoch(&*store, &mut start.owner, clock.now()).await?;
    // Processes of a dead host end before its activations are taken back: they could still write.
    crate::strays::end().await;
    let previous = start.owner.previous();
    // After the epoch has begun, so that this start counts as well.
    let claims = ClaimsPause::at_start(previous, &*store, &*clock).await?;
    Ok(Host::new(HostParts {
        home: start.home.clone(),
        store,
        epoch,
        runtime: Runtime {
            config: Arc::new(config.clone()),
            parts,
            generation: 1,
        },
        secrets: start.secrets.clone(),
        clock,
        tokens,
        claims,
    }))
}

/// Opens the store on a thread for blocking calls.
async fn open_store(
    compose: &Arc<dyn Compose>,
    home: &Home,
    config: &Config,
) -> Result<Arc<dyn Store>, OpError> {
    let (compose, home, config) = (Arc::clone(compose), home.clone(), config.clone());
    blocking(move || compose.open_store(&home, &config)).await
}

/// Composes the parts of a configuration, on a thread for blocking calls.
pub(super) async fn parts(
    compose: &Arc<dyn Compose>,
    config: &Config,
    until: Instant,
    failure: OpenFailure,
) -> Result<Parts, OpError> {
    let (compose, config) = (Arc::clone(compose), config.clone());
    blocking(move || compose.parts(&config, until, failure)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OpError> + Send + 'static,
) -> Result<T, OpError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?
}

async fn warn_if_held(store: &dyn Store) -> Result<(), OpError> {
    if store.host_gate().await? == Gate::Held {
        tracing::warn!(
            "the host is held: events and ticks are recorded, nothing starts; `daemon-run go` ends that"
        );
    }
    Ok(())
}

/// Rejects a policy for a daemon that was never registered.
pub(super) async fn check_policies(
    host: &Host,
    compose: &dyn Compose,
    config: &Config,
    parts: &Parts,
    until: tokio::time::Instant,
) -> Result<(), OpError> {
    let named = policies::check(
        (&host.registry().get(), &*host.store),
        config,
        parts,
        (until, host.stop()),
    )
    .await?;
    named.warn();
    if named.faults.is_empty() {
        return Ok(());
    }
    let help = if config.repo.is_empty() {
        "give --repo DIR, or write [[repo]] into config.toml of the home"
    } else {
        "correct the name; `planned = true` in its table says that the daemon is to come"
    };
    Err(compose.refuse(&named.faults).with_help(help))
}

/// Creates the state of the HTTP listener.
fn app(
    host: &Arc<Host>,
    (access, hooks, mcp): (Access, Arc<Hooks>, McpServers),
    socket: &BoundSocket,
    operations: &Operations,
    roster: &Arc<HeldRoster>,
) -> Arc<AppState> {
    let health = HostHealth {
        host: Arc::clone(host),
        metrics: recorder(),
        socket: socket.path().to_owned(),
    };
    Arc::new(AppState {
        access,
        operations: operations.clone(),
        hooks,
        repeats: http::Repeats::default(),
        health: Arc::new(health),
        streams: http::Streams::new(host.stop().clone()),
        mcp,
        roster: Arc::clone(roster),
    })
}

/// Creates the MCP servers of clients over HTTP.
fn mcp(host: &Host, compose: &Arc<dyn Compose>, operations: &Operations) -> McpServers {
    let (operations, compose) = (operations.clone(), Arc::clone(compose));
    let make = move |caller: &McpCaller| compose.tool_server(&operations, caller);
    McpServers::new(make, host.stop().clone())
}

/// Creates the bridge, whose agents have the tools that the binary serves to agents.
fn bridge(
    host: &Host,
    roster: &Arc<HeldRoster>,
    compose: &Arc<dyn Compose>,
    operations: &Operations,
) -> Arc<dyn Bridge> {
    let (operations, compose) = (operations.clone(), Arc::clone(compose));
    let tools: MakeTools = Arc::new(move |token| {
        let server = compose.tool_server(&operations, &McpCaller::Agent(token));
        server.tools()
    });
    Arc::new(BuiltInBridge::new(host.spawning(roster), tools))
}

/// Creates the state of the control protocol.
fn control(
    host: &Host,
    live: &HostLive,
    (operations, roster): (Operations, Arc<HeldRoster>),
    (tokens, access): (RunTokens, HostTokens),
) -> Control {
    Control {
        operations,
        roster,
        epoch: host.upkeep.epoch.0,
        actor: "owner".to_owned(),
        started: live.started,
        access,
        places: live.clients.clone(),
        dispatches: live.dispatches.clone(),
        tokens,
        events: host.runs().context.emanations.events(),
    }
}

/// Installs the recorder of metrics, once per process.
fn recorder() -> PrometheusHandle {
    // `metrics` accepts one global recorder for each process.
    static RECORDER: std::sync::OnceLock<PrometheusHandle> = std::sync::OnceLock::new();
    RECORDER
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new().build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::debug!("another recorder of metrics is installed");
            }
            handle
        })
        .clone()
}
