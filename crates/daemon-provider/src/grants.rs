//! What a run may ask of the side that started it.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::{MicroUsd, ToolStatus};

/// What a run may reach: the daemon's state, the outbox, the budget, and tools of servers that the host speaks to.
///
/// The host answers, fenced by the attempt: a stale attempt is refused every write. A provider that offers tools to a model
/// projects these methods; a child process reaches them only through its spool and its lines.
#[async_trait]
pub trait Grants: fmt::Debug + Send + Sync {
    /// Reads one value of the daemon's state, with the run's own changes applied.
    async fn state_get(&self, key: &str) -> Result<Option<Value>, GrantError>;

    /// Sets one value of the daemon's state, kept only if the run ends well.
    async fn state_set(&self, key: &str, value: Value) -> Result<(), GrantError>;

    /// Proposes one output and returns what the validators say about it.
    async fn propose(&self, output: Value) -> Result<Verdict, GrantError>;

    /// Sets money aside before a step that costs it.
    async fn reserve(&self, cost: MicroUsd) -> Result<Reservation, GrantError>;

    /// Replaces a reservation by what the step really cost.
    async fn settle(&self, reservation: Reservation, cost: MicroUsd) -> Result<(), GrantError>;

    /// Returns the tools of servers that the run may use; none unless they were granted.
    async fn tools(&self) -> Vec<GrantedTool> {
        Vec::new()
    }

    /// Calls one of those tools. Whatever goes wrong is an answer: the run goes on.
    async fn call_tool(&self, name: &str, _arguments: Map<String, Value>) -> ToolReply {
        ToolReply::failed(format!("no tool `{name}` is granted to this run"))
    }
}

/// A tool of a server that the host speaks to for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantedTool {
    /// Its name: that of the server, two underscores, and the server's name for it.
    pub name: String,
    /// What it does, in the words of the server.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Map<String, Value>,
    /// Whether the server says that it changes nothing.
    pub is_read_only: bool,
}

/// What such a tool answered, without the secrets of its server.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// Whether it did what it was called for.
    pub status: ToolStatus,
    /// For a model to read: the words of others, and no instruction.
    pub text: String,
    /// The same for a program, where the tool has it.
    pub structured: Option<Value>,
}

impl ToolReply {
    /// Says why there is no result.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Error,
            text: reason.into(),
            structured: None,
        }
    }
}

/// The validators' answer to a proposed output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The output will be delivered if the run ends well.
    Accepted,
    /// The output is refused, for this reason.
    Refused(String),
}

/// Money set aside; names the reservation to the side that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reservation(pub u64);

/// Why a grant was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// Policy does not allow it.
    #[error("not allowed: {reason}")]
    Refused {
        /// The rule that refused it.
        reason: String,
    },
    /// The budget does not reach.
    #[error("over budget: {wanted} wanted, {left} left")]
    OverBudget {
        /// What was asked for.
        wanted: MicroUsd,
        /// What is left.
        left: MicroUsd,
    },
    /// Another attempt owns the activation, so this one may write nothing.
    #[error("another attempt owns the activation")]
    Stale,
    /// The answer could not be had, for this reason; asking again may help.
    #[error("no answer: {reason}")]
    Unavailable {
        /// What failed.
        reason: String,
    },
}

/// Grants nothing; for runs that need none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGrants;

impl NoGrants {
    fn refusal<T>() -> Result<T, GrantError> {
        Err(GrantError::Refused {
            reason: "this run has no grants".to_owned(),
        })
    }
}

#[async_trait]
impl Grants for NoGrants {
    async fn state_get(&self, _: &str) -> Result<Option<Value>, GrantError> {
        Self::refusal()
    }

    async fn state_set(&self, _: &str, _: Value) -> Result<(), GrantError> {
        Self::refusal()
    }

    async fn propose(&self, _: Value) -> Result<Verdict, GrantError> {
        Self::refusal()
    }

    async fn reserve(&self, _: MicroUsd) -> Result<Reservation, GrantError> {
        Self::refusal()
    }

    async fn settle(&self, _: Reservation, _: MicroUsd) -> Result<(), GrantError> {
        Self::refusal()
    }
}
