//! Webhooks: verifies, stores and then acknowledges them.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use daemon_dispatch::{SenderReply, reply_to_sender};
use daemon_event::Source;
use daemon_ingest::{Challenge, Delivery, Headers, Malformed, Rejected, WebhookSource};
use daemon_records::random;
use daemon_store::{Accepted, Freshness, Matching, NewEvent, StoreError};
use jiff::Timestamp;
use serde_json::{Map, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio_util::task::TaskTracker;

use super::api::Refusal;
use super::connections::{Connection, SMALL};
use super::server::AppState;
use super::{answer, bodies};
use crate::intake;

/// The maximum number of webhooks in flight.
const IN_FLIGHT: usize = 128;
/// The maximum number of them with bodies above [`SMALL`].
const LARGE_IN_FLIGHT: usize = 32;
/// The maximum number of events that wait to be matched.
const BACKLOG: u64 = 100_000;
/// How often a body is written: to the log of the store, and from there to the database file.
const COPIES: u64 = 2;
/// How long a commit may take before the sender gets 503.
const COMMIT_TIME: Duration = Duration::from_secs(2);

/// The destination of verified events.
#[async_trait]
pub trait Admit: Send + Sync {
    /// Reads the wall clock of the host.
    fn now(&self) -> Timestamp;

    /// Stores events; they are durable once this returns.
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError>;

    /// Returns how many events wait to be matched.
    fn backlog(&self) -> u64;

    /// Notes that a delivery of a source was refused for want of resources, so that its sender may never repeat it.
    fn missed(&self, source: Source);

    /// Notes that a delivery for a source was refused because its signature is not that of a configured secret.
    fn unsigned(&self, source: Source);

    /// Returns the reason if this many more bytes cannot be stored at the moment.
    fn refusal(&self, bytes: u64) -> Option<String>;
}

/// The served sources and the limits of their webhooks.
pub struct Hooks {
    sources: RwLock<BTreeMap<Source, Arc<dyn WebhookSource>>>,
    admit: Arc<dyn Admit>,
    places: Arc<Semaphore>,
    large_places: Arc<Semaphore>,
    /// Large bodies are parsed and stored one at a time, because each takes several times its size in memory.
    large_turn: Arc<Semaphore>,
    /// The deliveries that are being parsed or stored.
    tasks: TaskTracker,
    /// Bytes of verified bodies that are not written yet, so that the free space of the disk does not show them.
    under_way: AtomicU64,
}

/// Disk space that is reserved for events until this is dropped.
struct Room<'a>(&'a AtomicU64, u64);

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl Hooks {
    /// Creates the intake for the given sources.
    pub fn new(
        sources: BTreeMap<Source, Arc<dyn WebhookSource>>,
        admit: Arc<dyn Admit>,
    ) -> Arc<Self> {
        Arc::new(Self {
            sources: RwLock::new(sources),
            admit,
            places: Arc::new(Semaphore::new(IN_FLIGHT)),
            large_places: Arc::new(Semaphore::new(LARGE_IN_FLIGHT)),
            large_turn: Arc::new(Semaphore::new(1)),
            tasks: TaskTracker::new(),
            under_way: AtomicU64::new(0),
        })
    }

    /// Replaces the sources, for example after a reload with other secrets.
    pub fn replace(&self, sources: BTreeMap<Source, Arc<dyn WebhookSource>>) {
        *self.sources.write().expect("no holder panics") = sources;
    }

    /// Waits for deliveries that are being parsed or stored; called after the last request.
    pub(super) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Takes a place for a complete body, and one among the large bodies if it is large.
    fn take_places(&self, n_bytes: u64) -> Result<Places, Refusal> {
        let take = |places: &Arc<Semaphore>| Arc::clone(places).try_acquire_owned();
        let large = match n_bytes > SMALL {
            true => Some(take(&self.large_places).or(Err(busy_with_large()))?),
            false => None,
        };
        let place = take(&self.places).or(Err(busy()))?;
        Ok((place, large))
    }

    /// Fails if the disk has no space for a body of this size in addition to the bodies that are being stored.
    fn check_room(&self, body: u64) -> Result<(), Refusal> {
        let under_way = self.under_way.load(Ordering::Relaxed);
        let refused = self.admit.refusal(under_way.saturating_add(COPIES * body));
        refused.map_or(Ok(()), |why| {
            Err(unavailable(&format!("the disk of the host: {why}")))
        })
    }

    /// Reserves disk space for verified events.
    fn keep_room(&self, events: &[NewEvent]) -> Result<Room<'_>, Refusal> {
        let payloads = events.iter().map(|new| new.event.payload.len() as u64);
        let bytes = COPIES * payloads.sum::<u64>();
        // Added before the check, so that two deliveries at a time do not both count on the space of one.
        self.under_way.fetch_add(bytes, Ordering::Relaxed);
        let room = Room(&self.under_way, bytes);
        self.check_room(0)?;
        Ok(room)
    }

    fn source(&self, name: Source) -> Option<Arc<dyn WebhookSource>> {
        self.sources
            .read()
            .expect("no holder panics")
            .get(&name)
            .cloned()
    }
}

/// The place of a webhook in flight, and the one among those with large bodies.
type Places = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

/// Handles one webhook.
pub(super) async fn receive(
    State(app): State<Arc<AppState>>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(name): Path<String>,
    request: Request,
) -> Response<Body> {
    // Git has no webhooks: the host reads watched repositories itself. CloudEvents have a route of their own.
    let sends = |name: &Source| !matches!(name, Source::Git | Source::Cloudevents);
    let Some(name) = name.parse().ok().filter(sends) else {
        return answer::status(StatusCode::NOT_FOUND);
    };
    respond(&app.hooks, name, request, &connection).await
}

/// Handles one request with CloudEvents.
pub(super) async fn receive_cloudevents(
    State(app): State<Arc<AppState>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> Response<Body> {
    respond(&app.hooks, Source::Cloudevents, request, &connection).await
}

async fn respond(
    hooks: &Arc<Hooks>,
    name: Source,
    request: Request,
    connection: &Connection,
) -> Response<Body> {
    daemon_records::failpoint::hit("W1");
    let answer = match accept(hooks, name, request, connection).await {
        Ok(answer) => answer,
        Err(refusal) => *refusal,
    };
    // Only of a source that is received, because any sender can name any source.
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE && hooks.source(name).is_some() {
        hooks.admit.missed(name);
    }
    if answer.status() == StatusCode::UNAUTHORIZED && hooks.source(name).is_some() {
        hooks.admit.unsigned(name);
    }
    answer
}

async fn accept(
    hooks: &Arc<Hooks>,
    name: Source,
    request: Request,
    connection: &Connection,
) -> Result<Response<Body>, Refusal> {
    if hooks.places.available_permits() == 0 {
        return Err(busy());
    }
    if hooks.admit.backlog() >= BACKLOG {
        return Err(unavailable("100,000 events wait to be matched"));
    }
    // Before the body is received, so that a full host refuses a sender early.
    hooks.check_room(0)?;
    // A source without a secret must not be distinguishable from a wrong signature.
    let source = hooks.source(name).ok_or_else(unauthorized)?;
    let (parts, body) = request.into_parts();
    let headers = headers(&parts.headers);
    source.admit(&headers).map_err(|error| rejected(&error))?;
    let refused = |status| Box::new(answer::status(status));
    let length = bodies::declared_length(&parts.headers).map_err(refused)?;
    let cap = source.max_body();
    if length.is_some_and(|length| length > cap) {
        return Err(bodies::too_large(body).await);
    }
    hooks.check_room(length.unwrap_or(0) as u64)?;
    let (body, held) = bodies::read(body, length, cap, connection).await?;
    daemon_records::failpoint::hit("W2");
    // A body takes a place once it is complete, so that slow senders occupy only a connection.
    let places = hooks.take_places(body.len() as u64)?;
    let turn = match places.1 {
        Some(_) => Some(Arc::clone(&hooks.large_turn).acquire_owned().await),
        None => None,
    };
    let turn = turn.map(|turn| turn.expect("the semaphore is never closed"));
    let (reply, response) = oneshot::channel();
    let (storing, kept) = (Arc::clone(hooks), held.keep());
    // A task of its own, which neither a disconnected sender nor an early response cancels: a committed event has to be
    // reported to matching, and a large body stays in memory until it is stored.
    hooks.tasks.spawn(async move {
        let _held = (places, kept);
        if turn.is_some() {
            let now = storing.admit.now();
            let read = spawn_blocking(move || read(&*source, &headers, &body, now)).await;
            let read = read.unwrap_or_else(|error| resume_unwind(error.into_panic()));
            let _room = storing.store(read, reply).await;
            storing.merge_log().await;
        } else {
            let read = read(&*source, &headers, &body, storing.admit.now());
            drop(body);
            storing.store(read, reply).await;
        }
    });
    let response = response.await;
    Ok(response.unwrap_or_else(|_| answer::status(StatusCode::INTERNAL_SERVER_ERROR)))
}

fn busy() -> Refusal {
    unavailable(&format!("{IN_FLIGHT} webhooks are in flight"))
}

/// Returns the refusal of a large body; a small one would be accepted.
fn busy_with_large() -> Refusal {
    unavailable(&format!(
        "{LARGE_IN_FLIGHT} webhooks with bodies over {} MiB are in flight",
        SMALL >> 20
    ))
}

fn unavailable(message: &str) -> Refusal {
    Box::new(answer::unavailable(message))
}

fn headers(headers: &HeaderMap) -> Headers {
    let lines = headers.iter();
    Headers::new(lines.map(|(name, value)| (name.as_str(), value.as_bytes())))
}

/// The content of a verified delivery.
enum Read {
    Challenge(Challenge),
    Events(Vec<NewEvent>),
}

/// Verifies a delivery and parses its events.
fn read(
    source: &dyn WebhookSource,
    headers: &Headers,
    body: &[u8],
    now: Timestamp,
) -> Result<Read, Refusal> {
    let delivery = Delivery {
        headers,
        body,
        received_at: now,
        event_id: random::event_id(now),
    };
    // The body of an unverified sender is not parsed.
    source.verify(&delivery).map_err(|error| rejected(&error))?;
    daemon_records::failpoint::hit("W3");
    if let Some(challenge) = source.challenge(&delivery).map_err(malformed)? {
        return Ok(Read::Challenge(challenge));
    }
    let events = source.events(&delivery).map_err(malformed)?;
    let new = events.into_iter();
    Ok(Read::Events(
        new.map(|event| intake::new_event(event, Matching::Due))
            .collect(),
    ))
}

impl Hooks {
    /// Stores events and sends the response, at the latest after [`COMMIT_TIME`]; returns the reserved disk space.
    async fn store(
        &self,
        read: Result<Read, Refusal>,
        reply: oneshot::Sender<Response<Body>>,
    ) -> Option<Room<'_>> {
        let kept = read.and_then(|read| match read {
            Read::Challenge(challenge) => Err(Box::new(answer::plain(challenge.as_str()))),
            Read::Events(events) => Ok((self.keep_room(&events)?, events)),
        });
        // Here and below `send` fails if the sender has disconnected, which does not matter for storing.
        let (room, events) = match kept {
            Ok(kept) => kept,
            Err(response) => {
                reply.send(*response).unwrap_or_default();
                return None;
            }
        };
        let mut storing = self.admit.accept(events);
        if daemon_records::failpoint::is_planted("answer-before-commit") {
            reply.send(acknowledge(&[])).unwrap_or_default();
            drop(answered(reply_to_sender(Some(storing.await))));
            return Some(room);
        }
        let stored = tokio::time::timeout(COMMIT_TIME, &mut storing).await;
        let is_late = stored.is_err();
        let response = answered(reply_to_sender(stored.ok()));
        reply.send(response).unwrap_or_default();
        daemon_records::failpoint::hit("W6");
        if is_late {
            // Only for the log: the sender already got 503.
            drop(answered(reply_to_sender(Some(storing.await))));
        }
        Some(room)
    }

    /// Waits until the store has merged its log, which it does before its next write: the disk then shows both copies.
    async fn merge_log(&self) {
        if let Err(error) = self.admit.accept(Vec::new()).await {
            tracing::debug!(%error, "the store could not be waited for");
        }
    }
}

/// Returns the response to a delivery that cannot be attributed to its source.
fn rejected(error: &Rejected) -> Refusal {
    metrics::counter!("daemon_webhooks_rejected_total").increment(1);
    tracing::info!(%error, "a webhook was refused");
    match error.status() {
        401 => unauthorized(),
        status => Box::new(answer::explained(
            StatusCode::from_u16(status).expect("a rejection has a valid status"),
            &error.to_string(),
        )),
    }
}

const SLOW: &str = "the store is slow";

fn answered(reply: SenderReply<Vec<Accepted>, StoreError>) -> Response<Body> {
    match reply {
        SenderReply::Acknowledge(accepted) => acknowledge(&accepted),
        SenderReply::Failed(error) => {
            let error = daemon_records::error::chain(&error);
            tracing::error!(error, "a webhook could not be stored");
            answer::unavailable("the store cannot be written")
        }
        SenderReply::Slow => answer::unavailable(SLOW),
    }
}

fn malformed(error: Malformed) -> Refusal {
    let status =
        StatusCode::from_u16(error.status()).expect("a malformed delivery has a valid status");
    let message = daemon_records::error::chain(&error);
    Box::new(match status {
        StatusCode::BAD_REQUEST => answer::failure(status, "invalid-event", &message, None),
        _ => answer::explained(status, &message),
    })
}

fn acknowledge(accepted: &[Accepted]) -> Response<Body> {
    daemon_records::failpoint::hit("W5");
    intake::count("webhook", accepted);
    let ids: Vec<&str> = accepted
        .iter()
        .map(|accepted| accepted.id.as_str())
        .collect();
    let is_duplicate = !accepted.is_empty()
        && accepted
            .iter()
            .all(|accepted| accepted.freshness != Freshness::New);
    let mut map = Map::new();
    map.insert("event_ids".to_owned(), json!(ids));
    map.insert("duplicate".to_owned(), json!(is_duplicate));
    answer::members(StatusCode::OK, map)
}

fn unauthorized() -> Refusal {
    Box::new(answer::failure(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the delivery is not authentic",
        None,
    ))
}

#[cfg(test)]
mod tests;
