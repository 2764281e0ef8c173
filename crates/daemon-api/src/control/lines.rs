//! The lines of a connection, and the messages in them.

use serde::Deserialize as _;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use super::MAX_LINE;
use super::wire::{ClientMessage, RequestId, ServerMessage};

/// The members of a message.
const ENVELOPE: [&str; 4] = ["jsonrpc", "id", "method", "params"];

/// A line from a client.
pub(super) enum Line {
    /// A complete line, without its end.
    Whole(Vec<u8>),
    /// The line exceeds its limit.
    TooLong,
    /// The client closed the connection.
    End,
}

/// The lines of a client. Dropping the future of [`Lines::next`] loses no bytes.
pub(super) struct Lines<'r, R> {
    reading: &'r mut R,
    begun: Vec<u8>,
}

impl<'r, R: AsyncBufRead + Unpin> Lines<'r, R> {
    pub(super) fn new(reading: &'r mut R) -> Self {
        Self {
            reading,
            begun: Vec::new(),
        }
    }

    /// Returns the next line, of at most [`MAX_LINE`] bytes.
    pub(super) async fn next(&mut self) -> std::io::Result<Line> {
        self.next_within(MAX_LINE).await
    }

    /// Returns the next line, of at most `limit` bytes.
    pub(super) async fn next_within(&mut self, limit: usize) -> std::io::Result<Line> {
        loop {
            let available = self.reading.fill_buf().await?;
            if available.is_empty() {
                // A line cut by the end of input is never executed.
                return Ok(Line::End);
            }
            let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at, true),
                None => (available.len(), false),
            };
            if self.begun.len() + taken > limit {
                return Ok(Line::TooLong);
            }
            self.begun.extend_from_slice(&available[..taken]);
            self.reading.consume(taken + usize::from(ended));
            if ended {
                return Ok(Line::Whole(std::mem::take(&mut self.begun)));
            }
        }
    }
}

pub(super) fn read_message(bytes: &[u8]) -> Result<ClientMessage, Box<ServerMessage>> {
    let refuse =
        |id, code, word, text: String| Err(Box::new(ServerMessage::error(id, code, word, text)));
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return refuse(None, -32700, "parse-error", error.to_string()),
    };
    if value.is_array() {
        return refuse(
            None,
            -32600,
            "invalid-request",
            "batches are not served".to_owned(),
        );
    }
    let id = match value.get("id").map(RequestId::deserialize) {
        None => None,
        Some(Ok(id)) => Some(id),
        // Null, too: its response could not be distinguished from the response to an unparsable line.
        Some(Err(_)) => {
            let words = "an id is a whole number of 64 bits or a string".to_owned();
            return refuse(None, -32600, "invalid-request", words);
        }
    };
    if !value.is_object() {
        let words = "a message is a JSON object".to_owned();
        return refuse(None, -32600, "invalid-request", words);
    }
    // What a caller misspells is refused as a wrong parameter is: the method is known, and its caller reads why.
    let is_unknown = |name: &&String| !ENVELOPE.contains(&name.as_str());
    let members = value.as_object().into_iter().flat_map(|it| it.keys());
    if let Some(name) = members.clone().find(is_unknown).filter(|_| id.is_some()) {
        let shown: String = name.chars().take(80).collect();
        let words = format!("a request has no member `{shown}`");
        return refuse(id, -32602, "invalid-params", words);
    }
    match serde_json::from_value::<ClientMessage>(value) {
        Ok(message) if message.jsonrpc == "2.0" => Ok(message),
        Ok(_) => refuse(
            id,
            -32600,
            "invalid-request",
            "`jsonrpc` must be \"2.0\"".to_owned(),
        ),
        Err(error) => {
            // It quotes the client, who may have sent megabytes.
            let words = error.to_string().chars().take(200).collect();
            refuse(id, -32600, "invalid-request", words)
        }
    }
}
