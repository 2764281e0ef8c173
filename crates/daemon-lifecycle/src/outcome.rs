//! How a provider ends a run, and why a host stops one.

use crate::word::words;
use crate::{Cause, EndState, ErrorClass};

/// How a run ended, as its provider reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider completed the task.
    Done,
    /// The provider or its process failed.
    Failed(Failure),
    /// The host stopped the run. This is the first reason that the provider received.
    Stopped(StopReason),
}

impl Outcome {
    /// Returns the state, `error.type` and class that this outcome leads to; `None` for [`Outcome::Done`].
    pub fn end_state(&self) -> Option<EndState> {
        match self {
            Self::Done => None,
            Self::Failed(failure) => Some(failure.end_state()),
            Self::Stopped(reason) => Some(Cause::Stopped(*reason).end_state()),
        }
    }
}

/// A failure of a provider or of its process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The kind of failure, which is the recorded `error.type`.
    pub kind: FailureKind,
    /// Whether another attempt can succeed. A provider that knows more than the kind says sets it itself.
    pub class: ErrorClass,
    /// One line for a person.
    pub message: String,
}

impl Failure {
    /// Makes a failure of the class that its kind has in [`Cause::end_state`].
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            class: Cause::Failed(kind).end_state().class,
            message: message.into(),
        }
    }

    /// Returns the state, `error.type` and class that this failure leads to.
    pub fn end_state(&self) -> EndState {
        EndState {
            class: self.class,
            ..Cause::Failed(self.kind).end_state()
        }
    }
}

/// The kinds of [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The provider reported a failure.
    Provider,
    /// The provider ended without the terminal event that its protocol requires.
    Protocol,
    /// The process exited with a code other than 0.
    Exit,
    /// A signal that the host did not send terminated the process.
    Terminated,
    /// The process could not be started.
    Spawn,
    /// The run reached its limit of model turns.
    Limit,
    /// The run reached a limit on processes, memory or disk.
    Resource,
    /// The run used up its budget.
    Budget,
}

words!(FailureKind, "a kind of failure", {
    Provider => "provider",
    Protocol => "protocol",
    Exit => "exit",
    Terminated => "terminated",
    Spawn => "spawn",
    Limit => "limit",
    Resource => "resource",
    Budget => "budget",
});

/// Why the host stops a run.
///
/// The first reason wins. It is stored before the process is signalled, so that a crash in between does not lose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The run reached its deadline.
    Timeout,
    /// The run printed nothing for too long.
    Idle,
    /// The parent reclaimed the run's slot.
    Reclaim,
    /// The host is shutting down.
    AgentStop,
    /// Another attempt owns the activation.
    LostLease,
    /// The run used up its budget.
    Budget,
    /// The run exceeded a limit on processes, memory or disk.
    Resource,
    /// The run had reported its outcome, but its process did not exit in time.
    Grace,
}

words!(StopReason, "a reason for stopping a run", {
    Timeout => "timeout",
    Idle => "idle",
    Reclaim => "reclaim",
    AgentStop => "agent_stop",
    LostLease => "lost_lease",
    Budget => "budget",
    Resource => "resource",
    Grace => "grace",
});

impl StopReason {
    /// Returns whether the outcome that the run reported before the stop remains its outcome.
    ///
    /// This holds for [`StopReason::Grace`] only: any other reason replaces the outcome.
    pub fn keeps_outcome(self) -> bool {
        self == Self::Grace
    }
}
