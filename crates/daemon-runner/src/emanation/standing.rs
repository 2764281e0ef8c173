//! Runs of standing daemons: each is started once, has the tools of the roster, and is woken by messages.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use daemon_provider::{FollowUps, Grants, McpUse};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_run_folder::{Document, DocumentReading, Folder, RunError, RunId, StopReason};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::call::{Ask, Caller, Emanate, PlaceChoice, Rank, Task, Which};
use super::running::session;
use super::{ask, dispatch, plan, reclaim};
use crate::run_context::RunContext;

/// The longest turn of a standing daemon.
const TURN: Duration = Duration::from_secs(3_600);
/// The most model turns between two wakes.
const MODEL_TURNS: u32 = 1_000;

/// A standing daemon to start.
#[derive(Clone, Debug)]
pub struct StandingOrder {
    /// By which its run is found again.
    pub nonce: String,
    /// The provider; `None` for that of the policy.
    pub provider: Option<String>,
    /// The directory of its project.
    pub directory: PathBuf,
    /// What its agent reads first.
    pub packet: String,
}

/// What the run of a standing daemon does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingState {
    /// Its agent works, or its first process starts.
    Working,
    /// Its agent can be woken.
    Waiting,
    /// Its agent can be woken; its last process ended with the host.
    CutOff,
    /// Its process ended before it had a session, so that nothing can be resumed.
    Lost,
}

/// The result of a line for a standing daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingReply {
    /// Its agent reads it, now or after its present turn.
    Taken,
    /// Another line waits, or its first process has no session yet.
    Busy,
    /// It cannot be woken.
    Gone,
}

/// How the run of a standing daemon was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingEnd {
    /// It ended.
    Ended,
    /// It was not running.
    Gone,
    /// A process of it may still exist.
    Pending,
}

/// Returns the address of a standing daemon as the parent of its run. No caller can name such a parent.
fn parent(nonce: &str) -> String {
    format!("daemon:{nonce}")
}

fn caller(parent: String) -> Caller {
    Caller {
        parent,
        cwd: None,
        rank: Rank::Owner,
    }
}

/// Returns the host as a caller; it names runs by their full ids.
fn host() -> Caller {
    caller("daemon:".to_owned())
}

/// Gives the run of a standing daemon its tools, from its next turn on.
pub fn grant(run_context: &RunContext, nonce: &str, tools: Arc<dyn Grants>) {
    run_context.emanations.grant(parent(nonce), tools);
}

/// Takes the tools of a standing daemon back.
pub fn revoke(run_context: &RunContext, nonce: &str) {
    run_context.emanations.revoke(&parent(nonce));
}

/// Reports whether a provider can run standing daemons: its program is installed, resumes sessions, and uses MCP servers.
pub fn is_harness(run_context: &RunContext, name: &str) -> bool {
    let settings = run_context.host.settings();
    let configured = settings.providers.get(plan::canonical(name));
    settings.tools.is_some()
        && configured.is_some_and(|configured| {
            let provider = &configured.provider;
            let uses_servers = matches!(provider.mcp(), McpUse::ByProgram | McpUse::ByFile);
            let is_able = provider.follow_ups() == FollowUps::Resumes && uses_servers;
            is_able && provider.is_installed()
        })
}

/// Starts the run of a standing daemon in a work tree of its own. Its tools were granted before.
///
/// # Errors
/// The run cannot be started; no folder stays then.
pub async fn start(run_context: &Arc<RunContext>, order: StandingOrder) -> Result<RunId, OpError> {
    let caller = caller(parent(&order.nonce));
    let emanate = Emanate {
        backend: order.provider,
        max_turns: MODEL_TURNS,
        timeout: TURN,
        tasks: vec![Task {
            task: order.packet,
            cwd: Some(order.directory),
            isolation: Some(PlaceChoice::Own),
            ..Task::default()
        }],
        wait: None,
    };
    let reply = dispatch::emanate(run_context, &caller, emanate, Vec::new()).await?;
    let id = reply.get("run_ids").and_then(|ids| ids.get(0));
    let id = id.and_then(Value::as_str).and_then(|id| id.parse().ok());
    id.ok_or_else(|| OpError::new(OpErrorKind::Internal, "internal", "the run has no id"))
}

/// Returns the newest run that was started with a nonce. It blocks.
///
/// # Errors
/// The run folders cannot be listed.
pub fn find(run_context: &RunContext, nonce: &str) -> io::Result<Option<RunId>> {
    let parent = parent(nonce);
    let folders = Folder::list(&run_context.paths.runs).map_err(io::Error::other)?;
    let mut own = folders.into_iter().filter(|folder| {
        matches!(folder.read(), Ok(DocumentReading::Known(document)) if document.parent_addr == parent)
    });
    Ok(own.next().map(|folder| folder.id()))
}

/// Returns what the run of a standing daemon does. It blocks.
pub fn state(run_context: &RunContext, run: RunId) -> StandingState {
    if run_context.emanations.is_live(run) {
        return StandingState::Working;
    }
    match Folder::new(&run_context.paths.runs, run).read() {
        Ok(DocumentReading::Known(document)) => state_of(&document),
        Ok(DocumentReading::Newer(_) | DocumentReading::Broken(_)) | Err(_) => StandingState::Lost,
    }
}

/// Returns when the run of a standing daemon had its last event; `None` while its agent does not work. It blocks.
pub fn last_event(run_context: &RunContext, run: RunId) -> Option<Timestamp> {
    if !run_context.emanations.is_live(run) {
        return None;
    }
    let folder = Folder::new(&run_context.paths.runs, run);
    let written = std::fs::metadata(folder.events()).and_then(|file| file.modified());
    written.ok()?.try_into().ok()
}

fn state_of(document: &Document) -> StandingState {
    if session(document).is_none() {
        return StandingState::Lost;
    }
    let error = match document.followups.last() {
        Some(last) => last.error.as_ref(),
        None => document.error.as_ref(),
    };
    let (_, orphaned) = RunError::orphaned();
    let ended_with_host =
        |error: &RunError| error.kind == orphaned.kind || error.is_stop(StopReason::AgentStop);
    match error {
        Some(error) if ended_with_host(error) => StandingState::CutOff,
        _ => StandingState::Waiting,
    }
}

/// Sends a line to the agent of a standing daemon, which wakes it.
///
/// # Errors
/// The line could not be stored, or the policy forbids it.
pub async fn say(
    run_context: &Arc<RunContext>,
    run: RunId,
    line: &str,
) -> Result<StandingReply, OpError> {
    let message = Ask {
        id: run.to_string(),
        message: line.to_owned(),
    };
    let is_busy = |reply: &Map<String, Value>| reply.get("status") == Some(&"busy".into());
    match ask::ask(run_context, &host(), &message).await {
        Ok(reply) if is_busy(&reply) => Ok(StandingReply::Busy),
        Ok(_) => Ok(StandingReply::Taken),
        Err(error) => {
            let context = Arc::clone(run_context);
            let state = tokio::task::spawn_blocking(move || state(&context, run)).await;
            match state {
                Ok(StandingState::Lost) => Ok(StandingReply::Gone),
                Ok(StandingState::Working) => Ok(StandingReply::Busy),
                _ => Err(error),
            }
        }
    }
}

/// Ends the run of a standing daemon, if it runs.
///
/// # Errors
/// The run cannot be stopped.
pub async fn close(
    run_context: &Arc<RunContext>,
    run: RunId,
    grace: Duration,
) -> Result<StandingEnd, OpError> {
    if !run_context.emanations.is_live(run) {
        return Ok(StandingEnd::Gone);
    }
    let which = Which::One(run.to_string());
    let reply = reclaim::reclaim(run_context, &host(), &which, grace).await?;
    Ok(match reply.get("pending").and_then(Value::as_u64) {
        Some(0) => StandingEnd::Ended,
        _ => StandingEnd::Pending,
    })
}
