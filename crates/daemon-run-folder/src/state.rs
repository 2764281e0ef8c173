//! The states of a run and what leads to them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The state of a run; every one but `Running` is its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// It has not ended, or its end was not recorded.
    Running,
    /// It did what it was asked.
    Done,
    /// It failed.
    Failed,
    /// It was stopped by whoever owns it.
    Cancelled,
    /// It was stopped because its time was over.
    Timeout,
    /// A rebuilt folder does not tell how it ended.
    Unknown,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::Timeout,
        Self::Unknown,
    ];

    /// Returns the word for this state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether the run has ended.
    pub fn is_terminal(self) -> bool {
        self != Self::Running
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether another attempt can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Another attempt may succeed.
    Retryable,
    /// Another attempt would end the same way.
    Final,
}

/// Why the host stops a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Its time was over.
    Timeout,
    /// It showed no sign of life for too long.
    Idle,
    /// Its parent took its slot back.
    Reclaim,
    /// The host stopped.
    AgentStop,
    /// Another attempt owned the activation.
    LostLease,
    /// Its budget was used up.
    Budget,
    /// It took more processes, memory or disk than it may.
    Resource,
    /// It had ended, but its process stayed; its own outcome stands.
    Grace,
}

impl StopReason {
    const ALL: [Self; 8] = [
        Self::Timeout,
        Self::Idle,
        Self::Reclaim,
        Self::AgentStop,
        Self::LostLease,
        Self::Budget,
        Self::Resource,
        Self::Grace,
    ];

    /// Returns the word for this reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::Reclaim => "reclaim",
            Self::AgentStop => "agent_stop",
            Self::LostLease => "lost_lease",
            Self::Budget => "budget",
            Self::Resource => "resource",
            Self::Grace => "grace",
        }
    }

    /// Returns the state and class this reason leads to; `None` where the run's own outcome stands.
    pub fn leads_to(self) -> Option<(RunState, ErrorClass)> {
        match self {
            Self::Timeout | Self::Idle => Some((RunState::Timeout, ErrorClass::Retryable)),
            Self::AgentStop => Some((RunState::Cancelled, ErrorClass::Retryable)),
            Self::Reclaim | Self::LostLease => Some((RunState::Cancelled, ErrorClass::Final)),
            Self::Budget | Self::Resource => Some((RunState::Failed, ErrorClass::Final)),
            Self::Grace => None,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no reason for stopping a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a reason for stopping a run")]
pub struct UnknownReason {
    text: String,
}

impl FromStr for StopReason {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, UnknownReason> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| UnknownReason {
                text: text.to_owned(),
            })
    }
}

/// How a run ended, as its provider tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It did what it was asked.
    Done,
    /// It failed.
    Failed(RunError),
    /// It was stopped for this reason.
    Stopped(StopReason),
}

impl Ending {
    /// Returns the state that the end leads to, and why it is not `done`.
    pub fn verdict(self) -> (RunState, Option<RunError>) {
        match self {
            Self::Done => (RunState::Done, None),
            Self::Failed(error) => (RunState::Failed, Some(error)),
            Self::Stopped(reason) => {
                // A process that had to be stopped on its way out, and told no outcome.
                let usual = (RunState::Failed, ErrorClass::Retryable);
                let (state, class) = reason.leads_to().unwrap_or(usual);
                let error = RunError {
                    kind: reason.as_str().to_owned(),
                    message: "stopped by the host".to_owned(),
                    class,
                };
                (state, Some(error))
            }
        }
    }
}

/// Why a run did not end well, as its folder holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// The kind: a reason to stop, `provider`, `protocol`, `exit`, `terminated`, `spawn`, `limit`, `DaemonOrphaned`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line for a person.
    pub message: String,
    /// Whether another attempt can help.
    pub class: ErrorClass,
}
