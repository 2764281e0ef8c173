//! `ask`: a message to a run, now or after its first turn.

use std::sync::Arc;

use daemon_provider::{FollowUps, Limits};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_run_folder::{Document, DocumentReading, Folder, RunId, StopReason};
use serde_json::{Map, Value};

use super::call::{Ask, Caller, Emanate, Rank, Task};
use super::fault::{self, no_message};
use super::find::{self, unreadable};
use super::live::Sent;
use super::own_place::PlaceRecord;
use super::plan::{self, Plan};
use super::running::{StartedRun, session};
use super::tools::{Tools, ToolsFrom};
use crate::run_context::RunContext;
use crate::runs::{Question, Receipt, Record};

/// Sends a message to a run.
///
/// # Errors
/// The run does not exist, or takes no messages.
pub(super) async fn ask(
    run_context: &Arc<RunContext>,
    caller: &Caller,
    ask: &Ask,
) -> Result<Map<String, Value>, OpError> {
    let runs = run_context.paths.runs.clone();
    let live = |name| run_context.emanations.find(&caller.parent, name);
    let found = find::find(&runs, &ask.id, &caller.parent, live)?;
    let folder = found.unambiguous(&ask.id)?;
    let document = document(&folder)?;
    refuse_activation(&document)?;
    refuse_reclaimed(&document)?;
    let settings = run_context.host.settings();
    let configured = settings.providers.get(&document.backend);
    let follow_ups = configured.map_or(FollowUps::None, |configured| {
        configured.provider.follow_ups()
    });
    match follow_ups {
        FollowUps::None => return Err(no_message("not supported")),
        // An active run may still report its session; a run that ended without one can never reply.
        FollowUps::Resumes if session(&document).is_none() => {
            return Err(no_message(if document.state.is_terminal() {
                "not supported"
            } else {
                "still initializing"
            }));
        }
        FollowUps::Joins | FollowUps::Resumes => {}
    }
    match (
        run_context.emanations.send(folder.id(), &ask.message),
        follow_ups,
    ) {
        // Confirmed only after it is durable: then its reply is recorded and published even if the host dies.
        (Sent::Handed(receipt), _) => match (receipt.await, follow_ups) {
            (Ok(Receipt::Recorded), _) => Ok(sent(&ask.id, wait(&document))),
            (Err(_), FollowUps::Joins) => Err(no_message("not running")),
            (Ok(Receipt::Lost) | Err(_), _) => Err(unwritten(&folder)),
        },
        (Sent::Busy, _) => Ok(busy(&ask.id)),
        (Sent::Reclaimed, _) => Err(no_message("reclaimed")),
        (Sent::RunIsGone, FollowUps::Resumes) => resume(run_context, folder, ask).await,
        (Sent::RunIsGone, _) => Err(no_message("not running")),
    }
}

/// Sends a message to a run of a parent that has not ended, in the name of another run of it.
///
/// # Errors
/// Says why the run did not take it.
pub async fn deliver(
    run_context: &RunContext,
    parent: &str,
    to: RunId,
    text: &str,
) -> Result<(), String> {
    let emanations = &run_context.emanations;
    if emanations.parent(to).as_deref() != Some(parent) {
        return Err(format!("no run `{to}` of the same parent runs"));
    }
    match emanations.send(to, text) {
        Sent::Handed(receipt) => match receipt.await {
            Ok(Receipt::Recorded) => Ok(()),
            Ok(Receipt::Lost) | Err(_) => Err(format!("the run `{to}` takes no message")),
        },
        Sent::Busy => Err(format!("another message waits for the run `{to}`")),
        Sent::Reclaimed | Sent::RunIsGone => Err(format!("the run `{to}` has ended")),
    }
}

/// Refuses a message to a run that was reclaimed.
fn refuse_reclaimed(document: &Document) -> Result<(), OpError> {
    let error = document.error.as_ref();
    if error.is_some_and(|error| error.is_stop(StopReason::Reclaim)) {
        return Err(no_message("reclaimed"));
    }
    Ok(())
}

/// Makes the error for a message that could not be stored.
fn unwritten(folder: &Folder) -> OpError {
    let message = format!("the message to {} could not be written", folder.id());
    OpError::new(OpErrorKind::Broken, "folder", message)
        .with_help("the host's log says why; send it again")
}

/// Reads a run's document.
pub(super) fn document(folder: &Folder) -> Result<Document, OpError> {
    match folder.read().map_err(|error| unreadable(&error))? {
        DocumentReading::Known(document) => Ok(*document),
        DocumentReading::Newer(_) | DocumentReading::Broken(_) => Err(OpError::new(
            OpErrorKind::Conflict,
            "folder",
            format!("the folder of {} cannot be used", folder.id()),
        )),
    }
}

/// Refuses a run that is an attempt at an activation.
pub(super) fn refuse_activation(document: &Document) -> Result<(), OpError> {
    match &document.activation {
        None => Ok(()),
        Some(link) => Err(OpError::invalid(format!(
            "{} belongs to activation {}",
            document.run_id, link.activation_id
        ))),
    }
}

/// Starts to answer a message to a run that has ended, possibly under an earlier host.
async fn resume(
    run_context: &Arc<RunContext>,
    folder: Folder,
    ask: &Ask,
) -> Result<Map<String, Value>, OpError> {
    let document = document(&folder)?;
    let id = folder.id();
    let caller = Caller {
        parent: document.parent_addr.clone(),
        cwd: None,
        rank: Rank::Parent,
    };
    let plan = plan_of(run_context, &caller, &folder, &document)?;
    let Some((channels, turn)) =
        run_context
            .emanations
            .begin_answer(id, &caller.parent, document.state)
    else {
        return Ok(busy(&ask.id));
    };
    // The lock fails while another process writes the folder.
    let clock = Arc::clone(&run_context.clock);
    let Ok(mut record) = Record::adopt(folder, plan.redactor([]), clock) else {
        run_context.emanations.forget(id);
        return Ok(busy(&ask.id));
    };
    // Stored before the provider starts: otherwise a run could act on a message that no record shows.
    let n = accept(&mut record).inspect_err(|_| run_context.emanations.forget(id))?;
    let text = ask.message.clone();
    let question = Question { n, text, turn };
    let mut begun = StartedRun {
        id,
        plan,
        record,
        channels,
    };
    let run_context = Arc::clone(run_context);
    let tasks = run_context.emanations.tasks.clone();
    tasks.spawn(async move {
        let answered =
            crate::defect::guarded(Box::pin(begun.answer_all(&run_context, Some(question)))).await;
        if let Err(defect) = answered {
            tracing::error!(run = %id, %defect, "answering a message panicked");
            run_context.emanations.forget(id);
        }
    });
    Ok(sent(&ask.id, Wait::Nothing))
}

/// Stores a message to an ended run, and returns its number.
///
/// The record holds the folder's lock, so that its state is final: a reclaim that had begun when `ask` read the document is
/// seen here. A later one stops the answer.
fn accept(record: &mut Record) -> Result<u32, OpError> {
    refuse_reclaimed(record.document())?;
    if !record.has_ended() {
        return Err(no_message("not running"));
    }
    let n = record.asked();
    n.ok_or_else(|| unwritten(record.folder()))
}

/// Plans the answer with the parameters of the run, under the current policy.
fn plan_of(
    run_context: &RunContext,
    caller: &Caller,
    folder: &Folder,
    document: &Document,
) -> Result<Plan, OpError> {
    let timeout = document.timeout_s.unwrap_or(3_600.0).max(0.0);
    let emanate = Emanate {
        backend: Some(document.backend.clone()),
        max_turns: document.max_turns.unwrap_or(100),
        timeout: std::time::Duration::try_from_secs_f64(timeout).unwrap_or(Limits::default().wall),
        tasks: Vec::new(),
        wait: None,
    };
    let mut faults = Vec::new();
    let common = plan::common(run_context, caller, &emanate, &mut faults);
    fault::refuse(&faults)?;
    let common = common.ok_or_else(|| no_message("not supported"))?;
    let cwd = document.call_parameters.get("cwd").and_then(Value::as_str);
    let place = PlaceRecord::read(folder);
    let place =
        place.map_err(|error| OpError::new(OpErrorKind::Conflict, "folder", error.to_string()))?;
    Ok(Plan {
        common,
        task: Task {
            task: document.task.clone(),
            cwd: cwd.map(Into::into),
            ..Task::default()
        },
        tools: Tools {
            asked: document.tools.clone(),
            given: document.tools.clone(),
            from: ToolsFrom::Host,
        },
        options: Vec::new(),
        skills: Vec::new(),
        mcp: Vec::new(),
        place,
    })
}

/// Whether a message has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Nothing,
    FirstTurn,
}

fn wait(document: &Document) -> Wait {
    if document.state.is_terminal() {
        Wait::Nothing
    } else {
        Wait::FirstTurn
    }
}

fn sent(id: &str, wait: Wait) -> Map<String, Value> {
    crate::runs::filled([
        ("status", "sent".into()),
        ("id", id.into()),
        ("async", true.into()),
        ("queued", (wait == Wait::FirstTurn).into()),
    ])
}

fn busy(id: &str) -> Map<String, Value> {
    crate::runs::filled([
        ("status", "busy".into()),
        ("id", id.into()),
        (
            "message",
            "another message is pending; its end is announced".into(),
        ),
    ])
}
