//! Errors of one call to a model, and whether a retry may help.

use std::time::Duration;

use daemon_provider::tool_loop::{ModelError, ModelErrorKind};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// The most characters shown of a body that explains an error.
const MOST_EXPLANATION: usize = 300;

/// Classifies an error of the client library.
pub(crate) fn of(error: &genai::Error) -> ModelError {
    if let genai::Error::WebStream {
        error: inner,
        cause,
        ..
    } = error
    {
        // The library wraps its own errors as boxed ones when they occur inside a stream.
        return match inner.downcast_ref::<genai::Error>() {
            Some(inner) => of(inner),
            None => ModelError::new(
                ModelErrorKind::Transient,
                format!("the connection failed: {}", plain(cause)),
            ),
        };
    }
    if let Some(status) = error.status() {
        let body = match error {
            genai::Error::HttpError { body, .. } => body.as_str(),
            _ => "",
        };
        return of_status(status, error.headers(), body);
    }
    match error {
        genai::Error::ChatResponse { body, .. } => of_event(body),
        genai::Error::StreamParse { .. } | genai::Error::WebModelCall { .. } => ModelError::new(
            ModelErrorKind::Transient,
            format!("the answer was broken: {}", plain(&error.to_string())),
        ),
        _ => ModelError::new(ModelErrorKind::Final, plain(&error.to_string())),
    }
}

fn of_status(status: StatusCode, headers: Option<&HeaderMap>, body: &str) -> ModelError {
    let kind = match status.as_u16() {
        429 => ModelErrorKind::RateLimited(headers.and_then(retry_after)),
        // 408, 409 and 425 ask for the same request later; every other 4xx would be refused again.
        408 | 409 | 425 | 500.. => ModelErrorKind::Transient,
        _ => ModelErrorKind::Final,
    };
    ModelError::new(
        kind,
        format!("the API answered {}{}", status.as_u16(), explanation(body)),
    )
}

/// Classifies an error event of a stream. The status of such a response was 200.
fn of_event(body: &Value) -> ModelError {
    let error = body.get("error").unwrap_or(body);
    let kind = match error["type"].as_str().or(error["code"].as_str()) {
        Some(
            "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "not_found_error"
            | "invalid_api_key"
            | "model_not_found",
        ) => ModelErrorKind::Final,
        Some("rate_limit_error" | "rate_limit_exceeded") => ModelErrorKind::RateLimited(None),
        // An unknown type is retried: the retries are bounded, and a run that fails for good is not repeated.
        _ => ModelErrorKind::Transient,
    };
    ModelError::new(
        kind,
        format!(
            "the API answered with an error{}",
            explanation(&body.to_string())
        ),
    )
}

/// Returns the delay in seconds that a `Retry-After` header requests. A date is ignored, because no clock is read here.
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

/// Returns the message for a person in an error body, after a colon.
fn explanation(body: &str) -> String {
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

/// Returns the words of `text` as one line of at most [`MOST_EXPLANATION`] characters.
fn plain(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().take(MOST_EXPLANATION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, header: Option<&str>, body: &str) -> (ModelErrorKind, String) {
        let mut headers = HeaderMap::new();
        headers.extend(header.map(|value| (RETRY_AFTER, value.parse().unwrap())));
        let fault = of_status(StatusCode::from_u16(status).unwrap(), Some(&headers), body);
        (fault.kind, fault.message)
    }

    #[test]
    fn a_status_decides_whether_a_call_is_retried() {
        for status in [400, 401, 403, 404, 302] {
            assert_eq!(of(status, None, "").0, ModelErrorKind::Final, "{status}");
        }
        for status in [408, 500, 502, 529] {
            assert_eq!(
                of(status, None, "").0,
                ModelErrorKind::Transient,
                "{status}"
            );
        }
        let waits = [
            (Some("7"), Some(Duration::from_secs(7))),
            (Some("99999999"), Some(Duration::from_secs(99_999_999))),
            (Some("-1"), None),
            (Some("Fri, 20 Nov 2026 10:00:00 GMT"), None),
            (None, None),
        ];
        for (header, wait) in waits {
            assert_eq!(of(429, header, "").0, ModelErrorKind::RateLimited(wait));
        }
    }

    #[test]
    fn the_message_of_the_api_is_shown_in_one_line() {
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
        let kind = |name: &str| of_event(&serde_json::json!({"error": {"type": name}})).kind;
        assert_eq!(kind("overloaded_error"), ModelErrorKind::Transient);
        assert_eq!(kind("authentication_error"), ModelErrorKind::Final);
        assert_eq!(kind("rate_limit_error"), ModelErrorKind::RateLimited(None));
    }
}
