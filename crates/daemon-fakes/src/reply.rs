//! Replies of the model API.

use std::time::Duration;

use serde_json::Value;

/// One reply of the model API.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A whole message of the model.
    Message(Message),
    /// A response with a body of text instead of a message, such as an error.
    Status {
        /// The status code.
        code: u16,
        /// Further header lines, each a name and a value.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// A response with a body of any bytes.
    Bytes {
        /// The status code.
        code: u16,
        /// Further header lines, each a name and a value.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// A stream that is closed in the middle of this message.
    Truncated(Message),
    /// A stream that stops in the middle of this message and stays open until the client disconnects.
    Silence(Message),
    /// A stream that pauses between its events.
    Drip(Message, Duration),
}

impl Reply {
    /// Returns a message of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Message(Message::text(text))
    }

    /// Returns a message with one tool call.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::Message(Message::default().and_call(name, arguments))
    }

    /// Returns a status with an error object that clients of all three dialects understand.
    pub fn error(code: u16, message: &str) -> Self {
        let error =
            serde_json::json!({"type": "error", "error": {"type": "fake", "message": message}});
        Self::Status {
            code,
            headers: vec![json()],
            body: error.to_string(),
        }
    }

    /// Returns status 429 with a `Retry-After` header.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::Status {
            code: 429,
            headers: vec![json(), ("Retry-After".to_owned(), retry_after.to_owned())],
            body: r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#.to_owned(),
        }
    }

    /// Returns an HTML page with status 200, as the login page of a network does.
    pub fn html() -> Self {
        Self::Status {
            code: 200,
            headers: vec![("Content-Type".to_owned(), "text/html".to_owned())],
            body: "<!doctype html><html><body>Sign in to the network</body></html>".to_owned(),
        }
    }
}

fn json() -> (String, String) {
    ("Content-Type".to_owned(), "application/json".to_owned())
}

/// A message of the model: text, then tool calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Message {
    /// The text; may be empty.
    pub text: String,
    /// The tool calls, in order.
    pub calls: Vec<Call>,
    /// The usage that the response reports.
    pub tokens: Tokens,
    /// Whether the model stopped at its token limit.
    pub is_cut_short: bool,
}

impl Message {
    /// Creates a message of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(Call {
            name: name.into(),
            arguments: arguments.to_string(),
        });
        self
    }

    /// Sets the reported usage.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The name of the tool; `namespace.tool` for a namespace of the Responses API.
    pub name: String,
    /// The arguments, as a string of JSON.
    pub arguments: String,
}

/// The usage of one message, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Input tokens from the cache.
    pub cached: u64,
    /// Output tokens.
    pub output: u64,
}

impl Default for Tokens {
    /// Returns 10 input tokens, none of them cached, and 5 output tokens.
    fn default() -> Self {
        Self {
            input: 10,
            cached: 0,
            output: 5,
        }
    }
}
