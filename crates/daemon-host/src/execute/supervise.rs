//! The run of an attempt, under its lease.

use std::sync::Arc;

use daemon_engine::Activation;
use daemon_provider::{CancelReason, Outcome};
use daemon_store::StoreError;
use tokio::sync::{mpsc, watch};

use super::Refusal;
use super::grants::RunGrants;
use super::host_tools::HostTools;
use super::place::Prepared;
use crate::defect::guarded;
use crate::driver::Inner;
use crate::random;
use crate::runs::{Course, Ended, Following, Record};

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
    // Taken back when the run is over: whoever still holds the token can do nothing more.
    let host_tools = HostTools::of(inner, prepared, &grants);
    let secret = host_tools.as_ref().map(HostTools::secret);
    let begun = super::folder::begin(inner, activation, prepared, secret);
    let mut record = begun.map_err(|error| {
        Refusal::retryable(format!("the run folder: {}", crate::ops::chain(&error)))
    })?;
    let mut request = prepared.request(&record, Arc::clone(&grants));
    if let Some(host_tools) = &host_tools {
        host_tools.mount(&mut request, &record);
    }
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
    // Nobody can send a message to an attempt.
    let (_, mut messages) = mpsc::channel(1);
    let verdict = |line: &str| grants.take(line);
    let course = Course {
        limits: &prepared.limits,
        verdict: &verdict,
        stopped,
        messages: &mut messages,
    };
    let to_its_end = async {
        crate::failpoint::hit("R5");
        match started {
            Ok(run) => following.follow(run, &mut record, course).await,
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
