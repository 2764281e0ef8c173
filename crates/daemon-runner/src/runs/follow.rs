//! Following a run: its events are recorded in order, its limits are enforced, and stops and messages are passed on.

use std::time::Duration;

use daemon_provider::{Asked, Limits, Outcome, ProviderError, Run, RunEvent, StopReason, Verdict};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::Record;
use crate::defect::Defect;

/// The time that a stopped run has to report its end.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// The time that a run has to end after it has reported its outcome. It is longer than the time that providers give their
/// processes, so that a provider can end them first.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;

/// The limits of a run, and the channels that reach it.
pub(crate) struct RunInputs<'a> {
    pub(crate) limits: &'a Limits,
    /// Validates an output that the run proposes as an event.
    pub(crate) verdict: &'a (dyn Fn(&str) -> Verdict + Send + Sync),
    /// Contains the reason once the run is to stop.
    pub(crate) stopped: &'a mut watch::Receiver<Option<StopReason>>,
    /// The messages to the run; closed for an attempt.
    pub(crate) messages: &'a mut mpsc::Receiver<RunMessage>,
    /// Events that the host adds to the run, such as calls of its tools.
    pub(crate) host_events: &'a mut mpsc::Receiver<RunEvent>,
}

/// A message to a run.
#[derive(Debug)]
pub(crate) struct RunMessage {
    pub(crate) text: String,
    /// Held until the reply is recorded, because a run has one message at a time.
    pub(crate) turn: OwnedSemaphorePermit,
    /// Receives a value after the message is stored; dropped if the run takes no messages.
    pub(crate) receipt: oneshot::Sender<Receipt>,
}

/// Whether a message that a run takes was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// The message is durable.
    Recorded,
    /// The message could not be written.
    Lost,
}

/// A stored message without a reply.
#[derive(Debug)]
pub(crate) struct Question {
    /// The number of the message within the run, from 1.
    pub(crate) n: u32,
    pub(crate) text: String,
    pub(crate) turn: OwnedSemaphorePermit,
}

impl RunMessage {
    /// Stores the message, then confirms it to the sender. `None` if it could not be written.
    pub(crate) fn record(self, record: &mut Record) -> Option<Question> {
        let n = record.asked();
        let receipt = n.map_or(Receipt::Lost, |_| Receipt::Recorded);
        // The sender may have disconnected.
        self.receipt.send(receipt).unwrap_or(());
        Some(Question {
            n: n?,
            text: self.text,
            turn: self.turn,
        })
    }
}

/// Whether a message that was stored reached the conversation it was to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The run has the message.
    Joined,
    /// The run ended first, or refused the message.
    Missed,
}

/// The end of one turn: the outcome and the final text.
pub(crate) struct TurnEnd {
    pub(crate) outcome: Outcome,
    pub(crate) text: String,
}

impl TurnEnd {
    /// Makes the end of a turn that failed in the host itself.
    pub(crate) fn failed(kind: daemon_provider::FailureKind, message: String) -> Self {
        Self {
            outcome: Outcome::Failed(daemon_provider::Failure::new(kind, message)),
            text: String::new(),
        }
    }

    /// Makes the end of a turn that panicked.
    pub(crate) fn broken(defect: &Defect) -> Self {
        let failure = daemon_provider::Failure {
            kind: daemon_provider::FailureKind::Provider,
            class: daemon_provider::ErrorClass::Final,
            message: defect.to_string(),
        };
        Self {
            outcome: Outcome::Failed(failure),
            text: String::new(),
        }
    }

    /// Replaces the outcome by the reason for which the run was stopped, so that it agrees with the folder, which consults the
    /// reason first. A provider may report another end, or none, when its process dies of the stop.
    fn after(self, stopping: Option<StopReason>) -> Self {
        let Some(reason) = stopping.filter(|reason| !reason.keeps_outcome()) else {
            return self;
        };
        let reported = self.outcome.end_state().map(|end| end.error_type);
        // A failure of the same type explains more than the reason alone.
        if reported == Some(reason.as_str()) {
            return self;
        }
        Self {
            outcome: Outcome::Stopped(reason),
            ..self
        }
    }

    /// Makes the end of a turn whose provider reported no outcome.
    fn silent() -> Self {
        let failure = daemon_provider::Failure::new(
            daemon_provider::FailureKind::Protocol,
            "the provider ended without telling how",
        );
        Self {
            outcome: Outcome::Failed(failure),
            text: String::new(),
        }
    }

    /// Makes the end of a turn that could not be started, or whose provider failed.
    pub(crate) fn lost(error: &ProviderError) -> Self {
        let kind = match error.kind {
            daemon_provider::ProviderErrorKind::Spawn => daemon_provider::FailureKind::Spawn,
            _ => daemon_provider::FailureKind::Provider,
        };
        let message = daemon_records::error::chain(error);
        let failure = daemon_provider::Failure {
            kind,
            class: error.class,
            message,
        };
        Self {
            outcome: Outcome::Failed(failure),
            text: String::new(),
        }
    }
}

/// The deadlines of a run.
struct Deadlines<'a> {
    limits: &'a Limits,
    wall: Instant,
    /// The time of the last event.
    quiet: Instant,
    /// The time at which the run reported its outcome; after it, the wall and idle limits do not apply.
    settled: Option<Instant>,
    /// The time at which the run is dropped, after it was asked to stop.
    given_up: Option<Instant>,
    /// The time until the next heartbeat.
    beat: Duration,
}

impl<'a> Deadlines<'a> {
    fn new(limits: &'a Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            wall: now + limits.wall,
            quiet: now,
            settled: None,
            given_up: None,
            beat: Duration::ZERO,
        }
    }

    /// Notes whether the run has reported its outcome. A run that continues after a result has none again.
    fn settle(&mut self, has_outcome: bool) {
        self.settled = has_outcome.then(|| self.settled.unwrap_or_else(Instant::now));
    }

    /// Returns the next deadline, and the reason to stop when it passes.
    fn deadline(&self) -> (Instant, StopReason) {
        let idle = self.limits.idle.map(|idle| self.quiet + idle);
        match (self.given_up, self.settled, idle) {
            (Some(at), _, _) => (at, StopReason::Grace),
            (None, Some(since), _) => (since + EXIT_TIMEOUT, StopReason::Grace),
            (None, None, Some(idle)) if idle < self.wall => (idle, StopReason::Idle),
            (None, None, _) => (self.wall, StopReason::Timeout),
        }
    }

    /// Returns the reason with which a run is stopped for `why`. After it has reported its outcome, only a reclaim changes it.
    fn reason(&self, why: StopReason) -> StopReason {
        match why {
            StopReason::Reclaim => why,
            // The work is finished and paid for. A deadline that expires while the process exits says nothing about it.
            _ if self.settled.is_some() => StopReason::Grace,
            _ => why,
        }
    }
}

/// The next thing that happens to a followed run.
enum FollowStep {
    /// The run yielded an event, ended, or failed.
    Event(Result<Option<RunEvent>, ProviderError>),
    /// The host stops the run.
    Stop(StopReason),
    /// A deadline has passed.
    Late(StopReason),
    /// The host adds an event.
    HostEvent(RunEvent),
    /// A caller sends a message.
    Message(RunMessage),
    /// A heartbeat is due.
    Beat,
}

/// Waits for the next step. A run that was asked to stop receives no more messages and no second stop.
async fn step(
    run: &mut dyn Run,
    inputs: &mut RunInputs<'_>,
    deadlines: &Deadlines<'_>,
) -> FollowStep {
    let (deadline, why) = deadlines.deadline();
    let is_open = deadlines.given_up.is_none();
    tokio::select! {
        event = run.next() => FollowStep::Event(event),
        why = reason(inputs.stopped), if is_open => FollowStep::Stop(why),
        () = tokio::time::sleep_until(deadline) => FollowStep::Late(why),
        event = next(inputs.host_events) => FollowStep::HostEvent(event),
        message = next(inputs.messages), if is_open => FollowStep::Message(message),
        () = tokio::time::sleep(deadlines.beat) => FollowStep::Beat,
    }
}

/// The usage of a followed run, and the messages that it received.
#[derive(Debug, Default)]
pub(crate) struct Following {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    /// The messages for its conversation, each with whether it arrived.
    pub(crate) joined: Vec<(Question, Arrival)>,
    /// The message that is answered after the run, by resuming its session.
    pub(crate) waiting: Option<Question>,
}

impl Following {
    /// Follows a run to its end: records its events, enforces its limits, and passes on stops and messages.
    pub(crate) async fn follow(
        &mut self,
        mut run: Box<dyn Run>,
        record: &mut Record,
        mut inputs: RunInputs<'_>,
    ) -> TurnEnd {
        let mut deadlines = Deadlines::new(inputs.limits);
        let mut stopping = None;
        let mut ended = None;
        loop {
            deadlines.beat = record.next_beat();
            let step = step(&mut *run, &mut inputs, &deadlines).await;
            let was_settled = deadlines.settled.is_some();
            deadlines.settle(run.has_outcome());
            let why = match step {
                FollowStep::Event(event) => {
                    deadlines.quiet = Instant::now();
                    match event {
                        Ok(Some(event)) => {
                            if let RunEvent::Stopping { why, .. } = &event {
                                stopping = Some(first(stopping, *why));
                            }
                            ended = self.happened(event, record, &inputs).or(ended);
                        }
                        Ok(None) => break,
                        Err(error) => {
                            ended.get_or_insert(TurnEnd::lost(&error));
                            break;
                        }
                    }
                    continue;
                }
                FollowStep::HostEvent(event) => {
                    deadlines.quiet = Instant::now();
                    record.event(&event);
                    continue;
                }
                FollowStep::Message(message) => {
                    self.take(&mut *run, record, message).await;
                    continue;
                }
                FollowStep::Beat => {
                    record.beat();
                    continue;
                }
                // The run did not report its end in time. Dropping it ends its processes.
                FollowStep::Late(_) if deadlines.given_up.is_some() => break,
                // The outcome was reported, or withdrawn, while the deadline of the other phase passed.
                FollowStep::Late(_) if deadlines.settled.is_some() != was_settled => continue,
                FollowStep::Late(why) | FollowStep::Stop(why) => deadlines.reason(why),
            };
            stopping = Some(first(stopping, why));
            deadlines.given_up = Some(stop(&mut *run, record, why).await);
        }
        ended.unwrap_or_else(TurnEnd::silent).after(stopping)
    }

    /// Records an event, and returns the end if the event is one.
    fn happened(
        &mut self,
        event: RunEvent,
        record: &mut Record,
        inputs: &RunInputs<'_>,
    ) -> Option<TurnEnd> {
        daemon_records::failpoint::hit("R6");
        if matches!(event, RunEvent::Exited(_)) {
            daemon_records::failpoint::hit("R7");
        }
        self.note(&event);
        record.event(&event);
        match event {
            RunEvent::Limit { name, detail } if name == RunEvent::LEAKED => {
                let run = record.id();
                tracing::error!(run, detail, "processes of a run could not be ended");
                metrics::counter!("daemon_runs_leaked_total").increment(1);
                None
            }
            RunEvent::Proposed(value) => {
                let verdict = (inputs.verdict)(&value.to_string());
                record.proposed(&value, &verdict);
                None
            }
            RunEvent::Terminal { outcome, text } => Some(TurnEnd { outcome, text }),
            _ => None,
        }
    }

    /// Stores a message. It then joins the conversation, or waits for the end of the run.
    async fn take(&mut self, run: &mut dyn Run, record: &mut Record, message: RunMessage) {
        match run.would_take() {
            Asked::Joined => {
                // Stored first. Nothing can happen in between, because this task also drives the run.
                if let Some(question) = message.record(record) {
                    let arrival = join(run, record, &question).await;
                    self.joined.push((question, arrival));
                }
            }
            Asked::Resume(_) => self.waiting = message.record(record),
            // Dropping the message closes its receipt, which refuses it.
            Asked::Unsupported => {}
        }
    }

    fn note(&mut self, event: &RunEvent) {
        if let RunEvent::Usage { usage, .. } | RunEvent::ModelCall { usage, .. } = event {
            *self.tokens.get_or_insert(0) += usage.input + usage.output + usage.thinking;
            if let Some(cost) = usage.cost {
                *self.cost_usd.get_or_insert(0.0) += cost.as_usd();
            }
        }
    }
}

/// Returns the effective one of two reasons, by the rule of the folder: the first, unless it keeps the outcome.
fn first(stored: Option<StopReason>, why: StopReason) -> StopReason {
    stored
        .filter(|stored| !stored.keeps_outcome())
        .unwrap_or(why)
}

/// Sends a stored message to a run.
async fn join(run: &mut dyn Run, record: &Record, question: &Question) -> Arrival {
    let why = match run.ask(&question.text).await {
        Ok(Asked::Joined) => return Arrival::Joined,
        Ok(Asked::Resume(_) | Asked::Unsupported) => "the run takes no more messages".to_owned(),
        Err(error) => daemon_records::error::chain(&error),
    };
    tracing::warn!(run = record.id(), why, "a message did not reach its run");
    Arrival::Missed
}

/// Asks a run to stop, and returns the time at which it is dropped.
async fn stop(run: &mut dyn Run, record: &mut Record, why: StopReason) -> Instant {
    // The reason is durable before the first signal: a host that dies in between leaves it for the next start.
    record.stopping(why, None);
    if let Err(error) = run.cancel(why).await {
        tracing::warn!(%error, "a run could not be asked to stop");
    }
    Instant::now() + STOP_TIMEOUT
}

/// Waits for a reason to stop.
async fn reason(stopped: &mut watch::Receiver<Option<StopReason>>) -> StopReason {
    let reason = stopped
        .wait_for(Option::is_some)
        .await
        .ok()
        .and_then(|reason| *reason);
    match reason {
        Some(reason) => reason,
        // The sender is dropped only after the run has ended.
        None => std::future::pending().await,
    }
}

/// Receives the next value of a channel; waits forever if the channel is closed, so that `select!` ignores it.
async fn next<T>(channel: &mut mpsc::Receiver<T>) -> T {
    match channel.recv().await {
        Some(next) => next,
        None => std::future::pending().await,
    }
}
