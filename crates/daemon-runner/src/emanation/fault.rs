//! What is wrong with a call, all of it at once.

use daemon_records::FOLDER_MISSING;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_run_folder::RunId;
use daemon_store::{Store, StoreError};

/// One problem of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallFault {
    kind: FaultKind,
    message: String,
    help: Option<String>,
}

/// The kind of a problem. The lowest kind of a batch determines the error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FaultKind {
    Argument,
    Policy,
    Full,
}

impl CallFault {
    /// Makes the fault of an invalid argument.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Argument, message)
    }

    /// Makes the fault of a call that the policy forbids.
    pub(crate) fn policy(message: impl Into<String>) -> Self {
        Self::of(FaultKind::Policy, message)
    }

    /// Makes the fault of a call beyond the limit on runs.
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

/// Refuses a call if it has faults.
///
/// # Errors
/// One error with the messages of all faults.
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

/// The code of the error for an id that is not the id of a run.
const UNKNOWN: &str = "unknown-emanation";

/// Makes the error for an id that is not the id of a run.
pub(crate) fn unknown(id: &str) -> OpError {
    let shown: String = id.chars().take(80).collect();
    OpError::new(
        OpErrorKind::NotFound,
        UNKNOWN,
        format!("Unknown emanation: {shown}"),
    )
    .with_help("`daemon-run emanate list` prints the ids")
}

/// Replaces the error for an unknown id by one about the folder, if the store has a run with that id.
///
/// # Errors
/// The store cannot be read.
pub async fn without_folder(
    error: OpError,
    id: &str,
    store: &dyn Store,
) -> Result<OpError, StoreError> {
    let is_unknown = error.code == UNKNOWN && id.parse::<RunId>().is_ok();
    if !is_unknown || store.run(id).await?.is_none() {
        return Ok(error);
    }
    if let Some(host) = store.run_elsewhere(id).await? {
        return Ok(OpError::elsewhere(id, &host));
    }
    let message = format!("{FOLDER_MISSING}: {id}");
    let error = OpError::new(OpErrorKind::NotFound, "folder-missing", message);
    Ok(error.with_help(format!(
        "`daemon-run run {id}` prints what the store has of it"
    )))
}

/// Makes the error for a handle of several runs.
pub(crate) fn ambiguous(id: &str, n: usize) -> OpError {
    OpError::new(
        OpErrorKind::NotFound,
        "ambiguous-emanation",
        format!("Ambiguous emanation: {id} ({n} runs); pass a full run_id"),
    )
}

/// Makes the error for a run of another parent.
pub(crate) fn belongs(run: &str, parent: &str) -> OpError {
    let message = format!("{run} belongs to {parent}");
    OpError::new(OpErrorKind::Forbidden, "not-yours", message).with_help(
        "only its parent ends it, or the owner of the host with `daemon-run emanate reclaim`",
    )
}

/// Makes the error for a run that takes no message. `words` is one of the contract's reasons.
pub(crate) fn no_message(words: &'static str) -> OpError {
    let kind = match words {
        "still initializing" | "not running" => OpErrorKind::Conflict,
        _ => OpErrorKind::Unsupported,
    };
    let help = match words {
        "still initializing" => "ask again when the run has reported its session",
        "reclaimed" => "dispatch another run: a reclaimed one is not resumed",
        "not running" => "dispatch another run: this one keeps no conversation",
        _ => "dispatch another run: this one has no session to resume",
    };
    OpError::new(kind, words.replace(' ', "-"), words).with_help(help)
}
