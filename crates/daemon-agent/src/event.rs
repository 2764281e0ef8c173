//! What happens in a turn, for clients that follow it.

use serde_json::Value;

use crate::line::TurnOutcome;

/// One event of a turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The message is on disk.
    Start {
        /// The number of the turn.
        turn: u64,
    },
    /// The next text of the model.
    Text {
        /// The text.
        text: String,
        /// The number of the call of the model within the turn. A call that broke off is repeated, and the text of the earlier one
        /// does not count.
        attempt: u32,
    },
    /// The next thoughts of the model.
    Thinking {
        /// The text.
        text: String,
        /// As for [`AgentEvent::Text`].
        attempt: u32,
    },
    /// A tool is about to start.
    ToolStart {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// A tool ended.
    ToolResult {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The beginning of its output, at most [`SHOWN_OUTPUT`] bytes.
        output: String,
        /// Whether it failed.
        is_error: bool,
    },
    /// The turn waits for an answer of the user.
    AskUser {
        /// The id with which a reply names the question.
        ask_id: String,
        /// The questions.
        questions: Value,
    },
    /// A summary replaced earlier messages.
    Compacted {
        /// The title of the conversation.
        title: String,
        /// The last line that the summary replaces.
        upto: u64,
    },
    /// The end of the turn is on disk.
    End {
        /// The number of the turn.
        turn: u64,
        /// How it ended.
        outcome: TurnOutcome,
        /// Why it failed.
        error: Option<String>,
    },
}

impl AgentEvent {
    /// Returns the name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::Text { .. } => "text",
            Self::Thinking { .. } => "thinking",
            Self::ToolStart { .. } => "tool_start",
            Self::ToolResult { .. } => "tool_result",
            Self::AskUser { .. } => "ask_user",
            Self::Compacted { .. } => "compacted",
            Self::End { .. } => "end",
        }
    }
}

/// The bytes of a tool's output that an event contains; history has all of it.
pub const SHOWN_OUTPUT: usize = 4_000;

/// An event with its number in the turn, from 1. A client that reads too slowly misses events, and sees that in the numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedEvent {
    /// The number.
    pub seq: u64,
    /// The event.
    pub event: AgentEvent,
}

/// Cuts a string for an event.
pub(crate) fn shown(text: &str) -> String {
    let mut end = text.len().min(SHOWN_OUTPUT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.split_at(end) {
        (all, "") => all.to_owned(),
        (begin, _) => format!("{begin}...[truncated]"),
    }
}
