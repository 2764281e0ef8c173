//! The events of a run.

use daemon_lifecycle::{
    ChildProcess, Exit, NetworkUse, Outcome, OutputStream, Speaker, StopReason, ToolStatus,
    Truncation,
};

use crate::SessionId;

/// One event of a run. A run yields its events in the order in which they happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A process was started for the run.
    Spawned {
        /// The identity of the process.
        child: ChildProcess,
        /// The program and its arguments, without prompt and secrets.
        argv: Vec<String>,
    },
    /// The spawned process was reaped.
    Exited(Exit),
    /// A message of the conversation with a model.
    Message {
        /// The author and the purpose of the message.
        speaker: Speaker,
        /// The whole text.
        text: String,
    },
    /// The provider named its session. Only the first of these events counts.
    Session(SessionId),
    /// A line that the program printed, as valid UTF-8 without its line end.
    Output {
        /// The stream on which it was printed.
        stream: OutputStream,
        /// The line, or its beginning.
        text: String,
        /// Whether the line was longer than `text`.
        truncation: Truncation,
    },
    /// Output was discarded because it exceeded a capture limit.
    Dropped {
        /// The number of lines that were lost as a whole.
        lines: u64,
        /// The number of lost bytes.
        bytes: u64,
    },
    /// A tool call started.
    ToolStart {
        /// The provider's id for this call, which the matching [`RunEvent::ToolEnd`] repeats.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments as JSON.
        args: String,
    },
    /// A tool call ended.
    ToolEnd {
        /// The provider's id for this call.
        id: String,
        /// The name of the tool.
        name: String,
        /// Whether the tool returned a result or an error.
        status: ToolStatus,
    },
    /// A turn of a conversation with a model began; the task is turn 0.
    Turn(u32),
    /// Usage that the program reports, since its last report.
    Usage {
        /// The reported tokens and price.
        usage: Usage,
        /// The report as the program printed it.
        raw: serde_json::Value,
    },
    /// The provider itself called a model.
    ModelCall {
        /// The tokens of this call, and their price.
        usage: Usage,
        /// The model, as the API names it.
        model: String,
        /// The base address of the API.
        endpoint: String,
    },
    /// The program reports prices, so the provider enforces this budget.
    Priced {
        /// The limit that the request contained.
        budget: crate::MicroUsd,
    },
    /// A request of the run was refused.
    Denied {
        /// The tool or operation that was requested.
        name: String,
        /// The reason of the refusal.
        detail: String,
    },
    /// A program of the run used the network, or was refused to.
    Network(NetworkUse),
    /// A limit took effect without ending the run.
    Limit {
        /// The name of the limit.
        name: String,
        /// What the limit prevented.
        detail: String,
    },
    /// The run proposes an output, given as a JSON object, and does not wait for a verdict.
    ///
    /// The reader of the events passes it to the validators. A provider that calls [`Grants::propose`](crate::Grants::propose)
    /// does not yield this event for the same output.
    Proposed(serde_json::Value),
    /// The provider is about to stop its process.
    ///
    /// It is yielded before the first signal, so that the reason is stored before the process can die of it. For
    /// [`StopReason::Grace`] the outcome stays the one that the run reported.
    Stopping {
        /// The reason of the stop.
        why: StopReason,
        /// An explanation for a person.
        detail: Option<String>,
    },
    /// The run ended. No event follows.
    Terminal {
        /// The outcome.
        outcome: Outcome,
        /// The whole final text; empty if the run ended without text.
        text: String,
    },
}

impl RunEvent {
    /// The name of the [`RunEvent::Limit`] that reports processes which survived SIGKILL. A host raises an alarm for it.
    pub const LEAKED: &str = "leaked";

    /// Makes a [`RunEvent::Terminal`].
    pub fn terminal(outcome: Outcome, text: impl Into<String>) -> Self {
        Self::Terminal {
            outcome,
            text: text.into(),
        }
    }

    /// Makes a [`RunEvent::Output`] with a whole line of standard output.
    pub fn output(text: impl Into<String>) -> Self {
        Self::Output {
            stream: OutputStream::Stdout,
            text: text.into(),
            truncation: Truncation::Whole,
        }
    }
}

/// Token counts of one or more model calls, and their price if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens, without cached ones.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens spent on thinking.
    pub thinking: u64,
    /// Input tokens read from or written to a cache.
    pub cached: u64,
    /// The price; `None` if the provider does not know it.
    pub cost: Option<crate::MicroUsd>,
}
