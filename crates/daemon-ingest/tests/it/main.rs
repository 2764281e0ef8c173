//! Tests of the crate's public interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bodies;
mod cloudevents;
mod flips;
mod fuzz_bodies;
mod fuzzed;
mod github_api;
mod random;
mod signatures;
mod signing;
mod timing;

use daemon_event::EventId;
use daemon_ingest::{Delivery, Headers, WebhookSource};
use jiff::Timestamp;

/// Returns the status of a host's response.
fn answer(source: &dyn WebhookSource, headers: &Headers, body: &[u8], received_at: &str) -> u16 {
    let delivery = delivery(headers, body, at(received_at));
    if let Err(rejected) = source.verify(&delivery) {
        return rejected.status();
    }
    source
        .events(&delivery)
        .map_or_else(|malformed| malformed.status(), |_| 200)
}

fn delivery<'a>(headers: &'a Headers, body: &'a [u8], received_at: Timestamp) -> Delivery<'a> {
    Delivery {
        headers,
        body,
        received_at,
        event_id: EventId::new(1_795_251_600_000, [7; 10]),
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Reads a number that a later tier raises.
#[expect(
    clippy::disallowed_methods,
    reason = "the tier is told by the environment"
)]
fn setting(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |text| text.parse().unwrap())
}
