//! Serving: start, ready, reload, stop.

mod begin;
mod health;
mod listener;
mod login_links;
mod seams;
mod settings;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_api::control::{self, Control};
use daemon_api::http::{self, McpCaller};
use daemon_api::ops::Operations;
use daemon_engine::HostEpoch;
use daemon_event::RepoName;
use daemon_mcp::ToolServer;
use daemon_provider::StopReason;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_registry::Registry;
use daemon_runner::secrets::HostSecrets;
use daemon_store::Store;
use jiff::Timestamp;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::begin::begin;
use self::listener::ListenerSecrets;
use self::login_links::LoginLinks;
use self::seams::HostLive;
use crate::config::{Config, ConfigFault};
use crate::driver::{Host, Parts};
use crate::home::{Home, Ownership};

/// How long a stop waits for clients, and for work that outlives its drain.
// A stop takes at most the drain of the runs and these 5 s.
const LEAVING: Duration = Duration::from_secs(5);

/// Reads the configuration and composes its parts; the binary implements it.
pub trait Compose: Send + Sync {
    /// Reads the configuration again, as flags, environment and file say.
    ///
    /// # Errors
    /// If the configuration is invalid.
    fn load(&self) -> Result<Config, OpError>;

    /// Checks the text of a configuration file.
    ///
    /// # Errors
    /// If the host could not start with it.
    fn check(&self, text: &str) -> Result<(), OpError>;

    /// Opens the store that a configuration names, and converts one of an older version. It blocks, for minutes where a
    /// large store is converted.
    ///
    /// # Errors
    /// If the store cannot be opened or converted.
    fn open_store(&self, home: &Home, config: &Config) -> Result<Arc<dyn Store>, OpError>;

    /// Notes that the configuration that was read last is in force.
    fn note_in_force(&self);

    /// Composes the parts of a configuration. It blocks. A repository that git has not opened by `until` is in
    /// [`Parts::unopened`]; a later response of git counts for the next call.
    ///
    /// # Errors
    /// If a part cannot be composed.
    fn parts(
        &self,
        config: &Config,
        until: Instant,
        failure: OpenFailure,
    ) -> Result<Parts, OpError>;

    /// Makes the server of the tools that an MCP client over HTTP may call.
    fn tool_server(&self, operations: &Operations, caller: &McpCaller) -> ToolServer;

    /// Converts errors of the configuration to one error with their positions in the file.
    fn refuse(&self, faults: &[ConfigFault]) -> OpError;
}

/// The treatment of a repository that git refuses to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFailure {
    /// The parts are refused.
    Refuse,
    /// It is in [`Parts::unopened`], and the other repositories are served.
    Note,
}

/// The inputs of [`serve`].
pub struct HostInputs {
    /// Its home.
    pub home: Home,
    /// Ownership of it, until the host has stopped.
    pub owner: Ownership,
    /// Its configuration.
    pub config: Config,
    /// Reads the configuration again and composes its parts.
    pub compose: Arc<dyn Compose>,
    /// The known secrets, shared with the writer of the log, which redacts them.
    pub secrets: HostSecrets,
}

impl std::fmt::Debug for HostInputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostInputs")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

/// Where a host that is ready can be reached, and what it watches.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The URL of the HTTP listener.
    pub http: String,
    /// The path of the control socket.
    pub socket: PathBuf,
    /// A link that logs a browser in, once.
    pub login_url: String,
    /// The names of the watched repositories.
    pub repos: Vec<RepoName>,
    /// The repositories that are not read yet, with the reason.
    pub unread: Vec<(RepoName, String)>,
    /// The registered daemons.
    pub registry: Arc<Registry>,
}

/// A request to a serving host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Stop; the second time, stop at once.
    Stop,
    /// Read the configuration again.
    Reload,
}

/// Runs a host until it receives a stop.
///
/// The HTTP listener is bound first. While the store is opened and the repositories are read, it answers `/healthz` and
/// `/readyz`, and a stop ends the host at once.
///
/// # Errors
/// If the configuration cannot be used, or the store, an address or the socket fails at the start.
pub async fn serve<F: Future<Output = Signal>>(
    mut start: HostInputs,
    on_ready: impl FnOnce(Ready) -> Result<(), OpError>,
    mut signals: impl FnMut() -> F,
) -> Result<(), OpError> {
    let secrets = ListenerSecrets::new(&start)?;
    // Checked before anything is bound or opened.
    tcp_address(&start.config)?;
    // Before the store is opened: health checks have to work while a large store is converted or git hangs.
    let (http, bound) = listen(listen_address(&start.config)?).await?;
    let mut asked = Asked::default();
    let begun = tokio::select! {
        // The home stays owned while a stop ends the start: the store may still be in work on its thread.
        begun = begin(&mut start, secrets, bound, &http.opening) => begun?,
        () = asked.stop(&mut signals) => {
            tracing::info!("stopping before the host is ready");
            in_time(http.close()).await;
            return Ok(());
        }
    };
    let (host, live, tasks) = (&begun.live.host, &begun.live, &begun.tasks);
    http.opening.open(Arc::clone(&begun.app));
    serve_control(&http.listeners, host, begun.control, begun.tcp);
    http.listeners.spawn(seams::open_late(Arc::clone(live)));
    let app = Arc::downgrade(&begun.app);
    let links = live.logins.get_or_init(|| LoginLinks { app, bound });
    on_ready(Ready {
        http: format!("http://{bound}"),
        socket: begun.socket.path().to_owned(),
        login_url: links.link().expect("the app is held until the end"),
        repos: host.runtime().parts.names().cloned().collect(),
        unread: host.registrations.states.unread(),
        registry: host.registry().get(),
    })?;

    asked.until_stopped(live, &mut signals).await?;
    tracing::info!("stopping");
    host.stop().cancel();
    let closed = http.close();
    tokio::select! {
        () = tasks.wait() => {}
        () = asked.stop(&mut signals) => {
            host.runs().context.stop_all(StopReason::AgentStop);
            host.conversations.stop();
        }
    }
    let last = async {
        tasks.wait().await;
        closed.await;
    };
    in_time(last).await;
    Ok(())
}

/// Serves the control protocol on the socket of the home, and over TCP if that is configured.
fn serve_control(
    listeners: &TaskTracker,
    host: &Host,
    (listener, control): (UnixListener, Control),
    tcp: Option<TcpListener>,
) {
    let control = Arc::new(control);
    let (stop, finished) = (host.stop(), host.finished());
    if let Some(tcp) = tcp {
        let (control, stop, finished) = (Arc::clone(&control), stop.clone(), finished.clone());
        listeners.spawn(control::serve_tcp(tcp, control, stop, finished));
    }
    listeners.spawn(control::serve(
        listener,
        control,
        stop.clone(),
        finished.clone(),
    ));
}

/// Waits for the remaining work of a stop, at most [`LEAVING`].
async fn in_time(last: impl Future<Output = ()>) {
    if tokio::time::timeout(LEAVING, last).await.is_err() {
        tracing::warn!("some clients did not disconnect in time");
    }
}

/// Requests that came while a host was busy.
#[derive(Debug, Default)]
struct Asked {
    reload: bool,
}

impl Asked {
    /// Waits for a request to stop, and notes requests to reload.
    async fn stop<F: Future<Output = Signal>>(&mut self, signals: &mut impl FnMut() -> F) {
        while signals().await == Signal::Reload {
            self.reload = true;
        }
    }

    /// Performs reloads until a stop is requested, which also ends a reload in progress.
    ///
    /// # Errors
    /// If the store can never be written again.
    async fn until_stopped<F: Future<Output = Signal>>(
        &mut self,
        live: &HostLive,
        signals: &mut impl FnMut() -> F,
    ) -> Result<(), OpError> {
        loop {
            if std::mem::take(&mut self.reload) {
                tokio::select! {
                    _reported = live.reload_all() => {}
                    () = self.stop(signals) => return Ok(()),
                }
                continue;
            }
            let signal = tokio::select! {
                signal = signals() => signal,
                () = live.host.failures.broken.cancelled() => {
                    let message = "the disk failed under the store; nothing more can be recorded";
                    let error = OpError::new(OpErrorKind::Broken, "store-broken", message);
                    return Err(error.with_help("repair the disk, then start again: the store is checked first"));
                }
            };
            match signal {
                Signal::Stop => return Ok(()),
                Signal::Reload => self.reload = true,
            }
        }
    }
}

/// Logs how a reload went.
fn report(reloaded: &Result<serde_json::Value, OpError>) {
    match reloaded {
        Ok(answer) => tracing::info!(%answer, "reloaded"),
        Err(error) if error.kind == OpErrorKind::Config => {
            tracing::error!(%error, "the configuration is wrong; the old one stays");
        }
        Err(error) => {
            tracing::error!(%error, "the configuration could not be replaced; the old one stays");
        }
    }
}

/// The HTTP listener, which serves until the guard of its stop is dropped.
struct Http {
    opening: http::Opening,
    listeners: TaskTracker,
    stop: DropGuard,
}

impl Http {
    /// Stops listening at once, and returns what waits until the clients have left.
    fn close(self) -> impl Future<Output = ()> {
        drop(self.stop);
        self.listeners.close();
        async move { self.listeners.wait().await }
    }
}

/// Binds the HTTP listener and starts to serve it.
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

/// Returns the error of an address or a path that cannot be used.
fn unusable(what: &str, error: &std::io::Error) -> OpError {
    // Another program may release the address, so a later try can succeed; other errors are permanent.
    let (kind, help) = match error.kind() {
        std::io::ErrorKind::AddrInUse => (
            OpErrorKind::Busy,
            "stop what listens there, or give --listen",
        ),
        _ => (
            OpErrorKind::Config,
            "see host.listen, tcp.listen and uds.path in the configuration",
        ),
    };
    OpError::new(kind, "cannot-listen", format!("{what}: {error}")).with_help(help)
}

/// Begins the epoch of this host, and stores how the previous host ended.
///
/// # Errors
/// If the store fails.
pub async fn begin_epoch(
    store: &dyn Store,
    owner: &mut Ownership,
    now: Timestamp,
) -> Result<HostEpoch, OpError> {
    let previous = owner.previous();
    if previous.is_crash() {
        tracing::warn!(
            end = previous.as_str(),
            "the host before this one did not stop in order"
        );
    }
    let epoch = store.begin_epoch(previous, now).await?;
    // Only after the store has it: a start that fails earlier must leave the evidence of a crash to the next one.
    owner.previous_is_stored().map_err(|error| {
        let message = format!("the lock of the home cannot be written: {error}");
        OpError::new(OpErrorKind::Broken, "home", message)
    })?;
    Ok(epoch)
}

/// Logs what a person should know about a configuration before runs use it.
fn warn_of(config: &Config, parts: &Parts) {
    if !config.has_model() {
        tracing::warn!("{}", daemon_api::ops::NO_MODEL);
    }
    if let Some(minutes) = config.roster.stale_after_minutes {
        tracing::warn!(
            minutes,
            "roster.stale_after_minutes is set: dormant daemons are stale although they check in as they should"
        );
    }
    for problem in crate::doctor::unconfined(config, parts) {
        tracing::warn!("{problem}");
    }
}

/// Parses the address of HTTP; a public one requires `host.token_file`.
fn listen_address(config: &Config) -> Result<SocketAddr, OpError> {
    let address = parsed_address("listen", &config.host.listen)?;
    check_public(config, address)?;
    Ok(address)
}

/// Parses the address of the control protocol over TCP, if one is configured; a public one requires `tcp.public` and
/// `host.token_file`.
fn tcp_address(config: &Config) -> Result<Option<SocketAddr>, OpError> {
    let Some(text) = &config.tcp.listen else {
        return Ok(None);
    };
    let address = parsed_address("tcp-listen", text)?;
    if !address.ip().is_loopback() && !config.tcp.public {
        let message = format!("tcp.listen: {address} is not a loopback address");
        let error = OpError::new(OpErrorKind::Config, "tcp-public", message);
        return Err(error.with_help("set `tcp.public = true`; its traffic is not encrypted"));
    }
    check_public(config, address)?;
    Ok(Some(address))
}

fn parsed_address(code: &str, text: &str) -> Result<SocketAddr, OpError> {
    text.parse().map_err(|error| {
        OpError::new(OpErrorKind::Config, code, format!("`{text}`: {error}"))
            .with_help("an address and a port, such as 127.0.0.1:7777")
    })
}

/// Checks that a public address has a token that the operator chose.
fn check_public(config: &Config, address: SocketAddr) -> Result<(), OpError> {
    if address.ip().is_loopback() || config.host.token_file.is_some() {
        return Ok(());
    }
    let error = OpError::new(
        OpErrorKind::Config,
        "public-without-token",
        format!("{address} is not a loopback address"),
    );
    Err(error.with_help("set host.token_file in the configuration, so that the token is yours"))
}
