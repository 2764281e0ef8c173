//! What every answer is wrapped in.

use serde::Serialize;

/// The version of every envelope.
const SCHEMA_VERSION: u32 = 1;

/// What every answer is wrapped in: one JSON object that opens with the version, the members beside it.
#[derive(Clone, Debug, Serialize)]
pub struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    members: T,
}

impl<T: Serialize> Versioned<T> {
    /// Wraps what is written as an object.
    pub fn new(members: T) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            members,
        }
    }

    /// Writes the one line that leaves the host.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("the members are an object");
        line.push('\n');
        line
    }
}

/// The members of the answer to what was not done.
#[derive(Clone, Debug, Serialize)]
pub struct FailureObject<'a> {
    ok: bool,
    error: FailureDetail<'a>,
}

#[derive(Clone, Debug, Serialize)]
struct FailureDetail<'a> {
    code: &'a str,
    message: &'a str,
    help: Option<&'a str>,
}

impl<'a> FailureObject<'a> {
    /// Says why something was not done.
    pub fn new(code: &'a str, message: &'a str, help: Option<&'a str>) -> Self {
        Self {
            ok: false,
            error: FailureDetail {
                code,
                message,
                help,
            },
        }
    }
}
