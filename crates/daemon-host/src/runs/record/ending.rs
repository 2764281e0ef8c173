//! The end of a run, written down however long that takes.

use std::time::Duration;

use daemon_provider::{CancelReason, Class, Outcome};
use daemon_run_folder::{Ending, ErrorClass, FinishError, RunError, StopReason};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Record, redaction};
use crate::random;

/// How long an end that could not be written waits for the second try.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// How long it waits at most between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
        let mut pause = FIRST_PAUSE;
        loop {
            let now = random::now();
            match self.try_end(&outcome, &text, now) {
                Ok(()) => {
                    self.finished = Some(now);
                    return true;
                }
                // Nothing brings a folder back that was deleted under a live run.
                Err(_) if matches!(self.folder().path().try_exists(), Ok(false)) => {
                    tracing::error!(
                        run = self.id(),
                        "the folder of a live run was deleted; only the index holds its end"
                    );
                    self.writer.finish_unrecorded(ending(&outcome), now);
                    self.finished = Some(now);
                    return true;
                }
                Err(error) => {
                    let error = crate::ops::chain(&error);
                    tracing::error!(
                        run = self.id(),
                        error,
                        "the end of a run could not be recorded"
                    );
                }
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
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
            self.writer.stopping(reason(*why), None, now)?;
        }
        let ending = ending(outcome);
        self.writer.provider_ended(&ending, text, now)?;
        match self.writer.finish(ending, now) {
            Ok(_) | Err(FinishError::HasEnded { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns a reason to stop as folders name it.
pub(super) fn reason(why: CancelReason) -> StopReason {
    match why {
        CancelReason::Timeout => StopReason::Timeout,
        CancelReason::Idle => StopReason::Idle,
        CancelReason::Reclaim => StopReason::Reclaim,
        CancelReason::AgentStop => StopReason::AgentStop,
        CancelReason::LostLease => StopReason::LostLease,
        CancelReason::Budget => StopReason::Budget,
        CancelReason::Resource => StopReason::Resource,
        CancelReason::Grace => StopReason::Grace,
    }
}

/// Returns an outcome as folders name it; [`Ending::verdict`] tells the state and the class it leads to.
pub(crate) fn ending(outcome: &Outcome) -> Ending {
    match outcome {
        Outcome::Done => Ending::Done,
        Outcome::Failed(failure) => Ending::Failed(RunError {
            kind: failure.kind.as_str().to_owned(),
            message: failure.message.clone(),
            class: match failure.class {
                Class::Retryable => ErrorClass::Retryable,
                Class::Final => ErrorClass::Final,
            },
        }),
        Outcome::Stopped(why) => Ending::Stopped(reason(*why)),
    }
}
