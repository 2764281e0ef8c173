//! A dispatched run, from its start to its last reply.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use daemon_provider::{FollowUps, Outcome, RunRequest, SessionId, Verdict};
use daemon_run_folder::{Document, Failure, FailureKind, RunError, RunId, RunNotice, RunState};

use super::live::RunChannels;
use super::notice::{NewNotice, is_silent};
use super::own_place::{OwnWorktree, Turn};
use super::plan::Plan;
use super::servers::TaskServers;
use crate::defect::guarded;
use crate::mail::MailGrants;
use crate::run_context::RunContext;
use crate::runs::{Arrival, Following, Question, Record, RunInputs, TurnEnd, Written};
use crate::servers::serve;

/// A run whose folder is written and whose provider has not started.
pub(super) struct StartedRun {
    pub(super) id: RunId,
    pub(super) plan: Plan,
    pub(super) record: Record,
    pub(super) channels: RunChannels,
}

impl StartedRun {
    /// Executes the run, publishes its end, and answers the message that waited for it.
    pub(super) async fn run(mut self, run_context: Arc<RunContext>) {
        let Some((following, text)) = self.first_turn(&run_context).await else {
            // Its end is not durable. The next start records it as an orphan and publishes that.
            run_context.emanations.forget(self.id);
            return;
        };
        run_context
            .emanations
            .note_end(self.id, self.record.document().state);
        index(&run_context, &self.record).await;
        self.publish_end(&run_context).await;
        for (question, _) in &following.joined {
            publish_reply(&run_context, &self.record, question.n, &text).await;
        }
        self.answer_all(&run_context, following.waiting).await;
    }

    /// Answers a message, and those that arrive meanwhile.
    pub(super) async fn answer_all(
        &mut self,
        run_context: &Arc<RunContext>,
        first: Option<Question>,
    ) {
        let mut question = first;
        loop {
            if let Some(question) = question.take() {
                self.answer(run_context, question).await;
            }
            let Some(message) = run_context
                .emanations
                .next_message(self.id, &mut self.channels)
            else {
                break;
            };
            // A provider whose conversations end with their runs cannot answer. Dropping the message refuses it.
            if self.plan.common.provider.follow_ups() == FollowUps::Resumes {
                question = message.record(&mut self.record);
            }
        }
        index(run_context, &self.record).await;
    }

    /// Follows the first turn to its end, and returns its messages and its text. `None` if the end could not be recorded.
    async fn first_turn(&mut self, run_context: &RunContext) -> Option<(Following, String)> {
        let mut following = Following::default();
        daemon_records::failpoint::hit("E0");
        let first = self.turn_of(None, self.plan.task.task.clone());
        let plan = self.plan.clone();
        let request = |record: &_, worktree: Option<&_>| plan.request(record, worktree);
        let ended = self
            .placed_turn(run_context, first, request, &mut following)
            .await;
        // The end is published, and its slot is free, only after it is durable.
        let is_recorded = self
            .record
            .end(&ended.outcome, &ended.text, &run_context.lifetime.stop);
        if !is_recorded.await {
            return None;
        }
        let (state, error) = {
            let document = self.record.document();
            (document.state, document.error.clone())
        };
        let unanswered = RunError::from(&unanswered());
        let error = error.unwrap_or_else(|| unanswered.clone());
        let mut n_replied = 0;
        for (question, arrival) in &following.joined {
            let end = match (arrival, &ended.outcome, state) {
                (Arrival::Missed, _, RunState::Done) => Err((RunState::Failed, unanswered.clone())),
                (Arrival::Joined, Outcome::Done, RunState::Done) => Ok(ended.text.as_str()),
                _ => Err((state, error.clone())),
            };
            let written = self
                .record
                .replied(question.n, end, &run_context.lifetime.stop)
                .await;
            // The next start records and publishes the remaining replies.
            if written == Written::Stopped {
                break;
            }
            n_replied += 1;
        }
        following.joined.truncate(n_replied);
        tracing::info!(run = %self.id, state = state.as_str(), "emanation");
        run_context.lifetime.ended.notify_waiters();
        Some((following, ended.text))
    }

    fn turn_of(&self, reply: Option<u32>, task: String) -> Turn {
        Turn {
            folder: self.record.folder().clone(),
            reply,
            task,
        }
    }

    /// Executes a turn in the place of the run. An own work tree is made before it; its changes come back, and it is removed, after it.
    async fn placed_turn(
        &mut self,
        run_context: &RunContext,
        turn: Turn,
        request: impl FnOnce(&Record, Option<&OwnWorktree>) -> RunRequest,
        following: &mut Following,
    ) -> TurnEnd {
        let Some(mut place) = self.plan.place.clone() else {
            let request = request(&self.record, None);
            return self.turn(run_context, request, following).await;
        };
        let (id, caller) = (self.id, self.plan.task.cwd.clone().unwrap_or_default());
        let root = run_context.paths.own_worktree(id);
        let of_source = place.clone();
        let made = blocking(move || of_source.make(&caller, &root, id)).await;
        let worktree = match made {
            Ok(worktree) => worktree,
            Err(why) => {
                return TurnEnd::failed(FailureKind::Spawn, format!("the work tree: {why}"));
            }
        };
        let request = request(&self.record, Some(&worktree));
        let ended = self.turn(run_context, request, following).await;
        let redactor = self.record.redactor().clone();
        let (text, at) = (ended.text.clone(), run_context.now());
        let kept = blocking(move || {
            let kept = place.keep(worktree, &turn, &text, &redactor, at);
            Ok((place, kept))
        });
        let kept = match kept.await {
            Ok((place, kept)) => {
                self.plan.place = Some(place);
                kept
            }
            Err(why) => Err(why),
        };
        match (kept, &ended.outcome) {
            (Err(why), Outcome::Done) => TurnEnd {
                text: ended.text,
                ..TurnEnd::failed(
                    FailureKind::Resource,
                    format!("the changes of the run are lost: {why}"),
                )
            },
            (Err(why), _) => {
                tracing::warn!(run = %self.id, why, "the changes of a run are lost");
                ended
            }
            (Ok(()), _) => ended,
        }
    }

    /// Reserves what the turn may cost, and executes it.
    async fn turn(
        &mut self,
        run_context: &RunContext,
        mut request: RunRequest,
        following: &mut Following,
    ) -> TurnEnd {
        let provider = Arc::clone(&self.plan.common.provider);
        let day = run_context.host.settings().bounds.day;
        let begun = run_context
            .budget
            .begin(provider.pricing(), request.limits.budget, day);
        let reserve = match begun {
            Ok(reserve) => reserve,
            Err(error) => return TurnEnd::failed(FailureKind::Budget, error.to_string()),
        };
        request.limits.budget = reserve.limit();
        if let Some(postbox) = run_context.host.postbox() {
            request.grants = Arc::new(MailGrants {
                inner: request.grants,
                postbox,
                from: self.id,
                parent: self.plan.common.parent.clone(),
                n_sent: AtomicU32::default(),
            });
        }
        if let Some(reserved) = reserve.reserved() {
            self.record.reserved(reserved);
        }
        let ended = self.provided(run_context, request, following).await;
        reserve.settle(following.cost_usd, &ended.outcome);
        ended
    }

    /// Starts the provider with the MCP servers of the task, and follows the turn to its end.
    async fn provided(
        &mut self,
        run_context: &RunContext,
        mut request: RunRequest,
        following: &mut Following,
    ) -> TurnEnd {
        let replaced =
            TaskServers::replace(run_context, &self.plan, &mut self.record, &mut request);
        let mut servers = match replaced {
            Ok(servers) => servers,
            Err(error) => {
                let message = format!("the MCP servers of the run: {error}");
                return TurnEnd::failed(FailureKind::Spawn, message);
            }
        };
        let starting = servers.start();
        let verdict = |_: &str| Verdict::Refused("a dispatched run has no outbox".to_owned());
        let inputs = RunInputs {
            limits: &self.plan.common.limits,
            verdict: &verdict,
            stopped: &mut self.channels.stopped,
            messages: &mut self.channels.messages,
            host_events: &mut servers.events,
        };
        let serving = futures_util::future::join(starting, serve(&mut servers.tools));
        let provider = Arc::clone(&self.plan.common.provider);
        let record = &mut self.record;
        let to_its_end = async {
            match provider.start(request).await {
                Ok(run) => tokio::select! {
                    ended = following.follow(run, record, inputs) => ended,
                    ((), ()) = serving => unreachable!("it does not end"),
                },
                Err(error) => TurnEnd::lost(&error),
            }
        };
        let ended = guarded(to_its_end).await.unwrap_or_else(|defect| {
            tracing::error!(run = %self.id, %defect, "a run panicked");
            TurnEnd::broken(&defect)
        });
        // The servers end before the run is recorded as ended, so that nothing of it runs after its end.
        servers.close(&mut self.record).await;
        ended
    }

    /// Publishes the end, and records its number.
    async fn publish_end(&mut self, run_context: &RunContext) {
        let folder = self.record.folder().clone();
        let new_notice = NewNotice::end(self.record.document(), &folder);
        let publisher = &run_context.emanations.publisher;
        if let Some(seq) = publisher.publish(folder, RunNotice::End, new_notice).await {
            self.record.published(seq);
            daemon_records::failpoint::hit("E3");
            index(run_context, &self.record).await;
        }
    }

    /// Answers one message by resuming the session.
    async fn answer(&mut self, run_context: &RunContext, question: Question) {
        let Question { n, mut text, turn } = question;
        let stopped = *self.channels.stopped.borrow();
        let outcome = match (stopped, session(self.record.document())) {
            (Some(why), _) => Outcome::Stopped(why),
            (None, None) => Outcome::Failed(unanswered()),
            (None, Some(session)) => {
                let reply = self.turn_of(Some(n), text.clone());
                let (plan, message) = (self.plan.clone(), text);
                let request = |record: &_, worktree: Option<&_>| {
                    plan.answer(record, &message, session, worktree)
                };
                let following = &mut Following::default();
                let ended = self
                    .placed_turn(run_context, reply, request, following)
                    .await;
                text = ended.text;
                ended.outcome
            }
        };
        let end = match RunError::of(&outcome) {
            (state, Some(error)) => Err((state, error)),
            (_, None) => Ok(text.as_str()),
        };
        let written = self
            .record
            .replied(n, end, &run_context.lifetime.stop)
            .await;
        // The next message is accepted only after this reply is readable.
        drop(turn);
        // The next start publishes a reply that is not recorded.
        if written != Written::Stopped {
            publish_reply(run_context, &self.record, n, &text).await;
        }
    }
}

/// Does work that blocks; a panic in it is an error.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

/// Publishes the end of a message; `text` is the reply, if there is one.
async fn publish_reply(run_context: &RunContext, record: &Record, n: u32, text: &str) {
    let folder = record.folder().clone();
    let reply = record
        .document()
        .followups
        .iter()
        .find(|reply| reply.n == n);
    let is_silent = reply.is_none_or(is_silent);
    let text = record.redactor().text(text);
    let new_notice = NewNotice::reply(record.document(), &folder, n, &text);
    if let Some(new_notice) = new_notice.filter(|_| !is_silent) {
        let publisher = &run_context.emanations.publisher;
        publisher
            .publish(folder, RunNotice::Reply(n), new_notice)
            .await;
    }
}

/// Stores the row of a run. A failure is only logged: listings read the folder then.
pub(super) async fn index(run_context: &RunContext, record: &Record) {
    if let Err(error) = run_context.store.put_run(record.row(), None).await {
        tracing::warn!(run = record.id(), %error, "the index of runs could not be written");
    }
}

/// Returns the session that the provider's program can resume.
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

/// Makes the failure of a message that the run did not answer.
fn unanswered() -> Failure {
    Failure::new(FailureKind::Protocol, "the run ended before it answered")
}
