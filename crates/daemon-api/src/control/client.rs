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
use super::wire::{ClientMessage, ErrorBody, RUN_EVENT, RequestId, ServerMessage};

/// Why a call got no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No host listens there, or it went away.
    #[error("no host answers")]
    Unreachable(#[source] io::Error),
    /// What it sent is not of the protocol.
    #[error("the host sent something that is not of the protocol")]
    Garbled(#[source] serde_json::Error),
    /// It said no.
    #[error("{}", .0.message)]
    Refused(ErrorBody),
}

/// A connection that asks one thing at a time.
pub struct Client {
    reading: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    writing: Box<dyn AsyncWrite + Send + Unpin>,
    next: i64,
    sharing: Sharing,
}

/// Whether others use the same connection.
enum Sharing {
    Own,
    /// One after another: who is next finds what was left for those before. Held until this one is done.
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
    /// Connects and agrees on the protocol.
    ///
    /// # Errors
    /// If nobody listens, or the host speaks another version.
    pub async fn connect(socket: &Path) -> Result<Self, CallError> {
        Self::introduce(Self::on_socket(socket).await?, None).await
    }

    /// Connects as a process of a run, with the token of that run.
    ///
    /// # Errors
    /// If nobody listens, or the run is over.
    pub async fn connect_as_run(socket: &Path, token: &str) -> Result<Self, CallError> {
        Self::introduce(Self::on_socket(socket).await?, Some(token)).await
    }

    /// Connects as a process of a run that may open no socket, over the pipes that the host keeps in a directory for it.
    ///
    /// The pipes are this client's until it is dropped; others of the run wait.
    ///
    /// # Errors
    /// If the pipes are not there, or the run is over.
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
        // Both are opened for both ways: whether somebody has the other end open does not matter then.
        let both = |name: &str| {
            File::options()
                .read(true)
                .write(true)
                .open(directory.join(name))
        };
        let turn = both(TO_HOST)?;
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
        // Answers to those who did not wait for them, and the line that one may have left unfinished.
        while reading
            .try_read(&mut [0; 4096])
            .is_ok_and(|n_read| n_read > 0)
        {}
        writing.write_all(b"\n").await?;
        let next = i64::from_str_radix(&daemon_runner::random::hex(4), 16).unwrap_or_default();
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

    /// Sends a request of the protocol that is no operation, such as those of a run, and returns the members of its result.
    ///
    /// # Errors
    /// If the connection fails, or the host refuses the request.
    pub async fn request(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
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
        self.writing
            .write_all(&line)
            .await
            .map_err(CallError::Unreachable)?;
        let is_shared = matches!(self.sharing, Sharing::InTurns { .. });
        loop {
            let answer = match self.read().await {
                // The rest of an answer to another.
                Err(CallError::Garbled(_)) if is_shared => continue,
                answer => answer?,
            };
            // What the host tells unasked is for clients that wait for it.
            if answer.get("method").is_some() {
                continue;
            }
            let answer: ServerMessage =
                serde_json::from_value(answer).map_err(CallError::Garbled)?;
            let is_own = answer.id.as_ref().map_or(!is_shared, |found| *found == id);
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

    /// Waits for the next thing that the host tells unasked: the end of a dispatched run, or of an answer to a message.
    ///
    /// # Errors
    /// If the host goes away.
    pub async fn next_event(&mut self) -> Result<Value, CallError> {
        loop {
            let mut told = self.read().await?;
            if told["method"] == RUN_EVENT {
                return Ok(told["params"].take());
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
