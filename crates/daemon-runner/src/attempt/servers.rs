//! The MCP servers that a run is granted. The host connects to them, so that the run gets their tools and not their secrets.

mod link;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use daemon_provider::redact::Redactor;
use daemon_provider::{GrantedTool, RunEvent, ToolReply};
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::servers::{GrantedServer, Servers};
use daemon_provider::Permissions;
use link::Link;

/// The bytes of a tool result that a run receives.
const MOST_ANSWER: usize = 64 << 10;
/// The number of tool events that may wait to be recorded.
const WAITING: usize = 64;

/// The timeouts of a run's servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerTimeouts {
    /// The time for a server to start and list its tools.
    pub(super) begin: Duration,
    /// The time for the result of a call.
    pub(super) call: Duration,
    /// The time for calls to return after the run has ended.
    pub(super) close: Duration,
}

impl Default for ServerTimeouts {
    // Clients wait 30 s for a list of tools and 60 s for a result. With shorter times they receive the error of the server
    // instead of giving up first.
    fn default() -> Self {
        Self {
            begin: Duration::from_secs(15),
            call: Duration::from_secs(50),
            close: Duration::from_secs(2),
        }
    }
}

/// The component that records tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorder {
    /// The provider yields events for all its tools.
    Provider,
    /// The program calls the tools through the host, so that its provider has no events for them.
    Host,
}

/// The settings with which the servers of a run are started.
pub(super) struct Terms {
    pub(super) servers: Servers,
    /// The names of the granted servers.
    pub(super) names: Vec<String>,
    pub(super) permissions: Permissions,
    /// The id of the run, which marks the processes of its servers.
    pub(super) run: String,
    /// The environment of every program: `PATH` and `LANG`.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The parent of the servers' working directories.
    pub(super) directory: PathBuf,
    pub(super) recorder: Recorder,
    pub(super) timeouts: ServerTimeouts,
}

/// The servers of one run, started when the run first lists or calls tools.
pub(super) struct RunServers {
    terms: Terms,
    granted: Vec<GrantedServer>,
    redactor: Redactor,
    links: OnceCell<Vec<Link>>,
    /// The calls that have not returned.
    calls: TaskTracker,
    closed: CancellationToken,
    events: mpsc::Sender<RunEvent>,
    unread: Mutex<Option<mpsc::Receiver<RunEvent>>>,
}

impl fmt::Debug for RunServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunServers({:?})", self.terms.names)
    }
}

impl RunServers {
    pub(super) fn new(terms: Terms) -> Self {
        let granted = terms.servers.of(&terms.names);
        let secrets = granted.iter().flat_map(|server| server.secrets.clone());
        let (events, unread) = mpsc::channel(WAITING);
        Self {
            redactor: Redactor::of(secrets),
            granted,
            terms,
            links: OnceCell::new(),
            calls: TaskTracker::new(),
            closed: CancellationToken::new(),
            events,
            unread: Mutex::new(Some(unread)),
        }
    }

    /// Returns the receiver of the events that the host records. The second call returns a closed one.
    pub(super) fn take_events(&self) -> mpsc::Receiver<RunEvent> {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Returns the tools that the run may use. The first call of this or of [`RunServers::call`] starts the servers.
    pub(super) async fn tools(&self) -> Vec<GrantedTool> {
        let links = self.links().await.iter();
        links.flat_map(|link| link.tools.iter().cloned()).collect()
    }

    /// Calls a tool. Every failure is a reply, because the model has to see it.
    pub(super) async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let is_recorded = self.terms.recorder == Recorder::Host;
        let id = name.to_owned();
        if is_recorded {
            let (name, args) = (id.clone(), Value::Object(arguments.clone()).to_string());
            self.record(RunEvent::ToolStart {
                id: id.clone(),
                name,
                args,
            })
            .await;
        }
        let reply = self.answer(name, arguments).await;
        if is_recorded {
            let (name, status) = (id.clone(), reply.status);
            self.record(RunEvent::ToolEnd { id, name, status }).await;
        }
        reply
    }

    async fn answer(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let links = self.links().await;
        let server = name.split_once("__").map_or(name, |(server, _)| server);
        let Some(link) = links.iter().find(|link| link.name == server) else {
            return ToolReply::failed(format!("no server `{server}` is granted to this run"));
        };
        // Held while the client is used: `close` waits for it before it closes the connection.
        let under_way = self.calls.token();
        let client = match link.client() {
            Ok(client) => client,
            Err(problem) => return ToolReply::failed(problem),
        };
        let Some(tool) = link.own_name(name) else {
            return ToolReply::failed(format!(
                "the server `{server}` offers no tool `{name}` to this run"
            ));
        };
        // A run that ended does not wait for the timeout of a call.
        let called = tokio::select! {
            called = client.call(tool, arguments) => Some(called),
            () = self.closed.cancelled() => None,
        };
        drop((client, under_way));
        match called {
            None => ToolReply::failed(format!("the server `{server}` is closed: the run is over")),
            Some(Ok(answer)) => self.reply(answer),
            Some(Err(error)) => {
                let problem = format!(
                    "the server `{server}`: {}",
                    daemon_records::error::chain(&error)
                );
                ToolReply::failed(self.redactor.text(&problem))
            }
        }
    }

    /// Cuts a result to [`MOST_ANSWER`] and removes the server's own secrets from it.
    fn reply(&self, answer: daemon_mcp::ToolResult) -> ToolReply {
        let answer = answer.bounded(MOST_ANSWER);
        ToolReply {
            status: answer.status,
            text: self.redactor.text(&answer.text).into_owned(),
            structured: answer.structured.map(|value| self.redactor.json(&value)),
        }
    }

    /// Starts all servers at once. A server that cannot be used offers no tools, and the run continues without it.
    async fn links(&self) -> &[Link] {
        let begin = async {
            let begun = self.granted.iter().map(|server| async {
                tokio::select! {
                    biased;
                    // Without this branch, a run that ends while its servers start would wait for the start timeout.
                    () = self.closed.cancelled() => Link::none(server, "the run is over".to_owned()),
                    link = Link::begin(server, &self.terms, &self.redactor) => link,
                }
            });
            let links = futures_util::future::join_all(begun).await;
            for event in links.iter().flat_map(|link| link.notes.iter()) {
                self.record(event.clone()).await;
            }
            links
        };
        self.links.get_or_init(|| begin).await
    }

    /// Sends an event to the record of the run, unless the run has ended.
    async fn record(&self, event: RunEvent) {
        tokio::select! {
            // The receiver is gone once the run has ended.
            sent = self.events.send(event) => drop(sent),
            () = self.closed.cancelled() => {}
        }
    }

    /// Closes every server and waits for the end of its processes. No server is started after this.
    pub(super) async fn close(&self) {
        self.closed.cancel();
        self.calls.close();
        // A call that does not return in time ends when its client is dropped.
        let waited = tokio::time::timeout(self.terms.timeouts.close, self.calls.wait()).await;
        if waited.is_err() {
            tracing::warn!(
                run = self.terms.run,
                "a call of a granted tool was not given up in time"
            );
        }
        if let Some(links) = self.links.get() {
            futures_util::future::join_all(links.iter().map(Link::close)).await;
        }
    }
}

#[cfg(test)]
mod tests;
