//! The operation that accepts a stored or recorded event again.

use daemon_event::{DeliveryId, Event, EventId};
use daemon_records::error::{OpError, OpErrorKind};
use daemon_records::random;
use daemon_store::{EventRow, Freshness, Matching};
use serde_json::{Map, Value, json};

use super::show::complete_verdicts;
use super::{Operations, Params, members};
use crate::fire::FiredEvent;
use crate::intake;
use crate::wire::{EventObject, VerdictObject};

/// The delivery that a replayed event belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Delivery {
    /// The first delivery, so that the event is a duplicate.
    Same,
    /// A new delivery with an id of its own.
    New,
}

impl Operations {
    /// Accepts a stored or recorded event as if it had just arrived.
    pub(super) async fn event_replay(
        &self,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let given = (params.text("id")?, params.value("event"));
        let request = params.request_id()?;
        let delivery = if params.flag("as_new")? {
            Delivery::New
        } else {
            Delivery::Same
        };
        let dry_run = params.flag("dry_run")?;
        params.finish()?;
        let mut event = self.coming(given).await?;
        if delivery == Delivery::New {
            event.delivery = new_delivery(&event, request.as_deref());
        }
        let (row, is_duplicate) = if dry_run {
            self.imagined(event, &delivery).await?
        } else {
            self.accepted(event, &delivery).await?
        };
        let mut object = EventObject::new(&row);
        if dry_run {
            object.verdicts = self.would_wake(&row.event);
        }
        let mut map = members(&object)?;
        map.insert("dry_run".to_owned(), json!(dry_run));
        map.insert("duplicate".to_owned(), json!(is_duplicate));
        Ok(map)
    }

    /// Reads the event of the request: the id of a stored one, or an object.
    async fn coming(&self, given: (Option<String>, Option<Value>)) -> Result<Event, OpError> {
        match given {
            (Some(id), None) => self.again(&id).await,
            (None, Some(Value::Object(members))) => {
                FiredEvent::take(Params::new(members))?.event(self.live.now())
            }
            (None, Some(_)) => Err(OpError::invalid("`event` must be an object")),
            (Some(_), Some(_)) => Err(OpError::invalid("`id` and `event` exclude each other")),
            (None, None) => Err(OpError::invalid("`id` is missing")),
        }
    }

    /// Reads a stored event as one that arrives now.
    async fn again(&self, id: &str) -> Result<Event, OpError> {
        let Ok(parsed) = id.parse::<EventId>() else {
            return Err(OpError::not_found("event", id));
        };
        let row = self.store.event(&parsed).await?;
        let event = row.ok_or_else(|| OpError::not_found("event", id))?.event;
        // `retain.payloads` removes a payload together with its facts, and conditions cannot be evaluated without them.
        if event.payload.is_empty() {
            let message = format!("the payload of `{id}` is not kept any more");
            return Err(OpError::new(OpErrorKind::Conflict, "no-payload", message)
                .with_help("retain.payloads says how long payloads are kept"));
        }
        let now = self.live.now();
        Ok(Event {
            id: random::event_id(now),
            received_at: now,
            ..event
        })
    }

    async fn accepted(
        &self,
        event: Event,
        delivery: &Delivery,
    ) -> Result<(EventRow, bool), OpError> {
        let new = match delivery {
            Delivery::Same => intake::new_event(event, Matching::Due),
            Delivery::New => intake::replayed(event),
        };
        let accepted = self.store.accept(vec![new]).await?;
        let missing = || OpError::new(OpErrorKind::Internal, "internal", "the store lost an event");
        self.live.accepted(&accepted);
        let accepted = accepted.into_iter().next().ok_or_else(missing)?;
        let row = self.store.event(&accepted.id).await?.ok_or_else(missing)?;
        Ok((row, accepted.freshness != Freshness::New))
    }

    /// Returns the row that an event would have, without storing it.
    async fn imagined(
        &self,
        event: Event,
        delivery: &Delivery,
    ) -> Result<(EventRow, bool), OpError> {
        let known = match delivery {
            Delivery::Same => {
                let new = intake::new_event(event.clone(), Matching::Due);
                match self.store.known(&new).await? {
                    Some(id) => self.store.event(&id).await?,
                    None => None,
                }
            }
            Delivery::New => None,
        };
        let is_duplicate = known.is_some();
        let row = known.unwrap_or(EventRow {
            seq: 0,
            event,
            later_reports: Vec::new(),
            duplicates: 0,
            matching: Matching::Due,
            triggers: Vec::new(),
            wanted: Vec::new(),
        });
        Ok((row, is_duplicate))
    }

    /// Returns a verdict for every condition, as matching would.
    fn would_wake(&self, event: &Event) -> Vec<VerdictObject> {
        let woken = self.registry.matches(event);
        let registry = self.registry.get();
        let mut verdicts = Vec::new();
        for (key, conditions) in &woken {
            let wakes = registry
                .find_key(key)
                .is_some_and(|daemon| daemon.is_valid());
            verdicts.extend(conditions.iter().map(|condition| VerdictObject {
                daemon_id: key.id.to_string(),
                condition: *condition,
                wakes,
                activation_id: None,
            }));
        }
        complete_verdicts(&registry, event, &mut verdicts);
        verdicts
    }
}

/// Returns the id of a new delivery; a repeated request has the same id.
fn new_delivery(event: &Event, request: Option<&str>) -> DeliveryId {
    let name = match request {
        // The store keeps the id, so a repeated request is recognised also after a restart.
        Some(request) => {
            let first = format!("{request}\n{}:{}", event.source, event.delivery);
            daemon_run_folder::sha256(first.as_bytes())
        }
        None => event.id.to_string(),
    };
    format!("replay:{name}")
        .parse()
        .expect("a hash and an id are short and plain")
}
