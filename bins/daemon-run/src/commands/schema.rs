//! `schema`: prints JSON Schemas, draft 2020-12.

use crate::cli::{SchemaArgs, SchemaOf};
use crate::failure::CommandFailure;
use crate::out::Out;

/// Prints one schema.
pub(crate) fn run(args: &SchemaArgs, out: Out) -> Result<(), CommandFailure> {
    let schema = match args.of {
        SchemaOf::Daemon => daemon_spec::schema(),
        SchemaOf::Output => daemon_engine::proposal::output_schema(|_| true),
        SchemaOf::Config => daemon_host::config::schema(),
        SchemaOf::Fixture => super::test::schema::schema(),
        SchemaOf::Interpretation => daemon_watch::InterpretationWire::schema(),
        SchemaOf::Protocol => daemon_api::control::protocol_schema(),
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| CommandFailure::bug(error.to_string()))?;
    out.bytes(format!("{text}\n").as_bytes())
}
