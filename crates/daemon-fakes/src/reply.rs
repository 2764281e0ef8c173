//! What the model API answers.

use std::time::Duration;

use serde_json::Value;

/// One answer of the model API.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A whole message of the model.
    Message(Message),
    /// An answer that is no message: its status, its headers after the status line, and its body.
    Status {
        /// The status code.
        code: u16,
        /// Further header lines, each a name and a value.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// An answer of any bytes: its status, its headers after the status line, and its body.
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
    /// A stream that begins this message and then says nothing until the client leaves.
    Silence(Message),
    /// A stream that waits so long between its events.
    Drip(Message, Duration),
}

impl Reply {
    /// Answers with text, and with no more.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Message(Message::text(text))
    }

    /// Answers with the use of one tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::Message(Message::default().and_call(name, arguments))
    }

    /// Answers with a status and an error in the words that all three APIs use.
    pub fn error(code: u16, message: &str) -> Self {
        let error =
            serde_json::json!({"type": "error", "error": {"type": "fake", "message": message}});
        Self::Status {
            code,
            headers: vec![json()],
            body: error.to_string(),
        }
    }

    /// Answers that there were too many requests, and when to come again.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::Status {
            code: 429,
            headers: vec![json(), ("Retry-After".to_owned(), retry_after.to_owned())],
            body: r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#.to_owned(),
        }
    }

    /// Answers with a page for people, as a proxy does.
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

/// A message of the model: text, then the uses of tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Message {
    /// Its text; empty for none.
    pub text: String,
    /// The tools it uses.
    pub calls: Vec<Call>,
    /// What it says it used.
    pub tokens: Tokens,
    /// Whether the model was cut short by its limit of tokens.
    pub is_cut_short: bool,
}

impl Message {
    /// Makes a message of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Adds the use of a tool.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(Call {
            name: name.into(),
            arguments: arguments.to_string(),
        });
        self
    }

    /// Says what it used.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }
}

/// The use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The tool; `namespace.tool` for one of a namespace, which OpenAI's Responses knows.
    pub name: String,
    /// Its arguments, as the model wrote them.
    pub arguments: String,
}

/// Tokens of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Read, without the cached ones.
    pub input: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Written.
    pub output: u64,
}

impl Default for Tokens {
    /// Ten read, none cached, five written.
    fn default() -> Self {
        Self {
            input: 10,
            cached: 0,
            output: 5,
        }
    }
}
