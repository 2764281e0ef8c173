//! The call object of the `daemon` tool, read and bounded.

use std::path::PathBuf;
use std::time::Duration;

use daemon_run_folder::RunState;
use serde_json::{Map, Value};

use super::fault::CallFault;
use super::fields::Fields;

/// The turns of a run where nothing else is asked, and the most.
const TURNS: (u64, u64) = (100, 1_000);
/// The shortest time of a run, and the longest, which is also the usual one.
const TIMEOUT: (f64, f64) = (5.0, 3_600.0);
/// The longest task.
const TASK_BYTES: usize = 256 * 1024;

/// What is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DaemonCall {
    /// Dispatch runs.
    Emanate(Emanate),
    /// List runs.
    List(List),
    /// Show one run.
    Check(CheckCall),
    /// Send a message to one run.
    Ask(Ask),
    /// Stop runs.
    Reclaim(Which),
}

/// Runs to dispatch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Emanate {
    /// The provider, as the caller spells it.
    pub(crate) backend: Option<String>,
    /// How many turns each may take.
    pub(crate) max_turns: u32,
    /// How long each may take.
    pub(crate) timeout: Duration,
    /// Each run's own part.
    pub(crate) tasks: Vec<Task>,
}

/// One run to dispatch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Task {
    pub(crate) task: String,
    pub(crate) system_prompt: Option<String>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) skills: Vec<String>,
    pub(crate) mcp: Vec<Value>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) preset: Option<String>,
    pub(crate) backend_options: Map<String, Value>,
}

/// What restricts a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List {
    pub(crate) contains: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) group_id: Option<String>,
    pub(crate) after_seq: Option<u64>,
    pub(crate) history: History,
    pub(crate) last: usize,
}

/// Whether ended runs are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    Included,
    Left,
}

/// Which run is shown, and how much of its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckCall {
    pub(crate) id: String,
    pub(crate) last: usize,
    /// The longest text of an event; `None` is without end.
    pub(crate) truncate: Option<usize>,
}

/// A message to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) id: String,
    pub(crate) message: String,
}

/// Which runs are stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    One(String),
    Group(String),
    OfCaller,
}

/// Who calls, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The address that runs are counted by.
    pub(crate) parent: String,
    /// The directory that is meant where a task names none.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) rank: Rank,
}

/// Whose runs a caller may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Its own.
    Parent,
    /// Any: it is who owns the host.
    Owner,
}

/// Takes out who calls; `own` is the address of a caller that names none.
pub(crate) fn caller(
    map: &mut Map<String, Value>,
    own: &str,
    faults: &mut Vec<CallFault>,
) -> Caller {
    let mut fields = Fields::new("", std::mem::take(map), faults);
    let parent = fields.text("parent_addr");
    let cwd = fields.path("cwd");
    *map = fields.rest();
    let parent = parent.unwrap_or_else(|| own.to_owned());
    if !is_address(&parent) {
        faults.push(CallFault::argument(
            "parent_addr must be `cli:` or `agent:` and a name, or `mcp:`, a name, `#` and 8 hexadecimal digits",
        ));
    }
    let rank = if parent == own {
        Rank::Owner
    } else {
        Rank::Parent
    };
    Caller { parent, cwd, rank }
}

fn is_address(text: &str) -> bool {
    let name = match text.strip_prefix("mcp:") {
        Some(client) => client
            .rsplit_once('#')
            .filter(|(_, connection)| is_connection(connection))
            .map(|(client, _)| client),
        None => ["cli:", "agent:"]
            .iter()
            .find_map(|kind| text.strip_prefix(kind)),
    };
    name.is_some_and(|name| (1..=128).contains(&name.len()) && !name.chars().any(char::is_control))
}

/// Reports whether a text tells one connection of a client from the others.
fn is_connection(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 8 && text.bytes().all(is_digit)
}

/// Reads what is called. What is wrong goes to `faults`; `None` where not even the action is known.
pub(crate) fn read(
    map: Map<String, Value>,
    caller: &Caller,
    faults: &mut Vec<CallFault>,
) -> Option<DaemonCall> {
    let mut fields = Fields::new("", map, faults);
    let action = fields.text("action");
    let call = match action.as_deref() {
        Some("emanate") => DaemonCall::Emanate(emanate(&mut fields, caller)),
        Some("list") => DaemonCall::List(list(&mut fields)),
        Some("check") => DaemonCall::Check(check(&mut fields)),
        Some("ask") => DaemonCall::Ask(ask(&mut fields)),
        Some("reclaim") => DaemonCall::Reclaim(which(&mut fields)),
        _ => {
            fields.fault("action must be emanate, list, check, ask or reclaim");
            return None;
        }
    };
    fields.finish();
    Some(call)
}

fn emanate(fields: &mut Fields<'_>, caller: &Caller) -> Emanate {
    let backend = fields.text("backend");
    let max_turns = max_turns(fields);
    let timeout = timeout(fields);
    let tasks = match fields.take("tasks") {
        Some(Value::Array(tasks)) => tasks,
        _ => Vec::new(),
    };
    if tasks.is_empty() {
        fields.fault("No tasks provided");
    }
    let tasks = tasks.into_iter().enumerate();
    let tasks = tasks.map(|(index, one)| task(&mut fields.of_task(index, one), caller));
    let tasks = tasks.collect();
    Emanate {
        backend,
        max_turns,
        timeout,
        tasks,
    }
}

fn max_turns(fields: &mut Fields<'_>) -> u32 {
    let (usual, most) = TURNS;
    let asked = match fields.take("max_turns") {
        None => Some(usual),
        Some(value) => value.as_u64().filter(|turns| *turns >= 1),
    };
    if asked.is_none() {
        fields.fault("max_turns must be an integer of at least 1");
    }
    u32::try_from(asked.unwrap_or(usual).min(most)).expect("the ceiling is small")
}

fn timeout(fields: &mut Fields<'_>) -> Duration {
    let (least, most) = TIMEOUT;
    let asked = match fields.take("timeout") {
        None => Some(most),
        Some(value) => value.as_f64().filter(|seconds| *seconds >= least),
    };
    if asked.is_none() {
        fields.fault("timeout must be a number of at least 5");
    }
    Duration::from_secs_f64(asked.unwrap_or(most).min(most))
}

fn task(fields: &mut Fields<'_>, caller: &Caller) -> Task {
    let at = fields.at().to_owned();
    let task = match fields.take("task") {
        Some(Value::String(task)) if !task.trim().is_empty() => task,
        _ => {
            fields.fault(format!("{at}: task is required"));
            String::new()
        }
    };
    if task.len() > TASK_BYTES {
        fields.fault(format!("{at}: task has more than {TASK_BYTES} bytes"));
    }
    let read = Task {
        task,
        system_prompt: fields
            .text("system_prompt")
            .filter(|text| !text.trim().is_empty()),
        tools: fields.texts("tools"),
        skills: fields.texts("skills").unwrap_or_default(),
        mcp: fields.values("mcp").unwrap_or_default(),
        cwd: fields.path("cwd").or_else(|| caller.cwd.clone()),
        preset: fields.text("preset"),
        backend_options: fields.object("backend_options").unwrap_or_default(),
    };
    fields.finish();
    read
}

fn list(fields: &mut Fields<'_>) -> List {
    List {
        contains: fields.text("contains"),
        status: status(fields),
        group_id: fields.text("group_id"),
        after_seq: fields.number("after_seq"),
        history: match fields.take("include_done") {
            None | Some(Value::Bool(true)) => History::Included,
            Some(Value::Bool(false)) => History::Left,
            Some(_) => {
                fields.fault("include_done must be true or false");
                History::Included
            }
        },
        last: last(fields, 50),
    }
}

/// Reads the state of the runs that are wanted; one that no run is ever in would list nothing, without a word.
fn status(fields: &mut Fields<'_>) -> Option<String> {
    let status = fields.text("status")?;
    let states = RunState::ALL.map(RunState::as_str);
    if !states.contains(&status.as_str()) {
        fields.fault(format!("status must be one of {}", states.join(", ")));
    }
    Some(status)
}

/// Reads how many are wanted: at least 1, at most 1,000.
fn last(fields: &mut Fields<'_>, usual: usize) -> usize {
    let asked = fields.number("last");
    if asked == Some(0) {
        fields.fault("last must be an integer of at least 1");
    }
    asked.map_or(usual, |last| {
        usize::try_from(last.clamp(1, 1_000)).expect("the ceiling is small")
    })
}

fn check(fields: &mut Fields<'_>) -> CheckCall {
    let truncate = fields.number("truncate").unwrap_or(500);
    CheckCall {
        id: fields.required("id"),
        last: last(fields, 20),
        truncate: usize::try_from(truncate).ok().filter(|most| *most > 0),
    }
}

fn ask(fields: &mut Fields<'_>) -> Ask {
    Ask {
        id: fields.required("id"),
        message: fields.required("message"),
    }
}

fn which(fields: &mut Fields<'_>) -> Which {
    match (fields.text("id"), fields.text("group_id")) {
        (Some(id), None) => Which::One(id),
        (None, Some(group)) => Which::Group(group),
        (None, None) => Which::OfCaller,
        (Some(_), Some(_)) => {
            fields.fault("reclaim takes id or group_id, not both");
            Which::OfCaller
        }
    }
}
