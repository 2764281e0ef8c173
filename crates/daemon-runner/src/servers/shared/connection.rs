//! The connection to one server: made, lost and made again by one task.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use daemon_mcp::ToolClient;
use daemon_provider::Permissions;
use daemon_provider::redact::Redactor;
use daemon_records::clock::Clock;
use daemon_records::random;
use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::super::run_servers::{Origin, Recorder, ServerTimeouts, Terms};
use super::super::start::connect;
use super::super::{GrantedServer, Servers};
use super::{BEGIN, ServerPlace, ServerStatus};

/// The wait after a failure; it doubles with each up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Connecting,
    Connected,
    Failed,
    Disconnected,
}

impl ConnectionState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::Disconnected => "disconnected",
        }
    }
}

/// The connection to one server.
pub(super) struct Connection {
    pub(super) server: GrantedServer,
    /// Ends the connection for good.
    pub(super) stop: CancellationToken,
    pub(super) redactor: Redactor,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
    clock: Arc<dyn Clock>,
    again: Notify,
    state: watch::Sender<ConnectionState>,
    details: Mutex<Details>,
}

/// What belongs to the state of a connection.
struct Details {
    since: Timestamp,
    client: Option<Arc<ToolClient>>,
    error: Option<String>,
    n_attempts: u64,
}

impl Connection {
    /// Makes the connection of a server, which [`Self::keep`] opens.
    pub(super) fn new(server: GrantedServer, place: &ServerPlace) -> Self {
        Self {
            redactor: Redactor::of(server.secrets.clone()),
            server,
            stop: CancellationToken::new(),
            environment: place.environment.clone(),
            directory: place.directory.clone(),
            clock: Arc::clone(&place.clock),
            again: Notify::new(),
            state: watch::Sender::new(ConnectionState::Connecting),
            details: Mutex::new(Details {
                since: place.clock.now(),
                client: None,
                error: None,
                n_attempts: 0,
            }),
        }
    }

    /// Opens the connection, and opens it again whenever it is lost, until it is stopped.
    pub(super) async fn keep(self: Arc<Self>, servers: Servers) {
        let terms = Terms {
            origin: Origin::Granted {
                servers,
                // All tools are listed; which of them are offered is decided for each agent.
                permissions: Permissions::Write,
                environment: self.environment.clone(),
                directory: self.directory.clone(),
            },
            // The end of a server ends all processes with its marker, which another host must not have.
            run: format!("agents-{}", random::hex(8)),
            recorder: Recorder::Provider,
            timeouts: ServerTimeouts {
                begin: BEGIN,
                ..ServerTimeouts::default()
            },
        };
        let mut wait = FIRST_WAIT;
        loop {
            self.details().n_attempts += 1;
            self.set(ConnectionState::Connecting);
            let mut unused = drop;
            let connected = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                connected = connect(&self.server, &terms, &mut unused) => connected,
            };
            match connected {
                Ok(client) => {
                    wait = FIRST_WAIT;
                    self.use_until_gone(client).await;
                }
                Err(problem) => self.failed(&problem),
            }
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = self.again.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Lets agents use a client until its server is gone, or until another connection is wanted.
    async fn use_until_gone(&self, client: ToolClient) {
        let client = Arc::new(client);
        self.details().client = Some(Arc::clone(&client));
        self.details().error = None;
        self.set(ConnectionState::Connected);
        let is_restarted = tokio::select! {
            () = self.stop.cancelled() => false,
            () = self.again.notified() => true,
            () = client.gone() => false,
        };
        self.details().client = None;
        self.set(ConnectionState::Disconnected);
        // A call under way has its own reference; the client is closed when that call is dropped.
        if let Some(client) = Arc::into_inner(client) {
            client.close().await;
        }
        if is_restarted {
            // Without a wait: a client asked for it.
            self.again.notify_one();
        }
    }

    fn failed(&self, problem: &str) {
        let problem = self.redactor.text(problem).into_owned();
        let server = self.server.registration.name.as_str();
        tracing::warn!(server, problem, "an MCP server cannot be used");
        self.details().error = Some(problem);
        self.set(ConnectionState::Failed);
    }

    /// Connects again at once.
    pub(super) fn again(&self) {
        self.again.notify_one();
    }

    /// Waits until the first attempt has succeeded or failed.
    pub(super) async fn settled(&self) {
        // Otherwise a server that always hangs would delay every turn.
        if self.details().n_attempts > 1 {
            return;
        }
        let mut states = self.state.subscribe();
        let is_settled = |state: &ConnectionState| *state != ConnectionState::Connecting;
        tokio::select! {
            // The sender is part of `self`, so that it is not gone.
            settled = states.wait_for(is_settled) => drop(settled),
            () = self.stop.cancelled() => {}
        }
    }

    /// Returns the client, or the state without one.
    pub(super) fn client(&self) -> Result<Arc<ToolClient>, &'static str> {
        let client = self.details().client.clone();
        client.ok_or(self.state.borrow().as_str())
    }

    pub(super) fn status(&self) -> ServerStatus {
        let state = self.state.borrow().as_str();
        let details = self.details();
        let tools = details.client.iter().flat_map(|client| client.tools());
        ServerStatus {
            name: self.server.registration.name.clone(),
            state,
            since: Some(details.since),
            tools: tools
                .map(|tool| self.redactor.text(&tool.name).into_owned())
                .collect(),
            error: details.error.clone(),
            restarts: details.n_attempts.saturating_sub(1),
        }
    }

    fn set(&self, state: ConnectionState) {
        self.details().since = self.clock.now();
        self.state.send_replace(state);
    }

    fn details(&self) -> MutexGuard<'_, Details> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
