//! What happens to a run beside its own course: messages it is sent, and the publication of its end.

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
    /// Records that the run is sent a message; returns the message's number, counted from 1.
    ///
    /// # Errors
    /// A file could not be written; so for every method here.
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
        // What is not on the disk was not sent.
        written.inspect_err(|_| drop(self.document.followups.pop()))?;
        Ok(n)
    }

    /// Records what became of a message: the reply, or why there is none. The state of the run stays what it is.
    ///
    /// After an error the message has no end yet, and the call can be repeated.
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

    /// Ends a message to a run whose folder is gone: the end is in [`Writer::document`] alone.
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

    /// Writes the end of a message that the document holds; the line of the log first, once.
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

    /// Records under which number the end of the run was published.
    pub fn published(&mut self, seq: u64, now: Timestamp) -> Result<(), FolderError> {
        self.document.terminal_notified = true;
        self.document.notified_seq = Some(seq);
        self.write(Durability::Synced, now)
    }

    /// Removes the folder of a run that was made and must not start.
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
