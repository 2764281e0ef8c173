//! Following a run: its events are recorded as they come, its limits are kept, a stop is passed on.

use std::time::Duration;

use daemon_provider::{
    Asked, CancelReason, Limits, Outcome, ProviderError, Run, RunEvent, Verdict,
};
use daemon_run_folder::{ErrorClass, RunError, RunState};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::Record;
use crate::defect::Defect;
use crate::random;

/// How long a stopped run may take to tell its end.
const LAST_WORDS: Duration = Duration::from_secs(20);

/// What bounds a run, and what reaches it.
pub(crate) struct Course<'a> {
    /// How much it may take.
    pub(crate) limits: &'a Limits,
    /// Judges what it proposes.
    pub(crate) verdict: &'a (dyn Fn(&str) -> Verdict + Send + Sync),
    /// Tells it to stop.
    pub(crate) stopped: &'a mut watch::Receiver<Option<CancelReason>>,
    /// Messages for its conversation.
    pub(crate) messages: &'a mut mpsc::Receiver<String>,
    /// What happens to it beside what it tells itself.
    pub(crate) beside: &'a mut mpsc::Receiver<RunEvent>,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) text: String,
}

impl Ended {
    /// Tells of what was stopped before it began.
    pub(crate) fn stopped(why: CancelReason) -> Self {
        Self {
            outcome: Outcome::Stopped(why),
            text: String::new(),
        }
    }

    /// Tells of a panic.
    pub(crate) fn broken(defect: &Defect) -> Self {
        let failure = daemon_provider::Failure {
            kind: daemon_provider::FailureKind::Provider,
            class: daemon_provider::Class::Final,
            message: defect.to_string(),
        };
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
        let message = crate::ops::chain(error);
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

/// What a run used while it was followed, and what it was told.
#[derive(Debug, Default)]
pub(crate) struct Following {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    /// The messages that joined it.
    pub(crate) joined: Vec<u32>,
}

impl Following {
    /// Follows a run to its end: records what it says, keeps its limits, passes on what it is told.
    pub(crate) async fn follow(
        &mut self,
        mut run: Box<dyn Run>,
        record: &mut Record,
        course: Course<'_>,
    ) -> Ended {
        let wall = Instant::now() + course.limits.wall;
        let mut quiet = Instant::now();
        let mut given_up: Option<Instant> = None;
        let mut ended = None;
        loop {
            let idle = course.limits.idle.map_or(wall, |idle| quiet + idle);
            let deadline = given_up.unwrap_or(wall.min(idle));
            let event = tokio::select! {
                event = run.next() => event,
                why = reason(course.stopped), if given_up.is_none() => {
                    given_up = Some(stop(&mut *run, record, why).await);
                    continue;
                }
                () = tokio::time::sleep_until(deadline) => {
                    if given_up.is_some() {
                        // It does not even tell its end: dropping it ends what it runs.
                        break;
                    }
                    let why = if deadline == wall { CancelReason::Timeout } else { CancelReason::Idle };
                    given_up = Some(stop(&mut *run, record, why).await);
                    continue;
                }
                event = next(course.beside) => {
                    quiet = Instant::now();
                    record.event(&event, random::now());
                    continue;
                }
                message = next(course.messages), if given_up.is_none() => {
                    self.join(&mut *run, record, &message).await;
                    continue;
                }
                () = tokio::time::sleep(record.next_beat(random::now())) => {
                    record.beat(random::now());
                    continue;
                }
            };
            quiet = Instant::now();
            match event {
                Ok(Some(event)) => {
                    crate::failpoint::hit("R6");
                    if matches!(event, RunEvent::Exited(_)) {
                        crate::failpoint::hit("R7");
                    }
                    self.note(&event);
                    record.event(&event, random::now());
                    if let RunEvent::Proposed(value) = &event {
                        record.proposed(
                            value,
                            &(course.verdict)(&value.to_string()),
                            random::now(),
                        );
                    }
                    if let RunEvent::Terminal { outcome, text } = event {
                        ended = Some(Ended { outcome, text });
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    ended.get_or_insert(Ended::lost(&error));
                    break;
                }
            }
        }
        ended.unwrap_or_else(|| {
            let failure = daemon_provider::Failure::new(
                daemon_provider::FailureKind::Protocol,
                "the provider ended without telling how",
            );
            Ended {
                outcome: Outcome::Failed(failure),
                text: String::new(),
            }
        })
    }

    /// Hands a message to the run.
    async fn join(&mut self, run: &mut dyn Run, record: &mut Record, message: &str) {
        let asked = record.asked(random::now());
        let problem = match run.ask(message).await {
            Ok(Asked::Joined) => {
                self.joined.push(asked);
                return;
            }
            Ok(_) => "the run takes no messages".to_owned(),
            Err(error) => crate::ops::chain(&error),
        };
        record.replied(
            asked,
            Err((RunState::Failed, refusal(problem))),
            random::now(),
        );
    }

    fn note(&mut self, event: &RunEvent) {
        if let RunEvent::Usage(usage) | RunEvent::ModelCall { usage, .. } = event {
            *self.tokens.get_or_insert(0) += usage.input + usage.output + usage.thinking;
            if let Some(cost) = usage.cost {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a run costs far less than 2^53 micro-dollars"
                )]
                let usd = cost.0 as f64 / 1_000_000.0;
                *self.cost_usd.get_or_insert(0.0) += usd;
            }
        }
    }
}

/// Tells a run to stop, and returns when it will be given up.
async fn stop(run: &mut dyn Run, record: &mut Record, why: CancelReason) -> Instant {
    record.stopping(why, random::now());
    if let Err(error) = run.cancel(why).await {
        tracing::warn!(%error, "a run could not be told to stop");
    }
    Instant::now() + LAST_WORDS
}

/// Waits for a reason to stop.
async fn reason(stopped: &mut watch::Receiver<Option<CancelReason>>) -> CancelReason {
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

fn refusal(message: String) -> RunError {
    RunError {
        kind: "provider".to_owned(),
        message,
        class: ErrorClass::Final,
    }
}
