//! Results of tools: the objects that the command line prints with `--json`.

use daemon_api::wire::{FailureObject, Versioned};
use daemon_mcp::ToolResult;
use serde_json::{Map, Value};

use crate::failure::CommandFailure;

/// Wraps the result of a command in the envelope of `--json`.
pub(super) fn of(result: Result<Map<String, Value>, CommandFailure>) -> ToolResult {
    match result {
        Ok(members) => ToolResult::done(object(&Versioned::new(members))),
        Err(failure) => {
            let CommandFailure {
                code,
                message,
                help,
                refusal,
                ..
            } = &failure;
            let object_members =
                FailureObject::new(code, message, help.as_deref()).refused(refusal.as_deref());
            ToolResult::failed(object(&Versioned::new(object_members)))
        }
    }
}

fn object(envelope: &impl serde::Serialize) -> Value {
    serde_json::to_value(envelope).expect("the members are an object")
}
