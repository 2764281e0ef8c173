//! Serving: start, ready, reload, stop.

mod seams;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_engine::{Gate, HostEpoch};
use daemon_event::Source as SourceName;
use daemon_ingest::{Github, Linear, Secrets, Sentry, Slack, Source};
use daemon_provider::CancelReason;
use daemon_store::Store;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::seams::{HostHealth, HostLive, Intake};
use crate::config::{Config, Fault, SecretPlaces};
use crate::control::{self, Control};
use crate::driver::{self, Inner, Parts, Runtime, policies};
use crate::home::{Home, Ownership};
use crate::http::{self, Access, Doors, Hooks, Hosts};
use crate::ops::{Live, OpError, OpErrorKind, Operations, chain};
use crate::random;
use crate::secrets::HostSecrets;
use crate::token;

/// Reads the configuration and composes its parts; the binary brings it.
pub trait Compose: Send + Sync {
    /// Reads the configuration again, as flags, environment and file say.
    ///
    /// # Errors
    /// Says what is wrong with it.
    fn load(&self) -> Result<Config, OpError>;

    /// Makes the parts that a configuration names. It may block.
    ///
    /// # Errors
    /// Says what cannot be made.
    fn parts(&self, config: &Config) -> Result<Parts, OpError>;

    /// Makes an error of what is wrong with the configuration, with its places in the file.
    fn refuse(&self, faults: &[Fault]) -> OpError;
}

/// Refuses a policy that names a daemon which never was.
async fn judge_policies(
    inner: &Inner,
    compose: &dyn Compose,
    config: &Config,
    parts: &Parts,
) -> Result<(), OpError> {
    let named = policies::judge(inner, config, &parts.repos).await?;
    named.warn();
    if named.faults.is_empty() {
        return Ok(());
    }
    let help = "correct the name; `planned = true` in its table says that the daemon is to come";
    Err(compose.refuse(&named.faults).with_help(help))
}

/// What a host starts with.
pub struct Start {
    /// Its home.
    pub home: Home,
    /// Ownership of it, until the host has stopped.
    pub owner: Ownership,
    /// Its store.
    pub store: Arc<dyn Store>,
    /// Its configuration.
    pub config: Config,
    /// What reads and composes it again.
    pub compose: Arc<dyn Compose>,
    /// What writes its logs without its secrets shares this.
    pub secrets: HostSecrets,
}

impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// Where a host that is ready can be reached.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The URL of the HTTP door.
    pub http: String,
    /// The path of the control socket.
    pub socket: PathBuf,
    /// A link that logs a browser in, once.
    pub login_url: String,
}

/// What is asked of a host that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Stop; said twice, stop at once.
    Stop,
    /// Read the configuration again.
    Reload,
}

/// Serves until told to stop.
///
/// # Errors
/// If the configuration cannot be used, or the store, an address or the socket fails at the start.
pub async fn serve<F: Future<Output = Signal>>(
    start: Start,
    on_ready: impl FnOnce(Ready) -> Result<(), OpError>,
    mut signals: impl FnMut() -> F,
) -> Result<(), OpError> {
    let started = monotonic();
    let Start {
        home,
        mut owner,
        store,
        config,
        compose,
        secrets,
    } = start;
    let address = listen_address(&config)?;
    let token_file = config
        .host
        .token_file
        .clone()
        .unwrap_or_else(|| PathBuf::from("token"));
    let token = home.token(&token_file).map_err(config_error)?;
    let sources = sources(&home, &config)?;
    // Health checks are answered from here on, however long the rest of the start takes.
    let (http, bound) = listen(address).await?;
    let parts = compose.parts(&config)?;
    let socket = home.below(&config.uds.path);
    let clients = usize::try_from(config.host.clients).unwrap_or(usize::MAX);
    let hold = config.host.hold;
    if store.host_gate().await? == Gate::Held {
        tracing::warn!(
            "the host is held: events and ticks are recorded, nothing starts; `daemon-run go` ends that"
        );
    }
    warn_without_model(&config);
    let epoch = begin_epoch(&*store, &mut owner).await?;
    if hold {
        store.set_host_gate(Gate::Held).await?;
    }
    let runtime = Runtime {
        config: Arc::new(config),
        parts,
        generation: 1,
    };
    let inner = Inner::new(home, Arc::clone(&store), epoch, runtime, secrets);
    let metrics = recorder();
    crate::strays::end().await;
    inner.pause_claims_in_a_crash_loop(owner.previous()).await?;
    inner.take_back().await?;
    inner.load_registry().await?;
    let runtime = inner.runtime();
    judge_policies(&inner, &*compose, &runtime.config, &runtime.parts).await?;
    let control_listener = control::bind(&socket)
        .map_err(|error| unusable(&format!("cannot bind `{}`", socket.display()), &error))?;
    let tasks = driver::start(&inner).await;

    let live = Arc::new(HostLive {
        inner: Arc::clone(&inner),
        compose,
        started,
        hooks: std::sync::OnceLock::new(),
    });
    let operations = Operations::new(
        store,
        inner.registry().clone(),
        Arc::clone(&live) as Arc<dyn Live>,
    );
    let hooks = Hooks::new(
        sources,
        Arc::new(Intake {
            inner: Arc::clone(&inner),
        }),
    );
    let access = Access::new(&token, hosts(bound));
    let login_url = format!("http://{bound}/login?code={}", access.login_code());
    let health = Arc::new(HostHealth {
        inner: Arc::clone(&inner),
        metrics,
    });
    let doors = Arc::new(Doors {
        access,
        operations: operations.clone(),
        hooks,
        repeats: http::Repeats::default(),
        health,
        streams: http::Streams::new(inner.stop.clone()),
    });
    live.hooks.set(Arc::clone(&doors)).unwrap_or_default();
    let control = Control {
        operations,
        epoch: epoch.0,
        actor: "owner".to_owned(),
        started,
        clients,
        tokens: inner.tokens.clone(),
        events: inner.emanations.events(),
    };

    let Http {
        opening,
        listeners,
        stop,
    } = http;
    opening.open(doors);
    listeners.spawn(control::serve(
        control_listener,
        Arc::new(control),
        inner.stop.clone(),
        inner.finished.clone(),
    ));
    listeners.close();
    on_ready(Ready {
        http: format!("http://{bound}"),
        socket: socket.clone(),
        login_url,
    })?;

    loop {
        let signal = tokio::select! {
            signal = signals() => signal,
            () = inner.broken.cancelled() => {
                let message = "the disk failed under the store; nothing more can be recorded";
                let error = OpError::new(OpErrorKind::Broken, "store-broken", message);
                return Err(error.with_help("mend the disk, then start again: the store is checked first"));
            }
        };
        match signal {
            Signal::Stop => break,
            Signal::Reload => match live.reload().await {
                Ok(told) => tracing::info!(%told, "reloaded"),
                Err(error) => {
                    tracing::error!(%error, "the configuration is wrong; the old one stays");
                }
            },
        }
    }
    tracing::info!("stopping");
    inner.stop.cancel();
    drop(stop);
    tokio::select! {
        () = tasks.wait() => {}
        () = again(&mut signals) => inner.stop_runs(CancelReason::AgentStop),
    }
    let last = async {
        tasks.wait().await;
        listeners.wait().await;
    };
    if tokio::time::timeout(Duration::from_secs(5), last)
        .await
        .is_err()
    {
        tracing::warn!("some clients did not leave in time");
    }
    std::fs::remove_file(&socket).unwrap_or_default();
    Ok(())
}

/// The HTTP listener, which serves until the guard of its stop goes.
struct Http {
    opening: http::Opening,
    listeners: TaskTracker,
    stop: DropGuard,
}

/// Begins to listen.
async fn listen(address: SocketAddr) -> Result<(Http, SocketAddr), OpError> {
    let failed = |error| unusable(&format!("cannot listen on {address}"), &error);
    let listener = http::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let (opening, listeners) = (http::Opening::default(), TaskTracker::new());
    let stop = CancellationToken::new();
    listeners.spawn(http::serve(listener, opening.clone(), stop.clone()));
    tracing::info!("listening on http://{bound}");
    let http = Http {
        opening,
        listeners,
        stop: stop.drop_guard(),
    };
    Ok((http, bound))
}

/// Says that an address or a path cannot be used.
fn unusable(what: &str, error: &std::io::Error) -> OpError {
    // Another program may leave the address; nothing else mends itself.
    let (kind, help) = match error.kind() {
        std::io::ErrorKind::AddrInUse => (
            OpErrorKind::Busy,
            "stop what listens there, or give --listen",
        ),
        _ => (
            OpErrorKind::Config,
            "see host.listen and uds.path in the configuration",
        ),
    };
    OpError::new(kind, "cannot-listen", format!("{what}: {error}")).with_help(help)
}

/// Begins the host's epoch, and has the store know how the host before ended.
///
/// # Errors
/// If the store fails.
pub async fn begin_epoch(store: &dyn Store, owner: &mut Ownership) -> Result<HostEpoch, OpError> {
    let previous = owner.previous();
    if previous.is_crash() {
        tracing::warn!(
            end = previous.as_str(),
            "the host before this one did not stop in order"
        );
    }
    let epoch = store.begin_epoch(previous, random::now()).await?;
    owner.previous_is_stored().map_err(|error| {
        let message = format!("the lock of the home cannot be written: {error}");
        OpError::new(OpErrorKind::Broken, "home", message)
    })?;
    Ok(epoch)
}

/// What is said where no model is configured, and what to do about it.
pub const NO_MODEL: &str = "no model is configured: `builtin` reports and carries no routine out, and \
    `provider.builtin.repair` only repairs links; write `[provider]` with `default = \"claude\"`, `\"codex\"`, \
    `\"opencode\"` or the name of a section of yours into config.toml of the home";

fn warn_without_model(config: &Config) {
    if !config.has_model() {
        tracing::warn!("{NO_MODEL}");
    }
}

async fn again<F: Future<Output = Signal>>(signals: &mut impl FnMut() -> F) {
    while signals().await != Signal::Stop {}
}

/// Reads the monotonic clock, for the uptime.
fn monotonic() -> Instant {
    Instant::now()
}

fn config_error(error: crate::home::HomeError) -> OpError {
    OpError::new(OpErrorKind::Config, "token", chain(&error))
}

/// Reads the address, and refuses a public one without a token of its own.
fn listen_address(config: &Config) -> Result<SocketAddr, OpError> {
    let text = &config.host.listen;
    let address: SocketAddr = text.parse().map_err(|error| {
        OpError::new(OpErrorKind::Config, "listen", format!("`{text}`: {error}"))
            .with_help("an address and a port, such as 127.0.0.1:7777")
    })?;
    if !address.ip().is_loopback() && config.host.token_file.is_none() {
        let error = OpError::new(
            OpErrorKind::Config,
            "public-without-token",
            format!("{address} is not a loopback address"),
        );
        return Err(
            error.with_help("set host.token_file in the configuration, so that the token is yours")
        );
    }
    Ok(address)
}

/// Returns the names by which requests may address a listener.
fn hosts(bound: SocketAddr) -> Hosts {
    if !bound.ip().is_loopback() {
        return Hosts::Any;
    }
    let port = bound.port();
    let names = ["localhost", "127.0.0.1", "[::1]"];
    let with_port = names
        .iter()
        .map(|name| format!("{name}:{port}"))
        .chain([bound.to_string()]);
    // The port that HTTP means by itself is left out by clients.
    let without = names
        .iter()
        .filter(|_| port == 80)
        .map(|name| (*name).to_owned());
    Hosts::These(with_port.chain(without).collect())
}

/// Makes the sources that have secrets.
fn sources(home: &Home, config: &Config) -> Result<BTreeMap<SourceName, Arc<dyn Source>>, OpError> {
    let mut sources: BTreeMap<SourceName, Arc<dyn Source>> = BTreeMap::new();
    for (name, places) in config.sources.secrets() {
        let secrets = secrets(home, name, places)?;
        let source: Arc<dyn Source> = match name {
            SourceName::Github => Arc::new(Github::new(secrets)),
            SourceName::Slack => Arc::new(Slack::new(secrets)),
            SourceName::Sentry => Arc::new(Sentry::new(secrets)),
            SourceName::Linear => {
                let late = config.sources.linear.as_ref();
                let linear = Linear::new(secrets);
                match late.and_then(|linear| linear.accept_late) {
                    Some(late) => Arc::new(linear.accepting_late(late.unsigned())),
                    None => Arc::new(linear),
                }
            }
            // A repository is looked at and sends nothing.
            SourceName::Git => continue,
        };
        sources.insert(name, source);
    }
    Ok(sources)
}

/// Reads the secrets of a source, of which there must be one.
fn secrets(home: &Home, name: SourceName, places: SecretPlaces<'_>) -> Result<Secrets, OpError> {
    let wrong = |message: String| OpError::new(OpErrorKind::Config, "source-secret", message);
    let mut secrets: Vec<String> = Vec::new();
    if let Some(file) = places.file {
        let key = format!("sources.{name}.secret_file");
        let text =
            token::file_text(home.root(), &key, file).map_err(|error| wrong(chain(&error)))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        secrets.extend(lines.map(str::to_owned));
    }
    if let Some(variable) = places.env {
        let value = random::environment(variable).and_then(|value| value.into_string().ok());
        secrets.push(value.ok_or_else(|| {
            wrong(format!(
                "sources.{name}.secret_env: `{variable}` is not set"
            ))
        })?);
    }
    Secrets::new(secrets).map_err(|error| wrong(format!("sources.{name}: {error}")))
}

/// Installs the recorder of metrics, once a process.
fn recorder() -> PrometheusHandle {
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
