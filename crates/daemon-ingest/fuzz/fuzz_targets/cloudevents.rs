//! No request is accepted without a token, and none with one causes a panic.
#![no_main]

use daemon_event::EventId;
use daemon_ingest::{CloudEvents, Delivery, Headers, SenderTokens, WebhookSource, identities, sender};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 8] = [
    "Content-Type", "ce-specversion", "ce-id", "ce-source", "ce-type", "ce-time", "ce-subject", "ce-data",
];
const TOKEN: &str = "0f4c5b1e-not-guessable-0f4c5b1e-not-guessable";

fuzz_target!(|input: (Vec<(u8, Vec<u8>)>, Vec<u8>)| {
    let (headers, body) = input;
    let named = headers.into_iter().map(|(name, value)| (NAMES[usize::from(name) % NAMES.len()], value));
    let named: Vec<(&str, Vec<u8>)> = named.collect();
    let source = CloudEvents::new(SenderTokens::of_host(TOKEN));
    assert!(source.admit(&Headers::new(named.clone())).is_err());
    let bearer = ("Authorization", format!("Bearer {TOKEN}").into_bytes());
    let headers = Headers::new(named.into_iter().chain([bearer]));
    let delivery = Delivery {
        headers: &headers,
        body: &body,
        received_at: Timestamp::from_second(1_795_176_000).expect("a second of 2026"),
        event_id: EventId::new(1_795_176_000_000, [7; 10]),
    };
    if let Ok(events) = source.events(&delivery) {
        for event in events {
            assert_eq!(sender(&event.delivery), Some("host"));
            assert_eq!(identities(&event).len(), 1);
        }
    }
});
