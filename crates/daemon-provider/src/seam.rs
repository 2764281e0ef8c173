//! The traits.

use async_trait::async_trait;

use crate::{Limits, Permissions, ProviderError, RunEvent, RunRequest, SessionId, StopReason};

/// What executes runs: a program, a model, or code.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the name under which configuration, folders and listings know it.
    fn name(&self) -> &str;

    /// Returns the model that its runs use, where the configuration names one.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Reports whether its runs only report: neither a model nor a program carries the routines out.
    fn is_reporting(&self) -> bool {
        false
    }

    /// Returns what a run may do that is asked to do no more than `asked`.
    fn permissions(&self, asked: Permissions) -> Permissions {
        asked
    }

    /// Returns those of the limits that hold for its runs from their start; one that nothing enforces is `None`.
    ///
    /// A provider whose program may report what it costs does so with [`RunEvent::Priced`].
    fn enforced(&self, limits: &Limits) -> Limits {
        Limits {
            max_turns: None,
            budget: None,
            ..*limits
        }
    }

    /// Starts one run.
    ///
    /// # Errors
    /// A [`ProviderError`] means that nothing runs and nothing has to be cleaned up.
    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError>;

    /// Returns what becomes of a message to one of its runs.
    fn follow_ups(&self) -> FollowUps {
        FollowUps::None
    }

    /// Returns who uses the MCP servers of [`RunRequest::mcp`].
    fn mcp(&self) -> McpUse {
        McpUse::Nobody
    }

    /// Returns what becomes of the options that a caller adds for its program.
    fn options(&self) -> Options {
        Options::Ignored
    }
}

/// What becomes of a message to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FollowUps {
    /// It is refused: there is no conversation.
    None,
    /// A new run with [`RunRequest::resume`] answers it, once the run has ended.
    Resumes,
    /// It joins the run while that goes on; see [`Run::ask`].
    Joins,
}

/// Who uses the MCP servers that a run is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpUse {
    /// Nobody: the run has no tools of its own.
    Nobody,
    /// The provider itself, so that what the servers are given stays with it.
    ByProvider,
    /// The provider's program, which is given them and starts them.
    ByProgram,
    /// Any part of the provider's program that reads the file that names them: the provider does not know whether one does.
    ByFile,
}

/// What becomes of the options that a caller adds for a provider's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Options {
    /// There is no program that could take them.
    Ignored,
    /// Its program gets them, except these flags, which the provider sets itself.
    Taken {
        /// The flags, dashes included.
        reserved: &'static [&'static str],
    },
}

/// One run under way.
///
/// Dropping it ends what it runs, without a word; [`Run::cancel`] and then [`Run::next`] until `None` is the way that
/// leaves a record.
#[async_trait]
pub trait Run: Send {
    /// Waits for the next event; `None` after the terminal one.
    ///
    /// Cancel-safe: when the future is dropped, the event it would have returned comes with the next call.
    ///
    /// # Errors
    /// An error ends the run like a terminal event does: `None` follows.
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError>;

    /// Returns whether the run has reported its outcome and only its process has yet to end.
    ///
    /// No deadline applies to it any more.
    fn has_outcome(&self) -> bool {
        false
    }

    /// Returns what [`Run::ask`] would return before the next call of [`Run::next`] or [`Run::cancel`]; hands nothing over.
    ///
    /// A message is stored between the two calls, so that every message that a run receives is stored.
    fn would_take(&self) -> Asked;

    /// Hands a message to the run. A run that can answer [`Asked::Joined`] implements it; others take no messages.
    ///
    /// # Errors
    /// The message did not arrive.
    ///
    /// # Panics
    /// If the run can answer [`Asked::Joined`] and does not implement it: the message would be lost.
    async fn ask(&mut self, _message: &str) -> Result<Asked, ProviderError> {
        let answer = self.would_take();
        assert!(
            answer != Asked::Joined,
            "a run that messages join implements `ask`"
        );
        Ok(answer)
    }

    /// Begins to stop the run and returns; `next` returns the end.
    ///
    /// The first reason wins, also over an end of the run that was on its way. Later calls change nothing, and neither does
    /// a call after the terminal event. Where [`Run::has_outcome`] holds, every reason but [`StopReason::Reclaim`] ends the
    /// process alone, and the outcome stays.
    ///
    /// # Errors
    /// The run could not be stopped; it may go on.
    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError>;
}

/// What became of a message to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It joined the run's conversation.
    Joined,
    /// The run takes no message now; start another with [`RunRequest::resume`] set to this session.
    Resume(SessionId),
    /// This provider takes no messages, or has no session yet.
    Unsupported,
}
