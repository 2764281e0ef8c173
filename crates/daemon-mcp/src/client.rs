//! An MCP client of one server.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use daemon_process::{ChildEvent, ChildPipes, Launch, SpawnError, SupervisedChild, Supervisor};
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
use crate::{Endpoint, ToolDescription, ToolResult};

/// How many lines of a child's standard error are kept for the error of a failed handshake.
const LAST_LINES: usize = 20;
/// How long a server may take to exit after its input was closed.
const LEAVE: Duration = Duration::from_secs(2);
/// How long closing may take in total; the supervisor kills a child that does not exit within 8 s.
const CLOSE: Duration = Duration::from_secs(12);

/// The error of connecting to a server or calling it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server's program could not be started.
    #[error("cannot be started")]
    Spawn(#[from] SpawnError),
    /// The pipes to the server's program could not be set up.
    #[error("the pipes to its program cannot be set up")]
    Pipe(#[source] io::Error),
    /// A header has an invalid name or value.
    #[error("the header `{name}` has an invalid name or value")]
    Header {
        /// The header's name.
        name: String,
        /// The cause, which does not contain the value.
        source: http::Error,
    },
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up")]
    Prepare(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The handshake failed; the last lines of the program's standard error may have the reason.
    #[error("the handshake failed{}", said(.stderr))]
    Handshake {
        /// The last lines of the program's standard error, oldest first.
        stderr: Vec<String>,
        /// The cause, from the protocol library.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server did not respond in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The connection is closed.
    #[error("the server has closed the connection")]
    Gone,
    /// The server sent more than the limits allow; the connection is closed.
    #[error("the server sent too much data")]
    TooMuch,
    /// The server responded with an error.
    #[error("{message}")]
    Refused {
        /// The JSON-RPC error code.
        code: i32,
        /// The server's error message.
        message: String,
    },
    /// The response is not the result of a tool call.
    #[error("the response is not the result of a tool call")]
    Garbled(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn said(lines: &[String]) -> String {
    match lines.last() {
        Some(line) => format!(": {line}"),
        None => String::new(),
    }
}

/// How often a connection is checked.
const CHECKED: Duration = Duration::from_millis(250);

type Running = RunningService<RoleClient, ClientConfig>;

/// A connection to one server, with the tools that it listed when the connection was opened.
///
/// Dropping the client closes the connection and kills the child process with everything it started. [`Self::close`] lets the
/// child exit by itself first.
#[derive(Debug)]
pub struct ToolClient {
    running: Running,
    tools: Vec<ToolDescription>,
    timeout: Option<Duration>,
    child: Option<Watched>,
    said: Said,
}

impl ToolClient {
    /// Starts a server as a child process and connects to it, within `timeout`; the same timeout applies to each call.
    ///
    /// The child needs a marker of its own below the run's ([`Launch::marker`]): when the child is ended, everything with its
    /// marker is ended too.
    ///
    /// # Errors
    /// Returns an error if the child could not be started or failed the handshake. The child has ended then.
    pub async fn start(
        supervisor: &Supervisor,
        launch: Launch,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let supervisor = supervisor.clone();
        let spawned = tokio::task::spawn_blocking(move || supervisor.connect(launch)).await;
        let (child, connection) =
            spawned.map_err(|error| ClientError::Pipe(io::Error::other(error)))??;
        let (reading, writing) = pipes(connection).map_err(ClientError::Pipe)?;
        let child = Watched::new(child);
        // The child is watched from here on, so that an error below still ends it.
        let begun = Self::over_pipes(reading, writing, Some(timeout)).await;
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

    /// Connects to a server over HTTP, within `timeout`; the same timeout applies to each call.
    ///
    /// # Errors
    /// Returns an error if no server responds at that address, or if it rejects this client.
    pub async fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Self, ClientError> {
        Self::begin(endpoint.transport()?, Some(timeout)).await
    }

    /// Connects over a pair of pipes, without a timeout.
    ///
    /// # Errors
    /// Returns an error if the other end is not an MCP server.
    pub async fn over(
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, ClientError> {
        Self::over_pipes(reading, writing, None).await
    }

    async fn over_pipes(
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
        timeout: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let said = Said::default();
        let reading = Bounded::new(reading, said.clone());
        match Self::begin((reading, writing), timeout).await {
            Ok(client) => Ok(Self { said, ..client }),
            Err(_) if said.is_too_much() => Err(ClientError::TooMuch),
            Err(error) => Err(error),
        }
    }

    /// Sets the timeout of each call.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    async fn begin<T, E, A>(transport: T, timeout: Option<Duration>) -> Result<Self, ClientError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let implementation = Implementation::new("daemon-run", env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), implementation);
        let beginning = async {
            let running = Box::pin(config.serve(transport)).await.map_err(handshake)?;
            // Listed once per connection: a model is shown the tools at the start of its run, and keeps to them.
            let tools = running.list_all_tools().await.map_err(refused)?;
            Ok::<_, ClientError>((running, tools))
        };
        let (running, tools) = match timeout {
            None => beginning.await?,
            Some(timeout) => tokio::time::timeout(timeout, beginning)
                .await
                .or(Err(ClientError::TimedOut(timeout)))??,
        };
        Ok(Self {
            running,
            tools: tools.into_iter().map(ToolDescription::of_wire).collect(),
            timeout,
            child: None,
            said: Said::default(),
        })
    }

    /// Returns the tools that the server listed when the connection was opened.
    pub fn tools(&self) -> &[ToolDescription] {
        &self.tools
    }

    /// Waits until the server has closed the connection. A server over HTTP has none that it could close.
    pub async fn gone(&self) {
        // The library reports the end of a connection to its owner only, and this is shared with calls.
        let mut checks = tokio::time::interval(CHECKED);
        while !self.running.is_transport_closed() {
            checks.tick().await;
        }
    }

    /// Calls a tool. Calls can run concurrently. Dropping the future discards the result but does not cancel the call at
    /// the server.
    ///
    /// # Errors
    /// Returns an error if the server closed the connection, does not respond in time, or rejects the call. A tool that
    /// fails is a result.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolResult, ClientError> {
        use rmcp::model::{CallToolRequest, ClientRequest, ServerResult};
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = match self.timeout {
            Some(timeout) => PeerRequestOptions::with_timeout(timeout),
            None => PeerRequestOptions::no_options(),
        };
        self.said.asked();
        let sent = self.running.send_request_with_option(request, options);
        let answered = async { sent.await?.await_response().await };
        let answer = answered.await.map_err(|error| match refused(error) {
            // Exceeding the limit closes the transport; report the cause, not the closing.
            ClientError::Gone if self.said.is_too_much() => ClientError::TooMuch,
            error => error,
        });
        match answer? {
            ServerResult::CallToolResult(result) => Ok(ToolResult::of_wire(result)),
            _ => Err(ClientError::Garbled(
                "it is not the result of a tool".into(),
            )),
        }
    }

    /// Closes the connection and waits until the child process has exited.
    pub async fn close(mut self) {
        // An error here means that the connection was already broken, which is as good as closed.
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

fn pipes(connection: ChildPipes) -> io::Result<(pipe::Receiver, pipe::Sender)> {
    let reading = pipe::Receiver::from_owned_fd(connection.output)?;
    let writing = pipe::Sender::from_owned_fd(connection.input)?;
    Ok((reading, writing))
}

/// A child process whose standard error is read by a task that owns the child.
#[derive(Debug)]
struct Watched {
    stop: Arc<tokio::sync::Notify>,
    last: Arc<Mutex<VecDeque<String>>>,
    /// Dropping the set aborts the task and drops the child, which kills it.
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

    /// Waits up to `leave` for the child to exit by itself, then ends it. Returns the last lines of its standard error.
    async fn end(mut self, leave: Duration) -> Vec<String> {
        let left = tokio::time::timeout(leave, self.watching.join_next()).await;
        if left.is_err() {
            self.stop.notify_one();
            // A child that is still running then is killed when the task is dropped.
            tokio::time::timeout(CLOSE, self.watching.join_next())
                .await
                .unwrap_or_default();
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().rev().cloned().collect()
    }
}
