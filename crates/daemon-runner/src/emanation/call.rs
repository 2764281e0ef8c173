//! The call object of the `daemon` tool, validated and limited.

use std::path::PathBuf;
use std::time::Duration;

use daemon_run_folder::RunState;
use serde_json::{Map, Value};

use super::fault::CallFault;
use super::fields::Fields;

/// The default number of turns, and the highest.
const TURNS: (u64, u64) = (100, 1_000);
/// The shortest timeout in seconds, and the longest, which is also the default.
const TIMEOUT: (f64, f64) = (5.0, 3_600.0);
/// The longest time that a call waits, in seconds.
const LONGEST_WAIT: f64 = 3_600.0;
/// The longest task, in bytes.
const TASK_BYTES: usize = 256 * 1024;

/// A valid call, by action.
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
    /// The provider, as the caller spells it; `None` is that of the policy.
    pub(crate) backend: Option<String>,
    /// The limit on model turns of each run.
    pub(crate) max_turns: u32,
    /// The time limit of each run.
    pub(crate) timeout: Duration,
    /// One entry for each run.
    pub(crate) tasks: Vec<Task>,
    /// How long the call waits for the ends of all of them.
    pub(crate) wait: Option<Duration>,
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
    /// `None` is the default for the batch.
    pub(crate) isolation: Option<PlaceChoice>,
    pub(crate) preset: Option<String>,
    pub(crate) backend_options: Map<String, Value>,
}

/// The place in which a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceChoice {
    /// The directory of the caller.
    Shared,
    /// A work tree of its own, made from the repository of the caller's directory.
    Own,
}

/// The filters of a listing.
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

/// The run to show, and the length of its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckCall {
    pub(crate) id: String,
    pub(crate) last: usize,
    /// The longest string of an event, in characters; `None` is unlimited.
    pub(crate) truncate: Option<usize>,
    /// How long the call waits for the end of the run.
    pub(crate) wait: Option<Duration>,
}

/// A message to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) id: String,
    pub(crate) message: String,
}

/// The runs to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    One(String),
    Group(String),
    OfCaller,
}

/// The caller, and its working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The address of the parent, to which the runs belong.
    pub(crate) parent: String,
    /// The directory of tasks that name none.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) rank: Rank,
}

/// The runs that a caller may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Only its own runs.
    Parent,
    /// Every run, because the caller is the user that owns the host.
    Owner,
}

/// Removes the caller's members from a call; `own` is the address of a caller that names none.
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

/// Returns whether a string identifies a connection of a client: 8 lower-case hexadecimal digits.
fn is_connection(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 8 && text.bytes().all(is_digit)
}

/// Reports whether a call waits, by its members alone.
pub(crate) fn waits(map: &Map<String, Value>) -> bool {
    map.get("wait").is_some_and(|wait| !wait.is_null())
}

/// Validates a call and adds its problems to `faults`. `None` if the action is unknown.
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
    let wait = wait(fields);
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
        wait,
    }
}

/// Reads how long a call waits; `None` does not wait.
fn wait(fields: &mut Fields<'_>) -> Option<Duration> {
    let asked = fields.take("wait")?;
    match asked.as_f64().filter(|seconds| *seconds >= 0.0) {
        Some(seconds) => {
            Some(Duration::from_secs_f64(seconds.min(LONGEST_WAIT))).filter(|wait| !wait.is_zero())
        }
        None => {
            fields.fault("wait must be a number of at least 0");
            None
        }
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
        isolation: isolation(fields),
        preset: fields.text("preset"),
        backend_options: fields.object("backend_options").unwrap_or_default(),
    };
    fields.finish();
    read
}

fn isolation(fields: &mut Fields<'_>) -> Option<PlaceChoice> {
    match fields.text("isolation")?.as_str() {
        "shared" => Some(PlaceChoice::Shared),
        "own" => Some(PlaceChoice::Own),
        _ => {
            let at = fields.at().to_owned();
            fields.fault(format!("{at}.isolation must be shared or own"));
            None
        }
    }
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

/// Reads the state to filter by. An unknown state is a fault, because it would silently list nothing.
fn status(fields: &mut Fields<'_>) -> Option<String> {
    let status = fields.text("status")?;
    let states = RunState::ALL.map(RunState::as_str);
    if !states.contains(&status.as_str()) {
        fields.fault(format!("status must be one of {}", states.join(", ")));
    }
    Some(status)
}

/// Reads the number of entries or events, from 1 to 1,000.
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
        wait: wait(fields),
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
