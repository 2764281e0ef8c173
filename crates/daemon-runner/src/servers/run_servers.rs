//! The MCP servers of one run. The host connects to them, so that the run gets their tools and not their secrets.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use daemon_provider::redact::Redactor;
use daemon_provider::{
    GrantedTool, Grants, Permissions, Provider, RunEvent, RunRequest, ToolReply,
};
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::link::Link;
use super::{GrantedServer, Servers};

/// The bytes of a tool result that a run receives.
const MOST_ANSWER: usize = 64 << 10;
/// The number of events of servers and their tools that may wait to be recorded.
pub(crate) const WAITING: usize = 64;

/// The timeouts of a run's servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerTimeouts {
    /// The time for a server to start and list its tools.
    pub(crate) begin: Duration,
    /// The time for the result of a call.
    pub(crate) call: Duration,
    /// The time for calls to return after the run has ended.
    pub(crate) close: Duration,
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
pub(crate) enum Recorder {
    /// The provider yields events for all its tools.
    Provider,
    /// The program calls the tools through the host, so that its provider has no events for them.
    Host,
}

/// The settings with which the servers of a run are started.
pub(crate) struct Terms {
    pub(crate) origin: Origin,
    /// The id of the run, which marks the processes of its servers.
    pub(crate) run: String,
    pub(crate) recorder: Recorder,
    pub(crate) timeouts: ServerTimeouts,
}

/// Who chose the servers, which decides how they start and which of their tools the run gets.
pub(crate) enum Origin {
    /// The configuration of the host. They start outside of every sandbox. Their tools have the name of the server as a prefix, and the
    /// capability of the run limits them.
    Granted {
        servers: Servers,
        permissions: Permissions,
        /// The environment of every program: `PATH` and `LANG`.
        environment: Vec<(OsString, OsString)>,
        /// The parent of the servers' working directories.
        directory: PathBuf,
    },
    /// The caller of the run. There is one, it starts in the sandbox of the run, and the run gets all its tools by their own names.
    Registered(Box<RegisteredServer>),
}

/// What the server of a caller can reach.
pub(crate) struct RegisteredServer {
    /// The provider of the run, which sets the sandbox.
    pub(crate) provider: Arc<dyn Provider>,
    /// The paths of the run, and the environment and the home of the server.
    pub(crate) request: RunRequest,
    /// The secrets that results of its tools must not contain.
    pub(crate) named_secrets: Vec<String>,
}

/// What is removed from what a run receives.
pub(super) struct Redactors {
    /// From tools and their results.
    pub(super) results: Redactor,
    /// From error messages, which may have the standard error of a server.
    pub(super) problems: Redactor,
}

/// The servers of one run, started when the run first lists or calls tools.
pub(crate) struct RunServers {
    terms: Terms,
    chosen: Vec<GrantedServer>,
    redactors: Redactors,
    links: OnceCell<Vec<Link>>,
    /// The calls that have not returned.
    calls: TaskTracker,
    closed: CancellationToken,
    events: mpsc::Sender<RunEvent>,
}

impl fmt::Debug for RunServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunServers").field(&self.chosen).finish()
    }
}

impl RunServers {
    /// Makes the servers of a run. Those of one caller are made one by one, since their tools have no prefix.
    pub(crate) fn new(
        terms: Terms,
        chosen: Vec<GrantedServer>,
        events: mpsc::Sender<RunEvent>,
    ) -> Self {
        let secrets = chosen.iter().flat_map(|server| server.secrets.clone());
        let problems = Redactor::of(secrets);
        let results = match &terms.origin {
            Origin::Granted { .. } => problems.clone(),
            Origin::Registered(registered) => Redactor::of(registered.named_secrets.clone()),
        };
        Self {
            redactors: Redactors { results, problems },
            chosen,
            terms,
            links: OnceCell::new(),
            calls: TaskTracker::new(),
            closed: CancellationToken::new(),
            events,
        }
    }

    /// Calls a tool and records the call.
    async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let is_recorded = self.terms.recorder == Recorder::Host;
        let id = match (&self.terms.origin, self.chosen.first()) {
            (Origin::Registered(_), Some(server)) => {
                format!("{}__{name}", server.registration.name)
            }
            _ => name.to_owned(),
        };
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
        let mut links = self.links().await.iter();
        let found = match &self.terms.origin {
            Origin::Granted { .. } => {
                let server = name.split_once("__").map_or(name, |(server, _)| server);
                let found = links.find(|link| link.name == server);
                found.ok_or(server)
            }
            Origin::Registered(_) => links.next().ok_or(name),
        };
        let link = match found {
            Ok(link) => link,
            Err(server) => {
                let problem = format!("no server `{server}` is granted to this run");
                return ToolReply::failed(problem);
            }
        };
        let server = &link.name;
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
                ToolReply::failed(self.redactors.problems.text(&problem))
            }
        }
    }

    /// Cuts a result to [`MOST_ANSWER`] and removes the server's own secrets from it.
    fn reply(&self, answer: daemon_mcp::ToolResult) -> ToolReply {
        let answer = answer.bounded(MOST_ANSWER);
        ToolReply {
            status: answer.status,
            text: self.redactors.results.text(&answer.text).into_owned(),
            structured: answer
                .structured
                .map(|value| self.redactors.results.json(&value)),
        }
    }

    /// Starts all servers at once. A server that cannot be used offers no tools, and the run continues without it.
    async fn links(&self) -> &[Link] {
        let begin = async {
            let begun = self.chosen.iter().map(|server| async {
                tokio::select! {
                    biased;
                    // Without this branch, a run that ends while its servers start would wait for the start timeout.
                    () = self.closed.cancelled() => Link::none(server, "the run is over".to_owned()),
                    link = Link::begin(server, &self.terms, &self.redactors, &self.events) => link,
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
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        self.calls.close();
        // A call that does not return in time ends when its client is dropped.
        let waited = tokio::time::timeout(self.terms.timeouts.close, self.calls.wait()).await;
        if waited.is_err() {
            tracing::warn!(
                run = self.terms.run,
                "a call of a tool was not given up in time"
            );
        }
        if let Some(links) = self.links.get() {
            futures_util::future::join_all(links.iter().map(Link::close)).await;
        }
    }
}

#[async_trait]
impl Grants for RunServers {
    /// Returns the tools that the run may use. The first call of this or of [`Grants::call_tool`] starts the servers.
    async fn tools(&self) -> Vec<GrantedTool> {
        let links = self.links().await.iter();
        links.flat_map(|link| link.tools.iter().cloned()).collect()
    }

    async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        self.call(name, arguments).await
    }
}

#[cfg(test)]
mod tests;
