//! `serve`: runs the host.

mod greeting;

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;

use daemon_host::config::Config;
use daemon_host::home::Home;
use daemon_host::serve::{Compose as _, HostInputs, Ready, Signal, serve};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_runner::secrets::HostSecrets;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{GlobalArgs, ServeArgs};
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::logs;
use crate::out::Out;
use crate::place::Place;
use crate::session::{home_failure, own};

/// Serves until a signal stops the host.
pub(crate) async fn run(
    args: &ServeArgs,
    global: &GlobalArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let is_for_people = !out.is_json() && std::io::stdout().is_terminal();
    let on_ready = |ready: &Ready, config: &Config| match is_for_people {
        true => out.text(&greeting::text(ready, config, place, out)),
        false => announce(ready, out),
    };
    run_with(args, global, place, out, on_ready).await
}

/// Serves until a signal stops the host, and calls `on_ready` once it is ready.
pub(crate) async fn run_with(
    args: &ServeArgs,
    global: &GlobalArgs,
    place: &Place,
    out: Out,
    on_ready: impl FnOnce(&Ready, &Config) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    check(args)?;
    // Install the handlers first: a signal during a slow start must stop the host in order, too.
    let signals = HostSignals::new()?;
    // Bodies of webhooks are large and short-lived: freed memory goes back to the system.
    daemon_process::limit_kept_memory();
    // Before anything divides the limit. A host that cannot raise it serves with the lower one.
    let raised = daemon_process::raise_open_files();
    let home = Home::open(place.home()?).map_err(home_failure)?;
    let owner = own(&home)?;
    let overrides = Overrides {
        repos: args.repo.clone(),
        listen: args.listen.clone(),
        store: args.store.clone(),
        hold: args.hold,
        uncommitted: None,
    };
    let secrets = HostSecrets::default();
    let composer = Arc::new(Composer::new(place, overrides).with_secrets(secrets.clone()));
    let config = composer.load()?;
    logs::begin(&config.log, global, place, secrets.clone())?;
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit on open files cannot be raised");
    }
    if config.repo.is_empty() {
        out.note("no repository is watched: use --repo DIR, or add [[repo]] to config.toml");
    }
    daemon_home_store::check(&config.host.store)?;
    let used = config.clone();
    let start = HostInputs {
        home,
        owner,
        config,
        compose: composer,
        secrets,
    };
    let on_ready = |ready: Ready| {
        on_ready(&ready, &used)
            .map_err(|failure| OpError::new(OpErrorKind::Internal, "stdout", failure.message))
    };
    Ok(serve(start, on_ready, || signals.next()).await?)
}

/// Checks the values of flags, for a usage error. The same values in the configuration are checked where it is read.
fn check(args: &ServeArgs) -> Result<(), CommandFailure> {
    if let Some(listen) = &args.listen
        && let Err(error) = listen.parse::<SocketAddr>()
    {
        let failure = CommandFailure::usage(format!("--listen `{listen}`: {error}"));
        return Err(failure.help("an address and a port, such as 127.0.0.1:7777"));
    }
    check_store(args.store.as_deref())
}

/// Checks the value of `--store`.
pub(crate) fn check_store(store: Option<&str>) -> Result<(), CommandFailure> {
    match store.and_then(daemon_home_store::fault) {
        Some(fault) => Err(CommandFailure::usage(format!("--store: {fault}"))),
        None => Ok(()),
    }
}

/// The members of the ready line, in order.
#[derive(Serialize)]
struct ReadyLine<'a> {
    ready: bool,
    http: &'a str,
    socket: &'a str,
    pid: u32,
    login_url: &'a str,
}

/// Prints the ready line.
fn announce(ready: &Ready, out: Out) -> Result<(), CommandFailure> {
    let line = ReadyLine {
        ready: true,
        http: &ready.http,
        socket: &ready.socket.display().to_string(),
        pid: std::process::id(),
        login_url: &ready.login_url,
    };
    out.note(&format!("one-time login link: {}", ready.login_url));
    // JSON with and without `--json`: scripts wait for this line.
    out.envelope(line)
}

/// The signals that a host handles.
pub(crate) struct HostSignals {
    // The host waits for signals through a shared reference, and receiving needs an exclusive one.
    streams: tokio::sync::Mutex<[tokio::signal::unix::Signal; 3]>,
}

impl HostSignals {
    /// Installs the handlers.
    pub(crate) fn new() -> Result<Self, CommandFailure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                CommandFailure::bug(format!("signals cannot be received: {error}"))
            })
        };
        let streams = [
            listen(SignalKind::terminate())?,
            listen(SignalKind::interrupt())?,
            listen(SignalKind::hangup())?,
        ];
        Ok(Self {
            streams: tokio::sync::Mutex::new(streams),
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&self) -> Signal {
        let mut streams = self.streams.lock().await;
        let [terminate, interrupt, hangup] = &mut *streams;
        tokio::select! {
            _ = terminate.recv() => Signal::Stop,
            _ = interrupt.recv() => Signal::Stop,
            _ = hangup.recv() => Signal::Reload,
        }
    }
}
