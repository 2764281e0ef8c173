//! The built-in tools.

mod edits;
mod email;
mod file;
mod granted;
mod path;
mod program;
mod search;
mod servers;
mod walk;
#[cfg(feature = "client")]
mod web;

pub(crate) use email::EmailTools;
pub(crate) use file::FileTools;
pub(crate) use granted::{GrantedTools, OutputTools, StateTools};
pub(crate) use program::{Programs, ScriptTools, ShellTools};
pub(crate) use servers::{ServerError, connect};
#[cfg(feature = "client")]
pub(crate) use web::WebTools;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use daemon_provider::tool_loop::{ToolError, ToolSpec};

/// Deserialises arguments that are valid under their schema.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::new(error.to_string()))
}

/// Describes a tool with exactly these arguments.
fn spec(name: &str, description: &str, required: &[&str], properties: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
    }
}
