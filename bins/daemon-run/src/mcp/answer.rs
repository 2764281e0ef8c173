//! Answers of tools: the objects that the command line prints.

use daemon_host::wire::{Envelope, FailureObject};
use daemon_mcp::ToolResult;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Answers as the command of the same name does under `--json`.
pub(super) fn of(told: Result<Map<String, Value>, Failure>) -> ToolResult {
    match told {
        Ok(members) => ToolResult::done(object(&Envelope::new(members))),
        Err(failure) => {
            let Failure {
                code,
                message,
                help,
                ..
            } = &failure;
            let told = FailureObject::new(code, message, help.as_deref());
            ToolResult::failed(object(&Envelope::new(told)))
        }
    }
}

fn object(envelope: &impl serde::Serialize) -> Value {
    serde_json::to_value(envelope).expect("the members are an object")
}
