//! A client of one server.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use daemon_process::{ChildEvent, Connection, Launch, SpawnError, SupervisedChild, Supervisor};
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{
    ClientInitializeError, PeerRequestOptions, RoleClient, RunningService, ServiceError,
    ServiceExt as _,
};
use rmcp::transport::IntoTransport;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;

use crate::bounds::{Bounded, Said};
use crate::{Answer, Endpoint, ToolSpec};

/// How many lines that a child printed on its standard error are kept.
const LAST_LINES: usize = 20;
/// How long a server may take to leave when its input has ended.
const LEAVE: Duration = Duration::from_secs(2);
/// How long closing may take in all: a child that does not leave is ended within 8 s.
const CLOSE: Duration = Duration::from_secs(12);

/// A server could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Its program could not be started.
    #[error("cannot be started")]
    Spawn(#[from] SpawnError),
    /// The pipes to its program could not be used.
    #[error("its pipes cannot be used")]
    Pipe(#[source] io::Error),
    /// A header has a name or a value that none can have.
    #[error("no header can be `{name}`")]
    Header {
        /// Its name.
        name: String,
        /// The cause, which does not hold the value.
        source: http::Error,
    },
    /// Requests cannot be made at all.
    #[error("requests cannot be made")]
    Prepare(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It did not begin as the protocol asks; the last lines of its standard error may say why.
    #[error("did not begin as a server does{}", said(.stderr))]
    Handshake {
        /// What its program printed.
        stderr: Vec<String>,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// It is gone.
    #[error("the server is gone")]
    Gone,
    /// It said more than is read, and is not listened to any more.
    #[error("the server says more than is read")]
    TooMuch,
    /// It said no.
    #[error("{message}")]
    Refused {
        /// The code of JSON-RPC.
        code: i32,
        /// What it said.
        message: String,
    },
    /// What it said is no answer.
    #[error("what came is no answer")]
    Garbled(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn said(lines: &[String]) -> String {
    match lines.last() {
        Some(line) => format!(": {line}"),
        None => String::new(),
    }
}

type Running = RunningService<RoleClient, ClientConfig>;

/// A connection to one server, with the tools it had when it began.
///
/// Dropping it ends the connection, and the child behind it with everything it started; [`Client::close`] does so gently.
#[derive(Debug)]
pub struct Client {
    running: Running,
    tools: Vec<ToolSpec>,
    patience: Option<Duration>,
    child: Option<Watched>,
    said: Said,
}

impl Client {
    /// Starts a server as a child process and connects to it, within `patience`; calls may take as long each.
    ///
    /// The child must be marked as a part of its run ([`Launch::marker`]), or its end would end the run's other children.
    ///
    /// # Errors
    /// The child could not be started, or is no server; nothing of it is left then.
    pub async fn start(
        supervisor: &Supervisor,
        launch: Launch,
        patience: Duration,
    ) -> Result<Self, ClientError> {
        let supervisor = supervisor.clone();
        let spawned = tokio::task::spawn_blocking(move || supervisor.connect(launch)).await;
        let (child, connection) =
            spawned.map_err(|error| ClientError::Pipe(io::Error::other(error)))??;
        let (reading, writing) = pipes(connection).map_err(ClientError::Pipe)?;
        let child = Watched::new(child);
        let begun = Self::over_pipes(reading, writing, Some(patience)).await;
        match begun {
            Ok(client) => Ok(Self {
                child: Some(child),
                ..client
            }),
            Err(error) => {
                let stderr = child.end(Duration::ZERO).await;
                Err(match error {
                    ClientError::Handshake { source, .. } => {
                        ClientError::Handshake { stderr, source }
                    }
                    other => other,
                })
            }
        }
    }

    /// Connects to a server over HTTP, within `patience`; calls may take as long each.
    ///
    /// # Errors
    /// There is no server at that address, or it does not let this client in.
    pub async fn connect(endpoint: &Endpoint, patience: Duration) -> Result<Self, ClientError> {
        Self::begin(endpoint.transport()?, Some(patience)).await
    }

    /// Connects over two pipes, and waits as long as it takes.
    ///
    /// # Errors
    /// There is no server at the other end.
    pub async fn over(
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, ClientError> {
        Self::over_pipes(reading, writing, None).await
    }

    async fn over_pipes(
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
        patience: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let said = Said::default();
        let reading = Bounded::new(reading, said.clone());
        match Self::begin((reading, writing), patience).await {
            Ok(client) => Ok(Self { said, ..client }),
            Err(_) if said.is_too_much() => Err(ClientError::TooMuch),
            Err(error) => Err(error),
        }
    }

    /// Lets calls take this long each.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self {
            patience: Some(patience),
            ..self
        }
    }

    async fn begin<T, E, A>(transport: T, patience: Option<Duration>) -> Result<Self, ClientError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let implementation = Implementation::new("daemon-run", env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), implementation);
        let beginning = async {
            let running = Box::pin(config.serve(transport)).await.map_err(handshake)?;
            let tools = running.list_all_tools().await.map_err(refused)?;
            Ok::<_, ClientError>((running, tools))
        };
        let (running, tools) = match patience {
            None => beginning.await?,
            Some(patience) => tokio::time::timeout(patience, beginning)
                .await
                .or(Err(ClientError::TimedOut(patience)))??,
        };
        Ok(Self {
            running,
            tools: tools.into_iter().map(ToolSpec::of_wire).collect(),
            patience,
            child: None,
            said: Said::default(),
        })
    }

    /// Returns the server's tools.
    pub fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    /// Calls a tool. Calls run beside each other; dropping the future tells the server nothing and loses the answer.
    ///
    /// # Errors
    /// The server is gone, does not answer in time or refuses. A tool that fails is an [`Answer`].
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, ClientError> {
        use rmcp::model::{CallToolRequest, ClientRequest, ServerResult};
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = match self.patience {
            Some(patience) => PeerRequestOptions::with_timeout(patience),
            None => PeerRequestOptions::no_options(),
        };
        self.said.asked();
        let sent = self.running.send_request_with_option(request, options);
        let answered = async { sent.await?.await_response().await };
        let answer = answered.await.map_err(|error| match refused(error) {
            ClientError::Gone if self.said.is_too_much() => ClientError::TooMuch,
            error => error,
        });
        match answer? {
            ServerResult::CallToolResult(result) => Ok(Answer::of_wire(result)),
            _ => Err(ClientError::Garbled(
                "it is not the result of a tool".into(),
            )),
        }
    }

    /// Ends the connection, and waits until the child behind it is gone.
    pub async fn close(mut self) {
        // A connection that broke is as closed as one that was closed.
        self.running.close_with_timeout(LEAVE).await.unwrap_or(None);
        if let Some(child) = self.child.take() {
            child.end(LEAVE).await;
        }
    }
}

fn handshake(error: ClientInitializeError) -> ClientError {
    ClientError::Handshake {
        stderr: Vec::new(),
        source: Box::new(error),
    }
}

fn refused(error: ServiceError) -> ClientError {
    match error {
        ServiceError::McpError(error) => ClientError::Refused {
            code: error.code.0,
            message: error.message.into_owned(),
        },
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => ClientError::Gone,
        ServiceError::Timeout { timeout } => ClientError::TimedOut(timeout),
        other => ClientError::Garbled(Box::new(other)),
    }
}

fn pipes(connection: Connection) -> io::Result<(pipe::Receiver, pipe::Sender)> {
    let reading = pipe::Receiver::from_owned_fd(connection.output)?;
    let writing = pipe::Sender::from_owned_fd(connection.input)?;
    Ok((reading, writing))
}

/// A child whose standard error is read by a task, which owns it.
#[derive(Debug)]
struct Watched {
    stop: Arc<tokio::sync::Notify>,
    last: Arc<Mutex<VecDeque<String>>>,
    /// Dropping it drops the child, which ends it.
    watching: JoinSet<()>,
}

impl Watched {
    fn new(mut child: SupervisedChild) -> Self {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let stop = Arc::new(tokio::sync::Notify::new());
        let mut watching = JoinSet::new();
        let (lines, stopped) = (Arc::clone(&last), Arc::clone(&stop));
        watching.spawn(async move {
            loop {
                let event = tokio::select! {
                    event = child.next() => event,
                    () = stopped.notified() => {
                        child.stop();
                        continue;
                    }
                };
                match event {
                    Some(ChildEvent::Line { line, .. }) => {
                        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                        lines.truncate(LAST_LINES - 1);
                        lines.push_front(line.text);
                    }
                    Some(_) => {}
                    None => return,
                }
            }
        });
        Self {
            stop,
            last,
            watching,
        }
    }

    /// Waits `leave` for the child to go by itself, then ends it; returns the last lines of its standard error.
    async fn end(mut self, leave: Duration) -> Vec<String> {
        let left = tokio::time::timeout(leave, self.watching.join_next()).await;
        if left.is_err() {
            self.stop.notify_one();
            // What is not over by then goes with the drop, which kills it.
            tokio::time::timeout(CLOSE, self.watching.join_next())
                .await
                .unwrap_or_default();
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().rev().cloned().collect()
    }
}
