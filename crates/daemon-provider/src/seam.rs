//! The traits of providers and of their runs.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use daemon_process::{Launch, Supervisor};
use tokio::sync::mpsc;

use crate::tool_loop::{Model, ProgramCall, RetryPolicy, ToolSource};
use crate::{
    Limits, NetworkUse, Permissions, ProviderError, ProviderErrorKind, RunEvent, RunRequest,
    SessionId, StopReason,
};

/// Executes runs by a program, a model or code.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the name that configuration, run folders and listings use.
    fn name(&self) -> &str;

    /// Returns the configured model; `None` if the program chooses it.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Returns whether its runs only report: no model and no program carries out the routines.
    fn is_reporting(&self) -> bool {
        false
    }

    /// Returns the permissions of a run for which the host grants `asked`.
    fn permissions(&self, asked: Permissions) -> Permissions {
        asked
    }

    /// Returns the limits that are enforced from the start of a run. A limit that nothing enforces is `None`.
    ///
    /// If the program turns out to report prices, the run yields [`RunEvent::Priced`] when its budget becomes enforced.
    fn enforced(&self, limits: &Limits) -> Limits {
        // The caller enforces the times of every provider; only the provider can count turns and cost.
        Limits {
            max_turns: None,
            budget: None,
            ..*limits
        }
    }

    /// Returns how the cost of its runs becomes known.
    fn pricing(&self) -> Pricing {
        Pricing::Free
    }

    /// Returns whether its program is there to be started; a provider without a program is always there.
    fn is_installed(&self) -> bool {
        true
    }

    /// Returns whether only isolated children of its runs use the worktree, so that it may be an overlay that they alone see.
    fn works_in_overlays(&self) -> bool {
        false
    }

    /// Starts one run.
    ///
    /// # Errors
    /// The run could not be started. Nothing runs then, and nothing must be cleaned up.
    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError>;

    /// Opens what a loop of tools needs to continue a conversation, with the paths, limits and sandbox of the request; `None` if
    /// its runs are programs, which have a loop of their own.
    ///
    /// # Errors
    /// A tool cannot be used. Nothing was started then.
    async fn open_loop(&self, _request: &RunRequest) -> Result<Option<OpenedLoop>, ProviderError> {
        Ok(None)
    }

    /// Returns how its runs handle follow-up messages.
    fn follow_ups(&self) -> FollowUps {
        FollowUps::None
    }

    /// Returns which component uses the MCP servers of [`RunRequest::mcp`].
    fn mcp(&self) -> McpUse {
        McpUse::Nobody
    }

    /// Returns how to start `program` for the run of `request`, without arguments: with the paths of the request, and in the same
    /// sandbox, with the same network and limits, as the program of the provider.
    ///
    /// The host starts MCP servers in this way that the caller of a run gave: they must reach no more than the run itself. Call it
    /// on a Tokio runtime.
    ///
    /// # Errors
    /// The provider starts no programs, or `program` may not be started.
    fn companion(
        &self,
        _request: &RunRequest,
        _program: &Path,
    ) -> Result<Companion, ProviderError> {
        let message = "its runs start no programs";
        Err(ProviderError::new(
            self.name(),
            ProviderErrorKind::Unsupported,
            message,
        ))
    }

    /// Returns how it handles [`RunRequest::options`].
    fn options(&self) -> Options {
        Options::Ignored
    }
}

/// The model and the tools of a loop.
pub struct OpenedLoop {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The groups of tools; they have to be closed.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// How failed calls of the model are repeated.
    pub retry: RetryPolicy,
    /// What the programs of the tools use of the network; `None` without a list of hosts. The receiver has to be read.
    pub network: Option<mpsc::Receiver<NetworkUse>>,
    /// The calls of tools by a program that is the model; `None` for a model whose replies name their calls. The receiver has to be
    /// read.
    pub calls: Option<mpsc::Receiver<ProgramCall>>,
}

impl fmt::Debug for OpenedLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedLoop")
            .field("model", &self.model.name())
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}

/// How to start another program of a run.
#[derive(Debug)]
pub struct Companion {
    /// What starts it.
    pub supervisor: Supervisor,
    /// The program with its environment and its sandbox.
    pub launch: Launch,
    /// What it uses of the network; `None` without a list of hosts. The receiver has to be read.
    pub network: Option<mpsc::Receiver<NetworkUse>>,
}

/// How the cost of a provider's runs becomes known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pricing {
    /// Its runs cost nothing.
    Free,
    /// The provider reserves each model call with [`Grants::reserve`](crate::Grants::reserve).
    ByCall,
    /// A run costs what its program reports, and nothing if it reports nothing: most programs are not models.
    Reported,
    /// The program of a run calls a model. A run that reports no cost is counted with what was reserved for it.
    Assumed,
}

/// How a provider handles messages to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FollowUps {
    /// Messages are refused: there is no conversation.
    None,
    /// After the run has ended, a new run with [`RunRequest::resume`] answers the message.
    Resumes,
    /// A message joins the conversation of the live run; see [`Run::ask`].
    Joins,
}

/// The component that uses the MCP servers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpUse {
    /// No component: the run has no tools.
    Nobody,
    /// The provider itself. The secrets of the servers stay in its process.
    ByProvider,
    /// The provider's program, which receives the registrations and starts the servers. What it receives its model can read, so that
    /// the host registers only servers of its own with it.
    ByProgram,
    /// Unknown: the provider writes a file with the same registrations, and a program may or may not read it.
    ByFile,
}

/// How a provider handles the options that a caller adds for its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Options {
    /// There is no program, so options are ignored.
    Ignored,
    /// The program receives them, except the flags that the provider sets itself.
    Taken {
        /// The refused flags, with their dashes.
        reserved: &'static [&'static str],
    },
}

/// A live run.
///
/// Dropping it ends its processes without an event. To end it with a record, call [`Run::cancel`] and then [`Run::next`]
/// until it returns `None`.
#[async_trait]
pub trait Run: Send {
    /// Waits for the next event. Returns `None` after the terminal event.
    ///
    /// Cancel-safe: if the future is dropped, the next call returns the event.
    ///
    /// # Errors
    /// The run was lost. Like after a terminal event, the next call returns `None`.
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError>;

    /// Returns whether the run has reported its outcome, so that only its process must still exit.
    ///
    /// The caller applies no deadline of the run any more.
    fn has_outcome(&self) -> bool {
        false
    }

    /// Returns what [`Run::ask`] would return if it were called before the next [`Run::next`] or [`Run::cancel`].
    ///
    /// The caller stores the message between the two calls. So a run never receives a message that is not on the disk.
    fn would_take(&self) -> Asked;

    /// Sends a message to the run. A run whose [`Run::would_take`] can return [`Asked::Joined`] must implement it.
    ///
    /// # Errors
    /// The message did not reach the run.
    ///
    /// # Panics
    /// The default implementation panics if the message would join the run: it would be lost.
    async fn ask(&mut self, _message: &str) -> Result<Asked, ProviderError> {
        let answer = self.would_take();
        assert!(
            answer != Asked::Joined,
            "a run that messages join implements `ask`"
        );
        Ok(answer)
    }

    /// Begins to stop the run and returns at once. [`Run::next`] returns the terminal event.
    ///
    /// The first reason wins, also over an outcome that was not yet returned. Later calls, and calls after the terminal event,
    /// change nothing. If [`Run::has_outcome`] is true, every reason but [`StopReason::Reclaim`] only ends the process, and the
    /// outcome stays.
    ///
    /// # Errors
    /// The run could not be stopped and may continue.
    async fn cancel(&mut self, why: StopReason) -> Result<(), ProviderError>;
}

/// The result of sending a message to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The message joined the run's conversation.
    Joined,
    /// The run takes no message now. After its end, start another with [`RunRequest::resume`] set to this session.
    Resume(SessionId),
    /// The run takes no messages, or has no session yet.
    Unsupported,
}
