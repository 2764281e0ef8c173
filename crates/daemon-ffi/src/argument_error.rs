//! Arguments that cannot be used.

use std::fmt;
use std::ops::Range;

use serde_json::json;

/// The error of an argument that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// A diagnostic code such as `D201`, `usage` for an argument of the call, or `bug`.
    pub code: String,
    /// The reason.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The bytes of the argument that the reason is about.
    pub span: Option<Range<usize>>,
}

impl ArgumentError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: "usage".to_owned(),
            message: message.into(),
            help: None,
            span: None,
        }
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self {
            code: "bug".to_owned(),
            ..Self::usage(message)
        }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Returns the JSON object of the C ABI.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Self {
            code,
            message,
            help,
            span,
        } = self;
        let (start, end) = match span {
            Some(span) => (Some(span.start), Some(span.end)),
            None => (None, None),
        };
        let error =
            json!({"code": code, "message": message, "help": help, "start": start, "end": end});
        json!({"schema_version": 1, "ok": false, "error": error}).to_string()
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ArgumentError {}
