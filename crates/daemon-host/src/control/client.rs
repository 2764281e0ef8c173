//! A client of the control socket, for the command line and for tests.

use std::path::Path;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::PROTOCOL_VERSION;
use super::wire::{ClientMessage, ErrorBody, RUN_EVENT, RequestId, ServerMessage};

/// Why a call got no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No host listens there, or it went away.
    #[error("no host answers")]
    Unreachable(#[source] std::io::Error),
    /// What it sent is not of the protocol.
    #[error("the host sent something that is not of the protocol")]
    Garbled(#[source] serde_json::Error),
    /// It said no.
    #[error("{}", .0.message)]
    Refused(ErrorBody),
}

/// A connection that asks one thing at a time.
#[derive(Debug)]
pub struct Client {
    reading: BufReader<OwnedReadHalf>,
    writing: OwnedWriteHalf,
    next: i64,
}

impl Client {
    /// Connects and agrees on the protocol.
    ///
    /// # Errors
    /// If nobody listens, or the host speaks another version.
    pub async fn connect(socket: &Path) -> Result<Self, CallError> {
        Self::introduce(socket, None).await
    }

    /// Connects as a process of a run, with the token of that run.
    ///
    /// # Errors
    /// If nobody listens, or the run is over.
    pub async fn connect_as_run(socket: &Path, token: &str) -> Result<Self, CallError> {
        Self::introduce(socket, Some(token)).await
    }

    async fn introduce(socket: &Path, token: Option<&str>) -> Result<Self, CallError> {
        let stream = UnixStream::connect(socket)
            .await
            .map_err(CallError::Unreachable)?;
        let (reading, writing) = stream.into_split();
        let mut client = Self {
            reading: BufReader::new(reading),
            writing,
            next: 0,
        };
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
        client.call("initialize", hello).await?;
        Ok(client)
    }

    /// Asks one thing and waits for the answer.
    ///
    /// # Errors
    /// If the host goes away, or says no.
    pub async fn call(
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
        loop {
            let answer = self.read().await?;
            // What the host tells unasked is for clients that wait for it.
            if answer.get("method").is_some() {
                continue;
            }
            let answer: ServerMessage =
                serde_json::from_value(answer).map_err(CallError::Garbled)?;
            if answer.id.as_ref().is_some_and(|found| *found != id) {
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
            let error = std::io::ErrorKind::UnexpectedEof;
            return Err(CallError::Unreachable(error.into()));
        }
        serde_json::from_slice(&line).map_err(CallError::Garbled)
    }
}
