use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::redact::Redactor;
use daemon_run_folder::{Folder, Owner, RunError, RunStart, RunState};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::*;
use crate::test_clock::TestClock;

/// A run that keeps the messages that it receives.
#[derive(Debug, Default)]
struct Talk {
    received: Vec<String>,
    refuses: bool,
}

#[async_trait]
impl Run for Talk {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        Ok(None)
    }

    fn would_take(&self) -> Asked {
        Asked::Joined
    }

    async fn ask(&mut self, message: &str) -> Result<Asked, ProviderError> {
        if self.refuses {
            return Ok(Asked::Unsupported);
        }
        self.received.push(message.to_owned());
        Ok(Asked::Joined)
    }

    async fn cancel(&mut self, _: StopReason) -> Result<(), ProviderError> {
        Ok(())
    }
}

fn record(home: &tempfile::TempDir) -> Record {
    let now = Timestamp::UNIX_EPOCH;
    let reserved = Folder::reserve(home.path(), "em-1".parse().unwrap(), now).unwrap();
    let owner = Owner {
        pid: 1,
        boot_id: "b7c0".to_owned(),
        start: 42,
    };
    let start = RunStart::new("cli:7", owner, "llm", "a task", b"Task: a task".to_vec());
    Record::open(reserved, start, Redactor::default(), TestClock::at(now)).unwrap()
}

fn message(text: &str) -> (RunMessage, oneshot::Receiver<Receipt>) {
    let turn = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let (receipt, received) = oneshot::channel();
    let text = text.to_owned();
    let message = RunMessage {
        text,
        turn,
        receipt,
    };
    (message, received)
}

#[tokio::test]
async fn a_message_that_cannot_be_stored_does_not_join_the_conversation() {
    let home = tempfile::tempdir().unwrap();
    let mut record = record(&home);
    let path = record.folder().document();
    std::fs::remove_file(&path).unwrap();
    // A directory in its place cannot be replaced by a file.
    std::fs::create_dir(&path).unwrap();
    let (mut run, mut following) = (Talk::default(), Following::default());
    let (lost, receipt) = message("first");
    following.take(&mut run, &mut record, lost).await;
    assert_eq!(receipt.await, Ok(Receipt::Lost));
    assert_eq!((run.received.len(), following.joined.len()), (0, 0));
    std::fs::remove_dir(&path).unwrap();
    let (stored, receipt) = message("and now?");
    following.take(&mut run, &mut record, stored).await;
    assert_eq!(receipt.await, Ok(Receipt::Recorded));
    assert_eq!(
        (run.received, following.joined.len()),
        (vec!["and now?".to_owned()], 1)
    );
}

#[tokio::test]
async fn a_stored_message_that_its_run_does_not_take_is_kept_as_missed() {
    let home = tempfile::tempdir().unwrap();
    let mut record = record(&home);
    let mut run = Talk {
        refuses: true,
        ..Talk::default()
    };
    let mut following = Following::default();
    let (sent, receipt) = message("so?");
    following.take(&mut run, &mut record, sent).await;
    assert_eq!(receipt.await, Ok(Receipt::Recorded));
    let arrivals: Vec<Arrival> = following.joined.iter().map(|(_, how)| *how).collect();
    assert_eq!(arrivals, [Arrival::Missed]);
    assert_eq!(record.document().followups[0].state, RunState::Running);
}

/// A run that never reports its end, not even after it was stopped.
#[derive(Debug)]
struct Mute;

#[async_trait]
impl Run for Mute {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        std::future::pending().await
    }

    fn would_take(&self) -> Asked {
        Asked::Unsupported
    }

    async fn cancel(&mut self, _: StopReason) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// Follows a run that the host stops for `why`, and returns its end.
async fn follow_stopped(run: impl Run + 'static, record: &mut Record, why: StopReason) -> TurnEnd {
    follow_with(run, record, Some(why)).await
}

/// Follows a run without messages and host events, and returns its end.
async fn follow_with(
    run: impl Run + 'static,
    record: &mut Record,
    stop: Option<StopReason>,
) -> TurnEnd {
    let (_stop, mut stopped) = watch::channel(stop);
    let (_, mut messages) = mpsc::channel(1);
    let (_, mut host_events) = mpsc::channel(1);
    let inputs = RunInputs {
        limits: &Limits::default(),
        verdict: &|_: &str| Verdict::Accepted,
        stopped: &mut stopped,
        messages: &mut messages,
        host_events: &mut host_events,
    };
    let mut following = Following::default();
    following.follow(Box::new(run), record, inputs).await
}

#[tokio::test(start_paused = true)]
async fn a_stopped_follow_up_that_reports_no_end_is_recorded_as_stopped() {
    let home = tempfile::tempdir().unwrap();
    let mut record = record(&home);
    let token = tokio_util::sync::CancellationToken::new();
    record.end(&Outcome::Done, "done", &token).await;
    for (why, state, class) in [
        (StopReason::AgentStop, "cancelled", "retryable"),
        (StopReason::LostLease, "cancelled", "final"),
        (StopReason::Reclaim, "cancelled", "final"),
        (StopReason::Timeout, "timeout", "retryable"),
    ] {
        let ended = follow_stopped(Mute, &mut record, why).await;
        let (recorded, error) = RunError::of(&ended.outcome);
        let error = error.expect("the follow-up is not done");
        assert_eq!(
            (recorded.as_str(), &*error.kind, error.class.as_str()),
            (state, why.as_str(), class)
        );
    }
}

/// A run that stops itself over its budget, and reports another failure.
struct OverBudget(Vec<RunEvent>);

#[async_trait]
impl Run for OverBudget {
    async fn next(&mut self) -> Result<Option<RunEvent>, ProviderError> {
        Ok(self.0.pop())
    }

    fn would_take(&self) -> Asked {
        Asked::Unsupported
    }

    async fn cancel(&mut self, _: StopReason) -> Result<(), ProviderError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_run_agrees_with_the_stop_reason_in_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let failure = |kind| Outcome::Failed(daemon_provider::Failure::new(kind, "as it says"));
    let protocol = failure(daemon_provider::FailureKind::Protocol);
    let budget = failure(daemon_provider::FailureKind::Budget);
    for (reported, expected) in [
        (Outcome::Done, Outcome::Stopped(StopReason::Budget)),
        (protocol, Outcome::Stopped(StopReason::Budget)),
        // The failure has the type of the reason, and a message that explains it.
        (budget.clone(), budget),
    ] {
        let mut record = record(&home);
        let stopping = RunEvent::Stopping {
            why: StopReason::Budget,
            detail: None,
        };
        let events = vec![RunEvent::terminal(reported, ""), stopping];
        let ended = follow_with(OverBudget(events), &mut record, None).await;
        assert_eq!(ended.outcome, expected);
        let token = tokio_util::sync::CancellationToken::new();
        record.end(&ended.outcome, "", &token).await;
        let end = ended.outcome.end_state().expect("the run is not done");
        let document = record.document();
        let error = document.error.as_ref().expect("the run is not done");
        assert_eq!(
            (document.state, &*error.kind, error.class),
            (end.state, end.error_type, end.class)
        );
    }
}
