//! Responses: every body is one JSON envelope.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use daemon_records::error::OpError;
use serde_json::{Map, Value};

use crate::wire::{FailureObject, Versioned};

/// Returns a response with the version and the given members.
pub(crate) fn members(status: StatusCode, members: Map<String, Value>) -> Response<Body> {
    raw(status, Versioned::new(members).to_line())
}

/// Returns the response for a failure.
pub(crate) fn failure(
    status: StatusCode,
    code: &str,
    message: &str,
    help: Option<&str>,
) -> Response<Body> {
    let failure = FailureObject::new(code, message, help);
    raw(status, Versioned::new(failure).to_line())
}

/// Returns the response for the error of an operation.
pub(crate) fn op_error(error: &OpError) -> Response<Body> {
    let status =
        StatusCode::from_u16(error.kind.http_status()).expect("every kind has a valid status");
    let failure = FailureObject::new(&error.code, &error.message, error.help.as_deref())
        .refused(error.refusal.as_deref());
    let mut answer = raw(status, Versioned::new(failure).to_line());
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    answer
}

/// Returns a response with a status and its standard reason phrase.
pub(crate) fn status(status: StatusCode) -> Response<Body> {
    explained(status, &reason(status))
}

/// Returns a response with a status, the code of every response with that status, and a message.
pub(crate) fn explained(status: StatusCode, message: &str) -> Response<Body> {
    failure(status, &reason(status).replace(' ', "-"), message, None)
}

fn reason(status: StatusCode) -> String {
    let reason = status.canonical_reason().unwrap_or("failed");
    reason.to_ascii_lowercase()
}

/// Returns a 503 response with `Retry-After`.
pub(crate) fn unavailable(message: &str) -> Response<Body> {
    let mut answer = failure(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        message,
        None,
    );
    answer
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
    answer
}

/// Returns a plain-text response; the caller has checked that the string is plain.
pub(crate) fn plain(text: &str) -> Response<Body> {
    let mut response = raw(StatusCode::OK, text.to_owned());
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn raw(status: StatusCode, line: String) -> Response<Body> {
    let mut response = Response::new(Body::from(line));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Responses contain strings from payloads, and a browser must not guess that they are HTML.
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}
