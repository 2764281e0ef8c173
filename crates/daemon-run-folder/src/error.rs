//! The recorded error of a run, and the state that an outcome leads to.

use daemon_lifecycle::{Cause, EndState, ErrorClass, Failure, Outcome, RunState, StopReason};
use serde::{Deserialize, Serialize};

use crate::word;

/// Why a run did not end as `done`, as `daemon.json` records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// [`EndState::error_type`] in folders of this version; other versions may record other types.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line for a person.
    pub message: String,
    /// Whether another attempt can succeed.
    #[serde(with = "word")]
    pub class: ErrorClass,
}

impl RunError {
    /// Makes the error that records an end.
    pub fn new(end: EndState, message: impl Into<String>) -> Self {
        Self {
            kind: end.error_type.to_owned(),
            message: message.into(),
            class: end.class,
        }
    }

    /// Returns whether the run, or the follow-up, was stopped for `reason`.
    pub fn is_stop(&self, reason: StopReason) -> bool {
        self.kind == reason.as_str()
    }

    /// Returns the state and the error of a run, or of a follow-up, whose host died before it ended.
    pub fn orphaned() -> (RunState, Self) {
        let end = Cause::Orphaned.end_state();
        (
            end.state,
            Self::new(end, "the host that owned the run died"),
        )
    }

    /// Returns the state that an outcome leads to, and the error to record with it unless the state is `done`.
    pub fn of(outcome: &Outcome) -> (RunState, Option<Self>) {
        let Some(end) = outcome.end_state() else {
            return (RunState::Done, None);
        };
        let error = match outcome {
            Outcome::Failed(failure) => Self::from(failure),
            Outcome::Done | Outcome::Stopped(_) => Self::new(end, "stopped by the host"),
        };
        (end.state, Some(error))
    }
}

impl From<&Failure> for RunError {
    fn from(failure: &Failure) -> Self {
        Self::new(failure.end_state(), failure.message.as_str())
    }
}
