//! What a run says while it runs.

use daemon_lifecycle::{Exit, Outcome, OutputStream, StopReason, ToolStatus};

use crate::SessionId;

/// One thing that happened in a run, in the order it happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A process was started for the run.
    Spawned {
        /// Its identity.
        child: ChildProcess,
        /// Its program and arguments, which hold neither prompt nor secret.
        argv: Vec<String>,
    },
    /// That process was reaped.
    Exited(Exit),
    /// A message of the conversation with a model.
    Message {
        /// Who said it.
        role: Role,
        /// What it is for: `task`, `tool_results` or `followup`; empty for an answer.
        kind: String,
        /// Its text.
        text: String,
    },
    /// The provider named its own session; only the first one counts.
    Session(SessionId),
    /// A line the provider printed, in valid UTF-8 and without its line end.
    Output {
        /// Where it was printed.
        stream: OutputStream,
        /// The line.
        text: String,
        /// Whether the line was longer than what was kept.
        is_truncated: bool,
    },
    /// Output was thrown away because it came faster, or was longer, than it could be kept.
    Dropped {
        /// How many lines were lost whole.
        lines: u64,
        /// How many bytes were lost.
        bytes: u64,
    },
    /// The provider began to use a tool.
    ToolStart {
        /// The provider's name for this use.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments as JSON.
        args: String,
    },
    /// The provider's use of a tool ended.
    ToolEnd {
        /// The provider's name for this use.
        id: String,
        /// The tool.
        name: String,
        /// How it ended.
        status: ToolStatus,
    },
    /// A turn of a conversation with a model began; the task is turn 0.
    Turn(u32),
    /// What the run used since the last event of this kind, by a program's own count.
    Usage {
        /// What was used.
        usage: Usage,
        /// The program's own words for it.
        raw: serde_json::Value,
    },
    /// The provider itself called a model, and this is what the call used.
    ModelCall {
        /// What was used.
        usage: Usage,
        /// The model, as its API names it.
        model: String,
        /// The base address of the API.
        endpoint: String,
    },
    /// The program tells what it costs, so that its run is held to this budget.
    Priced {
        /// The budget.
        budget: crate::MicroUsd,
    },
    /// The provider was refused something it asked for.
    Denied {
        /// What was asked for.
        name: String,
        /// Why it was refused.
        detail: String,
    },
    /// A limit cut something short.
    Limit {
        /// The limit.
        name: String,
        /// What it cut.
        detail: String,
    },
    /// The run proposes an output, as the JSON object it wrote, and waits for no answer.
    ///
    /// Whoever reads the events hands it to the validators. A provider that asks [`Grants::propose`](crate::Grants::propose)
    /// yields no such event for the same output.
    Proposed(serde_json::Value),
    /// The provider is about to stop its own process, for this reason; the run's outcome may still be its own.
    ///
    /// It comes before the first signal where the provider decides, so that the reason can be stored first.
    Stopping {
        /// The reason.
        why: StopReason,
        /// What a person is told beside the reason.
        detail: Option<String>,
    },
    /// The run ended; no event follows.
    Terminal {
        /// How it ended.
        outcome: Outcome,
        /// Its whole final text; empty when it has none.
        text: String,
    },
}

impl RunEvent {
    /// The name of the limit that tells of processes which outlived SIGKILL; a host raises an alarm for it.
    pub const LEAKED: &str = "leaked";

    /// Makes the event that ends a run.
    pub fn terminal(outcome: Outcome, text: impl Into<String>) -> Self {
        Self::Terminal {
            outcome,
            text: text.into(),
        }
    }

    /// Makes a whole line of standard output.
    pub fn output(text: impl Into<String>) -> Self {
        Self::Output {
            stream: OutputStream::Stdout,
            text: text.into(),
            is_truncated: false,
        }
    }
}

/// The identity of a process, which outlives the process and the reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChildProcess {
    /// The process id.
    pub pid: i32,
    /// The time it started, in clock ticks since the machine started.
    pub start: u64,
    /// The id of its process group.
    pub pgid: i32,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that runs the model.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the word for this role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Tokens used, and their price where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read, without the cached ones.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens spent on thinking.
    pub thinking: u64,
    /// Tokens read from, or written to, a cache.
    pub cached: u64,
    /// The price, where the provider knows it.
    pub cost: Option<crate::MicroUsd>,
}
