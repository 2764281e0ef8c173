//! Helpers to read the JSON lines of agents.

use daemon_provider::{Failure, FailureKind, MicroUsd, RunEvent, SessionId};
use serde_json::{Map, Value};

/// The most characters of an agent's message that a failure keeps.
const MESSAGE_CHARS: usize = 500;

/// Joins two lists into an array of `N` elements.
pub(super) const fn joined<const N: usize>(
    first: &[&'static str],
    second: &[&'static str],
) -> [&'static str; N] {
    assert!(first.len() + second.len() == N, "the lists fill the third");
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() {
            first[at]
        } else {
            second[at - first.len()]
        };
        at += 1;
    }
    all
}

/// Parses a line as a JSON object.
pub(super) fn object(line: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Reports whether a line with this beginning may be a JSON object.
pub(super) fn may_be_object(line: &str) -> bool {
    line.trim_start().starts_with('{')
}

/// Returns a field that is a string.
pub(super) fn text<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
    object.get(name).and_then(Value::as_str)
}

/// Returns the string at a JSON pointer.
pub(super) fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the count at a JSON pointer, or 0 if there is no number.
pub(super) fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Reads a price in dollars; `None` if it is not a plausible number.
pub(super) fn price(value: Option<&Value>) -> Option<MicroUsd> {
    let usd = value?.as_f64().filter(|usd| (0.0..1e12).contains(usd))?;
    // The range makes the conversion exact to the millionth it rounds to.
    Some(MicroUsd((usd * 1e6).round() as u64))
}

/// Records the first session id and adds its event; later ids are ignored.
pub(super) fn first_session(
    session: &mut Option<SessionId>,
    named: Option<&str>,
    events: &mut std::collections::VecDeque<RunEvent>,
) {
    if session.is_none()
        && let Some(id) = named.and_then(|id| id.parse::<SessionId>().ok())
    {
        *session = Some(id.clone());
        events.push_back(RunEvent::Session(id));
    }
}

/// Adds the lines of a message that are not blank as output of the run.
pub(super) fn push_output(text: &str, events: &mut std::collections::VecDeque<RunEvent>) {
    events.extend(
        text.lines()
            .filter(|line| !line.trim().is_empty())
            .map(RunEvent::output),
    );
}

/// Makes a failure of an agent's message, retryable if the message names a transient fault.
pub(super) fn failure(message: &str) -> Failure {
    let message: String = message.trim().chars().take(MESSAGE_CHARS).collect();
    let mut failure = Failure::new(FailureKind::Provider, message);
    if is_transient(&failure.message) {
        failure.class = daemon_provider::ErrorClass::Retryable;
    }
    failure
}

/// Reports whether a message describes a transient fault of the model's service.
///
/// Agents pass the service's error on as prose, in which the status code is the most reliable part.
fn is_transient(message: &str) -> bool {
    let words = message.split(|c: char| !c.is_ascii_alphanumeric());
    let has_status = words
        .clone()
        .any(|word| matches!(word, "429" | "500" | "502" | "503" | "504" | "529"));
    let lower = message.to_ascii_lowercase();
    has_status
        || [
            "overloaded",
            "rate limit",
            "timed out",
            "stream disconnected",
        ]
        .iter()
        .any(|sign| lower.contains(sign))
}

#[cfg(test)]
mod tests {
    use daemon_provider::ErrorClass;

    use super::*;

    #[test]
    fn a_busy_service_may_be_asked_again() {
        for (message, class) in [
            (
                "API Error: 529 {\"type\":\"overloaded_error\"}",
                ErrorClass::Retryable,
            ),
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                ErrorClass::Retryable,
            ),
            ("Invalid API key", ErrorClass::Final),
            ("API Error: 401 unauthorized", ErrorClass::Final),
            ("wrote 5000 lines", ErrorClass::Final),
        ] {
            assert_eq!(failure(message).class, class, "{message}");
        }
    }

    #[test]
    fn a_price_is_rounded_to_millionths() {
        let price = |text: &str| price(Some(&serde_json::from_str(text).unwrap()));
        assert_eq!(price("0.5"), Some(MicroUsd(500_000)));
        assert_eq!(price("-1"), None);
        assert_eq!(price("\"1\""), None);
    }
}
