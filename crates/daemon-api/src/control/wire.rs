//! The messages of the protocol.

use std::borrow::Cow;

use daemon_records::error::{OpError, OpErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The id of an open request, unique within its connection.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(untagged)]
pub enum RequestId {
    /// A whole number.
    Number(i64),
    /// A string of at most 128 bytes.
    Text(String),
}

impl RequestId {
    /// Reports whether a string has at most 128 bytes.
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Text(text) => text.len() <= 128,
        }
    }
}

/// A message of a client: a request, or without `id` a notification.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientMessage {
    /// `2.0`.
    pub jsonrpc: String,
    /// Identifies the request; absent in a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// The method, such as `daemon/list`.
    pub method: String,
    /// The parameters by name.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// A response of the host: exactly one of `result` and `error`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ServerMessage {
    /// `2.0`.
    pub jsonrpc: String,
    /// The id of the request; null if the line could not be parsed.
    pub id: Option<RequestId>,
    /// The members of the result, if the request succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    /// The error, if the request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// The notification that a dispatched run, or the reply to a message, has ended; it is sent once.
pub(super) const RUN_EVENT: &str = "run/event";

/// The notification with an event of a stream.
pub(super) const STREAM_EVENT: &str = "stream/event";

/// An event of a stream; the response to its request ends it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct StreamedEvent {
    /// The id of the request that began the stream.
    pub request_id: RequestId,
    /// The number of the event, from 1. A client that reads too slowly misses events.
    pub seq: u64,
    /// The event.
    pub event: Value,
}

/// A notification of the host.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ServerNotification {
    /// `2.0`.
    pub jsonrpc: String,
    /// The kind: `run/event` for the end of a run or of the reply to a message, `stream/event` for an event of a stream.
    pub method: String,
    /// The event: as in `.notification/system.json`, or a `StreamedEvent`.
    pub params: Value,
}

impl ServerNotification {
    /// Creates the notification of the end of a run.
    pub fn run_event(event: Value) -> Self {
        Self {
            jsonrpc: "2.0".to_owned(),
            method: RUN_EVENT.to_owned(),
            params: event,
        }
    }

    /// Creates the notification of an event of a stream.
    pub fn stream_event(event: &StreamedEvent) -> Self {
        Self {
            jsonrpc: "2.0".to_owned(),
            method: STREAM_EVENT.to_owned(),
            params: serde_json::to_value(event).expect("an event is representable"),
        }
    }
}

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The message for people.
    pub message: String,
    /// The details for programs.
    pub data: ErrorData,
}

/// The part of an error that programs read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ErrorData {
    /// The name of the JSON-RPC code.
    pub code: String,
    /// The error code of the operation, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the caller can do about the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// When the request can be repeated, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether a turn that failed at its provider may succeed another time: `retryable` or `final`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The line of the configuration that is wrong, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column of it, in characters from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The rule of the roster that forbids the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What has to happen before the roster accepts the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Value>,
}

impl ServerMessage {
    /// Creates the response with a result.
    pub fn result(id: RequestId, result: Map<String, Value>) -> Self {
        Self {
            jsonrpc: "2.0".to_owned(),
            id: Some(id),
            result: Some(result),
            error: None,
        }
    }

    /// Creates the response with an error of the protocol.
    pub fn error(id: Option<RequestId>, code: i64, word: &str, message: impl Into<String>) -> Self {
        let data = ErrorData {
            code: word.to_owned(),
            reason: None,
            help: None,
            retry_after_ms: None,
            class: None,
            line: None,
            column: None,
            rule: None,
            blockers: Vec::new(),
        };
        let error = ErrorBody {
            code,
            message: message.into(),
            data,
        };
        Self {
            jsonrpc: "2.0".to_owned(),
            id,
            result: None,
            error: Some(error),
        }
    }

    /// Creates the response with the error of an operation.
    pub fn op_error(id: RequestId, error: &OpError) -> Self {
        let (code, word) = match error.code.as_str() {
            "method-not-found" => (-32601, "method-not-found"),
            _ => error.kind.rpc(),
        };
        let refusal = error.refusal.as_deref().cloned().unwrap_or_default();
        let data = ErrorData {
            code: word.to_owned(),
            reason: Some(error.code.clone()),
            help: error.help.clone(),
            retry_after_ms: (word == "busy").then_some(1_000),
            class: match error.kind {
                OpErrorKind::Provider { is_retryable: true } => Some("retryable".to_owned()),
                OpErrorKind::Provider { .. } => Some("final".to_owned()),
                _ => None,
            },
            line: error.place.map(|(line, _)| line),
            column: error.place.map(|(_, column)| column),
            rule: refusal.rule.map(Cow::into_owned),
            blockers: refusal.blockers,
        };
        let error = ErrorBody {
            code,
            message: error.message.clone(),
            data,
        };
        Self {
            jsonrpc: "2.0".to_owned(),
            id: Some(id),
            result: None,
            error: Some(error),
        }
    }
}
