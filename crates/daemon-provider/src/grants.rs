//! The operations that a host offers to a run.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::{MicroUsd, ToolStatus};

/// The operations that a host offers to a run: the daemon's state, the outbox, the budget, and tools of servers that the host
/// is connected to.
///
/// The host implements them and fences them by the attempt: every write of a stale attempt is refused. A provider that calls a
/// model offers these methods as tools. A child process reaches them only through its spool and its output lines.
///
/// Each method refuses by default, so that an implementation names exactly what it grants.
#[async_trait]
pub trait Grants: fmt::Debug + Send + Sync {
    /// Reads one value of the daemon's state, with the run's own changes applied.
    async fn state_get(&self, _key: &str) -> Result<Option<Value>, GrantError> {
        Err(GrantError::none())
    }

    /// Sets one value of the daemon's state. It is kept only if the run ends as `done`.
    async fn state_set(&self, _key: &str, _value: Value) -> Result<(), GrantError> {
        Err(GrantError::none())
    }

    /// Returns the JSON Schema of the outputs that the run may propose.
    fn output_schema(&self) -> Value {
        json!({"type": "object"})
    }

    /// Reports whether an output would be accepted, without proposing it.
    async fn admits(&self, _output: &Value) -> bool {
        false
    }

    /// Proposes one output and returns the verdict of the validators.
    async fn propose(&self, _output: Value) -> Result<Verdict, GrantError> {
        Err(GrantError::none())
    }

    /// Reserves money before a step that costs it, so that concurrent runs cannot exceed the budget together.
    async fn reserve(&self, _cost: MicroUsd) -> Result<Reservation, GrantError> {
        Err(GrantError::none())
    }

    /// Replaces a reservation by the actual cost of the step.
    async fn settle(&self, _reservation: Reservation, _cost: MicroUsd) -> Result<(), GrantError> {
        Err(GrantError::none())
    }

    /// Reports whether the run may send mail.
    fn has_email(&self) -> bool {
        false
    }

    /// Sends mail to an agent or to another run, and returns who received it.
    async fn email(&self, _mail: Mail) -> Result<String, GrantError> {
        Err(GrantError::none())
    }

    /// Returns the granted tools of servers that the host is connected to.
    async fn tools(&self) -> Vec<GrantedTool> {
        Vec::new()
    }

    /// Calls a granted tool. A failure is a [`ToolReply`] with an error, which the model can read; the run continues.
    async fn call_tool(&self, name: &str, _arguments: Map<String, Value>) -> ToolReply {
        ToolReply::failed(format!("no tool `{name}` is granted to this run"))
    }
}

/// Mail of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The name of an agent, or the id of a run.
    pub to: String,
    /// One line.
    pub subject: String,
    /// The text.
    pub body: String,
}

/// A tool of a server that the host is connected to.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantedTool {
    /// The name: the server's name, two underscores, and the server's name for the tool.
    pub name: String,
    /// The description that the server gives.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub schema: Map<String, Value>,
    /// Whether the server declares that the tool changes nothing.
    pub is_read_only: bool,
}

/// The result of a granted tool, without the secrets of its server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// Whether the call succeeded.
    pub status: ToolStatus,
    /// The text for a model. It comes from the server, so it is not an instruction.
    pub text: String,
    /// The result for a program, if the tool returns structured results.
    pub structured: Option<Value>,
}

impl ToolReply {
    /// Makes the reply of a call that failed.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Error,
            text: reason.into(),
            structured: None,
        }
    }
}

/// The verdict of the validators about a proposed output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The output will be delivered if the run ends as `done`.
    Accepted,
    /// The output is refused for this reason.
    Refused(String),
}

/// The id of reserved money, chosen by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reservation(pub u64);

/// Why the host refused an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// Policy does not allow the operation.
    #[error("not allowed: {reason}")]
    Refused {
        /// The rule that refused it.
        reason: String,
    },
    /// The remaining budget is too small.
    #[error("over budget: {wanted} wanted, {left} left")]
    OverBudget {
        /// The amount that was requested.
        wanted: MicroUsd,
        /// The amount that remains.
        left: MicroUsd,
    },
    /// Another attempt owns the activation, so this one may write nothing.
    #[error("another attempt owns the activation")]
    Stale,
    /// The operation failed; a retry may succeed.
    #[error("no answer: {reason}")]
    Unavailable {
        /// The failure, for a person.
        reason: String,
    },
}

impl GrantError {
    fn none() -> Self {
        Self::Refused {
            reason: "this run has no grants".to_owned(),
        }
    }
}

/// Refuses every operation, for runs that need none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGrants;

impl Grants for NoGrants {}
