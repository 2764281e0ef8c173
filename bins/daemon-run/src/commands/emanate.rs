//! `emanate` and `ask`: one-off runs dispatched from the command line, with the same objects as the `daemon` tool.

use std::io::Read as _;
use std::path::Path;

use daemon_api::ops::Operation;
use daemon_api::wire::state_word;
use daemon_host::config::nearest;
use daemon_host::serve::Compose as _;
use daemon_records::error::{OpError, OpErrorKind};
use daemon_runner::emanation::{offline, without_folder};
use serde_json::{Map, Value, json};

use crate::cli::{AskArgs, CheckRunArgs, EmanateArgs, EmanateVerb, ListRunsArgs, ReclaimArgs};
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::out::{Out, plain, put};
use crate::place::Place;
use crate::session::{call_failure, live};
use daemon_view::Times;
use daemon_view::columns::{Column, TableLayout, column, names, states, table, times};

/// The most bytes read from standard input: the longest line that a host reads.
const MOST_BYTES: u64 = 16 << 20;
/// The columns of `emanate list`.
const COLUMNS: [Column; 7] = [
    names("ID", "/run_id"),
    states("STATUS", ""),
    column("BACKEND", "/backend"),
    times("STARTED", "/started_at"),
    column("SECONDS", "/elapsed_s"),
    column("PARENT", "/parent_addr"),
    column("TASK", "/task"),
];

/// Runs a subcommand; the exit code is 0, or 75 if the run is busy.
pub(crate) async fn run(args: &EmanateArgs, place: &Place, out: Out) -> Result<u8, CommandFailure> {
    let call = match (&args.call, &args.text, &args.verb) {
        (Some(file), ..) => given(file, place)?,
        (_, Some(text), _) => task_call(text, place)?,
        (_, _, Some(EmanateVerb::List(list))) => list_call(list),
        (_, _, Some(EmanateVerb::Check(check))) => check_call(check),
        (_, _, Some(EmanateVerb::Ask(message))) => ask_call(message)?,
        (_, _, Some(EmanateVerb::Reclaim(which))) => reclaim_call(which),
        _ => {
            let failure = CommandFailure::usage(
                "give a task as TEXT, --call FILE, or one of list, check, ask, reclaim",
            );
            return Err(failure.help("daemon-run emanate --help"));
        }
    };
    answer(call, place, out).await
}

/// Sends a message to a run.
pub(crate) async fn ask(args: &AskArgs, place: &Place, out: Out) -> Result<u8, CommandFailure> {
    answer(ask_call(args)?, place, out).await
}

async fn answer(call: Map<String, Value>, place: &Place, out: Out) -> Result<u8, CommandFailure> {
    let reply = call_tool(call.clone(), place).await?;
    // A busy run accepts the message later, which is what exit code 75 means.
    let is_busy = reply.get("status").is_some_and(|status| status == "busy");
    let code = if is_busy { ExitKind::TryLater as u8 } else { 0 };
    if out.is_json() {
        out.envelope(reply)?;
        return Ok(code);
    }
    out.text(&text(&call, &reply, &out.layout()))?;
    if call["action"] == "emanate" {
        let first = reply.get("run_ids").and_then(|ids| ids.get(0));
        let first = first.map(shown).unwrap_or_default();
        out.note(&format!("next: daemon-run emanate check {first}"));
    }
    Ok(code)
}

/// Calls the host; without one, answers from the run folders.
pub(crate) async fn call_tool(
    call: Map<String, Value>,
    place: &Place,
) -> Result<Map<String, Value>, CommandFailure> {
    if let Some(mut client) = live(place).await? {
        return client
            .call(Operation::RunCall, call)
            .await
            .map_err(call_failure);
    }
    let config = Composer::new(place, Overrides::default()).load()?;
    let runs = place.home()?.join("daemons");
    let most = config.limits.emanations;
    let now = daemon_records::clock::now();
    let id = call.get("id").and_then(Value::as_str).map(str::to_owned);
    let error = match offline(&runs, most, call, now) {
        Ok(reply) => return Ok(reply),
        Err(error) => error,
    };
    let error = match (daemon_home_store::existing(place.home()?, &config.host), id) {
        (Some(home), Some(id)) if error.kind == OpErrorKind::NotFound => {
            let store = daemon_home_store::open_to_read(&home, &config.host).await?;
            let error = without_folder(error, &id, &*store).await;
            error.map_err(OpError::from)?
        }
        _ => error,
    };
    let is_absent = error.kind == OpErrorKind::Unavailable;
    let mut failure = CommandFailure::from(error);
    if is_absent {
        failure.help = Some(format!("daemon-run serve --home {}", shell(&runs)));
    }
    Err(failure)
}

/// Reads standard input.
fn piped() -> Result<String, CommandFailure> {
    let mut text = String::new();
    let read = std::io::stdin()
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text);
    read.map_err(|error| CommandFailure::unreadable(Path::new("standard input"), &error))?;
    if text.len() as u64 > MOST_BYTES {
        let message = format!("standard input has more than {MOST_BYTES} bytes");
        return Err(CommandFailure::usage(message));
    }
    Ok(text)
}

/// Returns the home that a directory of run folders is in.
fn shell(runs: &Path) -> String {
    runs.parent().unwrap_or(runs).display().to_string()
}

/// Reads a call object, and adds the working directory of the caller.
fn given(file: &Path, place: &Place) -> Result<Map<String, Value>, CommandFailure> {
    let text = if file.as_os_str() == "-" {
        piped()?
    } else {
        let path = place.directory.join(file);
        std::fs::read_to_string(&path).map_err(|error| CommandFailure::unreadable(&path, &error))?
    };
    let mut call: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
        CommandFailure::new(
            ExitKind::Usage,
            "invalid-argument",
            format!("the call is not a JSON object: {error}"),
        )
    })?;
    call.entry("action").or_insert_with(|| json!("emanate"));
    set_directory(&mut call, &place.directory);
    Ok(call)
}

/// Sets the working directory of a batch for tasks without one, and makes every directory absolute. The host would resolve a
/// relative path in its own directory.
pub(crate) fn set_directory(call: &mut Map<String, Value>, directory: &Path) {
    absolute(call, directory);
    if call.get("action").is_none_or(|action| action != "emanate") {
        return;
    }
    call.entry("cwd")
        .or_insert_with(|| json!(directory.to_string_lossy()));
    let tasks = call.get_mut("tasks").and_then(Value::as_array_mut);
    for task in tasks.into_iter().flatten() {
        if let Some(task) = task.as_object_mut() {
            absolute(task, directory);
        }
    }
}

/// Makes the `cwd` of a call or a task absolute.
fn absolute(map: &mut Map<String, Value>, directory: &Path) {
    if let Some(Value::String(cwd)) = map.get_mut("cwd") {
        *cwd = directory.join(&*cwd).to_string_lossy().into_owned();
    }
}

fn of(action: &str, members: Vec<(&str, Value)>) -> Map<String, Value> {
    let members = members.into_iter().filter(|(_, value)| !value.is_null());
    std::iter::once(("action", json!(action)))
        .chain(members)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn list_call(args: &ListRunsArgs) -> Map<String, Value> {
    of(
        "list",
        vec![
            ("contains", json!(args.contains)),
            ("status", json!(args.status)),
            ("group_id", json!(args.group_id)),
            ("after_seq", json!(args.after_seq)),
            ("include_done", json!(args.include_done)),
            ("last", json!(args.last)),
        ],
    )
}

fn check_call(args: &CheckRunArgs) -> Map<String, Value> {
    of(
        "check",
        vec![
            ("id", json!(args.id)),
            ("last", json!(args.last)),
            ("truncate", json!(args.truncate)),
            ("wait", json!(args.wait)),
        ],
    )
}

/// Returns the call of one run with this task.
fn task_call(text: &str, place: &Place) -> Result<Map<String, Value>, CommandFailure> {
    if let Some(near) = nearest(text, ["list", "check", "ask", "reclaim"]) {
        // A misspelt command must not become the task of a model.
        let failure = CommandFailure::usage(format!("`emanate` has no command `{text}`"));
        let help = format!("did you mean `{near}`? `-` reads a task from standard input");
        return Err(failure.help(help));
    }
    let mut call = of(
        "emanate",
        vec![("tasks", json!([{"task": text_of(text)?}]))],
    );
    set_directory(&mut call, &place.directory);
    Ok(call)
}

/// Returns an argument, or standard input for `-`.
fn text_of(argument: &str) -> Result<String, CommandFailure> {
    match argument {
        "-" => piped(),
        text => Ok(text.to_owned()),
    }
}

fn ask_call(args: &AskArgs) -> Result<Map<String, Value>, CommandFailure> {
    let message = json!(text_of(&args.text)?);
    Ok(of(
        "ask",
        vec![("id", json!(args.run)), ("message", message)],
    ))
}

fn reclaim_call(args: &ReclaimArgs) -> Map<String, Value> {
    of(
        "reclaim",
        vec![("id", json!(args.id)), ("group_id", json!(args.group_id))],
    )
}

/// Formats a reply as text.
fn text(call: &Map<String, Value>, reply: &Map<String, Value>, layout: &TableLayout) -> String {
    let get = |name: &str| reply.get(name).map(shown).unwrap_or_default();
    match call["action"].as_str() {
        Some("list") => listing(reply, layout),
        Some("check") => sheet(reply, &layout.times),
        Some("ask") if get("status") == "busy" => format!("{}: {}", get("id"), get("message")),
        Some("ask") if get("queued") == "true" => {
            format!("{}: queued until the first turn ends", get("id"))
        }
        Some("ask") => format!("{}: sent", get("id")),
        Some("reclaim") => format!(
            "reclaimed: {} cancelled, {} had ended, {} still stopping",
            get("cancelled"),
            get("natural_terminal"),
            get("pending")
        ),
        _ => dispatched(reply, layout),
    }
}

fn dispatched(reply: &Map<String, Value>, layout: &TableLayout) -> String {
    let get = |name: &str| reply.get(name).map(shown).unwrap_or_default();
    let mut text = format!(
        "dispatched {} to {} as {}\n",
        get("count"),
        get("backend"),
        get("group_id")
    );
    let runs = reply.get("run_ids").and_then(Value::as_array);
    for run in runs.into_iter().flatten() {
        put!(text, "  {}\n", shown(run));
    }
    // Only a call that waits has them.
    let ended = reply.get("emanations").and_then(Value::as_array);
    if let Some(entries) = ended {
        text.push_str(&table(&COLUMNS, entries, layout));
    }
    text
}

fn listing(reply: &Map<String, Value>, layout: &TableLayout) -> String {
    let get = |name: &str| reply.get(name).map(shown).unwrap_or_default();
    let rows = reply.get("emanations").and_then(Value::as_array);
    let rows = rows.map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str(&table(&COLUMNS, rows, layout));
    }
    put!(
        text,
        "{} of {} shown; {} of {} running\n",
        get("showing"),
        get("total_matches"),
        get("running"),
        get("max_emanations")
    );
    text
}

/// Formats one run: its fields, then its last events.
fn sheet(reply: &Map<String, Value>, times: &Times) -> String {
    let whole = Value::Object(reply.clone());
    let state = Value::from(state_word(&whole));
    let mut text = String::new();
    for name in [
        "run_id",
        "status",
        "orphan_suspected",
        "problem",
        "task",
        "backend",
        "parent_addr",
        "group_id",
        "started_at",
        "finished_at",
        "elapsed_s",
        "heartbeat_age_s",
        "permissions",
        "turn",
        "current_tool",
        "tool_call_count",
        "last_output_at",
        "last_output",
        "result_preview",
        "result_path",
        "error",
        "path",
        "other_run_dirs",
    ] {
        if let Some(value) = reply.get(name) {
            let value = if name == "status" { &state } else { value };
            let value = match name.ends_with("_at") {
                true => times.of_text(&shown(value), Times::long),
                false => shown(value),
            };
            put!(text, "{:<16} {value}\n", name.replace('_', " "));
        }
    }
    let events = reply.get("events").and_then(Value::as_array);
    for event in events.into_iter().flatten() {
        let get = |name: &str| event.get(name).map(shown).unwrap_or_default();
        let rest = event.as_object().into_iter().flatten();
        let rest = rest.filter(|(name, _)| !matches!(name.as_str(), "ts" | "event"));
        let rest: Vec<String> = rest
            .map(|(name, value)| format!("{name}={}", shown(value)))
            .collect();
        put!(
            text,
            "{}  {}  {}\n",
            times.of_text(&get("ts"), Times::exact),
            get("event"),
            rest.join(" ")
        );
    }
    text
}

/// Formats one value as a line that is safe for a terminal.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(map) if map.contains_key("message") => {
            let get = |name: &str| map.get(name).map(shown).unwrap_or_default();
            format!("{}: {}", get("type"), get("message"))
        }
        other => other.to_string(),
    };
    plain(&text)
}
