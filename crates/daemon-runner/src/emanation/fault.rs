//! What is wrong with a call, all of it at once.

use crate::error::{OpError, OpErrorKind};

/// One thing that is wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallFault {
    kind: FaultKind,
    message: String,
    help: Option<String>,
}

/// What kind of fault it is; the first kind of a batch names the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FaultKind {
    Argument,
    Policy,
    Full,
}

impl CallFault {
    /// An argument makes no sense.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Argument, message)
    }

    /// Policy says no.
    pub(crate) fn policy(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Policy, message)
    }

    /// There is no room.
    pub(crate) fn full(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Full, message)
    }

    /// Adds what to do about it.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn of(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
        }
    }
}

/// Refuses a call for everything that is wrong with it; does nothing where there is nothing.
///
/// # Errors
/// Names every fault.
pub(crate) fn refuse(faults: &[CallFault]) -> Result<(), OpError> {
    let Some(worst) = faults.iter().map(|fault| fault.kind).min() else {
        return Ok(());
    };
    let (kind, code) = match worst {
        FaultKind::Argument => (OpErrorKind::InvalidParams, "invalid-argument"),
        FaultKind::Policy => (OpErrorKind::Forbidden, "policy"),
        FaultKind::Full => (OpErrorKind::Busy, "full"),
    };
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let help = faults.iter().find_map(|fault| fault.help.clone());
    Err(OpError {
        help,
        ..OpError::new(kind, code, messages.join("; "))
    })
}

/// Says that an id names no run.
pub(crate) fn unknown(id: &str) -> OpError {
    let shown: String = id.chars().take(80).collect();
    OpError::new(
        OpErrorKind::NotFound,
        "unknown-emanation",
        format!("Unknown emanation: {shown}"),
    )
    .with_help("`daemon-run emanate list` tells the ids")
}

/// Says that an id names several runs.
pub(crate) fn ambiguous(id: &str, n: usize) -> OpError {
    OpError::new(
        OpErrorKind::NotFound,
        "ambiguous-emanation",
        format!("Ambiguous emanation: {id} ({n} runs); pass a full run_id"),
    )
}

/// Says that a run is another's.
pub(crate) fn belongs(run: &str, parent: &str) -> OpError {
    let message = format!("{run} belongs to {parent}");
    OpError::new(OpErrorKind::Forbidden, "not-yours", message).with_help(
        "only its parent ends it, or the owner of the host with `daemon-run emanate reclaim`",
    )
}

/// Says that a run takes no message, in one of the contract's words.
pub(crate) fn deaf(words: &'static str) -> OpError {
    let kind = match words {
        "still initializing" | "not running" => OpErrorKind::Conflict,
        _ => OpErrorKind::Unsupported,
    };
    let help = match words {
        "still initializing" => "ask again when the run has told its session",
        "reclaimed" => "dispatch another run: a reclaimed one is not resumed",
        "not running" => "dispatch another run: this one keeps no conversation",
        _ => "dispatch another run: this one has no session that could go on",
    };
    OpError::new(kind, words.replace(' ', "-"), words).with_help(help)
}
