//! What is wrong with a call, all of it at once.

use crate::ops::{OpError, OpErrorKind};

/// One thing that is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    kind: FaultKind,
    message: String,
}

/// What kind of fault it is; the first kind of a batch names the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FaultKind {
    Argument,
    Policy,
    Full,
}

impl Fault {
    /// An argument makes no sense.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Argument,
            message: message.into(),
        }
    }

    /// Policy says no.
    pub(crate) fn policy(message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Policy,
            message: message.into(),
        }
    }

    /// There is no room.
    pub(crate) fn full(message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Full,
            message: message.into(),
        }
    }
}

/// Refuses a call for everything that is wrong with it; does nothing where there is nothing.
///
/// # Errors
/// Names every fault.
pub(crate) fn refuse(faults: &[Fault]) -> Result<(), OpError> {
    let Some(worst) = faults.iter().map(|fault| fault.kind).min() else {
        return Ok(());
    };
    let (kind, code) = match worst {
        FaultKind::Argument => (OpErrorKind::InvalidParams, "invalid-argument"),
        FaultKind::Policy => (OpErrorKind::Forbidden, "policy"),
        FaultKind::Full => (OpErrorKind::Busy, "full"),
    };
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    Err(OpError::new(kind, code, messages.join("; ")))
}

/// Says that an id names no run.
pub(crate) fn unknown(id: &str) -> OpError {
    let shown: String = id.chars().take(80).collect();
    OpError::new(
        OpErrorKind::NotFound,
        "unknown-emanation",
        format!("Unknown emanation: {shown}"),
    )
}

/// Says that an id names several runs.
pub(crate) fn ambiguous(id: &str, n: usize) -> OpError {
    OpError::new(
        OpErrorKind::NotFound,
        "ambiguous-emanation",
        format!("Ambiguous emanation: {id} ({n} runs); pass a full run_id"),
    )
}

/// Says that a run takes no message, in one of the contract's words.
pub(crate) fn deaf(words: &'static str) -> OpError {
    let kind = match words {
        "still initializing" | "not running" => OpErrorKind::Conflict,
        _ => OpErrorKind::InvalidParams,
    };
    OpError::new(kind, words.replace(' ', "-"), words)
}
