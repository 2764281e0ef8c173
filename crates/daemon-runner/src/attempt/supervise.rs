//! Carrying out the run of an attempt while the attempt holds its lease.

use std::sync::Arc;

use daemon_engine::Activation;
use daemon_provider::tool_access::{RunTools, ServedTools};
use daemon_provider::{McpUse, Outcome, ProviderError, Run, RunEvent, RunRequest, StopReason};
use daemon_run_folder::{FolderError, UnsyncedStart};
use daemon_store::StoreError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinError;

use super::AttemptRefusal;
use super::grants::RunGrants;
use super::place::{Prepared, RunPlace};
use super::spool::Spool;
use crate::defect::guarded;
use crate::run_context::RunContext;
use crate::runs::{Following, Record, RunInputs, TurnEnd};
use crate::servers::{self, Origin, Recorder, RunServers, ServerTimeouts, Servers, Terms, WAITING};
use crate::settings::{RunSettings, usual_environment};

/// The end of a run and its record, both without secrets.
pub(super) struct Supervised {
    pub(super) outcome: Outcome,
    pub(super) text: String,
    pub(super) record: Record,
    pub(super) place: RunPlace,
    /// The proposals that its processes wrote; `None` if the file could not be opened before the start.
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
    let (unstarted, place) = begin(run_context, activation, prepared, &grants).await?;
    let started = start(run_context, activation, prepared, &grants, unstarted).await;
    let (started, mut run) = match started {
        Ok(started) => started,
        Err(refusal) => {
            super::remove(run_context, place).await;
            return Err(refusal);
        }
    };
    let mut following = Following::default();
    // An attempt takes no messages: the sender is dropped at once.
    let (_, mut messages) = mpsc::channel(1);
    let verdict = |line: &str| grants.take(line);
    let inputs = RunInputs {
        limits: &prepared.limits,
        verdict: &verdict,
        stopped,
        messages: &mut messages,
        host_events: &mut run.host_events,
    };
    let to_its_end = follow(
        started,
        &mut following,
        &mut run.record,
        inputs,
        run.host_tools.as_mut_slice(),
    );
    let ended = guarded(to_its_end).await.unwrap_or_else(|defect| {
        tracing::error!(activation = %activation.id, %defect, "a run panicked");
        TurnEnd::broken(&defect)
    });
    // Events that the host sent before the end are recorded before it, even if the run never started.
    while let Ok(event) = run.host_events.try_recv() {
        run.record.event(&event);
    }
    // The servers end before the run is recorded as ended, so that nothing of it runs after its end.
    grants.close_servers().await;
    run.record
        .end(&ended.outcome, &ended.text, &run_context.lifetime.stop)
        .await;
    store_end(run_context, &run.record).await;
    // The end of the attempt is stored and shown, so that it gets the redacted strings, too.
    let (outcome, text) = run.record.redacted(&ended.outcome, &ended.text);
    Ok(Supervised {
        outcome,
        text,
        tokens: following.tokens,
        cost_usd: following.cost_usd,
        record: run.record,
        place,
        spool: run.spool.ok(),
    })
}

/// Starts the provider, and stores the row of the run.
///
/// # Errors
/// A refusal if the folder cannot be written, or the attempt's lease is gone.
async fn start(
    run_context: &RunContext,
    activation: &Activation,
    prepared: &Prepared,
    grants: &RunGrants,
    unstarted: UnstartedRun,
) -> Result<(StartedProvider, BegunRun), AttemptRefusal> {
    let UnstartedRun {
        run,
        unsynced,
        request,
    } = unstarted;
    // A crash between the folder and the start leaves a folder without a process, which the next start ends as an orphan.
    daemon_records::failpoint::hit("R3");
    // The disk and the start of a process take milliseconds each. The row of the run is stored when both are done; if the machine
    // crashes before that, neither the process nor a row is left.
    let synced = tokio::task::spawn_blocking(move || unsynced.sync());
    let started = prepared.provider.start(request).await;
    daemon_records::failpoint::hit("R4");
    if let Err(reason) = written(synced.await) {
        drop(started);
        grants.close_servers().await;
        run.record.discard();
        return Err(AttemptRefusal::retryable(reason));
    }
    if let Err(refusal) = store_start(run_context, activation, &run.record).await {
        abandon(run_context, started, grants, run.record).await;
        return Err(refusal);
    }
    Ok((started, run))
}

/// Returns why the start of a run may not be on disk.
fn written(synced: Result<Result<(), FolderError>, JoinError>) -> Result<(), String> {
    match synced {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(unwritten(&error)),
        Err(error) => Err(format!("writing the run folder panicked: {error}")),
    }
}

fn unwritten(error: &dyn std::error::Error) -> String {
    format!("the run folder: {}", daemon_records::error::chain(error))
}

type StartedProvider = Result<Box<dyn Run>, ProviderError>;

/// A run with its folder, and everything that it starts with.
struct UnstartedRun {
    run: BegunRun,
    unsynced: UnsyncedStart,
    request: RunRequest,
}

/// A run that has a folder.
struct BegunRun {
    record: Record,
    spool: std::io::Result<Spool>,
    /// The access of the run's program to the host's tools; dropped with the run, so that its token is worthless then.
    host_tools: Option<Box<dyn RunTools>>,
    host_events: mpsc::Receiver<RunEvent>,
}

/// Makes the work tree of the run, and meanwhile its folder; then its servers and its request.
async fn begin(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
) -> Result<(UnstartedRun, RunPlace), AttemptRefusal> {
    // Each takes milliseconds of the disk. The first begins on another thread.
    let (place, foldered) = tokio::join!(
        super::checkout::place(run_context, activation, prepared),
        async { folder(run_context, activation, prepared, grants) },
    );
    let (place, foldered) = match (place, foldered) {
        (Ok(place), Ok(foldered)) => (place, foldered),
        (Err(refusal), foldered) => {
            if let Ok(foldered) = foldered {
                foldered.record.discard();
            }
            return Err(refusal);
        }
        (Ok(place), Err(refusal)) => {
            super::remove(run_context, place).await;
            return Err(refusal);
        }
    };
    match unstarted(run_context, prepared, &place, grants, foldered) {
        Ok(unstarted) => Ok((unstarted, place)),
        Err(refusal) => {
            super::remove(run_context, place).await;
            Err(refusal)
        }
    }
}

/// The folder of a run, and its access to the host's tools.
struct RunFolder {
    record: Record,
    unsynced: UnsyncedStart,
    host_tools: Option<Box<dyn RunTools>>,
}

/// Makes the folder of a run and its access to the host's tools.
fn folder(
    run_context: &Arc<RunContext>,
    activation: &Activation,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
) -> Result<RunFolder, AttemptRefusal> {
    let settings = &prepared.settings;
    let host_tools = host_tools(settings, prepared, grants);
    let token = host_tools.as_ref().map(|tools| tools.secret().to_owned());
    let granted = settings.servers.of(&prepared.policy.mcp);
    let secrets = granted.into_iter().flat_map(|server| server.secrets);
    // The redactor must know every secret before the first file of the run is written.
    let secrets = secrets.chain(token).collect();
    let begun = super::folder::begin(run_context, activation, prepared, secrets);
    let (record, unsynced) = begun.map_err(|error| AttemptRefusal::retryable(unwritten(&error)))?;
    Ok(RunFolder {
        record,
        unsynced,
        host_tools,
    })
}

/// Makes the servers of a run and its request.
fn unstarted(
    run_context: &Arc<RunContext>,
    prepared: &Prepared,
    place: &RunPlace,
    grants: &Arc<RunGrants>,
    foldered: RunFolder,
) -> Result<UnstartedRun, AttemptRefusal> {
    let RunFolder {
        mut record,
        unsynced,
        mut host_tools,
    } = foldered;
    // Opened before any process of the run exists that could replace the file.
    let spool = Spool::open(&record.spool());
    grants.guard(record.redactor().clone());
    let tools = host_tools.as_mut();
    let request = match request((prepared, place), grants, tools, &mut record) {
        Ok(request) => request,
        Err(error) => {
            record.discard();
            let reason = format!("the tools of the run: {error}");
            return Err(AttemptRefusal::retryable(reason));
        }
    };
    let known = prepared.settings.servers.clone();
    let chosen = known.of(&prepared.policy.mcp);
    let terms = terms(run_context, prepared, known, record.id());
    let (events, host_events) = mpsc::channel(WAITING);
    grants.serve(RunServers::new(terms, chosen, events));
    let run = BegunRun {
        host_events,
        record,
        spool,
        host_tools,
    };
    Ok(UnstartedRun {
        run,
        unsynced,
        request,
    })
}

/// Makes the request of the run, with the host's tools if its program can use them.
fn request(
    (prepared, place): (&Prepared, &RunPlace),
    grants: &Arc<RunGrants>,
    host_tools: Option<&mut Box<dyn RunTools>>,
    record: &mut Record,
) -> std::io::Result<RunRequest> {
    let mut request = prepared.request(place, record, Arc::clone(grants));
    for event in prepared.unused_instructions() {
        record.event(&event);
    }
    match host_tools {
        None => record_unreachable(prepared, record),
        Some(host_tools) => {
            let private = record.private();
            host_tools.mount(&mut request, &private, ServedTools::OfHost)?;
            request.private = Some(private);
        }
    }
    Ok(request)
}

/// Stores the row of a run that has started, if the attempt still has its lease.
async fn store_start(
    run_context: &RunContext,
    activation: &Activation,
    record: &Record,
) -> Result<(), AttemptRefusal> {
    let (lease, row) = (activation.run_lease, record.row());
    let stored = run_context
        .store
        .start_run(&activation.id, lease, row, run_context.now());
    stored.await.map_err(|error| match error {
        StoreError::LeaseLost => AttemptRefusal::final_("the lease was lost"),
        other => AttemptRefusal::retryable(daemon_records::error::chain(&other)),
    })
}

/// Ends a run whose attempt lost its lease while it started.
async fn abandon(
    run_context: &RunContext,
    started: StartedProvider,
    grants: &RunGrants,
    mut record: Record,
) {
    // Dropping the run ends its processes.
    drop(started);
    grants.close_servers().await;
    let lost = Outcome::Stopped(StopReason::LostLease);
    record.end(&lost, "", &run_context.lifetime.stop).await;
    store_end(run_context, &record).await;
}

/// Stores the row of a run that has ended, also if its attempt has lost the lease. The folder is the record, so that a failure
/// is only logged.
async fn store_end(run_context: &RunContext, record: &Record) {
    let Some(end) = record.end_of_row() else {
        return;
    };
    let id = record.id();
    if let Err(error) = run_context.store.end_run(&id, end).await {
        tracing::warn!(run = id, %error, "the index of runs could not be written");
    }
}

/// Follows a started run to its end, and serves the host's tools to its program meanwhile.
async fn follow(
    started: StartedProvider,
    following: &mut Following,
    record: &mut Record,
    inputs: RunInputs<'_>,
    host_tools: &mut [Box<dyn RunTools>],
) -> TurnEnd {
    daemon_records::failpoint::hit("R5");
    let run = match started {
        Ok(run) => run,
        Err(error) => return TurnEnd::lost(&error),
    };
    tokio::select! {
        ended = following.follow(run, record, inputs) => ended,
        () = servers::serve(host_tools) => unreachable!("it does not end"),
    }
}

/// Opens the host's tool access of the run. `None` if its provider starts no program that uses it, or no host listens.
fn host_tools(
    settings: &RunSettings,
    prepared: &Prepared,
    grants: &Arc<RunGrants>,
) -> Option<Box<dyn RunTools>> {
    match prepared.provider.mcp() {
        McpUse::ByProgram => {}
        // Such a program reads state and writes outputs by files; only granted servers need the access.
        McpUse::ByFile if !prepared.policy.mcp.is_empty() => {}
        McpUse::ByFile | McpUse::ByProvider | McpUse::Nobody => return None,
    }
    let grants = Arc::clone(grants);
    settings
        .tools
        .as_ref()?
        .open(grants, prepared.sandbox.level)
}

/// Records that a program does not get its granted tools because no host listens.
fn record_unreachable(prepared: &Prepared, record: &mut Record) {
    let is_program = match prepared.provider.mcp() {
        McpUse::ByFile | McpUse::ByProgram => true,
        McpUse::ByProvider | McpUse::Nobody => false,
    };
    if is_program && !prepared.policy.mcp.is_empty() {
        let event = RunEvent::Limit {
            name: "mcp".to_owned(),
            detail: "no host listens, so that the program cannot reach its granted servers"
                .to_owned(),
        };
        record.event(&event);
    }
}

/// Returns the settings of the run's servers.
fn terms(run_context: &RunContext, prepared: &Prepared, servers: Servers, run: String) -> Terms {
    Terms {
        origin: Origin::Granted {
            servers,
            permissions: prepared.policy.permissions,
            environment: usual_environment().into(),
            directory: run_context.paths.servers.clone(),
        },
        run,
        recorder: match prepared.provider.mcp() {
            McpUse::ByFile => Recorder::Host,
            McpUse::ByProvider | McpUse::ByProgram | McpUse::Nobody => Recorder::Provider,
        },
        timeouts: ServerTimeouts::default(),
    }
}
