//! Answers of tools: the objects that the command line prints.

use daemon_host::wire::{Envelope, FailureObject};
use daemon_mcp::Answer;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// Answers as the command of the same name does under `--json`.
pub(super) fn of(told: Result<Map<String, Value>, Failure>) -> Answer {
    match told {
        Ok(members) => Answer::done(object(&Envelope::new(members))),
        Err(failure) => {
            let Failure {
                code,
                message,
                help,
                ..
            } = &failure;
            let told = FailureObject::new(code, message, help.as_deref());
            Answer::failed(object(&Envelope::new(told)))
        }
    }
}

fn object(envelope: &impl serde::Serialize) -> Value {
    serde_json::to_value(envelope).expect("the members are an object")
}
