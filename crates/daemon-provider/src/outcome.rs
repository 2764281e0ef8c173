//! How a run ends.

use std::fmt;
use std::str::FromStr;

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Another attempt may succeed.
    Retryable,
    /// Another attempt would end the same way.
    Final,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider did what it was asked.
    Done,
    /// The provider, or its process, failed.
    Failed(Failure),
    /// The run was stopped; this is the first reason [`Run::cancel`](crate::Run::cancel) was given.
    Stopped(CancelReason),
}

/// What went wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of fault it is.
    pub kind: FailureKind,
    /// Whether trying again can help.
    pub class: Class,
    /// One line for a person.
    pub message: String,
}

impl Failure {
    /// Describes a failure of the class that is usual for its kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            class: kind.usual_class(),
            message: message.into(),
        }
    }
}

/// The kinds of failure, spelled in run folders as [`FailureKind::as_str`] gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The provider said that it failed.
    Provider,
    /// The provider ended without the terminal event it owed.
    Protocol,
    /// The process exited with a code other than 0.
    Exit,
    /// The process was ended by a signal that this side did not send.
    Terminated,
    /// The process could not be started.
    Spawn,
    /// A limit on turns was reached.
    Limit,
    /// A limit on processes, memory or disk was reached.
    Resource,
    /// The budget was used up.
    Budget,
}

impl FailureKind {
    /// Returns the word for this kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Protocol => "protocol",
            Self::Exit => "exit",
            Self::Terminated => "terminated",
            Self::Spawn => "spawn",
            Self::Limit => "limit",
            Self::Resource => "resource",
            Self::Budget => "budget",
        }
    }

    /// Returns the class a failure of this kind has unless its provider knows better.
    pub fn usual_class(self) -> Class {
        match self {
            Self::Protocol | Self::Exit | Self::Terminated => Class::Retryable,
            Self::Provider | Self::Spawn | Self::Limit | Self::Resource | Self::Budget => {
                Class::Final
            }
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CancelReason {
    /// Its time is over.
    Timeout,
    /// It showed no sign of life for too long.
    Idle,
    /// Whoever dispatched it wants its slot back.
    Reclaim,
    /// The host is stopping.
    AgentStop,
    /// Another attempt owns the activation.
    LostLease,
    /// Its budget is used up.
    Budget,
    /// It took more processes, memory or disk than it may.
    Resource,
    /// It had ended, but its process stayed.
    Grace,
}

impl CancelReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
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
}

impl fmt::Display for CancelReason {
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

impl FromStr for CancelReason {
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
