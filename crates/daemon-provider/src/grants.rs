//! What a run may ask of the side that started it.

use std::fmt;

use async_trait::async_trait;
use serde_json::Value;

use crate::MicroUsd;

/// What a run may reach: the daemon's state, the outbox and the budget.
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
