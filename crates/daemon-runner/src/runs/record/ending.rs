//! The end of a run, written down however long that takes.

use std::time::Duration;

use daemon_provider::Outcome;
use daemon_run_folder::{FinishError, RunError, RunState};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Record, redaction};

/// How long an end that could not be written waits for the second try.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// How long it waits at most between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What became of an end that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is in the folder.
    Recorded,
    /// The folder was deleted: it is in [`Record::document`] alone.
    FolderIsGone,
    /// The host stopped before it could be written; the next start records an end.
    Stopped,
}

impl Record {
    /// Writes the end, again and again until it is on the disk: the run has not ended before.
    ///
    /// Returns whether it was written before `stop`; the next start takes back what was not. The end of a run whose folder was
    /// deleted has no place to be written to.
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

    /// Writes what became of a message, again and again until it is on the disk: it was accepted, so that its end is not lost.
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

    /// Tries to write something until it succeeds, the folder is gone or the host stops.
    async fn persist<E: std::error::Error>(
        &mut self,
        what: &str,
        stop: &CancellationToken,
        mut write: impl FnMut(&mut Self, Timestamp) -> Result<(), E>,
    ) -> Written {
        let mut pause = FIRST_PAUSE;
        loop {
            let now = self.clock.now();
            let Err(error) = write(self, now) else {
                return Written::Recorded;
            };
            let run = self.id();
            // Nothing brings a folder back that was deleted under a live run.
            if matches!(self.folder().path().try_exists(), Ok(false)) {
                tracing::error!(run, "the folder of a run was deleted; {what} is not in it");
                return Written::FolderIsGone;
            }
            let error = crate::error::chain(&error);
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
            // Where the stop came before there was anything to signal, its reason is not stored yet.
            self.writer.stopping(*why, None, now)?;
        }
        self.writer.provider_ended(outcome, text, now)?;
        match self.writer.finish(outcome, now) {
            Ok(_) | Err(FinishError::HasEnded { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
