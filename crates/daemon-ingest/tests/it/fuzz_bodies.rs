//! What holds for any request. The targets in `fuzz/` and the loops of `fuzzed.rs` call these functions.

use daemon_event::EventId;
use daemon_ingest::{
    CloudEvents, Delivery, Github, Headers, Linear, Secrets, SenderTokens, Sentry, Slack,
    WebhookSource, identities, sender,
};
use jiff::Timestamp;

/// Headers by a number and a value; the number chooses the name.
pub(crate) type NumberedHeaders = Vec<(u8, Vec<u8>)>;

pub(crate) const OF_WEBHOOKS: [&str; 12] = [
    "X-Hub-Signature-256",
    "X-GitHub-Event",
    "X-GitHub-Delivery",
    "X-Slack-Signature",
    "X-Slack-Request-Timestamp",
    "Linear-Signature",
    "Linear-Event",
    "Linear-Delivery",
    "Sentry-Hook-Signature",
    "Sentry-Hook-Resource",
    "Request-ID",
    "Content-Type",
];
pub(crate) const OF_CLOUDEVENTS: [&str; 8] = [
    "Content-Type",
    "ce-specversion",
    "ce-id",
    "ce-source",
    "ce-type",
    "ce-time",
    "ce-subject",
    "ce-data",
];
/// When every request is received, in seconds since 1970.
pub(crate) const RECEIVED: i64 = 1_795_176_000;
const TOKEN: &str = "0f4c5b1e-not-guessable-0f4c5b1e-not-guessable";

fn named(
    headers: NumberedHeaders,
    names: &'static [&'static str],
) -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let names = names.iter().cycle();
    headers.into_iter().map(move |(number, value)| {
        let mut names = names.clone();
        let name = names.nth(number.into()).expect("it has no end");
        (*name, value)
    })
}

fn delivery<'a>(headers: &'a Headers, body: &'a [u8]) -> Delivery<'a> {
    Delivery {
        headers,
        body,
        received_at: Timestamp::from_second(RECEIVED).expect("a second of 2026"),
        event_id: EventId::new(1_795_176_000_000, [7; 10]),
    }
}

/// Checks that no service's delivery is accepted without the secret, and that reading one does not panic.
pub(crate) fn webhook(source: u8, headers: NumberedHeaders, body: &[u8]) {
    let secrets = || Secrets::new(["0f4c5b1e-not-guessable"]).expect("it is not empty");
    let source: Box<dyn WebhookSource> = match source % 4 {
        0 => Box::new(Github::new(secrets())),
        1 => Box::new(Slack::new(secrets())),
        2 => Box::new(Linear::new(secrets())),
        _ => Box::new(Sentry::new(secrets())),
    };
    let headers = Headers::new(named(headers, &OF_WEBHOOKS));
    let delivery = delivery(&headers, body);
    assert!(source.verify(&delivery).is_err());
    if let Ok(events) = source.events(&delivery) {
        for event in events {
            assert!(!identities(&event).is_empty());
        }
    }
}

/// Checks that no CloudEvent is accepted without a token, and that reading one that has it does not panic.
pub(crate) fn cloudevents(headers: NumberedHeaders, body: &[u8]) {
    let named: Vec<_> = named(headers, &OF_CLOUDEVENTS).collect();
    let source = CloudEvents::new(SenderTokens::of_host(TOKEN));
    assert!(source.admit(&Headers::new(named.clone())).is_err());
    let bearer = ("Authorization", format!("Bearer {TOKEN}").into_bytes());
    let headers = Headers::new(named.into_iter().chain([bearer]));
    if let Ok(events) = source.events(&delivery(&headers, body)) {
        for event in events {
            assert_eq!(sender(&event.delivery), Some("host"));
            assert_eq!(identities(&event).len(), 1);
        }
    }
}
