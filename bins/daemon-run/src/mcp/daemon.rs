//! The `daemon` tool: one-off runs, by five actions.

use daemon_mcp::{ToolCall, ToolResult};
use daemon_run_folder::RunState;
use serde_json::{Map, Value, json};

use super::Served;
use super::parent::Parent;
use crate::commands::emanate;
use crate::failure::Failure;
use crate::place::Place;

/// What the tool is for.
pub(super) const DESCRIPTION: &str = "Dispatches one-off runs and looks after them. `emanate` starts a batch: each task says what to do, and \
     may have its own system_prompt, tools, skills, mcp servers and cwd. `list` and `check` tell how runs stand and change nothing. `ask` \
     sends a run a message. `reclaim` ends runs; their folders stay. The end of every run is announced once, so there is no need to poll: \
     do not check in the first minute, and never twice within 30 seconds. An id is a run's full id, or em-N for your own newest \
     of that number.";

/// Every action.
pub(super) const ACTIONS: [&str; 5] = ["emanate", "list", "check", "ask", "reclaim"];
/// Those that change nothing.
pub(super) const READING: [&str; 2] = ["list", "check"];

/// Returns the schema of the arguments, for these actions.
pub(super) fn schema(actions: &[&str]) -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let states = RunState::ALL.map(RunState::as_str);
    let mut properties = json!({
        "action": {"type": "string", "enum": actions, "description":
            "What to do. The other arguments begin with the actions that take them."},
        "id": text("check, ask, reclaim: a run's full id, or em-N of your own."),
        "group_id": text("list, reclaim: only runs of this batch."),
        "contains": text("list: only entries that hold this text."),
        "status": {"type": "string", "enum": states, "description": "list: only runs in this state."},
        "after_seq": {"type": "integer", "minimum": 0, "description":
            "list: only runs whose end was announced after this number."},
        "include_done": {"type": "boolean", "default": true, "description": "list: also runs that ended."},
        "last": {"type": "integer", "minimum": 1, "description":
            "list: so many runs, 50 by default; check: so many events, 20 by default; at most 1000."},
        "truncate": {"type": "integer", "minimum": 0, "default": 500, "description":
            "check: cuts texts of events to so many characters; 0 does not."},
    });
    if actions.contains(&"emanate") {
        let texts =
            |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
        let task = json!({
            "type": "object",
            "properties": {
                "task": text("What to do: objective, inputs, what to produce and how to check it."),
                "system_prompt": text("How to behave meanwhile."),
                "tools": texts("Tool groups; file and email by default. Programs have their own."),
                "skills": texts("Directories with a SKILL.md, or such files."),
                "mcp": {"type": "array", "items": server(), "description": "MCP servers for this run alone."},
                "cwd": text("Where it works, an absolute path; by default where this server was started."),
                "preset": text("A named choice of model, for llm."),
                "backend_options": {"type": "object", "description": "Flags of a program, by name."},
            },
            "required": ["task"],
        });
        properties["tasks"] =
            json!({"type": "array", "items": task, "description": "emanate: the batch."});
        properties["backend"] =
            text("emanate: what runs the tasks: llm, claude, codex, opencode, command, builtin.");
        properties["max_turns"] = json!({"type": "integer", "minimum": 1, "default": 100, "description": "emanate: turns of a model, at most 1000."});
        properties["timeout"] = json!({"type": "number", "minimum": 5, "default": 3600, "description": "emanate: seconds for each run, at most 3600."});
        properties["message"] = text("ask: what to tell the run.");
    }
    json!({"type": "object", "properties": properties, "required": ["action"]})
}

/// Reports whether a call begins something whose end is told later.
pub(super) fn has_an_end(call: &ToolCall) -> bool {
    let action = call.arguments.get("action").and_then(Value::as_str);
    action.is_some_and(|action| matches!(action, "emanate" | "ask"))
}

/// Returns the schema of one MCP server of a task.
fn server() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "transport": {"type": "string", "enum": ["stdio", "http"], "default": "stdio"},
            "type": {"type": "string", "enum": ["stdio", "http"], "description": "The same as transport."},
            "command": {"type": "string", "description": "stdio: the program."},
            "args": {"type": "array", "items": {"type": "string"}},
            "env": texts,
            "url": {"type": "string", "description": "http: the address."},
            "headers": texts,
        },
        "required": ["name"],
    })
}

/// Does one action.
pub(super) async fn call(
    call: ToolCall,
    served: Served,
    parent: &Parent,
    place: &Place,
) -> ToolResult {
    let action = call.arguments.get("action").and_then(Value::as_str);
    let is_served = served == Served::All || action.is_some_and(|action| READING.contains(&action));
    if !is_served {
        return refused("only list and check are served read-only");
    }
    match asked(call, parent, place).await {
        Ok(reply) => ToolResult::done(Value::Object(reply)),
        Err(failure) => refused(&failure.message),
    }
}

async fn asked(
    call: ToolCall,
    parent: &Parent,
    place: &Place,
) -> Result<Map<String, Value>, Failure> {
    let mut given = call.arguments;
    emanate::say_where(&mut given, &place.directory);
    given.insert(
        "parent_addr".to_owned(),
        json!(parent.address(&call.client)),
    );
    emanate::call_tool(given, place).await
}

fn refused(message: &str) -> ToolResult {
    ToolResult::failed(json!({"status": "error", "message": message}))
}
