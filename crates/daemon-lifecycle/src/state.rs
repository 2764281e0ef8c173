//! The states of a run and the classes of its errors.

use crate::word::words;

/// The state of a run. Every state but [`RunState::Running`] is terminal and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunState {
    /// The run has not ended, or its end was not recorded.
    Running,
    /// The provider completed the task.
    Done,
    /// The provider or its process failed, or a limit ended the run.
    Failed,
    /// The host or the parent stopped the run.
    Cancelled,
    /// The host stopped the run at its deadline, or after too long a silence.
    Timeout,
    /// The record was rebuilt and does not say how the run ended. A live run never reaches this state.
    Unknown,
}

words!(RunState, "a state of a run", {
    Running => "running",
    Done => "done",
    Failed => "failed",
    Cancelled => "cancelled",
    Timeout => "timeout",
    Unknown => "unknown",
});

impl RunState {
    /// Returns whether the run has ended.
    pub fn is_terminal(self) -> bool {
        // `Unknown` is terminal too: only a folder without a writer is rebuilt.
        self != Self::Running
    }
}

/// Whether another attempt can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Another attempt may succeed.
    Retryable,
    /// Another attempt would end the same way.
    Final,
}

words!(ErrorClass, "an error class", {
    Retryable => "retryable",
    Final => "final",
});

/// Returns the word that people read for the state of an activation or a run: what ended well without a model is `reported`.
pub fn state_word(state: &str, is_reported: bool) -> &str {
    match state {
        "succeeded" | "done" if is_reported => "reported",
        state => state,
    }
}
