//! Messages as they stand on the line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ops::{Operation, Scope};
use daemon_runner::error::OpError;

/// The name of an open request: unique among those of its connection.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(untagged)]
pub enum RequestId {
    /// A whole number.
    Number(i64),
    /// A text of at most 128 bytes.
    Text(String),
}

impl RequestId {
    /// Reports whether it is within its bounds.
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Text(text) => text.len() <= 128,
        }
    }
}

/// What a client sends: a request, or without `id` a notification.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientMessage {
    /// `2.0`.
    pub jsonrpc: String,
    /// Names the request; absent in a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// What is asked.
    pub method: String,
    /// Its parameters by name.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// What the host answers: exactly one of `result` and `error`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ServerMessage {
    /// `2.0`.
    pub jsonrpc: String,
    /// The request; null where a line could not be read.
    pub id: Option<RequestId>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// What the host tells a client unasked, once: that a dispatched run, or an answer to a message, has ended.
pub(super) const RUN_EVENT: &str = "run/event";

/// What the host tells a client unasked.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ServerNotification {
    /// `2.0`.
    pub jsonrpc: String,
    /// What it is about: `run/event` for the end of a run or of an answer to a message.
    pub method: String,
    /// The event.
    pub params: Value,
}

impl ServerNotification {
    /// Tells the end of a run.
    pub fn run_event(event: Value) -> Self {
        Self {
            jsonrpc: "2.0".to_owned(),
            method: RUN_EVENT.to_owned(),
            params: event,
        }
    }
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// The number of JSON-RPC.
    pub code: i64,
    /// For people.
    pub message: String,
    /// For programs.
    pub data: ErrorData,
}

/// The part of an error that programs read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ErrorData {
    /// The word for `code`.
    pub code: String,
    /// The word of the operation, where it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// When to come again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ServerMessage {
    /// Answers with a result.
    pub fn result(id: RequestId, result: Map<String, Value>) -> Self {
        Self {
            jsonrpc: "2.0".to_owned(),
            id: Some(id),
            result: Some(result),
            error: None,
        }
    }

    /// Answers with an error.
    pub fn error(id: Option<RequestId>, code: i64, word: &str, message: impl Into<String>) -> Self {
        let data = ErrorData {
            code: word.to_owned(),
            reason: None,
            help: None,
            retry_after_ms: None,
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

    /// Answers with why an operation was not done.
    pub fn op_error(id: RequestId, error: &OpError) -> Self {
        let (code, word) = match error.code.as_str() {
            "method-not-found" => (-32601, "method-not-found"),
            _ => error.kind.rpc(),
        };
        let data = ErrorData {
            code: word.to_owned(),
            reason: Some(error.code.clone()),
            help: error.help.clone(),
            retry_after_ms: (word == "busy").then_some(1_000),
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

/// Returns the JSON Schema of the protocol, draft 2020-12, with the methods and the scope each needs.
pub fn protocol_schema() -> Value {
    let methods: Map<String, Value> = [("initialize", Scope::Read), ("ping", Scope::Read)]
        .into_iter()
        .chain(
            Operation::ALL
                .iter()
                .map(|operation| (operation.method(), operation.scope())),
        )
        .map(|(method, scope)| (method.to_owned(), json!(scope.as_str())))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Control protocol",
        "protocol_version": super::PROTOCOL_VERSION,
        "methods": methods,
        "anyOf": [{"$ref": "#/$defs/ClientMessage"}, {"$ref": "#/$defs/ServerMessage"},
            {"$ref": "#/$defs/ServerNotification"}],
        "$defs": definitions(),
    })
}

fn definitions() -> Value {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut all = Map::new();
    let client = generator.subschema_for::<ClientMessage>();
    let server = generator.subschema_for::<ServerMessage>();
    let told = generator.subschema_for::<ServerNotification>();
    all.extend(generator.take_definitions(true));
    debug_assert!(
        [client, server, told]
            .iter()
            .all(|one| one.get("$ref").is_some())
    );
    Value::Object(all)
}
