//! The connections of a host to its MCP servers, which all of its agents share.

mod connection;
mod hook;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use daemon_agent::definition::AllowedNames;
use daemon_provider::Permissions;
use daemon_records::clock::Clock;
use jiff::Timestamp;
use tokio_util::task::TaskTracker;

use super::Servers;
use crate::run_context::RunContext;
use crate::settings::usual_environment;
use connection::Connection;

pub use hook::McpHook;

/// How long a server may take to start and to list its tools.
const BEGIN: Duration = Duration::from_secs(30);
/// The state of a server that no agent uses.
const IDLE: &str = "idle";

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// The name.
    pub name: String,
    /// `connecting`, `connected`, `failed`, `disconnected`, or `idle` for a server that no agent uses.
    pub state: &'static str,
    /// Since when; `None` for an idle server.
    pub since: Option<Timestamp>,
    /// The tools, by the server's own names; empty unless it is connected.
    pub tools: Vec<String>,
    /// Why it failed the last time, without secrets.
    pub error: Option<String>,
    /// How often it was connected to again.
    pub restarts: u64,
}

/// The servers of a host. A connection outlives reloads that do not change its server.
pub struct SharedServers {
    place: ServerPlace,
    state: Mutex<State>,
    tasks: TaskTracker,
}

/// Where and how servers are started.
struct ServerPlace {
    /// The environment of every program: `PATH` and `LANG`.
    environment: Vec<(OsString, OsString)>,
    /// The parent of the working directories of the programs.
    directory: PathBuf,
    /// The clock of the states.
    clock: Arc<dyn Clock>,
}

/// The servers in force and the connections to them.
#[derive(Default)]
struct State {
    servers: Servers,
    permissions: Option<Permissions>,
    connections: BTreeMap<String, Arc<Connection>>,
    is_closed: bool,
}

impl std::fmt::Debug for SharedServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedServers").field(&self.list()).finish()
    }
}

impl SharedServers {
    /// Makes the connections of a host. Each is opened when an agent needs it first.
    pub fn of(context: &RunContext) -> Self {
        Self::new(ServerPlace {
            environment: usual_environment().into(),
            directory: context.paths.servers.clone(),
            clock: Arc::clone(&context.clock),
        })
    }

    fn new(place: ServerPlace) -> Self {
        Self {
            place,
            state: Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Takes the servers of a configuration. Connections to servers that it changes or removes end; the others stay. Only tools that
    /// `permissions` allow are offered.
    pub fn replace(&self, servers: &Servers, permissions: Permissions) {
        let mut state = self.state();
        let connections = state.connections.iter();
        let changed = connections
            .filter(|(name, connection)| servers.known.get(*name) != Some(&connection.server));
        let names: Vec<String> = changed.map(|(name, _)| name.clone()).collect();
        for name in &names {
            if let Some(connection) = state.connections.remove(name) {
                connection.stop.cancel();
            }
        }
        state.servers = servers.clone();
        state.permissions = Some(permissions);
        for name in names {
            self.begin(&mut state, &name);
        }
    }

    /// Connects to the servers that an agent may use, and waits until each is connected or has failed.
    pub async fn ready(&self, allowed: &AllowedNames) {
        let connections: Vec<Arc<Connection>> = {
            let mut state = self.state();
            let names: Vec<String> = state.servers.known.keys().cloned().collect();
            let names = names.into_iter().filter(|name| allowed.has(name));
            names
                .filter_map(|name| self.begin(&mut state, &name))
                .collect()
        };
        for connection in connections {
            connection.settled().await;
        }
    }

    /// Lists the configured servers by name.
    pub fn list(&self) -> Vec<ServerStatus> {
        let state = self.state();
        let listed = state.servers.known.keys().map(|name| {
            let connection = state.connections.get(name);
            connection.map_or_else(|| idle(name), |connection| connection.status())
        });
        listed.collect()
    }

    /// Connects to a server again; returns `None` if it is not configured.
    pub fn restart(&self, name: &str) -> Option<ServerStatus> {
        let mut state = self.state();
        let is_known = state.connections.contains_key(name);
        let connection = self.begin(&mut state, name)?;
        if is_known {
            connection.again();
        }
        Some(connection.status())
    }

    /// Ends all connections and waits for the end of the servers' processes.
    pub async fn close(&self) {
        {
            let mut state = self.state();
            state.is_closed = true;
            for connection in state.connections.values() {
                connection.stop.cancel();
            }
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Returns the connection to a configured server, and opens it at the first call.
    fn begin(&self, state: &mut State, name: &str) -> Option<Arc<Connection>> {
        if let Some(connection) = state.connections.get(name) {
            return Some(Arc::clone(connection));
        }
        let server = state.servers.known.get(name)?.clone();
        if state.is_closed {
            return None;
        }
        let connection = Arc::new(Connection::new(server, &self.place));
        let servers = state.servers.clone();
        self.tasks.spawn(Arc::clone(&connection).keep(servers));
        state
            .connections
            .insert(name.to_owned(), Arc::clone(&connection));
        Some(connection)
    }

    fn connection(&self, name: &str) -> Option<Arc<Connection>> {
        self.state().connections.get(name).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held cannot leave the maps half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn idle(name: &str) -> ServerStatus {
    ServerStatus {
        name: name.to_owned(),
        state: IDLE,
        since: None,
        tools: Vec::new(),
        error: None,
        restarts: 0,
    }
}

#[cfg(test)]
mod tests;
