//! Stored events, read from the object that the operation `event/get` returns.

use daemon_event::{Event, InvalidId};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_watch::corpus::EnvelopeFacts;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::fire::FiredEvent;

/// A stored event.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// The event as a person provides one, with the delivery id that it has.
    pub fired: FiredEvent,
    /// The event, with its own times.
    pub event: Event,
    /// The facts that its host recorded, as JSON objects.
    pub facts: Vec<Value>,
    /// The chain that it continues, as its object has it; null for none.
    pub chain: Value,
}

impl StoredEvent {
    /// Reads the object of an event.
    ///
    /// # Errors
    /// If the object is incomplete, or its payload is invalid for its source and kind, such as an expired one.
    pub fn read(object: &Map<String, Value>, now: Timestamp) -> Result<Self, OpError> {
        let text = |name: &str| {
            let text = object.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let broken = |message| OpError::new(OpErrorKind::Internal, "internal", message);
        let source = text("source")
            .parse()
            .map_err(|error: InvalidId| broken(error.to_string()))?;
        let known = object.get("enrichment").cloned().unwrap_or_default();
        let known: EnvelopeFacts = serde_json::from_value(known)
            .map_err(|error| broken(format!("the enrichment of an event: {error}")))?;
        let body = object.get("payload").map(Value::to_string);
        let fired = FiredEvent {
            source,
            kind: text("kind"),
            body: body.unwrap_or_default().into_bytes(),
            delivery: Some(text("delivery_id")),
            enrichment: known.into(),
        };
        let event = fired.event(now)?;
        // Building the event has set the current time; the stored event has its own times.
        let at = |name: &str, other| text(name).parse().unwrap_or(other);
        let event = Event {
            time: at("time", event.time),
            received_at: at("received_at", event.received_at),
            ..event
        };
        let facts = object.get("facts").and_then(Value::as_array);
        Ok(Self {
            fired,
            event,
            facts: facts.cloned().unwrap_or_default(),
            chain: object.get("chain").cloned().unwrap_or_default(),
        })
    }
}
