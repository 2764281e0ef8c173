//! The rows of the event log, the transcript and the token ledger.

use daemon_lifecycle::Speaker;
use jiff::Timestamp;
use serde::Serialize;

use crate::document::TokensRecord;
use crate::time::format;

/// One line of `logs/events.jsonl`.
#[derive(Debug, Serialize)]
pub(crate) struct EventLine<'e> {
    ts: String,
    #[serde(flatten)]
    event: &'e LogEvent<'e>,
}

impl<'e> EventLine<'e> {
    pub(crate) fn new(event: &'e LogEvent<'e>, now: Timestamp) -> Self {
        Self {
            ts: format(now),
            event,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum LogEvent<'e> {
    DaemonStart,
    ToolCall {
        name: &'e str,
        args_preview: String,
        turn: u32,
    },
    ToolResult {
        name: &'e str,
        status: &'static str,
        turn: u32,
    },
    CliOutput {
        stream: &'static str,
        text: String,
        elapsed_s: f64,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    CliUsage {
        input: u64,
        output: u64,
        cached: u64,
        thinking: u64,
        raw: &'e serde_json::Value,
    },
    PermissionDenied {
        name: &'e str,
        detail: &'e str,
    },
    Limit {
        name: &'e str,
        detail: &'e str,
    },
    Network {
        host: &'e str,
        port: u16,
        allowed: bool,
        bytes: u64,
        sent: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'e str>,
    },
    ProviderTerminal {
        outcome: &'static str,
        result_sha256: Option<&'e str>,
    },
    DaemonCliTerminate {
        reason: &'static str,
        signal: &'e str,
        returncode: Option<i32>,
    },
    AskStart {
        n: u32,
    },
    AskEnd {
        n: u32,
        state: &'static str,
    },
    DaemonDone {
        elapsed_s: f64,
        result_path: Option<&'e str>,
    },
    DaemonError {
        exception: &'e str,
        message: &'e str,
        elapsed_s: f64,
    },
    DaemonCancelled {
        elapsed_s: f64,
    },
    DaemonTimeout {
        elapsed_s: f64,
    },
}

/// One line of `history/chat_history.jsonl`.
#[derive(Debug, Serialize)]
pub(crate) struct ChatRow<'e> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    text: &'e str,
    turn: u32,
    ts: String,
}

impl<'e> ChatRow<'e> {
    pub(crate) fn new(speaker: Speaker, text: &'e str, turn: u32, now: Timestamp) -> Self {
        let (role, kind) = match speaker {
            Speaker::Task => ("user", Some("task")),
            Speaker::ToolResults => ("user", Some("tool_results")),
            Speaker::Followup => ("user", Some("followup")),
            Speaker::Assistant => ("assistant", None),
        };
        Self {
            role,
            kind,
            text,
            turn,
            ts: format(now),
        }
    }
}

/// One line of `logs/token_ledger.jsonl`.
#[derive(Debug, Serialize)]
pub(crate) struct LedgerRow<'e> {
    pub(crate) source: &'static str,
    pub(crate) em_id: &'e str,
    pub(crate) run_id: &'e str,
    pub(crate) ts: String,
    #[serde(flatten)]
    pub(crate) tokens: TokensRecord,
    pub(crate) model: &'e str,
    pub(crate) endpoint: &'e str,
}

/// The end of a shortened string.
pub(crate) const CUT: &str = "...[truncated]";

/// Shortens a string to at most `most` characters, including the mark [`CUT`] if it was longer.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => marked(text, most),
        None => text.to_owned(),
    }
}

/// Marks a string whose end is already missing; the result has at most `most` characters.
pub(crate) fn marked(text: &str, most: usize) -> String {
    let kept = most.saturating_sub(CUT.len());
    let end = text
        .char_indices()
        .nth(kept)
        .map_or(text.len(), |(end, _)| end);
    format!("{}{CUT}", text.get(..end).unwrap_or(text))
}

/// Returns the last `most` characters of a string.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    match text.char_indices().nth_back(most.saturating_sub(1)) {
        Some((begin, _)) => &text[begin..],
        None => text,
    }
}
