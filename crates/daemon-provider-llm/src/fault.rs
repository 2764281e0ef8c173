//! What can go wrong with one call of a model, and whether it is tried again.

use std::time::Duration;

use daemon_provider::{ErrorClass, Failure, FailureKind};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// A call of a model that gave no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// One line for a person.
    pub(crate) message: String,
    /// Whether a reply had begun, which may have cost something.
    pub(crate) has_begun: bool,
}

/// What a fault means for the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The same call would fail again.
    Final,
    /// There were too many calls; the API may have said when to come again.
    RateLimited(Option<Duration>),
    /// The same call may succeed.
    Transient,
}

/// What is shown of a body that explains a fault.
const MOST_WORDS: usize = 300;

impl Fault {
    pub(crate) fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            has_begun: false,
        }
    }

    /// Reads what a library tells of a call.
    pub(crate) fn of(error: &genai::Error) -> Self {
        if let genai::Error::WebStream {
            error: inner,
            cause,
            ..
        } = error
        {
            return match inner.downcast_ref::<genai::Error>() {
                Some(inner) => Self::of(inner),
                None => Self::new(
                    FaultKind::Transient,
                    format!("the connection failed: {}", plain(cause)),
                ),
            };
        }
        if let Some(status) = error.status() {
            let body = match error {
                genai::Error::HttpError { body, .. } => body.as_str(),
                _ => "",
            };
            return Self::of_status(status, error.headers(), body);
        }
        match error {
            genai::Error::ChatResponse { body, .. } => Self::of_event(body),
            genai::Error::StreamParse { .. } | genai::Error::WebModelCall { .. } => Self::new(
                FaultKind::Transient,
                format!("the answer was broken: {}", plain(&error.to_string())),
            ),
            _ => Self::new(FaultKind::Final, plain(&error.to_string())),
        }
    }

    fn of_status(status: StatusCode, headers: Option<&HeaderMap>, body: &str) -> Self {
        let kind = match status.as_u16() {
            429 => FaultKind::RateLimited(headers.and_then(retry_after)),
            408 | 409 | 425 | 500.. => FaultKind::Transient,
            _ => FaultKind::Final,
        };
        Self::new(
            kind,
            format!("the API answered {}{}", status.as_u16(), words(body)),
        )
    }

    /// Reads an error that stands in the stream.
    fn of_event(body: &Value) -> Self {
        let error = body.get("error").unwrap_or(body);
        let kind = match error["type"].as_str().or(error["code"].as_str()) {
            Some(
                "invalid_request_error"
                | "authentication_error"
                | "permission_error"
                | "not_found_error"
                | "invalid_api_key"
                | "model_not_found",
            ) => FaultKind::Final,
            Some("rate_limit_error" | "rate_limit_exceeded") => FaultKind::RateLimited(None),
            _ => FaultKind::Transient,
        };
        Self::new(
            kind,
            format!("the API answered with an error{}", words(&body.to_string())),
        )
    }

    /// Returns the failure of a run that gives up over this fault.
    pub(crate) fn failure(self) -> Failure {
        Failure {
            kind: FailureKind::Provider,
            class: match self.kind {
                FaultKind::Final => ErrorClass::Final,
                FaultKind::RateLimited(_) | FaultKind::Transient => ErrorClass::Retryable,
            },
            message: self.message,
        }
    }
}

/// Reads how long to wait; a date counts as nothing said, since no clock is read here.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// Finds the words of a body that are for a person.
fn words(body: &str) -> String {
    let message = serde_json::from_str::<Value>(body).ok().and_then(|value| {
        let places = ["/error/message", "/message", "/error"];
        places
            .iter()
            .find_map(|at| value.pointer(at)?.as_str().map(str::to_owned))
    });
    let said = plain(message.as_deref().unwrap_or(body));
    if said.is_empty() {
        said
    } else {
        format!(": {said}")
    }
}

/// Makes one line of a text, of a length that can be shown.
fn plain(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(MOST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, header: Option<&str>, body: &str) -> (FaultKind, String) {
        let mut headers = HeaderMap::new();
        headers.extend(header.map(|value| (RETRY_AFTER, value.parse().unwrap())));
        let fault = Fault::of_status(StatusCode::from_u16(status).unwrap(), Some(&headers), body);
        (fault.kind, fault.message)
    }

    #[test]
    fn a_status_says_what_is_tried_again() {
        for status in [400, 401, 403, 404, 302] {
            assert_eq!(of(status, None, "").0, FaultKind::Final, "{status}");
        }
        for status in [408, 500, 502, 529] {
            assert_eq!(of(status, None, "").0, FaultKind::Transient, "{status}");
        }
        let waits = [
            (Some("7"), Some(Duration::from_secs(7))),
            (Some("99999999"), Some(Duration::from_secs(99_999_999))),
            (Some("-1"), None),
            (Some("Fri, 20 Nov 2026 10:00:00 GMT"), None),
            (None, None),
        ];
        for (header, wait) in waits {
            assert_eq!(of(429, header, "").0, FaultKind::RateLimited(wait));
        }
    }

    #[test]
    fn the_words_of_the_api_are_told_in_one_line() {
        let body = "{\"error\":{\"message\":\"no such\\nkey\"}}";
        assert_eq!(of(401, None, body).1, "the API answered 401: no such key");
        assert_eq!(
            of(502, None, "<html>\n Bad gateway").1,
            "the API answered 502: <html> Bad gateway"
        );
        assert_eq!(of(500, None, "").1, "the API answered 500");
        assert_eq!(
            of(500, None, &"x".repeat(5000)).1.len(),
            "the API answered 500: ".len() + 300
        );
    }

    #[test]
    fn an_error_in_the_stream_is_read_by_its_type() {
        let kind = |name: &str| Fault::of_event(&serde_json::json!({"error": {"type": name}})).kind;
        assert_eq!(kind("overloaded_error"), FaultKind::Transient);
        assert_eq!(kind("authentication_error"), FaultKind::Final);
        assert_eq!(kind("rate_limit_error"), FaultKind::RateLimited(None));
    }
}
