//! Events between the start and the end of a run.

use daemon_lifecycle::{
    ChildProcess, Exit, NetworkUse, OutputStream, Speaker, StopReason, ToolStatus, Truncation,
};
use jiff::Timestamp;
use serde_json::Value;

use super::Writer;
use crate::disk::{Durability, FolderError, Lines};
use crate::document::{CliTokens, Dropped, Termination, TokensRecord};
use crate::log::{ChatRow, EventLine, LedgerRow, LogEvent, cut, marked, tail};
use crate::time::{elapsed, format, second};

/// Characters of a tool's arguments in the event log.
const ARGS_PREVIEW: usize = 500;
/// Characters of an output line in the event log.
const OUTPUT_TEXT: usize = 4000;
/// Characters of the last output line in the document.
const LAST_OUTPUT: usize = 1000;

impl Writer {
    /// Records the child process. `argv` must contain no secret.
    ///
    /// # Errors
    /// A file could not be written. The same holds for every method of this file.
    pub fn spawned(
        &mut self,
        child: ChildProcess,
        argv: Vec<String>,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        self.document.child = Some(child.into());
        self.document.backend_argv = Some(argv);
        if let Some(options) = self.options.take() {
            self.document.backend_options = Some(options);
        }
        // Written at once, so that the next host finds the child after a crash of this one. Not synced: no child survives a
        // crash of the machine.
        self.write(Durability::Unsynced, now)
    }

    /// Records the exit status of the child, after it was reaped and its whole process tree is dead.
    pub fn exited(&mut self, exit: Exit, now: Timestamp) -> Result<(), FolderError> {
        self.document.child = None;
        // After the end, a child answers a follow-up. The exit status of the run's own child stays.
        if self.has_ended() {
            return self.progress(now);
        }
        self.document.exit = Some(exit.into());
        if let Some(termination) = &mut self.document.cli_termination {
            termination.returncode = Some(exit.returncode());
            let termination = termination.clone();
            let event = LogEvent::DaemonCliTerminate {
                reason: termination.reason.as_str(),
                signal: &termination.signal,
                returncode: termination.returncode,
            };
            self.log(&event, now)?;
        }
        self.progress(now)
    }

    /// Records the provider's session. Later sessions are ignored.
    pub fn session(&mut self, id: &str, now: Timestamp) -> Result<(), FolderError> {
        let slot = match self.document.backend.as_str() {
            "claude" => &mut self.document.claude_session_id,
            "codex" => &mut self.document.codex_session_id,
            "opencode" => &mut self.document.opencode_session_id,
            _ => &mut self.document.command_session_id,
        };
        if slot.is_some() {
            return Ok(());
        }
        *slot = Some(id.to_owned());
        // Synced: without its session, a run that ended cannot answer a follow-up.
        self.write(Durability::Synced, now)
    }

    /// Records a line of output; a blank line is skipped. `truncation` says whether the line was longer than `text`.
    pub fn output(
        &mut self,
        stream: OutputStream,
        text: &str,
        truncation: Truncation,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let kept = match truncation {
            Truncation::Whole => cut(text, OUTPUT_TEXT),
            Truncation::Cut => marked(text, OUTPUT_TEXT),
        };
        let event = LogEvent::CliOutput {
            stream: stream.as_str(),
            truncated: kept != text,
            text: kept,
            elapsed_s: elapsed(self.started, now),
        };
        let logs = self.logs();
        let gone = self
            .outputs
            .append(&logs, &mut self.events, &EventLine::new(&event, now))?;
        self.document.last_output = Some(tail(text, LAST_OUTPUT).to_owned());
        self.document.last_output_at = Some(second(now));
        self.add_dropped(gone);
        self.progress(now)
    }

    /// Adds to the amount of output that was not kept.
    pub fn dropped(&mut self, dropped: Dropped, now: Timestamp) -> Result<(), FolderError> {
        self.add_dropped(dropped);
        self.progress(now)
    }

    fn add_dropped(&mut self, dropped: Dropped) {
        self.document.dropped.lines += dropped.lines;
        self.document.dropped.bytes += dropped.bytes;
    }

    /// Records the start of a tool call.
    pub fn tool_start(
        &mut self,
        name: &str,
        args: &str,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        let turn = self.document.turn;
        let args_preview = cut(args, ARGS_PREVIEW);
        self.log(
            &LogEvent::ToolCall {
                name,
                args_preview,
                turn,
            },
            now,
        )?;
        self.document.current_tool = Some(name.to_owned());
        self.document.tool_call_count += 1;
        self.progress(now)
    }

    /// Records the end of a tool call.
    pub fn tool_end(
        &mut self,
        name: &str,
        status: ToolStatus,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        self.log(
            &LogEvent::ToolResult {
                name,
                status: status.as_str(),
                turn: self.document.turn,
            },
            now,
        )?;
        self.document.current_tool = None;
        self.progress(now)
    }

    /// Records the start of a turn of the conversation with a model.
    pub fn turn(&mut self, turn: u32, now: Timestamp) -> Result<(), FolderError> {
        self.document.turn = turn;
        self.document.current_tool = None;
        self.progress(now)
    }

    /// Appends a message to the transcript.
    pub fn message(
        &mut self,
        speaker: Speaker,
        text: &str,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        let path = self.folder.path().join("history/chat_history.jsonl");
        let row = ChatRow::new(speaker, text, self.document.turn, now);
        Lines::open(path)?.append(&row).map(|_| ())
    }

    /// Records the usage of one model call in the ledger of the run and in the ledger of the home. Zero usage is not recorded.
    pub fn model_call(
        &mut self,
        tokens: TokensRecord,
        model: &str,
        endpoint: &str,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        if tokens == TokensRecord::default() {
            return Ok(());
        }
        let row = LedgerRow {
            source: "daemon",
            em_id: &self.document.handle,
            run_id: &self.document.run_id,
            ts: format(now),
            tokens,
            model,
            endpoint,
        };
        Lines::open(self.logs().join("token_ledger.jsonl"))?.append(&row)?;
        if let Some(home) = self
            .folder
            .path()
            .parent()
            .and_then(std::path::Path::parent)
        {
            Lines::open(home.join("logs/token_ledger.jsonl"))?.append(&row)?;
        }
        let total = &mut self.document.tokens;
        total.input += tokens.input;
        total.output += tokens.output;
        total.thinking += tokens.thinking;
        total.cached += tokens.cached;
        self.progress(now)
    }

    /// Adds usage that the child program reported, with the report itself. It is recorded only if the run ends as `done`.
    pub fn cli_usage(&mut self, tokens: TokensRecord, cost_usd: Option<f64>, raw: Value) {
        let (total, all) = self.pending_usage.get_or_insert_default();
        total.tokens.input += tokens.input;
        total.tokens.output += tokens.output;
        total.tokens.thinking += tokens.thinking;
        total.tokens.cached += tokens.cached;
        total.calls += 1;
        total.cost_usd = match (total.cost_usd, cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        all.push(raw);
    }

    pub(super) fn count_cli_usage(&mut self, now: Timestamp) -> Result<(), FolderError> {
        let Some((total, raw)) = self.pending_usage.take() else {
            return Ok(());
        };
        let CliTokens {
            tokens:
                TokensRecord {
                    input,
                    output,
                    thinking,
                    cached,
                },
            ..
        } = total;
        self.document.cli_tokens = total;
        let raw = match <[Value; 1]>::try_from(raw) {
            Ok([raw]) => raw,
            Err(raw) => Value::Array(raw),
        };
        self.log(
            &LogEvent::CliUsage {
                input,
                output,
                cached,
                thinking,
                raw: &raw,
            },
            now,
        )
    }

    /// Records the limit on the cost, which holds once the program reports its price.
    pub fn budget(&mut self, usd: f64, now: Timestamp) -> Result<(), FolderError> {
        self.document.budget.usd = Some(usd);
        self.progress(now)
    }

    /// Records that more was reserved for the run, which a follow-up does.
    pub fn reserved(&mut self, usd: f64, now: Timestamp) -> Result<(), FolderError> {
        *self.document.budget.reserved_usd.get_or_insert(0.0) += usd;
        self.progress(now)
    }

    /// Records that a request of the run was refused.
    pub fn denied(&mut self, name: &str, detail: &str, now: Timestamp) -> Result<(), FolderError> {
        self.log(&LogEvent::PermissionDenied { name, detail }, now)
    }

    /// Records a connection of a program, or the attempt to make one.
    pub fn network(&mut self, used: &NetworkUse, now: Timestamp) -> Result<(), FolderError> {
        let line = LogEvent::Network {
            host: &used.host,
            port: used.port,
            allowed: used.allowed,
            bytes: used.sent.saturating_add(used.received),
            sent: used.sent,
            error: used.error.as_deref(),
        };
        self.log(&line, now)
    }

    /// Records that a limit cut something short.
    pub fn limit(&mut self, name: &str, detail: &str, now: Timestamp) -> Result<(), FolderError> {
        self.log(&LogEvent::Limit { name, detail }, now)
    }

    /// Stores the reason for stopping the run, before a process is signalled. Returns the reason that holds: the first one.
    ///
    /// `grace` is the exception. It stops the process of a run that has reported its outcome, so any other reason replaces it.
    pub fn stopping(
        &mut self,
        reason: StopReason,
        detail: Option<&str>,
        now: Timestamp,
    ) -> Result<StopReason, FolderError> {
        let before = self.document.cli_termination.clone();
        if let Some(termination) = &before
            && (termination.reason != StopReason::Grace || reason == StopReason::Grace)
        {
            return Ok(termination.reason);
        }
        self.document.cli_termination = Some(Termination {
            reason,
            signal: "SIGTERM".to_owned(),
            returncode: None,
            detail: detail.map(str::to_owned),
            ts: second(now),
        });
        let written = self.write(Durability::Synced, now);
        written
            .map(|()| reason)
            .inspect_err(|_| self.document.cli_termination = before)
    }
}
