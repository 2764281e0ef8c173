//! Recorded events: the envelopes of stored events without secrets, and the names of their files.

use std::fmt::Write as _;

use daemon_event::Source;
use daemon_provider::redact::Redactor;
use daemon_validate::without_secrets;
use serde_json::{Value, json};

/// The most bytes of a file name without its extension.
const LONGEST_NAME: usize = 120;
/// Names of members whose strings are removed as secrets.
const SECRET_NAMES: [&str; 13] = [
    "token",
    "access_token",
    "refresh_token",
    "bot_token",
    "id_token",
    "secret",
    "client_secret",
    "webhook_secret",
    "signing_secret",
    "password",
    "api_key",
    "apikey",
    "authorization",
];

/// Returns the envelope of an event, without secrets.
pub fn envelope(event: &Value, known: &Redactor) -> Value {
    json!({
        "id": event["delivery_id"],
        "source": event["source"],
        "event": event["kind"],
        "headers": headers(event),
        "enrichment": cleaned(&given(&event["enrichment"]), known),
        "body": cleaned(&event["payload"], known),
    })
}

/// Returns the headers with the kind and the delivery. Signatures are never stored.
fn headers(event: &Value) -> Value {
    let (kind, delivery) = (&event["kind"], &event["delivery_id"]);
    match event["source"].as_str().and_then(|name| name.parse().ok()) {
        Some(Source::Github) => json!({"X-GitHub-Event": kind, "X-GitHub-Delivery": delivery}),
        Some(Source::Linear) => json!({"Linear-Event": kind, "Linear-Delivery": delivery}),
        Some(Source::Sentry) => json!({"Sentry-Hook-Resource": kind, "Request-ID": delivery}),
        Some(Source::Slack | Source::Git | Source::Cloudevents) | None => json!({}),
    }
}

/// Removes members that are `null`.
fn given(enrichment: &Value) -> Value {
    let members = enrichment.as_object().into_iter().flatten();
    let members = members.filter(|(_, value)| !value.is_null());
    Value::Object(
        members
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// Replaces known secrets, and strings that look like a secret or whose name is one of [`SECRET_NAMES`].
fn cleaned(value: &Value, known: &Redactor) -> Value {
    let clean = |text: &str| {
        let text = known.known_text(text);
        without_secrets(&text).unwrap_or_else(|| text.into_owned())
    };
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(values) => values.iter().map(|value| cleaned(value, known)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let is_secret =
                    value.is_string() && SECRET_NAMES.contains(&name.to_ascii_lowercase().as_str());
                let value = if is_secret {
                    json!("[removed]")
                } else {
                    cleaned(value, known)
                };
                (clean(name), value)
            });
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns the file name for a delivery. Characters other than letters, digits, `-`, `_` and inner dots are percent-encoded:
/// a sender chooses the id, and it must not name another directory.
pub fn file_name(delivery: &str) -> String {
    let mut name = String::new();
    for (index, byte) in delivery.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if is_plain || byte == b'.' && index > 0 {
            name.push(char::from(byte));
        } else {
            write!(name, "%{byte:02X}").expect("writing to a string cannot fail");
        }
        if name.len() > LONGEST_NAME {
            name.truncate(LONGEST_NAME);
            break;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use daemon_provider::redact::Redactor;

    use super::{LONGEST_NAME, cleaned, file_name};

    #[test]
    fn no_delivery_names_another_directory() {
        for (delivery, expected) in [
            (
                "72d3162e-cc78-11e3-81ab-4c9367dc0958",
                "72d3162e-cc78-11e3-81ab-4c9367dc0958",
            ),
            (
                "git:o/r:refs/heads/main:7",
                "git%3Ao%2Fr%3Arefs%2Fheads%2Fmain%3A7",
            ),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
            ("..", "%2E."),
            ("a.b", "a.b"),
            ("ü", "%C3%BC"),
        ] {
            assert_eq!(file_name(delivery), expected);
        }
        assert_eq!(file_name(&"/".repeat(500)).len(), LONGEST_NAME);
    }

    #[test]
    fn known_secrets_and_what_looks_like_one_are_removed_at_any_depth() {
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        let known = Redactor::of(["hunter2-x".to_owned()]);
        let body = json!({"token": "XXYYZZ", "token_count": "7", "event": [{"text": format!("use {token}!"), "Secret": "x", "hunter2-x": "aHVudGVyMi14",
            "secret": {"note": "kept"}, "n": 1, "gone": null}]});
        assert_eq!(
            cleaned(&body, &known),
            json!({"token": "[removed]", "token_count": "7", "event": [{"text": "use [a GitHub token, removed]!",
                "Secret": "[removed]", "secret": {"note": "kept"}, "n": 1, "gone": null, "<redacted>": "<redacted>"}]})
        );
    }
}
