//! `schema`: prints JSON Schemas, draft 2020-12.

use serde_json::{Value, json};

use crate::cli::{SchemaArgs, SchemaOf};
use crate::failure::CommandFailure;
use crate::out::Out;

/// Prints one schema.
pub(crate) fn run(args: &SchemaArgs, out: Out) -> Result<(), CommandFailure> {
    let schema = match args.of {
        SchemaOf::Daemon => daemon_spec::schema(),
        SchemaOf::Output => output(),
        SchemaOf::Config => daemon_host::config::schema(),
        SchemaOf::Fixture => super::test::schema::schema(),
        SchemaOf::Interpretation => daemon_watch::InterpretationWire::schema(),
        SchemaOf::Protocol => daemon_api::control::protocol_schema(),
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| CommandFailure::bug(error.to_string()))?;
    out.bytes(format!("{text}\n").as_bytes())
}

/// Returns the schema of a proposed output.
fn output() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Proposed output",
        "description": "One line of the outputs file, or the `output` member of a line that a command prints.",
        "type": "object",
        "required": ["v", "verb"],
        "properties": {
            "v": {"const": daemon_engine::PROPOSAL_VERSION},
            "verb": {"enum": ["push_branch", "state", "no_op"]},
            "body": {"type": "string", "maxLength": daemon_engine::MAX_BODY_CHARS, "description": "push_branch: the commit message"},
            "set": {"type": "object", "description": "state: values by key", "maxProperties": daemon_engine::MAX_KEYS},
            "remove": {"type": "array", "items": {"type": "string"}, "description": "state: keys to remove"},
            "reason": {"type": "string", "description": "no_op: why nothing was done"}
        }
    })
}
