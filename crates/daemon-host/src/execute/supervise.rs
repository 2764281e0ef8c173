//! The run itself: events are recorded as they come, limits are kept, a stop is passed on.

use std::sync::Arc;
use std::time::Duration;

use daemon_engine::Activation;
use daemon_provider::{CancelReason, Outcome, ProviderError, Run, RunEvent};
use daemon_store::StoreError;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Refusal;
use super::grants::RunGrants;
use super::place::Prepared;
use crate::defect::{Defect, guarded};
use crate::driver::Inner;
use crate::random;
use crate::runs::Record;

/// How long a stopped run may take to tell its end.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// How often a run shows that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How a run ended, and its record.
pub(super) struct Supervised {
    pub(super) outcome: Outcome,
    pub(super) text: String,
    pub(super) record: Record,
    pub(super) tokens: Option<u64>,
    pub(super) cost_usd: Option<f64>,
}

/// Starts the provider and follows its run to the end.
///
/// # Errors
/// A refusal if the provider could not be started, or the attempt's lease is gone.
pub(super) async fn run(
    inner: &Arc<Inner>,
    activation: &Activation,
    prepared: &Prepared,
    grants: Arc<RunGrants>,
    stopped: &mut watch::Receiver<Option<CancelReason>>,
) -> Result<Supervised, Refusal> {
    let mut record = Record::begin(inner, activation, prepared).map_err(|error| {
        Refusal::retryable(format!("the run folder: {}", crate::ops::chain(&error)))
    })?;
    let request = prepared.request(&record, Arc::clone(&grants));
    crate::failpoint::hit("R3");
    let started = prepared.provider.start(request).await;
    crate::failpoint::hit("R4");
    let stored = inner
        .store
        .start_run(
            &activation.id,
            activation.run_lease,
            record.row(),
            random::now(),
        )
        .await;
    if let Err(error) = stored {
        // Dropping what was started ends it; its folder says so.
        drop(started);
        record.end(
            &Outcome::Stopped(CancelReason::LostLease),
            "",
            random::now(),
        );
        return Err(match error {
            StoreError::LeaseLost => Refusal::final_("the lease was lost"),
            other => Refusal::retryable(crate::ops::chain(&other)),
        });
    }
    let mut following = Following::default();
    let to_its_end = async {
        crate::failpoint::hit("R5");
        match started {
            Ok(run) => {
                following
                    .follow(run, prepared, &mut record, &grants, stopped)
                    .await
            }
            Err(error) => Ended::lost(&error),
        }
    };
    let ended = guarded(to_its_end).await.unwrap_or_else(|defect| {
        tracing::error!(activation = %activation.id, %defect, "a run panicked");
        Ended::broken(&defect)
    });
    record.end(&ended.outcome, &ended.text, random::now());
    let saved = inner
        .store
        .put_run(record.row(), Some(activation.run_lease))
        .await;
    if let Err(error) = saved {
        tracing::warn!(activation = %activation.id, %error, "the index of runs could not be written");
    }
    Ok(Supervised {
        outcome: ended.outcome,
        text: ended.text,
        tokens: following.tokens,
        cost_usd: following.cost_usd,
        record,
    })
}

struct Ended {
    outcome: Outcome,
    text: String,
}

impl Ended {
    fn broken(defect: &Defect) -> Self {
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

    fn lost(error: &ProviderError) -> Self {
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

#[derive(Default)]
struct Following {
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl Following {
    async fn follow(
        &mut self,
        mut run: Box<dyn Run>,
        prepared: &Prepared,
        record: &mut Record,
        grants: &RunGrants,
        stopped: &mut watch::Receiver<Option<CancelReason>>,
    ) -> Ended {
        let wall = Instant::now() + prepared.limits.wall;
        let mut quiet = Instant::now();
        let mut given_up: Option<Instant> = None;
        let mut ended = None;
        loop {
            let idle = prepared.limits.idle.map_or(wall, |idle| quiet + idle);
            let deadline = given_up.unwrap_or(wall.min(idle));
            let event = tokio::select! {
                event = run.next() => event,
                why = reason(stopped), if given_up.is_none() => {
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
                () = tokio::time::sleep(HEARTBEAT) => {
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
                        record.proposed(value, &grants.take(&value.to_string()), random::now());
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
