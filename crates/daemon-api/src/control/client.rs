//! A client of the control socket, for the command line and for tests.

use crate::ops::Operation;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::PROTOCOL_VERSION;
use super::run_pipes::{FROM_HOST, TO_HOST};
use super::wire::{ClientMessage, ErrorBody, RUN_EVENT, RequestId, STREAM_EVENT, ServerMessage};

/// The reason why a call has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No host is listening, or the connection was closed.
    #[error("no host answers")]
    Unreachable(#[source] io::Error),
    /// The host sent a line that is not a message of the protocol.
    #[error("the host sent something that is not of the protocol")]
    Garbled(#[source] serde_json::Error),
    /// The host refused the request.
    #[error("{}", .0.message)]
    Refused(ErrorBody),
}

/// A connection that sends one request at a time.
pub struct Client {
    reading: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    writing: Box<dyn AsyncWrite + Send + Unpin>,
    next: i64,
    sharing: Sharing,
}

/// Whether other processes use the same connection.
enum Sharing {
    Own,
    /// Processes of a run use the pipes one after another. A process may find responses for its predecessors. The lock is held
    /// until the client is dropped.
    InTurns {
        _turn: File,
    },
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to the socket of a host and sends `initialize`.
    ///
    /// # Errors
    /// If no host is listening, or it uses another version of the protocol.
    pub async fn connect(socket: &Path) -> Result<Self, CallError> {
        Self::introduce(Self::on_socket(socket).await?, None).await
    }

    /// Connects with a token: as a process of a run, or as an agent of the roster.
    ///
    /// # Errors
    /// If no host is listening, or it does not accept the token, such as that of a run that is over.
    pub async fn connect_with_token(socket: &Path, token: &str) -> Result<Self, CallError> {
        Self::introduce(Self::on_socket(socket).await?, Some(token)).await
    }

    /// Connects as a process of a confined run, which may open no socket, over the pipes in a directory of the run.
    ///
    /// The client locks the pipes until it is dropped; other processes of the run wait.
    ///
    /// # Errors
    /// If the pipes do not exist, or the run is over.
    pub async fn connect_over_pipes(directory: &Path, token: &str) -> Result<Self, CallError> {
        let opened = Self::on_pipes(directory).await;
        Self::introduce(opened.map_err(CallError::Unreachable)?, Some(token)).await
    }

    async fn on_socket(socket: &Path) -> Result<Self, CallError> {
        let stream = UnixStream::connect(socket).await;
        let (reading, writing) = stream.map_err(CallError::Unreachable)?.into_split();
        Ok(Self {
            reading: BufReader::new(Box::new(reading)),
            writing: Box::new(writing),
            next: 0,
            sharing: Sharing::Own,
        })
    }

    async fn on_pipes(directory: &Path) -> io::Result<Self> {
        // A pipe opened for reading and writing does not block until the other end is open.
        let both = |name: &str| {
            File::options()
                .read(true)
                .write(true)
                .open(directory.join(name))
        };
        let turn = both(TO_HOST)?;
        // The lock blocks until the previous process of the run is done, which may take longer than a runtime thread can wait.
        let locked = tokio::task::spawn_blocking(move || {
            flock(&turn, FlockOperation::LockExclusive).map(|()| turn)
        });
        let turn = locked.await.map_err(io::Error::other)??;
        let open = || {
            let mut options = pipe::OpenOptions::new();
            options.read_write(true);
            options
        };
        let mut writing = open().open_sender(directory.join(TO_HOST))?;
        let reading = open().open_receiver(directory.join(FROM_HOST))?;
        // Previous processes may have left responses that they did not read, and an unfinished request.
        while reading
            .try_read(&mut [0; 4096])
            .is_ok_and(|n_read| n_read > 0)
        {}
        writing.write_all(b"\n").await?;
        // A random first id: a late response to a previous process then has no id of this one.
        let next = i64::from_str_radix(&daemon_records::random::hex(4), 16).unwrap_or_default();
        Ok(Self {
            reading: BufReader::new(Box::new(reading)),
            writing: Box::new(writing),
            next: next << 20,
            sharing: Sharing::InTurns { _turn: turn },
        })
    }

    async fn introduce(mut client: Self, token: Option<&str>) -> Result<Self, CallError> {
        let hello = json!({
            "protocol_version": PROTOCOL_VERSION,
            "client": {"name": "daemon-run", "version": env!("CARGO_PKG_VERSION")},
        });
        let Value::Object(mut hello) = hello else {
            unreachable!("it is written as an object")
        };
        if let Some(token) = token {
            hello.insert("token".to_owned(), json!(token));
        }
        client.request("initialize", hello).await?;
        Ok(client)
    }

    /// Performs an operation and returns the members of its result.
    ///
    /// # Errors
    /// If the connection fails, or the host refuses the operation.
    pub async fn call(
        &mut self,
        operation: Operation,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
        self.request(operation.method(), params).await
    }

    /// Sends a request that is not an operation, such as those of a run, and returns the members of its result.
    ///
    /// # Errors
    /// If the connection fails, or the host refuses the request.
    pub async fn request(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
        let id = self.send(method, params).await?;
        self.answer(&id, &mut |_| {}).await
    }

    /// Sends a request whose events go to `heard` until its response ends it.
    ///
    /// # Errors
    /// If the connection fails, or the host refuses the request.
    pub async fn stream(
        &mut self,
        operation: Operation,
        params: Map<String, Value>,
        heard: &mut (dyn FnMut(Value) + Send),
    ) -> Result<Map<String, Value>, CallError> {
        let id = self.send(operation.method(), params).await?;
        self.answer(&id, heard).await
    }

    async fn send(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<RequestId, CallError> {
        self.next += 1;
        let id = RequestId::Number(self.next);
        let message = ClientMessage {
            jsonrpc: "2.0".to_owned(),
            id: Some(id.clone()),
            method: method.to_owned(),
            params,
        };
        let mut line = serde_json::to_vec(&message).expect("a message is representable");
        line.push(b'\n');
        let sent = self.writing.write_all(&line).await;
        sent.map_err(CallError::Unreachable).map(|()| id)
    }

    /// Waits for the response to a request.
    async fn answer(
        &mut self,
        id: &RequestId,
        heard: &mut (dyn FnMut(Value) + Send),
    ) -> Result<Map<String, Value>, CallError> {
        let is_shared = matches!(self.sharing, Sharing::InTurns { .. });
        loop {
            let mut answer = match self.read().await {
                // The rest of a response to a previous process.
                Err(CallError::Garbled(_)) if is_shared => continue,
                answer => answer?,
            };
            match answer.get("method").and_then(Value::as_str) {
                Some(STREAM_EVENT) => {
                    heard(answer["params"]["event"].take());
                    continue;
                }
                // Other notifications are for clients that wait for them with `next_event`.
                Some(_) => continue,
                None => {}
            }
            let answer: ServerMessage =
                serde_json::from_value(answer).map_err(CallError::Garbled)?;
            // On a socket an error without an id is the response to the only open request; on pipes it may be for another process.
            let is_own = answer.id.as_ref().map_or(!is_shared, |found| found == id);
            if !is_own {
                continue;
            }
            return match (answer.result, answer.error) {
                (Some(result), _) => Ok(result),
                (None, Some(error)) => Err(CallError::Refused(error)),
                (None, None) => Ok(Map::new()),
            };
        }
    }

    /// Waits for the next notification: the end of a dispatched run, or of the reply to a message.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn next_event(&mut self) -> Result<Value, CallError> {
        loop {
            let mut message = self.read().await?;
            if message["method"] == RUN_EVENT {
                return Ok(message["params"].take());
            }
        }
    }

    async fn read(&mut self) -> Result<Value, CallError> {
        let mut line = Vec::new();
        let read = self
            .reading
            .read_until(b'\n', &mut line)
            .await
            .map_err(CallError::Unreachable)?;
        if read == 0 {
            let error = io::ErrorKind::UnexpectedEof;
            return Err(CallError::Unreachable(error.into()));
        }
        serde_json::from_slice(&line).map_err(CallError::Garbled)
    }
}
