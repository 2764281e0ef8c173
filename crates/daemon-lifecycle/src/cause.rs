//! The mapping from a cause to a state, an `error.type` and a class.

use crate::{ErrorClass, FailureKind, RunState, StopReason};

/// Why a run ended in a state other than `done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The host stopped the run.
    Stopped(StopReason),
    /// The provider or its process failed.
    Failed(FailureKind),
    /// The host that owned the run died, and no end was recorded.
    Orphaned,
}

/// What a [`Cause`] means for the record of the run and for another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndState {
    /// The terminal state to record.
    pub state: RunState,
    /// The `error.type` to record: a stop reason, a failure kind, or `DaemonOrphaned`.
    pub error_type: &'static str,
    /// Whether another attempt can succeed.
    pub class: ErrorClass,
}

impl Cause {
    /// Returns the state, `error.type` and class that this cause leads to.
    ///
    /// [`Failure::class`](crate::Failure::class) takes precedence over the class of a [`Cause::Failed`].
    pub fn end_state(self) -> EndState {
        use ErrorClass::{Final, Retryable};
        use FailureKind as Kind;
        use StopReason as Reason;

        let (state, class) = match self {
            // The activation returns to the queue when the host stops, but not when a person or another attempt took the run.
            Self::Stopped(Reason::AgentStop) => (RunState::Cancelled, Retryable),
            Self::Stopped(Reason::Reclaim | Reason::LostLease) => (RunState::Cancelled, Final),
            Self::Stopped(Reason::Timeout | Reason::Idle) => (RunState::Timeout, Retryable),
            // Another attempt has the same budget and the same limits.
            Self::Stopped(Reason::Budget | Reason::Resource)
            | Self::Failed(
                Kind::Budget | Kind::Limit | Kind::Resource | Kind::Provider | Kind::Spawn,
            ) => (RunState::Failed, Final),
            // After `grace` the reported outcome counts. Without one, the run ended like a cut stream.
            Self::Stopped(Reason::Grace)
            | Self::Failed(Kind::Protocol | Kind::Exit | Kind::Terminated)
            | Self::Orphaned => (RunState::Failed, Retryable),
        };
        EndState {
            state,
            error_type: self.error_type(),
            class,
        }
    }

    /// Returns the `error.type` of this cause.
    fn error_type(self) -> &'static str {
        match self {
            Self::Stopped(reason) => reason.as_str(),
            Self::Failed(kind) => kind.as_str(),
            Self::Orphaned => "DaemonOrphaned",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cause: Cause, state: &str, error_type: &str, class: &str) {
        let end = cause.end_state();
        assert_eq!(
            (end.state.as_str(), end.error_type, end.class.as_str()),
            (state, error_type, class),
            "{cause:?}"
        );
    }

    #[test]
    fn every_cause_has_the_state_type_and_class_of_the_table() {
        for (reason, state, class) in [
            ("reclaim", "cancelled", "final"),
            ("agent_stop", "cancelled", "retryable"),
            ("lost_lease", "cancelled", "final"),
            ("timeout", "timeout", "retryable"),
            ("idle", "timeout", "retryable"),
            ("budget", "failed", "final"),
            ("resource", "failed", "final"),
            ("grace", "failed", "retryable"),
        ] {
            check(
                Cause::Stopped(reason.parse().unwrap()),
                state,
                reason,
                class,
            );
        }
        for (kind, class) in [
            ("provider", "final"),
            ("protocol", "retryable"),
            ("exit", "retryable"),
            ("terminated", "retryable"),
            ("spawn", "final"),
            ("limit", "final"),
            ("resource", "final"),
            ("budget", "final"),
        ] {
            check(Cause::Failed(kind.parse().unwrap()), "failed", kind, class);
        }
        check(Cause::Orphaned, "failed", "DaemonOrphaned", "retryable");
    }
}
