//! Errors, in the form of Linear.

use serde_json::{Value, json};

use crate::http::HttpResponse;

/// A kind of error: `type`, `code` and `statusCode` of its extensions, and the status of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinearErrorKind {
    name: &'static str,
    code: &'static str,
    status_code: u16,
    http_status: u16,
}

const fn kind(
    name: &'static str,
    code: &'static str,
    status_code: u16,
    http_status: u16,
) -> LinearErrorKind {
    LinearErrorKind {
        name,
        code,
        status_code,
        http_status,
    }
}

pub(crate) const AUTHENTICATION: LinearErrorKind =
    kind("authentication error", "AUTHENTICATION_ERROR", 401, 401);
pub(crate) const FORBIDDEN: LinearErrorKind = kind("forbidden", "FORBIDDEN", 403, 403);
pub(crate) const RATE_LIMITED: LinearErrorKind = kind("ratelimited", "RATELIMITED", 429, 400);
pub(crate) const INTERNAL: LinearErrorKind =
    kind("internal error", "INTERNAL_SERVER_ERROR", 500, 500);
const VALIDATION: LinearErrorKind = kind("graphql error", "GRAPHQL_VALIDATION_FAILED", 400, 400);
// Errors of an operation come with status 200: the document itself was fine.
const INPUT: LinearErrorKind = kind("invalid input", "INPUT_ERROR", 400, 200);

/// An error of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinearError {
    kind: LinearErrorKind,
    message: String,
    presentable: String,
    path: Option<String>,
}

impl LinearError {
    pub(crate) fn new(kind: LinearErrorKind, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            kind,
            presentable: message.clone(),
            message,
            path: None,
        }
    }

    /// Returns the error of a document that the schema does not allow.
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new(VALIDATION, message)
    }

    pub(crate) fn unknown_input(of: &str, name: &str) -> Self {
        Self::validation(format!("Field \"{name}\" is not defined by type \"{of}\"."))
    }

    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(INPUT, message)
    }

    pub(crate) fn not_found(of: &str) -> Self {
        Self {
            presentable: format!("Could not find referenced {of}."),
            ..Self::input(format!("Entity not found: {of}"))
        }
    }

    /// Names the field of the operation that failed.
    #[must_use]
    pub(crate) fn at(self, path: &str) -> Self {
        Self {
            path: Some(path.to_owned()),
            ..self
        }
    }

    pub(crate) fn into_message(self) -> String {
        self.message
    }

    pub(crate) fn to_response(&self) -> HttpResponse {
        let kind = self.kind;
        let mut error = json!({
            "message": self.message,
            "extensions": {
                "type": kind.name, "code": kind.code, "statusCode": kind.status_code,
                "userError": kind != INTERNAL, "userPresentableMessage": self.presentable,
            },
        });
        let mut body = json!({});
        if let Some(path) = &self.path {
            error["path"] = json!([path]);
            body["data"] = Value::Null;
        }
        body["errors"] = json!([error]);
        HttpResponse::json(kind.http_status, &body)
    }
}
