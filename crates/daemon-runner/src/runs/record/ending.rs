//! Recording the end of a run, with retries until it is durable.

use std::time::Duration;

use daemon_provider::Outcome;
use daemon_run_folder::{FinishError, RunError, RunState};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Record, redaction};

/// The delay before the second try.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest delay between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The result of writing an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// The end is durable in the folder.
    Recorded,
    /// The folder was deleted. Only [`Record::document`] contains the end.
    FolderIsGone,
    /// The host stopped before it could be written; the next start records an end.
    Stopped,
}

impl Record {
    /// Writes the end of a run, with retries until it is durable.
    ///
    /// Returns `false` if `stop` came first: the next start ends the run as an orphan. The end of a run whose folder was
    /// deleted counts as written.
    pub(crate) async fn end(
        &mut self,
        outcome: &Outcome,
        text: &str,
        stop: &CancellationToken,
    ) -> bool {
        let outcome = redaction::outcome(&self.redactor, outcome);
        let text = self.redactor.text(text).into_owned();
        let try_end = |record: &mut Self, now| record.try_end(&outcome, &text, now);
        let written = self.persist("the end of a run", stop, try_end).await;
        if written == Written::FolderIsGone {
            self.writer.finish_unrecorded(&outcome, self.clock.now());
        }
        if written != Written::Stopped {
            self.finished = Some(self.clock.now());
        }
        written != Written::Stopped
    }

    /// Writes the reply to a message, or its failure, with retries until it is durable: the sender was promised one.
    pub(crate) async fn replied(
        &mut self,
        n: u32,
        end: Result<&str, (RunState, RunError)>,
        stop: &CancellationToken,
    ) -> Written {
        let end = end.map(|text| self.redactor.text(text).into_owned());
        let end = end.map_err(|(state, mut error)| {
            error.message = self.redactor.text(&error.message).into_owned();
            (state, error)
        });
        let end = || end.as_deref().map_err(Clone::clone);
        let try_reply = |record: &mut Self, now| record.writer.ask_ended(n, end(), now);
        let written = self.persist("an answer", stop, try_reply).await;
        if written == Written::FolderIsGone {
            self.writer.ask_ended_unrecorded(n, end(), self.clock.now());
        }
        written
    }

    /// Retries a write until it succeeds, the folder is deleted or the host stops.
    async fn persist<E: std::error::Error>(
        &mut self,
        what: &str,
        stop: &CancellationToken,
        mut write: impl FnMut(&mut Self, Timestamp) -> Result<(), E>,
    ) -> Written {
        let mut pause = FIRST_PAUSE;
        loop {
            // Each try has its own time: the end is recorded with the time at which it became durable.
            let now = self.clock.now();
            let Err(error) = write(self, now) else {
                return Written::Recorded;
            };
            let run = self.id();
            // A folder that was deleted under a live run does not come back. Retrying would keep the run forever.
            if matches!(self.folder().path().try_exists(), Ok(false)) {
                tracing::error!(run, "the folder of a run was deleted; {what} is not in it");
                return Written::FolderIsGone;
            }
            let error = daemon_records::error::chain(&error);
            tracing::error!(run, error, "{what} could not be recorded");
            tokio::select! {
                biased;
                () = stop.cancelled() => return Written::Stopped,
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    fn try_end(
        &mut self,
        outcome: &Outcome,
        text: &str,
        now: Timestamp,
    ) -> Result<(), FinishError> {
        if let Outcome::Stopped(why) = outcome {
            // If the stop came before the first signal was possible, its reason is not stored yet.
            self.writer.stopping(*why, None, now)?;
        }
        self.writer.provider_ended(outcome, text, now)?;
        match self.writer.finish(outcome, now) {
            Ok(_) | Err(FinishError::HasEnded { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
