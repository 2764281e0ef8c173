//! Tests of the crate's public interface.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bodies;
mod cloudevents;
mod github_api;
mod signatures;
mod signing;

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
