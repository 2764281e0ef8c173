//! The servers that a run is granted: the host speaks to them, and the run gets their tools without what they are given.

mod link;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use daemon_mcp::CallStatus;
use daemon_provider::redact::Redactor;
use daemon_provider::{GrantedTool, RunEvent, ToolReply, ToolStatus};
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::servers::{GrantedServer, Servers};
use daemon_provider::Permissions;
use link::Link;

/// How much of an answer a run is given, in bytes.
const MOST_ANSWER: usize = 64 << 10;
/// How many uses of tools may wait to be recorded.
const WAITING: usize = 64;

/// How long a run waits for its servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For a server to begin.
    pub(super) begin: Duration,
    /// For the answer to one call.
    pub(super) call: Duration,
    /// For calls under way to be given up.
    pub(super) leave: Duration,
}

impl Default for Patience {
    /// Clients wait half a minute for a list of tools, and a minute for an answer: they hear of it before they give up.
    fn default() -> Self {
        Self {
            begin: Duration::from_secs(15),
            call: Duration::from_secs(50),
            leave: Duration::from_secs(2),
        }
    }
}

/// Who records that tools are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorder {
    /// The provider tells of its tools, these among them.
    Provider,
    /// The provider cannot know, so the host does.
    Host,
}

/// What the servers of one run are granted and begun with.
pub(super) struct Terms {
    pub(super) servers: Servers,
    /// Those that are granted, by their names.
    pub(super) names: Vec<String>,
    pub(super) permissions: Permissions,
    /// The run, which marks what is started for it.
    pub(super) run: String,
    /// Variables of every program: where programs are, and the language.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The directory that holds one for each server, in which it is started.
    pub(super) directory: PathBuf,
    pub(super) recorder: Recorder,
    pub(super) patience: Patience,
}

/// The servers of one run, begun when their tools are first asked for.
pub(super) struct RunServers {
    terms: Terms,
    granted: Vec<GrantedServer>,
    redactor: Redactor,
    links: OnceCell<Vec<Link>>,
    /// Calls under way.
    calls: TaskTracker,
    closed: CancellationToken,
    told: mpsc::Sender<RunEvent>,
    hearing: Mutex<Option<mpsc::Receiver<RunEvent>>>,
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
        let (told, hearing) = mpsc::channel(WAITING);
        Self {
            redactor: Redactor::of(secrets),
            granted,
            terms,
            links: OnceCell::new(),
            calls: TaskTracker::new(),
            closed: CancellationToken::new(),
            told,
            hearing: Mutex::new(Some(hearing)),
        }
    }

    /// Returns what the host has to record of the run, once.
    pub(super) fn hearing(&self) -> mpsc::Receiver<RunEvent> {
        let mut hearing = self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        hearing.take().unwrap_or_else(|| mpsc::channel(1).1)
    }

    /// Returns the tools that the run may use, beginning the servers if nobody has yet.
    pub(super) async fn tools(&self) -> Vec<GrantedTool> {
        let links = self.links().await.iter();
        links.flat_map(|link| link.tools.iter().cloned()).collect()
    }

    /// Calls a tool; whatever goes wrong is an answer.
    pub(super) async fn call(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let is_recorded = self.terms.recorder == Recorder::Host;
        let id = name.to_owned();
        if is_recorded {
            let (name, args) = (id.clone(), Value::Object(arguments.clone()).to_string());
            self.tell(RunEvent::ToolStart {
                id: id.clone(),
                name,
                args,
            })
            .await;
        }
        let reply = self.answer(name, arguments).await;
        if is_recorded {
            let (name, status) = (id.clone(), reply.status);
            self.tell(RunEvent::ToolEnd { id, name, status }).await;
        }
        reply
    }

    async fn answer(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let links = self.links().await;
        let server = name.split_once("__").map_or(name, |(server, _)| server);
        let Some(link) = links.iter().find(|link| link.name == server) else {
            return ToolReply::failed(format!("no server `{server}` is granted to this run"));
        };
        // Held while the client is used, so that closing waits until nobody does.
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
        let called = tokio::select! {
            called = client.call(tool, arguments) => Some(called),
            () = self.closed.cancelled() => None,
        };
        drop((client, under_way));
        match called {
            None => ToolReply::failed(format!("the server `{server}` is closed: the run is over")),
            Some(Ok(answer)) => self.reply(answer),
            Some(Err(error)) => {
                let problem = format!("the server `{server}`: {}", crate::error::chain(&error));
                ToolReply::failed(self.redactor.text(&problem))
            }
        }
    }

    /// Bounds an answer, and takes out what the server should not have told.
    fn reply(&self, answer: daemon_mcp::ToolResult) -> ToolReply {
        let answer = answer.bounded(MOST_ANSWER);
        ToolReply {
            status: match answer.status {
                CallStatus::Done => ToolStatus::Ok,
                CallStatus::Failed => ToolStatus::Error,
            },
            text: self.redactor.text(&answer.text).into_owned(),
            structured: answer.structured.map(|value| self.redactor.json(&value)),
        }
    }

    /// Begins every server at once; one that cannot be used offers nothing, and the run goes on.
    async fn links(&self) -> &[Link] {
        let begin = async {
            let begun = self.granted.iter().map(|server| async {
                tokio::select! {
                    biased;
                    () = self.closed.cancelled() => Link::none(server, "the run is over".to_owned()),
                    link = Link::begin(server, &self.terms, &self.redactor) => link,
                }
            });
            let links = futures_util::future::join_all(begun).await;
            for event in links.iter().flat_map(|link| link.notes.iter()) {
                self.tell(event.clone()).await;
            }
            links
        };
        self.links.get_or_init(|| begin).await
    }

    /// Tells the record; one that is not read any more hears nothing.
    async fn tell(&self, event: RunEvent) {
        tokio::select! {
            // The receiver is gone once the run has ended.
            told = self.told.send(event) => drop(told),
            () = self.closed.cancelled() => {}
        }
    }

    /// Closes every server, and waits until what was started is gone. Nothing is begun any more.
    pub(super) async fn close(&self) {
        self.closed.cancel();
        self.calls.close();
        // A call that is not given up in time is ended when its client is dropped.
        let waited = tokio::time::timeout(self.terms.patience.leave, self.calls.wait()).await;
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
