//! The end of a run. The order of the writes makes a crash after any of them recoverable.

use std::fs;
use std::io;

use daemon_lifecycle::{Cause, Outcome, RunState};
use jiff::Timestamp;

use super::Writer;
use crate::disk::{Action, Durability, FolderError, failed, write_whole};
use crate::error::RunError;
use crate::hash::sha256;
use crate::log::LogEvent;
use crate::reader::orphan::Orphan;
use crate::time::second;

/// Characters of the result in the document.
const PREVIEW: usize = 200;

/// The end of a run was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinishError {
    /// The run has ended before. A terminal state never changes.
    #[error("the run has ended as {state}")]
    HasEnded {
        /// The recorded state.
        state: RunState,
    },
    /// A file could not be written. The run has not ended; the call may be repeated.
    #[error(transparent)]
    Write(#[from] FolderError),
}

/// The terminal writes that are done, so that a repeated call does not append a second line.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    has_provider_end: bool,
    has_line: bool,
}

impl Writer {
    /// Records the outcome that the provider reported: stores the text, then appends `provider_terminal` to the event log.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn provider_ended(
        &mut self,
        outcome: &Outcome,
        text: &str,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        if self.terminal.has_provider_end {
            return Ok(());
        }
        let mut hash = None;
        if !text.is_empty() {
            let path = self.folder.result();
            write_whole(&path, text.as_bytes(), Durability::Synced)?;
            self.document.result_path = Some(path.to_string_lossy().into_owned());
            // A start after a crash compares it with `result.txt`, to know whether the text is complete.
            hash = Some(sha256(text.as_bytes()));
        }
        if *outcome == Outcome::Done {
            self.document.result_preview = Some(text.chars().take(PREVIEW).collect());
        }
        let outcome = match outcome {
            Outcome::Done => "done",
            Outcome::Failed(_) | Outcome::Stopped(_) => "failed",
        };
        let event = LogEvent::ProviderTerminal {
            outcome,
            result_sha256: hash.as_deref(),
        };
        self.log(&event, now)?;
        self.events.sync()?;
        self.terminal.has_provider_end = true;
        Ok(())
    }

    /// Records the end of the run, after its process was reaped. Returns the recorded state.
    ///
    /// A stored stop reason takes precedence over `outcome`, unless it is `grace`. After an error the call may be repeated.
    ///
    /// # Errors
    /// The run has ended before, or a file could not be written.
    pub fn finish(&mut self, outcome: &Outcome, now: Timestamp) -> Result<RunState, FinishError> {
        let (state, error) = self.verdict(outcome);
        self.end(state, error, now)
    }

    /// Ends a run whose folder was deleted. The end is only in [`Writer::document`].
    pub fn finish_unrecorded(&mut self, outcome: &Outcome, now: Timestamp) {
        let (state, error) = self.verdict(outcome);
        self.settle(state, error, now);
        self.document.result_path = None;
    }

    fn settle(&mut self, state: RunState, error: Option<RunError>, now: Timestamp) {
        self.document.state = state;
        self.document.error = error;
        self.document.child = None;
        self.document.current_tool = None;
        self.document.finished_at = Some(second(now));
        self.document.elapsed_s = crate::time::elapsed(self.started, now);
        if state != RunState::Done {
            self.document.result_preview = None;
        }
    }

    fn end(
        &mut self,
        state: RunState,
        error: Option<RunError>,
        now: Timestamp,
    ) -> Result<RunState, FinishError> {
        if self.document.state.is_terminal() {
            return Err(FinishError::HasEnded {
                state: self.document.state,
            });
        }
        let elapsed_s = crate::time::elapsed(self.started, now);
        if !self.terminal.has_line {
            // What a program reports about itself counts after success only.
            if state == RunState::Done {
                self.count_cli_usage(now)?;
            }
            let result_path = self.document.result_path.clone();
            self.log(
                &terminal_event(state, error.as_ref(), elapsed_s, result_path.as_deref()),
                now,
            )?;
            self.events.sync()?;
            self.terminal.has_line = true;
        }
        // Before the state changes: an ended run must not leave secrets on the disk.
        self.remove_private()?;
        let before = self.document.clone();
        self.settle(state, error, now);
        // The run has not ended before its end is durable, so a failed write restores the document.
        self.write(Durability::Synced, now)
            .inspect_err(|_| self.document = before)?;
        Ok(state)
    }

    /// Records the end of a run whose owner died: `done` if the folder contains a complete result, else `failed`.
    /// Returns the recorded state.
    ///
    /// # Errors
    /// As for [`Writer::finish`].
    pub fn finish_orphaned(&mut self, now: Timestamp) -> Result<RunState, FinishError> {
        match Orphan::of(&self.folder, &self.document) {
            Orphan::WasDone { text } => {
                if !text.is_empty() {
                    let path = self.folder.result();
                    self.document.result_path = Some(path.to_string_lossy().into_owned());
                }
                self.document.result_preview = Some(text.chars().take(PREVIEW).collect());
                self.end(RunState::Done, None, now)
            }
            Orphan::WasCutOff => {
                let (state, error) = RunError::orphaned();
                self.end(state, Some(error), now)
            }
        }
    }

    fn verdict(&self, outcome: &Outcome) -> (RunState, Option<RunError>) {
        let termination = self.document.cli_termination.as_ref();
        let stopped = termination.and_then(|termination| {
            let reason = termination.reason;
            if reason.keeps_outcome() {
                return None;
            }
            let end = Cause::Stopped(reason).end_state();
            // Only the first signal is recorded; a process that did not end on it is killed.
            let then = match (termination.signal.as_str(), termination.returncode) {
                ("SIGTERM", Some(-9)) => ", then SIGKILL",
                _ => "",
            };
            let mut message = match termination.returncode {
                Some(code) => format!(
                    "{} CLI terminated by the host ({reason}, {}{then}, code {code})",
                    self.document.backend, termination.signal
                ),
                None => format!(
                    "{} terminated by the host ({reason})",
                    self.document.backend
                ),
            };
            if let Some(detail) = &termination.detail {
                message.extend([": ", detail]);
            }
            Some((end.state, Some(RunError::new(end, message))))
        });
        stopped.unwrap_or_else(|| RunError::of(outcome))
    }

    fn remove_private(&self) -> Result<(), FolderError> {
        let path = self.folder.private();
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed(Action::Remove, &path)(error))
            }
            _ => Ok(()),
        }
    }
}

fn terminal_event<'e>(
    state: RunState,
    error: Option<&'e RunError>,
    elapsed_s: f64,
    result_path: Option<&'e str>,
) -> LogEvent<'e> {
    match (state, error) {
        (RunState::Cancelled, _) => LogEvent::DaemonCancelled { elapsed_s },
        (RunState::Timeout, _) => LogEvent::DaemonTimeout { elapsed_s },
        (_, Some(error)) => LogEvent::DaemonError {
            exception: &error.kind,
            message: &error.message,
            elapsed_s,
        },
        (_, None) => LogEvent::DaemonDone {
            elapsed_s,
            result_path,
        },
    }
}
