//! The run of an attempt, under its lease.

use std::sync::Arc;

use daemon_engine::Activation;
use daemon_provider::{McpUse, Outcome, RunEvent, StopReason};
use daemon_store::StoreError;
use tokio::sync::{mpsc, watch};

use super::Refusal;
use super::grants::RunGrants;
use super::host_tools::HostTools;
use super::place::{Prepared, usual_environment};
use super::servers::{Patience, Recorder, RunServers, Terms};
use super::spool::Spool;
use crate::defect::guarded;
use crate::driver::Inner;
use crate::random;
use crate::runs::{Course, Ended, Following, Record};
use crate::servers::Servers;

/// How a run ended, without its secrets, and its record.
pub(super) struct Supervised {
    pub(super) outcome: Outcome,
    pub(super) text: String,
    pub(super) record: Record,
    /// The proposals that its processes left.
    pub(super) spool: Option<Spool>,
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
    stopped: &mut watch::Receiver<Option<StopReason>>,
) -> Result<Supervised, Refusal> {
    // Taken back when the run is over: whoever still holds the token can do nothing more.
    let host_tools = HostTools::of(inner, prepared, &grants);
    let known = inner.runtime().parts.servers.clone();
    let granted = known.of(&prepared.servers);
    let secrets = granted.iter().flat_map(|server| server.secrets.clone());
    let secrets = secrets.chain(host_tools.as_ref().map(HostTools::secret));
    let begun = super::folder::begin(inner, activation, prepared, secrets.collect());
    let mut record = begun.map_err(|error| {
        Refusal::retryable(format!("the run folder: {}", crate::ops::chain(&error)))
    })?;
    let spool = Spool::open(&record.spool());
    let mut request = prepared.request(&record, Arc::clone(&grants));
    let pipes = match &host_tools {
        None => {
            record_unreachable(prepared, &mut record);
            None
        }
        Some(host_tools) => match host_tools.mount(&mut request, &record) {
            Ok(pipes) => pipes,
            Err(error) => {
                record.discard();
                return Err(Refusal::retryable(format!("the tools of the run: {error}")));
            }
        },
    };
    let servers = grants.serve(RunServers::new(terms(inner, prepared, known, record.id())));
    let mut beside = servers.hearing();
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
        servers.close().await;
        let lost = Outcome::Stopped(StopReason::LostLease);
        record.end(&lost, "", &inner.stop).await;
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
        beside: &mut beside,
    };
    let to_its_end = async {
        crate::failpoint::hit("R5");
        match started {
            Ok(run) => {
                let followed = following.follow(run, &mut record, course);
                match &host_tools {
                    None => followed.await,
                    Some(tools) => tokio::select! {
                        ended = followed => ended,
                        () = tools.serve(pipes) => unreachable!("it does not end"),
                    },
                }
            }
            Err(error) => Ended::lost(&error),
        }
    };
    let ended = guarded(to_its_end).await.unwrap_or_else(|defect| {
        tracing::error!(activation = %activation.id, %defect, "a run panicked");
        Ended::broken(&defect)
    });
    // What happened before the end is recorded before it, also of a run that never began.
    while let Ok(event) = beside.try_recv() {
        record.event(&event, random::now());
    }
    // Nothing that was started for the run is there when it is told to be over.
    servers.close().await;
    record.end(&ended.outcome, &ended.text, &inner.stop).await;
    let saved = inner
        .store
        .put_run(record.row(), Some(activation.run_lease))
        .await;
    if let Err(error) = saved {
        tracing::warn!(activation = %activation.id, %error, "the index of runs could not be written");
    }
    let (outcome, text) = record.told(&ended.outcome, &ended.text);
    Ok(Supervised {
        outcome,
        text,
        tokens: following.tokens,
        cost_usd: following.cost_usd,
        record,
        spool: spool.ok(),
    })
}

/// Records that a program gets no granted tools where no host listens for it.
fn record_unreachable(prepared: &Prepared, record: &mut Record) {
    let is_program = match prepared.provider.mcp() {
        McpUse::ByFile | McpUse::ByProgram => true,
        McpUse::ByProvider | McpUse::Nobody => false,
    };
    if is_program && !prepared.servers.is_empty() {
        let event = RunEvent::Limit {
            name: "mcp".to_owned(),
            detail: "no host listens, so that the program cannot reach its granted servers"
                .to_owned(),
        };
        record.event(&event, random::now());
    }
}

/// Says how the run's servers are begun, and who records that it uses them.
fn terms(inner: &Inner, prepared: &Prepared, servers: Servers, run: String) -> Terms {
    Terms {
        servers,
        names: prepared.servers.clone(),
        capability: prepared.capability,
        run,
        environment: usual_environment().into(),
        directory: inner.home.servers(),
        recorder: match prepared.provider.mcp() {
            McpUse::ByFile => Recorder::Host,
            McpUse::ByProvider | McpUse::ByProgram | McpUse::Nobody => Recorder::Provider,
        },
        patience: Patience::default(),
    }
}
