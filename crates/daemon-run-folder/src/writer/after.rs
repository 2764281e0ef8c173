//! Follow-up messages, and the publication of the end of a run.

use std::path::Path;

use daemon_lifecycle::RunState;
use jiff::Timestamp;

use super::Writer;
use crate::disk::{Action, Durability, FolderError, failed, write_whole};
use crate::document::Followup;
use crate::error::RunError;
use crate::log::LogEvent;
use crate::time::second;

impl Writer {
    /// Records a message to the run before it is sent, and returns its number, from 1.
    ///
    /// # Errors
    /// A file could not be written. The same holds for every method of this file.
    pub fn ask_started(&mut self, now: Timestamp) -> Result<u32, FolderError> {
        let last = self.document.followups.last().map_or(0, |last| last.n);
        let n = last.saturating_add(1);
        self.log(&LogEvent::AskStart { n }, now)?;
        self.document.followups.push(Followup {
            n,
            state: RunState::Running,
            started_at: second(now),
            finished_at: None,
            result_path: None,
            error: None,
        });
        let written = self.write(Durability::Synced, now);
        // The caller sends only messages that are on the disk, so this one counts as not sent.
        written.inspect_err(|_| drop(self.document.followups.pop()))?;
        Ok(n)
    }

    /// Records the reply to a message, or the state and error of one without a reply. The state of the run does not change.
    ///
    /// After an error the message has no recorded end, and the call may be repeated.
    pub fn ask_ended(
        &mut self,
        n: u32,
        end: Result<&str, (RunState, RunError)>,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        let path = self.folder.reply(n);
        if let Ok(text) = end {
            write_whole(&path, text.as_bytes(), Durability::Synced)?;
        }
        let before = self.document.clone();
        let state = end
            .as_ref()
            .map_or_else(|(state, _)| *state, |_| RunState::Done);
        self.settle_ask(n, end.map(|_| Some(shown(&path))), now);
        self.write_ask_end(n, state, now)
            .inspect_err(|_| self.document = before)
    }

    /// Ends a message to a run whose folder was deleted. The end is only in [`Writer::document`].
    pub fn ask_ended_unrecorded(
        &mut self,
        n: u32,
        end: Result<&str, (RunState, RunError)>,
        now: Timestamp,
    ) {
        self.settle_ask(n, end.map(|_| None), now);
    }

    fn settle_ask(
        &mut self,
        n: u32,
        end: Result<Option<String>, (RunState, RunError)>,
        now: Timestamp,
    ) {
        let (state, result_path, error) = match end {
            Ok(path) => (RunState::Done, path, None),
            Err((state, error)) => (state, None, Some(error)),
        };
        let mut followups = self.document.followups.iter_mut();
        if let Some(asked) = followups.find(|asked| asked.n == n) {
            asked.state = state;
            asked.finished_at = Some(second(now));
            asked.result_path = result_path;
            asked.error = error;
        }
        if self.has_ended() {
            self.document.child = None;
            self.document.current_tool = None;
        }
    }

    /// Writes the end of a message from the document. The log line comes first, and only once over repeated calls.
    fn write_ask_end(
        &mut self,
        n: u32,
        state: RunState,
        now: Timestamp,
    ) -> Result<(), FolderError> {
        if self.logged_ask != Some(n) {
            let state = state.as_str();
            self.log(&LogEvent::AskEnd { n, state }, now)?;
            self.logged_ask = Some(n);
        }
        self.events.sync()?;
        self.write(Durability::Synced, now)
    }

    /// Records the sequence number under which the end of the run was published.
    pub fn published(&mut self, seq: u64, now: Timestamp) -> Result<(), FolderError> {
        self.document.terminal_notified = true;
        self.document.notified_seq = Some(seq);
        self.write(Durability::Synced, now)
    }

    /// Removes the folder of a run that must not start.
    pub fn discard(self) -> Result<(), FolderError> {
        let path = self.folder.path();
        std::fs::remove_dir_all(path).map_err(failed(Action::Remove, path))
    }

    pub(super) fn has_ended(&self) -> bool {
        self.document.state.is_terminal()
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
