//! The envelope of every response.

use daemon_records::error::RefusalDetails;
use serde::Serialize;
use serde_json::Value;

/// The version of every envelope.
const SCHEMA_VERSION: u32 = 1;

/// The envelope of every response: one JSON object that begins with the version, followed by the members.
#[derive(Clone, Debug, Serialize)]
pub struct Versioned<T> {
    schema_version: u32,
    #[serde(flatten)]
    members: T,
}

impl<T: Serialize> Versioned<T> {
    /// Wraps a value that serialises to an object.
    pub fn new(members: T) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            members,
        }
    }

    /// Serialises the envelope to one line.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("the members are an object");
        line.push('\n');
        line
    }
}

/// The members of a response to a failed request.
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
    /// The rule of the roster that forbids the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    /// What has to happen before the roster accepts the request.
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    blockers: &'a [Value],
}

impl<'a> FailureObject<'a> {
    /// Creates the members from an error code, a message and a remedy.
    pub fn new(code: &'a str, message: &'a str, help: Option<&'a str>) -> Self {
        Self {
            ok: false,
            error: FailureDetail {
                code,
                message,
                help,
                rule: None,
                blockers: &[],
            },
        }
    }

    /// Adds what programs read about a refusal of the roster.
    #[must_use]
    pub fn refused(mut self, details: Option<&'a RefusalDetails>) -> Self {
        if let Some(details) = details {
            self.error.rule = details.rule.as_deref();
            self.error.blockers = &details.blockers;
        }
        self
    }
}
