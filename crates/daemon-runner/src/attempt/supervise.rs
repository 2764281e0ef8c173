//! The run of an attempt, under its lease.

use std::sync::Arc;

use daemon_engine::Activation;
use daemon_provider::{McpUse, Outcome, RunEvent, StopReason};
use daemon_store::StoreError;
use tokio::sync::{mpsc, watch};

use super::AttemptRefusal;
use super::grants::RunGrants;
use super::place::Prepared;
use super::servers::{Patience, Recorder, RunServers, Terms};
use super::spool::Spool;
use crate::defect::guarded;
use crate::run_context::RunContext;
use crate::runs::{Course, Following, Record, TurnEnd};
use crate::servers::Servers;
use crate::settings::{RunSettings, usual_environment};
use crate::tool_access::RunTools;

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
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    grants: Arc<RunGrants>,
    stopped: &mut watch::Receiver<Option<StopReason>>,
) -> Result<Supervised, AttemptRefusal> {
    // Taken back when the run is over: whoever still holds the token can do nothing more.
    let settings = run_context.host.settings();
    let mut host_tools = host_tools(&settings, prepared, &grants);
    let known = settings.servers.clone();
    let granted = known.of(&prepared.servers);
    let secrets = granted.iter().flat_map(|server| server.secrets.clone());
    let token = host_tools.as_ref().map(|tools| tools.secret().to_owned());
    let secrets = secrets.chain(token);
    let begun = super::folder::begin(run_context, activation, prepared, secrets.collect());
    let mut record = begun.map_err(|error| {
        AttemptRefusal::retryable(format!("the run folder: {}", crate::error::chain(&error)))
    })?;
    let spool = Spool::open(&record.spool());
    let mut request = prepared.request(&record, Arc::clone(&grants));
    match &mut host_tools {
        None => record_unreachable(prepared, &mut record),
        Some(host_tools) => {
            if let Err(error) = host_tools.mount(&mut request, &record.private()) {
                record.discard();
                return Err(AttemptRefusal::retryable(format!(
                    "the tools of the run: {error}"
                )));
            }
        }
    }
    let servers = grants.serve(RunServers::new(terms(
        run_context,
        prepared,
        known,
        record.id(),
    )));
    let mut beside = servers.hearing();
    crate::failpoint::hit("R3");
    let started = prepared.provider.start(request).await;
    crate::failpoint::hit("R4");
    let stored = run_context
        .store
        .start_run(
            &activation.id,
            activation.run_lease,
            record.row(),
            run_context.now(),
        )
        .await;
    if let Err(error) = stored {
        // Dropping what was started ends it; its folder says so.
        drop(started);
        servers.close().await;
        let lost = Outcome::Stopped(StopReason::LostLease);
        record.end(&lost, "", &run_context.lifetime.stop).await;
        return Err(match error {
            StoreError::LeaseLost => AttemptRefusal::final_("the lease was lost"),
            other => AttemptRefusal::retryable(crate::error::chain(&other)),
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
                match &mut host_tools {
                    None => followed.await,
                    Some(tools) => tokio::select! {
                        ended = followed => ended,
                        () = tools.serve() => unreachable!("it does not end"),
                    },
                }
            }
            Err(error) => TurnEnd::lost(&error),
        }
    };
    let ended = guarded(to_its_end).await.unwrap_or_else(|defect| {
        tracing::error!(activation = %activation.id, %defect, "a run panicked");
        TurnEnd::broken(&defect)
    });
    // What happened before the end is recorded before it, also of a run that never began.
    while let Ok(event) = beside.try_recv() {
        record.event(&event);
    }
    // Nothing that was started for the run is there when it is told to be over.
    servers.close().await;
    record
        .end(&ended.outcome, &ended.text, &run_context.lifetime.stop)
        .await;
    let saved = run_context
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

/// Opens the access to the tools of the run, if its provider passes MCP servers to a program and a host listens.
fn host_tools(
    settings: &RunSettings,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
) -> Option<Box<dyn RunTools>> {
    match prepared.provider.mcp() {
        McpUse::ByProgram => {}
        // It reads state and writes outputs by files; only granted servers need the access.
        McpUse::ByFile if !prepared.servers.is_empty() => {}
        McpUse::ByFile | McpUse::ByProvider | McpUse::Nobody => return None,
    }
    let grants = Arc::clone(grants);
    settings
        .tools
        .as_ref()?
        .open(grants, prepared.sandbox.level)
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
        record.event(&event);
    }
}

/// Says how the run's servers are begun, and who records that it uses them.
fn terms(run_context: &RunContext, prepared: &Prepared, servers: Servers, run: String) -> Terms {
    Terms {
        servers,
        names: prepared.servers.clone(),
        permissions: prepared.permissions,
        run,
        environment: usual_environment().into(),
        directory: run_context.paths.servers.clone(),
        recorder: match prepared.provider.mcp() {
            McpUse::ByFile => Recorder::Host,
            McpUse::ByProvider | McpUse::ByProgram | McpUse::Nobody => Recorder::Provider,
        },
        patience: Patience::default(),
    }
}
