//! The `daemon` tool: one-off runs, by five actions.

use daemon_mcp::{ToolCall, ToolResult};
use daemon_run_folder::RunState;
use serde_json::{Map, Value, json};

use super::Served;
use super::parent::Parent;
use crate::commands::emanate;
use crate::failure::CommandFailure;
use crate::place::Place;

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
        let emanate: Map<String, Value> =
            serde_json::from_str(include_str!("emanate.json")).expect("a test reads it");
        let properties = properties
            .as_object_mut()
            .expect("it is written as an object");
        properties.extend(emanate);
    }
    json!({"type": "object", "properties": properties, "required": ["action"]})
}

/// Reports whether a call starts something whose end is announced later.
pub(super) fn has_an_end(call: &ToolCall) -> bool {
    let action = call.arguments.get("action").and_then(Value::as_str);
    action.is_some_and(|action| matches!(action, "emanate" | "ask"))
}

/// Reports whether a call of any tool waits for the ends of runs, so that a client may follow it as a task.
pub(super) fn waits(call: &ToolCall) -> bool {
    let wait = call.arguments.get("wait").and_then(Value::as_f64);
    call.tool == "daemon" && wait.is_some_and(|seconds| seconds > 0.0)
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
    let mut given = of_parent(call, parent);
    emanate::set_directory(&mut given, &place.directory);
    emanate::call_tool(given, place).await
}

/// Returns the arguments of a call with the address of its client, which could otherwise name the parent of other runs.
pub(super) fn of_parent(call: ToolCall, parent: &Parent) -> Map<String, Value> {
    let address = json!(parent.address(&call.client));
    let own = [("parent_addr".to_owned(), address)];
    call.arguments.into_iter().chain(own).collect()
}

pub(super) fn refused(message: &str) -> ToolResult {
    ToolResult::failed(json!({"status": "error", "message": message}))
}
