//! No input is accepted without the secret, and no input causes a panic.
#![no_main]

use daemon_event::EventId;
use daemon_ingest::{Delivery, Github, Headers, Linear, Secrets, Sentry, Slack, WebhookSource, identities};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 12] = [
    "X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery", "X-Slack-Signature",
    "X-Slack-Request-Timestamp", "Linear-Signature", "Linear-Event", "Linear-Delivery",
    "Sentry-Hook-Signature", "Sentry-Hook-Resource", "Request-ID", "Content-Type",
];

fuzz_target!(|input: (u8, Vec<(u8, Vec<u8>)>, Vec<u8>)| {
    let (source, headers, body) = input;
    let secrets = || Secrets::new(["0f4c5b1e-not-guessable"]).expect("it is not empty");
    let source: Box<dyn WebhookSource> = match source % 4 {
        0 => Box::new(Github::new(secrets())),
        1 => Box::new(Slack::new(secrets())),
        2 => Box::new(Linear::new(secrets())),
        _ => Box::new(Sentry::new(secrets())),
    };
    let named = headers.into_iter().map(|(name, value)| (NAMES[usize::from(name) % NAMES.len()], value));
    let headers = Headers::new(named);
    let delivery = Delivery {
        headers: &headers,
        body: &body,
        received_at: Timestamp::from_second(1_795_176_000).expect("a second of 2026"),
        event_id: EventId::new(1_795_176_000_000, [7; 10]),
    };
    assert!(source.verify(&delivery).is_err());
    if let Ok(events) = source.events(&delivery) {
        events.iter().for_each(|event| assert!(!identities(event).is_empty()));
    }
});
