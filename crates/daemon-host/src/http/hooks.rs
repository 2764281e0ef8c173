//! Webhooks: verified, stored, and only then acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use daemon_event::Source as SourceName;
use daemon_ingest::{Delivery, Headers, Malformed, Source};
use daemon_store::{Accepted, Freshness, Matching, NewEvent, StoreError};
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Map, json};
use tokio::sync::Semaphore;

use super::answer;
use super::server::Doors;
use crate::{intake, random};

/// Webhooks in flight.
const IN_FLIGHT: usize = 128;
/// Bytes of bodies in memory.
const BUFFERED: u64 = 256 * 1024 * 1024;
/// Events that may wait to be matched.
const BACKLOG: u64 = 100_000;
/// How long a sender may take for its body.
const BODY_TIME: Duration = Duration::from_secs(15);
/// How long a commit may take before the sender is asked to come again.
const COMMIT_TIME: Duration = Duration::from_secs(2);

/// Where verified events go.
#[async_trait]
pub trait Admit: Send + Sync {
    /// Stores events; they are durable once this returns.
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError>;

    /// Returns how many events wait to be matched.
    fn backlog(&self) -> u64;

    /// Says why nothing can be stored at the moment, if so.
    fn refusal(&self) -> Option<String>;
}

/// The webhooks that are served.
pub struct Hooks {
    sources: RwLock<BTreeMap<SourceName, Arc<dyn Source>>>,
    admit: Arc<dyn Admit>,
    places: Semaphore,
    buffered: AtomicU64,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl Hooks {
    /// Serves the given sources.
    pub fn new(sources: BTreeMap<SourceName, Arc<dyn Source>>, admit: Arc<dyn Admit>) -> Self {
        Self {
            sources: RwLock::new(sources),
            admit,
            places: Semaphore::new(IN_FLIGHT),
            buffered: AtomicU64::new(0),
        }
    }

    /// Serves other sources, or the same ones with other secrets, from now on.
    pub fn replace(&self, sources: BTreeMap<SourceName, Arc<dyn Source>>) {
        *self.sources.write().expect("no holder panics") = sources;
    }

    fn source(&self, name: SourceName) -> Option<Arc<dyn Source>> {
        self.sources
            .read()
            .expect("no holder panics")
            .get(&name)
            .cloned()
    }
}

/// Bytes that are counted while they are held.
struct Held<'a> {
    counter: &'a AtomicU64,
    bytes: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.counter.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Takes one webhook.
pub(super) async fn receive(
    State(doors): State<Arc<Doors>>,
    Path(name): Path<String>,
    request: Request,
) -> Response<Body> {
    let hooks = &doors.hooks;
    // Git has no webhooks: a repository is looked at.
    let Some(name) = name.parse().ok().filter(|name| *name != SourceName::Git) else {
        return answer::status(StatusCode::NOT_FOUND);
    };
    crate::failpoint::hit("W1");
    let Ok(_place) = hooks.places.try_acquire() else {
        return answer::unavailable("128 webhooks are in flight");
    };
    if hooks.admit.backlog() >= BACKLOG {
        return answer::unavailable("100,000 events wait to be matched");
    }
    if let Some(why) = hooks.admit.refusal() {
        return answer::unavailable(&format!("the disk of the host: {why}"));
    }
    let Some(source) = hooks.source(name) else {
        // A source without a secret answers like a wrong signature.
        return unauthorized();
    };
    let length = match declared_length(request.headers()) {
        Ok(length) => length,
        Err(status) => return answer::status(status),
    };
    let cap = source.max_body();
    if length.is_some_and(|length| length > u64::try_from(cap).unwrap_or(u64::MAX)) {
        return answer::status(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let bytes = length.unwrap_or_else(|| u64::try_from(cap).unwrap_or(u64::MAX));
    let held = hooks.buffered.fetch_add(bytes, Ordering::Relaxed);
    let _held = Held {
        counter: &hooks.buffered,
        bytes,
    };
    if held + bytes > BUFFERED {
        return answer::unavailable("256 MiB of bodies are buffered");
    }
    let (parts, body) = request.into_parts();
    let body = match read_body(body, cap).await {
        Ok(body) => body,
        Err(status) => return answer::status(status),
    };
    crate::failpoint::hit("W2");
    let headers = Headers::new(
        parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    let now = random::now();
    let delivery = Delivery {
        headers: &headers,
        body: &body,
        received_at: now,
        event_id: random::event_id(now),
    };
    admit(&doors, &*source, &delivery).await
}

async fn admit(doors: &Doors, source: &dyn Source, delivery: &Delivery<'_>) -> Response<Body> {
    if let Err(error) = source.verify(delivery) {
        metrics::counter!("daemon_webhooks_rejected_total").increment(1);
        tracing::info!(%error, "a webhook was refused");
        return match error.status() {
            401 => unauthorized(),
            status => answer::status(
                StatusCode::from_u16(status).expect("a rejection has a valid status"),
            ),
        };
    }
    crate::failpoint::hit("W3");
    match source.challenge(delivery) {
        Ok(None) => {}
        Ok(Some(challenge)) => return answer::plain(challenge.as_str()),
        Err(error) => return malformed(&error),
    }
    let events = match source.events(delivery) {
        Ok(events) => events,
        Err(error) => return malformed(&error),
    };
    let events = events
        .into_iter()
        .map(|event| intake::new_event(event, Matching::Due))
        .collect();
    match tokio::time::timeout(COMMIT_TIME, doors.hooks.admit.accept(events)).await {
        Ok(Ok(accepted)) => acknowledge(&accepted),
        Ok(Err(error)) => {
            tracing::error!(
                error = crate::ops::chain(&error),
                "a webhook could not be stored"
            );
            answer::unavailable("the store cannot be written")
        }
        Err(_) => answer::unavailable("the store is slow"),
    }
}

fn malformed(error: &Malformed) -> Response<Body> {
    let status =
        StatusCode::from_u16(error.status()).expect("a malformed delivery has a valid status");
    answer::failure(status, "invalid-event", &crate::ops::chain(error), None)
}

fn acknowledge(accepted: &[Accepted]) -> Response<Body> {
    crate::failpoint::hit("W5");
    intake::count("webhook", accepted);
    let ids: Vec<&str> = accepted
        .iter()
        .map(|accepted| accepted.id.as_str())
        .collect();
    let is_duplicate = !accepted.is_empty()
        && accepted
            .iter()
            .all(|accepted| accepted.freshness == Freshness::Duplicate);
    let mut map = Map::new();
    map.insert("event_ids".to_owned(), json!(ids));
    map.insert("duplicate".to_owned(), json!(is_duplicate));
    answer::members(StatusCode::OK, map)
}

fn unauthorized() -> Response<Body> {
    answer::failure(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the delivery is not authentic",
        None,
    )
}

/// Reads the declared length, and refuses a request whose end two headers tell differently.
fn declared_length(headers: &HeaderMap) -> Result<Option<u64>, StatusCode> {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let length = match (lengths.next(), lengths.next()) {
        (None, _) => return Ok(None),
        (Some(length), None) => length,
        (Some(_), Some(_)) => return Err(StatusCode::BAD_REQUEST),
    };
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(StatusCode::BAD_REQUEST);
    }
    length
        .to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Some)
        .ok_or(StatusCode::BAD_REQUEST)
}

async fn read_body(body: Body, cap: usize) -> Result<bytes::Bytes, StatusCode> {
    match tokio::time::timeout(BODY_TIME, Limited::new(body, cap).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(StatusCode::PAYLOAD_TOO_LARGE)
        }
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}
