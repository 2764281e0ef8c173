//! The messages of a client, one per line. A line that is not a message gets an error response.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

/// The maximum size of a client's line, in bytes.
const MAX_LINE: usize = 16 << 20;
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Messages over a reader and a writer. The transport of `rmcp` ignores lines that are not JSON, so that a client would wait
/// for an answer that never comes.
pub(crate) struct MessageLines<R, W> {
    reading: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
    /// The answer to a line that is not a message, until it is sent; empty once it is queued.
    refusal: Option<Vec<u8>>,
    /// `None` once the transport is closed.
    outgoing: Arc<Mutex<Option<Outgoing<W>>>>,
}

/// A writer, and what it has not written yet. A cancelled write leaves the rest of its line for the next one.
struct Outgoing<W> {
    writing: W,
    unsent: VecDeque<u8>,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    async fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            if self.writing.write_buf(&mut self.unsent).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        self.writing.flush().await
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> MessageLines<R, W> {
    pub(crate) fn new(reading: R, writing: W) -> Self {
        let unsent = VecDeque::new();
        Self {
            reading: BufReader::new(reading),
            line: Vec::new(),
            is_skipping: false,
            refusal: None,
            outgoing: Arc::new(Mutex::new(Some(Outgoing { writing, unsent }))),
        }
    }

    /// Sends the refusal, if there is one. Cancelling it loses nothing.
    async fn send_refusal(&mut self) -> io::Result<()> {
        if let Some(refusal) = &mut self.refusal {
            let mut outgoing = self.outgoing.lock().await;
            let outgoing = outgoing.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            outgoing.unsent.extend(refusal.drain(..));
            outgoing.flush().await?;
            self.refusal = None;
        }
        Ok(())
    }

    /// Reads until `line` is whole, or is refused because it is too long. Cancelling it loses nothing.
    async fn read_line(&mut self) -> io::Result<LineEnd> {
        loop {
            let available = self.reading.fill_buf().await?;
            if available.is_empty() {
                return Ok(LineEnd::OfInput);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(available.len());
            let taken = length + usize::from(end.is_some());
            let is_too_long = self.line.len() + length > MAX_LINE;
            if !self.is_skipping && !is_too_long {
                self.line.extend_from_slice(&available[..length]);
            }
            self.reading.consume(taken);
            if !self.is_skipping && is_too_long {
                self.line.clear();
                self.is_skipping = end.is_none();
                return Ok(LineEnd::TooLong);
            }
            if end.is_some() && !std::mem::take(&mut self.is_skipping) {
                return Ok(LineEnd::Whole);
            }
        }
    }
}

/// How reading a line ended.
enum LineEnd {
    Whole,
    TooLong,
    /// A line that the end of input cuts is not a message.
    OfInput,
}

impl<R, W> Transport<RoleServer> for MessageLines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = Arc::clone(&self.outgoing);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut outgoing = outgoing.lock().await;
            let outgoing = outgoing.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            outgoing.unsent.extend(line);
            outgoing.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.send_refusal().await.ok()?;
            let message = match self.read_line().await.ok()? {
                LineEnd::OfInput => return None,
                LineEnd::TooLong => Err(too_long()),
                LineEnd::Whole => message_of(&std::mem::take(&mut self.line)),
            };
            match message {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(refusal) => self.refusal = Some(format!("{refusal}\n").into_bytes()),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing.lock().await.take();
        Ok(())
    }
}

/// Parses a line; `None` for an empty one and for a notification that the protocol does not have.
fn message_of(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Value> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let message = format!("the line is not JSON: {error}");
        refusal(Value::Null, PARSE_ERROR, &message)
    })?;
    let id = value.get("id").cloned();
    let is_request = id.is_some() || value.get("method").is_none();
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        Err(_) if !is_request => Ok(None),
        Err(_) => {
            let id = id.filter(|id| id.is_i64() || id.is_string());
            let (id, message) = match id {
                Some(id) => (id, "the message does not follow JSON-RPC 2.0"),
                None => (
                    Value::Null,
                    "a message is one JSON-RPC 2.0 object, and its id a whole number or a string",
                ),
            };
            Err(refusal(id, INVALID_REQUEST, message))
        }
    }
}

fn too_long() -> Value {
    let message = format!("the line has more than {MAX_LINE} bytes");
    refusal(Value::Null, INVALID_REQUEST, &message)
}

/// Makes an error response. Unlike those of `rmcp`, it has an id where none could be read: JSON-RPC requires null.
fn refusal(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
