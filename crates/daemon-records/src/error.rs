//! Errors of operations, with one code for every interface.

use std::borrow::Cow;

use daemon_agent::AgentError;
use daemon_lifecycle::{ErrorClass, FailureKind};
use daemon_registry::FindDaemonError;
use daemon_roster::{Blocker, ForbiddenRule, RosterRefusal};
use daemon_store::{OtherHost, StoreError};
use serde_json::{Value, json};

use crate::roster::RosterError;

/// The kind of a failure, which each interface maps to a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpErrorKind {
    /// The caller's arguments make no sense.
    InvalidParams,
    /// An event, expression or daemon file is invalid.
    InvalidInput,
    /// No such id.
    NotFound,
    /// The current state does not allow the operation.
    Conflict,
    /// No state allows the operation.
    Unsupported,
    /// The resource is in use; the operation may succeed later.
    Busy,
    /// The store or a provider cannot be reached.
    Unavailable,
    /// The disk failed: nothing can be stored any more.
    Broken,
    /// Policy says no.
    Forbidden,
    /// The configuration is wrong.
    Config,
    /// A turn of a conversation failed at its provider.
    Provider {
        /// Whether another try may succeed.
        is_retryable: bool,
    },
    /// A client ended the turn.
    Killed,
    /// The client stopped waiting.
    Cancelled,
    /// The host stops.
    Stopping,
    /// A file of the home is damaged, and nothing else is affected.
    Damaged,
    /// The state machines of the roster do not allow it, for a reason with a code of its own.
    Roster {
        /// The code of the control protocol.
        code: i32,
        /// Its word.
        word: &'static str,
    },
    /// A bug.
    Internal,
}

impl OpErrorKind {
    /// Returns the exit code of the command line.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::InvalidParams | Self::Unsupported => 64,
            Self::InvalidInput => 65,
            Self::NotFound => 66,
            Self::Unavailable => 69,
            Self::Internal => 70,
            Self::Broken | Self::Damaged => 73,
            Self::Provider { .. } | Self::Killed => 1,
            Self::Cancelled => 130,
            Self::Conflict | Self::Busy | Self::Stopping | Self::Roster { .. } => 75,
            Self::Forbidden => 77,
            Self::Config => 78,
        }
    }

    /// Returns the status of the HTTP routes.
    pub fn http_status(self) -> u16 {
        match self {
            Self::InvalidParams | Self::InvalidInput => 400,
            Self::NotFound => 404,
            Self::Conflict
            | Self::Unsupported
            | Self::Busy
            | Self::Config
            | Self::Killed
            | Self::Cancelled
            | Self::Damaged
            | Self::Roster { .. } => 409,
            Self::Provider { .. } => 502,
            Self::Forbidden => 403,
            Self::Unavailable | Self::Broken | Self::Stopping => 503,
            Self::Internal => 500,
        }
    }

    /// Returns the code of the control protocol and its word.
    pub fn rpc(self) -> (i64, &'static str) {
        match self {
            Self::InvalidParams | Self::InvalidInput => (-32602, "invalid-params"),
            Self::NotFound => (-32004, "not-found"),
            Self::Conflict | Self::Unsupported => (-32005, "conflict"),
            Self::Busy => (-32007, "busy"),
            Self::Unavailable | Self::Broken => (-32010, "storage-failed"),
            Self::Forbidden => (-32003, "forbidden"),
            Self::Config => (-32008, "config-invalid"),
            Self::Provider { .. } => (-32009, "provider-failed"),
            Self::Killed => (-32011, "killed"),
            Self::Cancelled => (-32012, "cancelled"),
            Self::Stopping => (-32013, "shutting-down"),
            Self::Damaged => (-32015, "damaged"),
            Self::Roster { code, word } => (i64::from(code), word),
            Self::Internal => (-32603, "internal"),
        }
    }
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpError {
    /// The kind, which determines exit code, HTTP status and RPC code.
    pub kind: OpErrorKind,
    /// A diagnostic code or a kebab-case word.
    pub code: String,
    /// The message for a person.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// What programs read about a refusal of the roster.
    pub refusal: Option<Box<RefusalDetails>>,
    /// Where the configuration is wrong: line and column, from 1.
    pub place: Option<(u32, u32)>,
}

/// What programs read about a refusal of the roster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusalDetails {
    /// The rule that forbids the request.
    pub rule: Option<Cow<'static, str>>,
    /// What has to happen before.
    pub blockers: Vec<Value>,
}

impl OpError {
    /// Makes an error.
    pub fn new(kind: OpErrorKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.into(),
            message: message.into(),
            help: None,
            refusal: None,
            place: None,
        }
    }

    /// Adds where the configuration is wrong: line and column, from 1.
    #[must_use]
    pub fn at(mut self, line: u32, column: u32) -> Self {
        self.place = Some((line, column));
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Makes the error for an id that does not exist.
    pub fn not_found(what: &str, id: &str) -> Self {
        // An id comes from the caller and may be of any length.
        let shown: String = id.chars().take(80).collect();
        Self::new(
            OpErrorKind::NotFound,
            format!("unknown-{what}"),
            format!("no {what} `{shown}`"),
        )
    }

    fn unknown_daemon(error: &FindDaemonError) -> Self {
        Self::new(OpErrorKind::NotFound, "unknown-daemon", error.to_string())
    }

    /// Makes the error for a request about a run that only another host can answer.
    pub fn elsewhere(run: &str, host: &OtherHost) -> Self {
        let name = &host.name;
        match host.is_present {
            true => Self::new(
                OpErrorKind::Conflict,
                "other-host",
                format!("run `{run}` is on the host `{name}`"),
            )
            .with_help("send the request to that host"),
            false => Self::new(
                OpErrorKind::Conflict,
                "host-gone",
                format!("run `{run}` is on the host `{name}`, which is gone"),
            )
            .with_help(format!(
                "start that host again; `daemon-run run {run}` prints what the store has of it"
            )),
        }
    }

    /// Makes the error for an invalid argument.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(OpErrorKind::InvalidParams, "invalid-argument", message)
    }
}

impl From<StoreError> for OpError {
    fn from(error: StoreError) -> Self {
        if let StoreError::NotFound { what, id } = &error {
            return Self::not_found(what, id);
        }
        let (kind, code) = match &error {
            StoreError::Conflict { .. } => (OpErrorKind::Conflict, "conflict"),
            StoreError::LeaseLost => (OpErrorKind::Conflict, "lease-lost"),
            StoreError::Broken { .. } => (OpErrorKind::Broken, "store-broken"),
            StoreError::Query { .. } => (OpErrorKind::InvalidParams, "invalid-argument"),
            _ => (OpErrorKind::Unavailable, "store-failed"),
        };
        Self::new(kind, code, chain(&error))
    }
}

impl From<AgentError> for OpError {
    fn from(error: AgentError) -> Self {
        let message = chain(&error);
        let (kind, code) = match &error {
            AgentError::Name(_) | AgentError::Argument(_) => {
                (OpErrorKind::InvalidParams, "invalid-argument")
            }
            AgentError::Definition { .. } => (OpErrorKind::InvalidParams, "invalid-agent"),
            AgentError::Skill { .. } => (OpErrorKind::InvalidParams, "invalid-skill"),
            AgentError::NotFound { what, .. } => {
                return Self::new(OpErrorKind::NotFound, format!("unknown-{what}"), message);
            }
            AgentError::Conflict(_) => (OpErrorKind::Conflict, "conflict"),
            AgentError::Forbidden(_) => (OpErrorKind::Forbidden, "forbidden"),
            AgentError::Busy { .. } => (OpErrorKind::Busy, "busy"),
            AgentError::Damaged(_) => (OpErrorKind::Damaged, "damaged"),
            AgentError::Storage(_) => (OpErrorKind::Unavailable, "storage-failed"),
            AgentError::Failed { kind, class, .. } => {
                let is_retryable = *class == ErrorClass::Retryable;
                let code = match kind {
                    FailureKind::Budget => "over-budget",
                    _ => "provider-failed",
                };
                (OpErrorKind::Provider { is_retryable }, code)
            }
            AgentError::Killed => (OpErrorKind::Killed, "killed"),
            AgentError::Stopping => (OpErrorKind::Stopping, "shutting-down"),
            _ => (OpErrorKind::Internal, "internal"),
        };
        Self::new(kind, code, message)
    }
}

impl From<RosterError> for OpError {
    fn from(error: RosterError) -> Self {
        match error {
            RosterError::Refused(refusal) => refusal.into(),
            RosterError::Store(error) => error.into(),
        }
    }
}

impl From<RosterRefusal> for OpError {
    fn from(refusal: RosterRefusal) -> Self {
        let kind = match &refusal {
            RosterRefusal::InvalidParams(_) => OpErrorKind::InvalidParams,
            RosterRefusal::NotFound { .. } => OpErrorKind::NotFound,
            RosterRefusal::Conflict(_) => OpErrorKind::Conflict,
            RosterRefusal::Forbidden(_) => OpErrorKind::Forbidden,
            other => OpErrorKind::Roster {
                code: other.code(),
                word: other.as_str(),
            },
        };
        let details = match &refusal {
            RosterRefusal::Forbidden(rule) => RefusalDetails {
                rule: Some(Cow::Borrowed(ForbiddenRule::as_str(*rule))),
                blockers: Vec::new(),
            },
            RosterRefusal::NotReady { blockers } => RefusalDetails {
                rule: None,
                blockers: blockers.iter().map(blocker_object).collect(),
            },
            _ => RefusalDetails::default(),
        };
        let is_empty = details == RefusalDetails::default();
        Self {
            refusal: (!is_empty).then(|| Box::new(details)),
            ..Self::new(kind, refusal.as_str(), refusal.to_string())
        }
    }
}

/// Returns the object of what has to happen before a request of the roster.
pub fn blocker_object(blocker: &Blocker) -> Value {
    match blocker {
        Blocker::NotLive { row, liveness } => {
            json!({"kind": "not-live", "daemon": row.as_str(), "liveness": liveness.as_str()})
        }
        Blocker::NotWoundDown { row, liveness } => {
            json!({"kind": "not-wound-down", "daemon": row.as_str(), "liveness": liveness.as_str()})
        }
        Blocker::NoHolder => json!({"kind": "no-holder"}),
        Blocker::ResetOpen => json!({"kind": "reset-open"}),
        Blocker::PredecessorLive(row) => {
            json!({"kind": "predecessor-live", "daemon": row.as_str()})
        }
        Blocker::NotConfirmed => json!({"kind": "not-confirmed"}),
        Blocker::PacketChanged => json!({"kind": "packet-changed"}),
        Blocker::Check(check) => json!({"kind": "check", "check": check.as_str()}),
        Blocker::Restarts(row) => json!({"kind": "restarts", "daemon": row.as_str()}),
        other => json!({"kind": other.to_string()}),
    }
}

/// Formats an error and its sources in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl From<FindDaemonError> for OpError {
    fn from(error: FindDaemonError) -> Self {
        match &error {
            FindDaemonError::Unknown { id } => Self::not_found("daemon", id),
            FindDaemonError::Elsewhere { other, .. } => {
                Self::unknown_daemon(&error).with_help(format!("`{other}` has a daemon of this id"))
            }
            FindDaemonError::UnknownRepo { known, .. } => {
                let known: Vec<String> = known.iter().map(|repo| format!("`{repo}`")).collect();
                Self::unknown_daemon(&error).with_help(match known.is_empty() {
                    true => "no daemon is registered".to_owned(),
                    false => format!("repositories with daemons: {}", known.join(", ")),
                })
            }
            FindDaemonError::Ambiguous { .. } => Self::new(
                OpErrorKind::InvalidParams,
                "ambiguous-daemon",
                error.to_string(),
            )
            .with_help(
                "name the repository too: `--repo DIR` for a command, `?repo=NAME` for a route",
            ),
        }
    }
}
