//! The listeners of the control protocol: they accept clients, limit their number, and distinguish the owner from processes of
//! runs and from clients over TCP.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daemon_records::HeldRoster;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{NewClient, Stopping, serve_client};
use super::places::ControlPlaces;
use super::run_client::serve_run;
use super::run_tokens::RunTokens;
use crate::ops::Operations;
use crate::tokens::HostTokens;

/// The maximum number of clients over TCP that have not sent a token yet. They must not take the places of all others.
const UNKNOWN: usize = 64;
/// How long a connection over TCP may be silent before the kernel checks whether the client still exists.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The state that all connections of the control protocol share.
#[derive(Debug)]
pub struct Control {
    /// Performs the operations.
    pub operations: Operations,
    /// Knows the tokens of agents.
    pub roster: Arc<HeldRoster>,
    /// The number of the host's start, which `initialize` returns.
    pub epoch: u64,
    /// The name of the owner of the home, who is the only user that may call on its socket.
    pub actor: String,
    /// The tokens of the host, for clients that send one.
    pub access: HostTokens,
    /// The instant of the host's start, for the uptime that `ping` returns.
    pub started: Instant,
    /// The places of connected clients, on all transports.
    pub places: ControlPlaces,
    /// The places of requests that run or wait, of all clients.
    pub dispatches: ControlPlaces,
    /// The tokens of active runs.
    pub tokens: RunTokens,
    /// Notifications for every client that has sent `initialize`.
    pub events: broadcast::Sender<Arc<serde_json::Value>>,
}

/// Binds the socket (0600), replacing one that a dead host left.
///
/// The caller owns the home, so an existing socket has no listener.
///
/// # Errors
/// If the path is too long, is something other than a socket, or cannot be bound.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => {
            let problem = format!("`{}` is there and is not a socket", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Binds the listener for clients over TCP.
///
/// # Errors
/// If the address cannot be bound.
pub async fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Accepts clients on the socket of the home until `stop`; connected clients get the error `shutting-down` until `finished`.
pub async fn serve(
    listener: UnixListener,
    control: Arc<Control>,
    stop: CancellationToken,
    finished: CancellationToken,
) {
    let clients = TaskTracker::new();
    // Runs get tokens only from here on, because a token without a listener is useless.
    control.tokens.serve();
    while let Some(accepted) = accept(&stop, || listener.accept()).await {
        let Some((stream, _)) = accepted else {
            continue;
        };
        let peer = match peer(&stream) {
            Ok(peer) => peer,
            Err(reason) => {
                tracing::warn!(reason, "a control client was refused");
                continue;
            }
        };
        // Above the limit the connection is closed at once; the client may try again.
        let Some(place) = control.places.take() else {
            continue;
        };
        let control = Arc::clone(&control);
        let stopping = Stopping {
            stop: stop.clone(),
            finished: finished.clone(),
        };
        clients.spawn(async move {
            match peer {
                Peer::Owner => {
                    serve_client(stream.into_split(), NewClient::Owner, control, stopping).await;
                }
                Peer::Run => serve_run(stream, control, stopping).await,
            }
            drop(place);
        });
    }
    clients.close();
    clients.wait().await;
}

/// Accepts clients over TCP like [`serve`]; each sends a token first.
pub async fn serve_tcp(
    listener: TcpListener,
    control: Arc<Control>,
    stop: CancellationToken,
    finished: CancellationToken,
) {
    let clients = TaskTracker::new();
    let unknown = Arc::new(Semaphore::new(UNKNOWN));
    while let Some(accepted) = accept(&stop, || listener.accept()).await {
        let Some((stream, _)) = accepted else {
            continue;
        };
        let permit = Arc::clone(&unknown).try_acquire_owned();
        let (Ok(permit), Some(place)) = (permit, control.places.take()) else {
            continue;
        };
        if let Err(error) = configure(&stream) {
            tracing::warn!(%error, "a connection over TCP cannot be configured");
        }
        let control = Arc::clone(&control);
        let stopping = Stopping {
            stop: stop.clone(),
            finished: finished.clone(),
        };
        clients.spawn(async move {
            let client = NewClient::Unknown(permit);
            serve_client(stream.into_split(), client, control, stopping).await;
            drop(place);
        });
    }
    clients.close();
    clients.wait().await;
}

/// Accepts one client. Returns `None` once the host stops, and no client if accepting failed.
async fn accept<C, F: Future<Output = io::Result<C>>>(
    stop: &CancellationToken,
    next: impl FnOnce() -> F,
) -> Option<Option<C>> {
    let accepted = tokio::select! {
        () = stop.cancelled() => return None,
        accepted = next() => accepted,
    };
    match accepted {
        Ok(client) => Some(Some(client)),
        Err(error) => {
            // Without free descriptors `accept` fails at once, and the loop would spin.
            tracing::warn!(%error, "accepting a control client failed");
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some(None)
        }
    }
}

/// Sends small messages at once, and finds clients that are gone without a word, which would keep their places.
fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    Ok(())
}

/// The process at the other end of a connection.
enum Peer {
    /// A process of the owner of the home.
    Owner,
    /// A process that the host itself started; it may not use the operations of the owner.
    Run,
}

/// Identifies the peer of a connection; fails for processes of other users.
fn peer(stream: &UnixStream) -> Result<Peer, &'static str> {
    let Ok(peer) = stream.peer_cred() else {
        return Err("its credentials cannot be read");
    };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user");
    }
    // A process can remove the marker from its environment, but not itself from the chain of parents.
    let is_of_run = |pid: i32| is_marked(pid) || is_below(pid);
    Ok(if peer.pid().is_some_and(is_of_run) {
        Peer::Run
    } else {
        Peer::Owner
    })
}

/// Reports whether a process has the marker of a run in its environment.
fn is_marked(pid: i32) -> bool {
    match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environ) => environ
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(b"DAEMON_RUN_ID=")),
        // An unreadable environment is no evidence; the chain of parents decides then.
        Err(_) => false,
    }
}

/// Reports whether a process descends from this one, which adopts the processes that its children leave.
fn is_below(pid: i32) -> bool {
    let own = i32::try_from(std::process::id()).ok();
    let mut pid = pid;
    // Longer chains of parents do not occur; the limit ends a cycle that a reused id could cause.
    for _ in 0..1_024 {
        match parent(pid) {
            Some(parent) if Some(parent) == own => return true,
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}
