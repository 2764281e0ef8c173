//! Webhooks: verified, stored, and only then acknowledged.

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
use daemon_ingest::{Challenge, Delivery, Headers, Malformed, WebhookSource};
use daemon_store::{Accepted, Freshness, Matching, NewEvent, StoreError};
use serde_json::{Map, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio_util::task::TaskTracker;

use super::api::Refusal;
use super::connections::{Connection, SMALL};
use super::server::AppState;
use super::{answer, bodies};
use crate::intake;
use daemon_runner::clock;
use daemon_runner::random;

/// Webhooks in flight.
const IN_FLIGHT: usize = 128;
/// Those of them whose bodies may be larger than small.
const LARGE_IN_FLIGHT: usize = 32;
/// Events that may wait to be matched.
const BACKLOG: u64 = 100_000;
/// How often a body is written: to the log of the store, and from there to its file.
const COPIES: u64 = 2;
/// How long a commit may take before the sender is asked to come again.
const COMMIT_TIME: Duration = Duration::from_secs(2);

/// Where verified events go.
#[async_trait]
pub trait Admit: Send + Sync {
    /// Stores events; they are durable once this returns.
    async fn accept(&self, events: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError>;

    /// Returns how many events wait to be matched.
    fn backlog(&self) -> u64;

    /// Says why so many bytes more cannot be stored at the moment, if so.
    fn refusal(&self, bytes: u64) -> Option<String>;
}

/// The webhooks that are served.
pub struct Hooks {
    sources: RwLock<BTreeMap<Source, Arc<dyn WebhookSource>>>,
    admit: Arc<dyn Admit>,
    places: Arc<Semaphore>,
    large_places: Arc<Semaphore>,
    /// Larger bodies are read and stored one after the other: reading one takes memory several times.
    large_turn: Arc<Semaphore>,
    /// Deliveries that are read or stored; each has its places.
    tasks: TaskTracker,
    /// Bytes that authentic bodies may still take of the disk: looking at the disk does not show them yet.
    under_way: AtomicU64,
}

/// Bytes of the disk that are kept for events until this is dropped.
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
    /// Serves the given sources.
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

    /// Serves other sources, or the same ones with other secrets, from now on.
    pub fn replace(&self, sources: BTreeMap<Source, Arc<dyn WebhookSource>>) {
        *self.sources.write().expect("no holder panics") = sources;
    }

    /// Waits for what is still read and stored, once no request comes any more.
    pub(super) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Takes the place of a body that was received in full, and one among the large ones if it is large.
    fn take_places(&self, n_bytes: u64) -> Result<Places, Refusal> {
        let take = |places: &Arc<Semaphore>| Arc::clone(places).try_acquire_owned();
        let large = match n_bytes > SMALL {
            true => Some(take(&self.large_places).or(Err(busy_with_large()))?),
            false => None,
        };
        let place = take(&self.places).or(Err(busy()))?;
        Ok((place, large))
    }

    /// Refuses a body of so many bytes that the disk has no room for, in addition to the bodies that are being stored.
    fn check_room(&self, body: u64) -> Result<(), Refusal> {
        let under_way = self.under_way.load(Ordering::Relaxed);
        let refused = self.admit.refusal(under_way.saturating_add(COPIES * body));
        refused.map_or(Ok(()), |why| {
            Err(unavailable(&format!("the disk of the host: {why}")))
        })
    }

    /// Keeps room on the disk for authentic events: two that come at once do not both count on what is left for one.
    fn keep_room(&self, events: &[NewEvent]) -> Result<Room<'_>, Refusal> {
        let payloads = events.iter().map(|new| new.event.payload.len() as u64);
        let bytes = COPIES * payloads.sum::<u64>();
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

/// Takes one webhook.
pub(super) async fn receive(
    State(app): State<Arc<AppState>>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(name): Path<String>,
    request: Request,
) -> Response<Body> {
    // Git has no webhooks: a repository is looked at.
    let Some(name) = name.parse().ok().filter(|name| *name != Source::Git) else {
        return answer::status(StatusCode::NOT_FOUND);
    };
    daemon_runner::failpoint::hit("W1");
    match accept(&app.hooks, name, request, &connection).await {
        Ok(answer) => answer,
        Err(refusal) => *refusal,
    }
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
    hooks.check_room(0)?;
    // A source without a secret answers like a wrong signature.
    let source = hooks.source(name).ok_or_else(unauthorized)?;
    let refused = |status| Box::new(answer::status(status));
    let length = bodies::declared_length(request.headers()).map_err(refused)?;
    let cap = source.max_body();
    if length.is_some_and(|length| length > cap) {
        return Err(refused(StatusCode::PAYLOAD_TOO_LARGE));
    }
    hooks.check_room(length.unwrap_or(0) as u64)?;
    let (parts, body) = request.into_parts();
    let (body, held) = bodies::read(body, length, cap, connection).await?;
    daemon_runner::failpoint::hit("W2");
    // A body takes a place once it has been received in full, so that slow senders hold a connection only.
    let places = hooks.take_places(body.len() as u64)?;
    let turn = match places.1 {
        Some(_) => Some(Arc::clone(&hooks.large_turn).acquire_owned().await),
        None => None,
    };
    let turn = turn.map(|turn| turn.expect("the semaphore is never closed"));
    let (reply, response) = oneshot::channel();
    let (storing, headers, kept) = (Arc::clone(hooks), parts.headers, held.keep());
    // Neither a sender that leaves nor an answer before the commit ends this: what is committed has to be reported to
    // matching, and a large body is in memory until it is stored.
    hooks.tasks.spawn(async move {
        let _held = (places, kept);
        if turn.is_some() {
            let read = spawn_blocking(move || read(&*source, &headers, &body)).await;
            let read = read.unwrap_or_else(|error| resume_unwind(error.into_panic()));
            let _room = storing.store(read, reply).await;
            storing.merge_log().await;
        } else {
            let read = read(&*source, &headers, &body);
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

/// Says that others with large bodies are being stored; a smaller one would be taken.
fn busy_with_large() -> Refusal {
    unavailable(&format!(
        "{LARGE_IN_FLIGHT} webhooks with bodies over {} MiB are in flight",
        SMALL >> 20
    ))
}

fn unavailable(message: &str) -> Refusal {
    Box::new(answer::unavailable(message))
}

/// What an authentic delivery is.
enum Read {
    Challenge(Challenge),
    Events(Vec<NewEvent>),
}

/// Verifies a delivery and reads its events.
fn read(source: &dyn WebhookSource, headers: &HeaderMap, body: &[u8]) -> Result<Read, Refusal> {
    let headers = Headers::new(
        headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    let now = clock::now();
    let delivery = Delivery {
        headers: &headers,
        body,
        received_at: now,
        event_id: random::event_id(now),
    };
    source.verify(&delivery).map_err(|error| {
        metrics::counter!("daemon_webhooks_rejected_total").increment(1);
        tracing::info!(%error, "a webhook was refused");
        match error.status() {
            401 => unauthorized(),
            status => Box::new(answer::status(
                StatusCode::from_u16(status).expect("a rejection has a valid status"),
            )),
        }
    })?;
    daemon_runner::failpoint::hit("W3");
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
    /// Stores what was read, to the end even if the answer is due before; returns the room on the disk that the events take.
    async fn store(
        &self,
        read: Result<Read, Refusal>,
        reply: oneshot::Sender<Response<Body>>,
    ) -> Option<Room<'_>> {
        let kept = read.and_then(|read| match read {
            Read::Challenge(challenge) => Err(Box::new(answer::plain(challenge.as_str()))),
            Read::Events(events) => Ok((self.keep_room(&events)?, events)),
        });
        // The sender may be gone, here and below.
        let (room, events) = match kept {
            Ok(kept) => kept,
            Err(response) => {
                reply.send(*response).unwrap_or_default();
                return None;
            }
        };
        let mut storing = self.admit.accept(events);
        let stored = tokio::time::timeout(COMMIT_TIME, &mut storing).await;
        let is_late = stored.is_err();
        let response = answered(reply_to_sender(stored.ok()));
        reply.send(response).unwrap_or_default();
        if is_late {
            // A failure is logged; the sender was asked to come again.
            drop(answered(reply_to_sender(Some(storing.await))));
        }
        Some(room)
    }

    /// Waits for the store to merge its log, which it does before it writes anything else: the disk shows both copies then.
    async fn merge_log(&self) {
        if let Err(error) = self.admit.accept(Vec::new()).await {
            tracing::debug!(%error, "the store could not be waited for");
        }
    }
}

const SLOW: &str = "the store is slow";

fn answered(reply: SenderReply<Vec<Accepted>, StoreError>) -> Response<Body> {
    match reply {
        SenderReply::Acknowledge(accepted) => acknowledge(&accepted),
        SenderReply::Failed(error) => {
            let error = daemon_runner::error::chain(&error);
            tracing::error!(error, "a webhook could not be stored");
            answer::unavailable("the store cannot be written")
        }
        SenderReply::Slow => answer::unavailable(SLOW),
    }
}

fn malformed(error: Malformed) -> Refusal {
    let status =
        StatusCode::from_u16(error.status()).expect("a malformed delivery has a valid status");
    let message = daemon_runner::error::chain(&error);
    Box::new(answer::failure(status, "invalid-event", &message, None))
}

fn acknowledge(accepted: &[Accepted]) -> Response<Body> {
    daemon_runner::failpoint::hit("W5");
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
