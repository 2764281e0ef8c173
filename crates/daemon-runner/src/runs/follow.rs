//! Following a run: its events are recorded as they come, its limits are kept, a stop is passed on.

use std::time::Duration;

use daemon_provider::{Asked, Limits, Outcome, ProviderError, Run, RunEvent, StopReason, Verdict};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::Record;
use crate::defect::Defect;

/// How long a stopped run may take to tell its end.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// How long a run may take to end once it has told its outcome; longer than providers wait for their processes.
const LEAVE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;

/// What bounds a run, and what reaches it.
pub(crate) struct Course<'a> {
    /// How much it may take.
    pub(crate) limits: &'a Limits,
    /// Judges what it proposes.
    pub(crate) verdict: &'a (dyn Fn(&str) -> Verdict + Send + Sync),
    /// Tells it to stop.
    pub(crate) stopped: &'a mut watch::Receiver<Option<StopReason>>,
    /// Messages to it.
    pub(crate) messages: &'a mut mpsc::Receiver<RunMessage>,
    /// What happens to it beside what it tells itself.
    pub(crate) beside: &'a mut mpsc::Receiver<RunEvent>,
}

/// A message to a run.
#[derive(Debug)]
pub(crate) struct RunMessage {
    pub(crate) text: String,
    /// Held until it is answered: a run has one message at a time.
    pub(crate) turn: OwnedSemaphorePermit,
    /// Answered once the message is on the disk; dropped where the run takes none.
    pub(crate) receipt: oneshot::Sender<Receipt>,
}

/// What became of a message that a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// It is on the disk.
    Recorded,
    /// It could not be written.
    Lost,
}

/// A message that is on the disk and has no answer yet.
#[derive(Debug)]
pub(crate) struct Question {
    /// Its number.
    pub(crate) n: u32,
    pub(crate) text: String,
    pub(crate) turn: OwnedSemaphorePermit,
}

impl RunMessage {
    /// Writes the message down, then accepts it; `None` where it could not be written.
    pub(crate) fn record(self, record: &mut Record) -> Option<Question> {
        let n = record.asked();
        let receipt = n.map_or(Receipt::Lost, |_| Receipt::Recorded);
        // Whoever sent it may be gone.
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
    /// It did.
    Joined,
    /// The run did not take it.
    Missed,
}

/// How a run ended.
pub(crate) struct TurnEnd {
    pub(crate) outcome: Outcome,
    pub(crate) text: String,
}

impl TurnEnd {
    /// Tells of a panic.
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

    /// Tells of a run that ended without a word.
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

    /// Tells of a run that could not be started, or was lost.
    pub(crate) fn lost(error: &ProviderError) -> Self {
        let kind = match error.kind {
            daemon_provider::ProviderErrorKind::Spawn => daemon_provider::FailureKind::Spawn,
            _ => daemon_provider::FailureKind::Provider,
        };
        let message = crate::error::chain(error);
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

/// When a run has taken too long, and when it is looked after next.
struct Deadlines<'a> {
    limits: &'a Limits,
    wall: Instant,
    /// When it last said something.
    quiet: Instant,
    /// When it was first seen to have told its outcome, after which neither counts.
    settled: Option<Instant>,
    /// When it is given up, once it was told to stop.
    given_up: Option<Instant>,
    /// How long until it is to be shown that it is looked after.
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

    /// Notes whether the run has told its outcome; one that works on after a result has told none.
    fn settle(&mut self, has_outcome: bool) {
        self.settled = has_outcome.then(|| self.settled.unwrap_or_else(Instant::now));
    }

    /// Returns the next deadline, and what passing it means.
    fn deadline(&self) -> (Instant, StopReason) {
        let idle = self.limits.idle.map(|idle| self.quiet + idle);
        match (self.given_up, self.settled, idle) {
            (Some(at), _, _) => (at, StopReason::Grace),
            (None, Some(since), _) => (since + LEAVE, StopReason::Grace),
            (None, None, Some(idle)) if idle < self.wall => (idle, StopReason::Idle),
            (None, None, _) => (self.wall, StopReason::Timeout),
        }
    }

    /// Returns why a run is stopped that is to be for this reason: whatever it is, but a reclaim, the outcome it told stands.
    fn reason(&self, why: StopReason) -> StopReason {
        match why {
            StopReason::Reclaim => why,
            _ if self.settled.is_some() => StopReason::Grace,
            _ => why,
        }
    }
}

/// What is to be done next about a run.
enum Step {
    /// It told something, or nothing more comes.
    Event(Result<Option<RunEvent>, ProviderError>),
    /// It is to be told to stop.
    Stop(StopReason),
    /// A deadline has passed.
    Late(StopReason),
    /// Something happened beside it.
    Beside(RunEvent),
    /// It is sent a message.
    Message(RunMessage),
    /// It is to be shown that it is looked after.
    Beat,
}

/// Waits for what is to be done next. A run that was told to stop is told nothing more.
async fn step(run: &mut dyn Run, course: &mut Course<'_>, deadlines: &Deadlines<'_>) -> Step {
    let (deadline, why) = deadlines.deadline();
    let is_open = deadlines.given_up.is_none();
    tokio::select! {
        event = run.next() => Step::Event(event),
        why = reason(course.stopped), if is_open => Step::Stop(why),
        () = tokio::time::sleep_until(deadline) => Step::Late(why),
        event = next(course.beside) => Step::Beside(event),
        message = next(course.messages), if is_open => Step::Message(message),
        () = tokio::time::sleep(deadlines.beat) => Step::Beat,
    }
}

/// What a run used while it was followed, and what it was told.
#[derive(Debug, Default)]
pub(crate) struct Following {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    /// The messages that joined its conversation, or were to.
    pub(crate) joined: Vec<(Question, Arrival)>,
    /// The message that waits for its end.
    pub(crate) waiting: Option<Question>,
}

impl Following {
    /// Follows a run to its end: records what it says, keeps its limits, passes on what it is told.
    pub(crate) async fn follow(
        &mut self,
        mut run: Box<dyn Run>,
        record: &mut Record,
        mut course: Course<'_>,
    ) -> TurnEnd {
        let mut deadlines = Deadlines::new(course.limits);
        let mut stopping = None;
        let mut ended = None;
        loop {
            deadlines.beat = record.next_beat();
            let step = step(&mut *run, &mut course, &deadlines).await;
            let was_settled = deadlines.settled.is_some();
            deadlines.settle(run.has_outcome());
            let why = match step {
                Step::Event(event) => {
                    deadlines.quiet = Instant::now();
                    match event {
                        Ok(Some(event)) => {
                            if let RunEvent::Stopping { why, .. } = &event {
                                stopping = Some(first(stopping, *why));
                            }
                            ended = self.happened(event, record, &course).or(ended);
                        }
                        Ok(None) => break,
                        Err(error) => {
                            ended.get_or_insert(TurnEnd::lost(&error));
                            break;
                        }
                    }
                    continue;
                }
                Step::Beside(event) => {
                    deadlines.quiet = Instant::now();
                    record.event(&event);
                    continue;
                }
                Step::Message(message) => {
                    self.take(&mut *run, record, message).await;
                    continue;
                }
                Step::Beat => {
                    record.beat();
                    continue;
                }
                // It does not even tell its end: dropping it ends what it runs.
                Step::Late(_) if deadlines.given_up.is_some() => break,
                // The deadline was that of another phase: it told its outcome meanwhile, or went on after one.
                Step::Late(_) if deadlines.settled.is_some() != was_settled => continue,
                Step::Late(why) | Step::Stop(why) => deadlines.reason(why),
            };
            stopping = Some(first(stopping, why));
            deadlines.given_up = Some(stop(&mut *run, record, why).await);
        }
        ended.unwrap_or_else(TurnEnd::silent).after(stopping)
    }

    /// Records an event, and returns the end that it tells.
    fn happened(
        &mut self,
        event: RunEvent,
        record: &mut Record,
        course: &Course<'_>,
    ) -> Option<TurnEnd> {
        crate::failpoint::hit("R6");
        if matches!(event, RunEvent::Exited(_)) {
            crate::failpoint::hit("R7");
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
                let verdict = (course.verdict)(&value.to_string());
                record.proposed(&value, &verdict);
                None
            }
            RunEvent::Terminal { outcome, text } => Some(TurnEnd { outcome, text }),
            _ => None,
        }
    }

    /// Takes a message: it is stored, then it joins the conversation or waits for the end of the run.
    async fn take(&mut self, run: &mut dyn Run, record: &mut Record, message: RunMessage) {
        match run.would_take() {
            Asked::Joined => {
                if let Some(question) = message.record(record) {
                    let arrival = join(run, record, &question).await;
                    self.joined.push((question, arrival));
                }
            }
            Asked::Resume(_) => self.waiting = message.record(record),
            // Dropping it says that it is not taken.
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

/// Returns the reason that holds of two, as the folder stores it: the first, unless that keeps the outcome.
fn first(stored: Option<StopReason>, why: StopReason) -> StopReason {
    stored
        .filter(|stored| !stored.keeps_outcome())
        .unwrap_or(why)
}

/// Hands a stored message to a run.
async fn join(run: &mut dyn Run, record: &Record, question: &Question) -> Arrival {
    let why = match run.ask(&question.text).await {
        Ok(Asked::Joined) => return Arrival::Joined,
        Ok(Asked::Resume(_) | Asked::Unsupported) => "the run took it no more".to_owned(),
        Err(error) => crate::error::chain(&error),
    };
    tracing::warn!(run = record.id(), why, "a message did not reach its run");
    Arrival::Missed
}

/// Tells a run to stop, and returns when it will be given up.
async fn stop(run: &mut dyn Run, record: &mut Record, why: StopReason) -> Instant {
    record.stopping(why, None);
    if let Err(error) = run.cancel(why).await {
        tracing::warn!(%error, "a run could not be told to stop");
    }
    Instant::now() + LAST_WORDS
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
        // The sender is gone only when the host forgot the run, which it does after the run ended.
        None => std::future::pending().await,
    }
}

/// Waits for what comes through a channel; for ever, once nothing can come any more.
async fn next<T>(channel: &mut mpsc::Receiver<T>) -> T {
    match channel.recv().await {
        Some(next) => next,
        None => std::future::pending().await,
    }
}
