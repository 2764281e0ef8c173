//! The `daemon` tool: one-off runs, by five actions.

use daemon_mcp::{ToolCall, ToolResult};
use daemon_run_folder::RunState;
use serde_json::{Map, Value, json};

use super::Served;
use super::parent::Parent;
use crate::commands::emanate;
use crate::failure::CommandFailure;
use crate::place::Place;

/// The description of the tool, for models.
pub(super) const DESCRIPTION: &str = "Dispatches and manages one-off runs. `emanate` starts a batch: each task describes what to do, and \
     may have its own system_prompt, tools, skills, mcp servers, cwd and isolation. `list` and `check` report the state of runs and change nothing. `ask` \
     sends a run a message. `reclaim` stops runs; their folders are kept. The end of every run is announced once, and `wait` returns at the end, so \
     there is no need to poll: do not check in the first minute, and never twice within 30 seconds. An id is a run's full id, or em-N for your newest run \
     with that number.";

/// All actions.
pub(super) const ACTIONS: [&str; 5] = ["emanate", "list", "check", "ask", "reclaim"];
/// The actions that change nothing.
pub(super) const READ_ONLY: [&str; 2] = ["list", "check"];

/// Returns the schema of the arguments of these actions.
pub(super) fn schema(actions: &[&str]) -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let states = RunState::ALL.map(RunState::as_str);
    let mut properties = json!({
        "action": {"type": "string", "enum": actions, "description":
            "What to do. The descriptions of the other arguments begin with the actions that accept them."},
        "id": text("check, ask, reclaim: a run's full id, or em-N for one of yours."),
        "group_id": text("list, reclaim: only runs of this batch."),
        "contains": text("list: only entries that contain this string."),
        "status": {"type": "string", "enum": states, "description": "list: only runs in this state."},
        "after_seq": {"type": "integer", "minimum": 0, "description":
            "list: only runs whose end was announced after this sequence number."},
        "include_done": {"type": "boolean", "default": true, "description": "list: also runs that ended."},
        "wait": {"type": "number", "minimum": 0, "maximum": 3600, "description":
            "emanate, check: waits at most this many seconds for the end of the runs, and returns their entries as they are then."},
        "last": {"type": "integer", "minimum": 1, "description":
            "list: the most runs, 50 by default; check: the most events, 20 by default; at most 1000."},
        "truncate": {"type": "integer", "minimum": 0, "default": 500, "description":
            "check: truncates the text of each event to this many characters; 0 keeps it whole."},
    });
    if actions.contains(&"emanate") {
        let strings =
            |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
        let task = json!({
            "type": "object",
            "properties": {
                "task": text("What to do: objective, inputs, what to produce and how to check it."),
                "system_prompt": text("Instructions about behaviour, separate from the task."),
                "tools": strings("Tool groups; file and email by default. Agents such as claude have their own."),
                "skills": strings("Directories with a SKILL.md, or SKILL.md files."),
                "mcp": {"type": "array", "items": server(), "description": "MCP servers for this run alone."},
                "cwd": text("The working directory, an absolute path; by default that of this server."),
                "isolation": {"type": "string", "enum": ["shared", "own"], "description":
                    "own: the run works in a private checkout of HEAD; its changes come back as the branch run/<run_id> and as changes.diff. \
                     shared: it works in cwd itself. Default: own if several tasks that can write have the same cwd in a git repository, else shared."},
                "preset": text("A configured model, for the backend llm."),
                "backend_options": {"type": "object", "description": "Flags of the program, by name."},
            },
            "required": ["task"],
        });
        properties["tasks"] =
            json!({"type": "array", "items": task, "description": "emanate: the batch."});
        properties["backend"] = text(
            "emanate: what executes the tasks: llm, claude, codex, opencode, command or builtin.",
        );
        properties["max_turns"] = json!({"type": "integer", "minimum": 1, "default": 100, "description": "emanate: turns of a model, at most 1000."});
        properties["timeout"] = json!({"type": "number", "minimum": 5, "default": 3600, "description": "emanate: seconds for each run, at most 3600."});
        properties["message"] = text("ask: the message to the run.");
    }
    json!({"type": "object", "properties": properties, "required": ["action"]})
}

/// Reports whether a call starts something whose end is announced later.
pub(super) fn has_an_end(call: &ToolCall) -> bool {
    let action = call.arguments.get("action").and_then(Value::as_str);
    action.is_some_and(|action| matches!(action, "emanate" | "ask"))
}

/// Returns the schema of an MCP server of a task.
fn server() -> Value {
    let strings = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "transport": {"type": "string", "enum": ["stdio", "http"], "default": "stdio"},
            "type": {"type": "string", "enum": ["stdio", "http"], "description": "The same as transport."},
            "command": {"type": "string", "description": "stdio: the program."},
            "args": {"type": "array", "items": {"type": "string"}},
            "env": strings,
            "url": {"type": "string", "description": "http: the address."},
            "headers": strings,
        },
        "required": ["name"],
    })
}

/// Runs one action.
pub(super) async fn call(
    call: ToolCall,
    served: Served,
    parent: &Parent,
    place: &Place,
) -> ToolResult {
    let action = call.arguments.get("action").and_then(Value::as_str);
    let is_served =
        served == Served::All || action.is_some_and(|action| READ_ONLY.contains(&action));
    if !is_served {
        return refused("only list and check are served read-only");
    }
    match dispatch(call, parent, place).await {
        Ok(reply) => ToolResult::done(Value::Object(reply)),
        Err(failure) => refused(&failure.message),
    }
}

async fn dispatch(
    call: ToolCall,
    parent: &Parent,
    place: &Place,
) -> Result<Map<String, Value>, CommandFailure> {
    let mut given = call.arguments;
    emanate::set_directory(&mut given, &place.directory);
    // Set here and not by the client, which could name the parent of other runs.
    given.insert(
        "parent_addr".to_owned(),
        json!(parent.address(&call.client)),
    );
    emanate::call_tool(given, place).await
}

pub(super) fn refused(message: &str) -> ToolResult {
    ToolResult::failed(json!({"status": "error", "message": message}))
}
