//! One dispatched run from its start to its last reply.

use std::sync::Arc;

use daemon_provider::{CancelReason, Outcome, SessionId, Verdict};
use daemon_run_folder::{Document, ErrorClass, Notice, RunError, RunId, RunState};

use tokio::sync::mpsc;

use super::live::Line;
use super::notice::News;
use super::plan::Plan;
use crate::defect::guarded;
use crate::driver::Inner;
use crate::random;
use crate::runs::{Course, Ended, Following, Record};

/// A run whose folder is written and whose provider has not been started.
pub(super) struct Begun {
    pub(super) id: RunId,
    pub(super) plan: Plan,
    pub(super) record: Record,
    pub(super) line: Line,
}

impl Begun {
    /// Executes the run, tells its end, and answers the message that waited for it.
    pub(super) async fn run(mut self, inner: Arc<Inner>) {
        let Some(joined) = self.first_turn(&inner).await else {
            // Its end is not on the disk: the next start takes it back, and tells it.
            inner.emanations.forget(self.id);
            return;
        };
        inner
            .emanations
            .note_end(self.id, self.record.document().state);
        index(&inner, &self.record).await;
        self.tell_end(&inner).await;
        for n in joined {
            tell_reply(&inner, &self.record, n).await;
        }
        self.answer_waiting(&inner).await;
    }

    /// Answers messages until none waits.
    async fn answer_waiting(&mut self, inner: &Arc<Inner>) {
        while let Some(message) = inner.emanations.next_message(self.id) {
            self.answer(inner, &message).await;
        }
        index(inner, &self.record).await;
    }

    /// Answers a message to a run that had ended, and those that come meanwhile.
    pub(super) async fn run_answer(mut self, inner: Arc<Inner>, message: String) {
        self.answer(&inner, &message).await;
        self.answer_waiting(&inner).await;
    }

    /// Follows the first turn to its end, and returns the messages that joined it; `None` where its end could not be recorded.
    async fn first_turn(&mut self, inner: &Inner) -> Option<Vec<u32>> {
        let request = self.plan.request(&self.record);
        let mut following = Following::default();
        crate::failpoint::hit("E0");
        let ended = self.turn(request, &mut following).await;
        let is_recorded = self.record.end(&ended.outcome, &ended.text, &inner.stop);
        if !is_recorded.await {
            return None;
        }
        let state = self.record.document().state;
        for n in &following.joined {
            let end = match (&ended.outcome, state) {
                (Outcome::Done, RunState::Done) => Ok(ended.text.as_str()),
                _ => Err((
                    state,
                    self.record
                        .document()
                        .error
                        .clone()
                        .unwrap_or_else(unanswered),
                )),
            };
            self.record.replied(*n, end, random::now());
        }
        tracing::info!(run = %self.id, state = state.as_str(), "emanation");
        inner.signals.ended.notify_waiters();
        Some(following.joined)
    }

    /// Starts the provider and follows what it does to its end.
    async fn turn(
        &mut self,
        request: daemon_provider::RunRequest,
        following: &mut Following,
    ) -> Ended {
        let verdict = |_: &str| Verdict::Refused("a dispatched run has no outbox".to_owned());
        // Whoever dispatches a run gives it its servers: the host speaks to none for it.
        let (_, mut beside) = mpsc::channel(1);
        let course = Course {
            limits: &self.plan.common.limits,
            verdict: &verdict,
            stopped: &mut self.line.stopped,
            messages: &mut self.line.messages,
            beside: &mut beside,
        };
        let provider = Arc::clone(&self.plan.common.provider);
        let record = &mut self.record;
        let to_its_end = async {
            match provider.start(request).await {
                Ok(run) => following.follow(run, record, course).await,
                Err(error) => Ended::lost(&error),
            }
        };
        guarded(to_its_end).await.unwrap_or_else(|defect| {
            tracing::error!(run = %self.id, %defect, "a run panicked");
            Ended::broken(&defect)
        })
    }

    /// Publishes the end, and notes that it was.
    async fn tell_end(&mut self, inner: &Inner) {
        let folder = self.record.folder().clone();
        let news = News::end(self.record.document(), &folder);
        let publisher = &inner.emanations.publisher;
        if let Some(seq) = publisher.publish(folder, Notice::End, news).await {
            self.record.published(seq, random::now());
            crate::failpoint::hit("E3");
            index(inner, &self.record).await;
        }
    }

    /// Answers one message by going on with the session.
    async fn answer(&mut self, inner: &Inner, message: &str) {
        let n = self.record.asked(random::now());
        let stopped = *self.line.stopped.borrow();
        let ended = match (stopped, session(self.record.document())) {
            (Some(why), _) => Ended::stopped(why),
            (None, None) => Ended::stopped(CancelReason::AgentStop),
            (None, Some(session)) => {
                let request = self.plan.answer(&self.record, message, session);
                self.turn(request, &mut Following::default()).await
            }
        };
        let end = match &ended.outcome {
            Outcome::Done => Ok(ended.text.as_str()),
            Outcome::Failed(failure) => Err((
                RunState::Failed,
                error(failure.kind.as_str(), &failure.message, failure.class),
            )),
            Outcome::Stopped(why) => Err((
                stopped_state(*why),
                error(why.as_str(), "stopped by the host", why.class()),
            )),
        };
        inner.emanations.note_reply(self.id);
        self.record.replied(n, end, random::now());
        if ended.outcome != Outcome::Stopped(CancelReason::Reclaim) {
            tell_reply(inner, &self.record, n).await;
        }
    }
}

async fn tell_reply(inner: &Inner, record: &Record, n: u32) {
    let folder = record.folder().clone();
    let reply = record
        .document()
        .followups
        .iter()
        .find(|reply| reply.n == n);
    let is_silent = reply.is_none_or(|reply| reply.state == RunState::Cancelled);
    if let Some(news) = News::reply(record.document(), &folder, n).filter(|_| !is_silent) {
        let publisher = &inner.emanations.publisher;
        publisher.publish(folder, Notice::Reply(n), news).await;
    }
}

/// Writes a run into the index; one that cannot be written is read from its folder instead.
pub(super) async fn index(inner: &Inner, record: &Record) {
    if let Err(error) = inner.store.put_run(record.row(), None).await {
        tracing::warn!(run = record.id(), %error, "the index of runs could not be written");
    }
}

/// Returns the session by which a provider's program goes on.
pub(super) fn session(document: &Document) -> Option<SessionId> {
    [
        &document.claude_session_id,
        &document.codex_session_id,
        &document.opencode_session_id,
        &document.command_session_id,
    ]
    .into_iter()
    .flatten()
    .find_map(|session| session.parse().ok())
}

fn stopped_state(why: CancelReason) -> RunState {
    match why {
        CancelReason::Timeout | CancelReason::Idle => RunState::Timeout,
        CancelReason::Reclaim => RunState::Cancelled,
        _ => RunState::Failed,
    }
}

fn unanswered() -> RunError {
    error(
        "protocol",
        "the run ended before it answered",
        daemon_provider::Class::Retryable,
    )
}

fn error(kind: &str, message: &str, class: daemon_provider::Class) -> RunError {
    RunError {
        kind: kind.to_owned(),
        message: message.to_owned(),
        class: match class {
            daemon_provider::Class::Retryable => ErrorClass::Retryable,
            daemon_provider::Class::Final => ErrorClass::Final,
        },
    }
}
