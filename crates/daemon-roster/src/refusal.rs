//! Refusals: why a request changed nothing.

use std::fmt;

use daemon_event::InvalidId;

use crate::id::RowId;
use crate::liveness::Liveness;
use crate::spawn::PlanCheckName;
use crate::word::words;

/// Why a request was refused. A refused request changes nothing; it is audited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RosterRefusal {
    /// A parameter is missing or has a value that is not accepted.
    #[error("invalid parameter: {0}")]
    InvalidParams(#[from] InvalidParams),
    /// The request names something that does not exist.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What kind of thing it is.
        what: &'static str,
        /// The id or name in the request.
        id: String,
    },
    /// The request contradicts another one.
    #[error("{0}")]
    Conflict(ConflictReason),
    /// The caller may not do this.
    #[error("forbidden by the rule `{0}`")]
    Forbidden(ForbiddenRule),
    /// The state machine has no such transition.
    #[error("{0}")]
    IllegalTransition(IllegalTransition),
    /// The gate of the caller is not open.
    #[error("the gate of `{row}` is not `go`")]
    Held {
        /// The caller's row.
        row: RowId,
    },
    /// The caller acts for an old incarnation or an old generation.
    #[error("`{row}` acts for an old incarnation or generation")]
    Fenced {
        /// The caller's row.
        row: RowId,
    },
    /// Something else has to happen first.
    #[error("not ready: {}", Listed(.blockers))]
    NotReady {
        /// All that is missing.
        blockers: Vec<Blocker>,
    },
    /// The row was retired.
    #[error("`{row}` is retired")]
    Retired {
        /// The row.
        row: RowId,
    },
}

/// Why a parameter is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidParams {
    /// A value that its type does not accept.
    #[error(transparent)]
    Text(#[from] InvalidId),
    /// A required parameter is missing.
    #[error("`{0}` is required")]
    Missing(&'static str),
    /// A value is outside of its range.
    #[error("`{name}` is {value}, not {expected}")]
    Range {
        /// The parameter.
        name: &'static str,
        /// The value, or the length of a string.
        value: i64,
        /// What is accepted.
        expected: &'static str,
    },
    /// A line has a line break or another control character.
    #[error("`{0}` is not one line without control characters")]
    NotOneLine(&'static str),
    /// The row has a kind for which there is no such request.
    #[error("`{0}` is not a standing daemon with a project and a role")]
    NotStanding(RowId),
}

/// What a request contradicts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConflictReason {
    /// A request with the same id had other parameters.
    #[error("a request with this id had other parameters")]
    RequestReused,
    /// Only a holder can hand a baton over.
    #[error("`{0}` does not hold the baton of its role")]
    NotHolder(RowId),
    /// The role has an open reset.
    #[error("another reset of this role is open")]
    ResetOpen,
}

/// The rules by which a caller is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ForbiddenRule {
    /// No daemon opens its own gate.
    SelfGo,
    /// No daemon widens its own permissions.
    SelfWidening,
    /// A daemon acts in its own project only.
    OtherProject,
    /// The caller does not have the role that this needs.
    Role,
    /// The interface only reads.
    ReadOnly,
    /// A request from a page is from no form of the host's own pages.
    ForeignForm,
}

words!(ForbiddenRule, "a rule", {
    SelfGo => "self-go",
    SelfWidening => "self-widening",
    OtherProject => "other-project",
    Role => "role",
    ReadOnly => "read-only",
    ForeignForm => "foreign-form",
});

/// A transition that a state machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalTransition {
    /// The machine, such as `gate`.
    pub machine: &'static str,
    /// The state it is in.
    pub from: &'static str,
    /// What was to happen.
    pub event: &'static str,
}

impl fmt::Display for IllegalTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            machine,
            from,
            event,
        } = self;
        write!(
            f,
            "the {machine} is `{from}`, where `{event}` is not possible"
        )
    }
}

/// What has to happen before a request can be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blocker {
    /// A row has to be live, and is not.
    NotLive {
        /// The row.
        row: RowId,
        /// What it is instead.
        liveness: Liveness,
    },
    /// A row has to be wound down, or retired.
    NotWoundDown {
        /// The row.
        row: RowId,
        /// Whether it is alive.
        liveness: Liveness,
    },
    /// A role has no holder of its baton.
    NoHolder,
    /// A reset of the row is open.
    ResetOpen,
    /// The predecessor is live and has more time to hand over.
    PredecessorLive(RowId),
    /// The spawn has to be confirmed explicitly.
    NotConfirmed,
    /// The packet is not the one that was shown.
    PacketChanged,
    /// A check of the plan blocks it.
    Check(PlanCheckName),
    /// The agent was resumed as often as it may be.
    Restarts(RowId),
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLive { row, liveness } => write!(f, "`{row}` is {liveness}"),
            Self::NotWoundDown { row, liveness } => {
                write!(f, "`{row}` ({liveness}) is not wound down")
            }
            Self::NoHolder => f.write_str("the baton has no holder"),
            Self::ResetOpen => f.write_str("a reset is open"),
            Self::PredecessorLive(row) => write!(f, "the predecessor `{row}` is live"),
            Self::NotConfirmed => f.write_str("the spawn is not confirmed"),
            Self::PacketChanged => f.write_str("the packet is not the one that was shown"),
            Self::Check(check) => write!(f, "the check `{check}` blocks"),
            Self::Restarts(row) => write!(f, "`{row}` was resumed too often within an hour"),
        }
    }
}

struct Listed<'a>(&'a [Blocker]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, blocker) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{blocker}")?;
        }
        Ok(())
    }
}

impl RosterRefusal {
    /// Returns the code of the error on the control protocol.
    pub fn code(&self) -> i32 {
        self.code_and_word().0
    }

    /// Returns the word for the error, which is `data.code` on the control protocol.
    pub fn as_str(&self) -> &'static str {
        self.code_and_word().1
    }

    fn code_and_word(&self) -> (i32, &'static str) {
        match self {
            Self::InvalidParams(_) => (-32602, "invalid-params"),
            Self::Forbidden(_) => (-32003, "forbidden"),
            Self::NotFound { .. } => (-32004, "not-found"),
            Self::Conflict(_) => (-32005, "conflict"),
            Self::IllegalTransition(_) => (-32030, "illegal-transition"),
            Self::Held { .. } => (-32031, "held"),
            Self::Fenced { .. } => (-32032, "fenced"),
            Self::NotReady { .. } => (-32033, "not-ready"),
            Self::Retired { .. } => (-32034, "retired"),
        }
    }

    /// Returns the rule for the audit log: the rule that forbids, or else the word for the error.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Forbidden(rule) => rule.as_str(),
            other => other.as_str(),
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }
}

impl From<ForbiddenRule> for RosterRefusal {
    fn from(rule: ForbiddenRule) -> Self {
        Self::Forbidden(rule)
    }
}

impl From<ConflictReason> for RosterRefusal {
    fn from(reason: ConflictReason) -> Self {
        Self::Conflict(reason)
    }
}

impl From<Blocker> for RosterRefusal {
    fn from(blocker: Blocker) -> Self {
        Self::NotReady {
            blockers: vec![blocker],
        }
    }
}
