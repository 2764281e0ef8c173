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
use daemon_event::Source as SourceName;
use daemon_ingest::{Challenge, Delivery, Headers, Malformed, Source};
use daemon_store::{Accepted, Freshness, Matching, NewEvent, StoreError};
use serde_json::{Map, json};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::task::spawn_blocking;
use tokio_util::task::TaskTracker;

use super::api::Refusal;
use super::connections::{Connection, SMALL};
use super::server::Doors;
use super::{answer, bodies};
use crate::{intake, random};

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
    sources: RwLock<BTreeMap<SourceName, Arc<dyn Source>>>,
    admit: Arc<dyn Admit>,
    places: Semaphore,
    large_places: Semaphore,
    /// Larger bodies are read and stored one after the other: reading one takes memory several times.
    large_turn: Arc<Semaphore>,
    /// Those that are read or stored: at most one at a time.
    large: TaskTracker,
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
    pub fn new(sources: BTreeMap<SourceName, Arc<dyn Source>>, admit: Arc<dyn Admit>) -> Self {
        Self {
            sources: RwLock::new(sources),
            admit,
            places: Semaphore::new(IN_FLIGHT),
            large_places: Semaphore::new(LARGE_IN_FLIGHT),
            large_turn: Arc::new(Semaphore::new(1)),
            large: TaskTracker::new(),
            under_way: AtomicU64::new(0),
        }
    }

    /// Serves other sources, or the same ones with other secrets, from now on.
    pub fn replace(&self, sources: BTreeMap<SourceName, Arc<dyn Source>>) {
        *self.sources.write().expect("no holder panics") = sources;
    }

    /// Waits for what is still read and stored, once no request comes any more.
    pub(super) async fn finish(&self) {
        self.large.close();
        self.large.wait().await;
    }

    /// Takes the place of a body that was received in full, and one among the large ones where it is large.
    fn take_places(&self, is_large: bool) -> Result<Places<'_>, Refusal> {
        let large = match is_large {
            true => Some(self.large_places.try_acquire().or(Err(busy_with_large()))?),
            false => None,
        };
        let place = self.places.try_acquire().or(Err(busy()))?;
        Ok((place, large))
    }

    /// Refuses a body of so many bytes that the disk has no room for, beside what is under way.
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

    fn source(&self, name: SourceName) -> Option<Arc<dyn Source>> {
        self.sources
            .read()
            .expect("no holder panics")
            .get(&name)
            .cloned()
    }
}

/// The place of a webhook in flight, and the one among those with large bodies.
type Places<'a> = (SemaphorePermit<'a>, Option<SemaphorePermit<'a>>);

/// Takes one webhook.
pub(super) async fn receive(
    State(doors): State<Arc<Doors>>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(name): Path<String>,
    request: Request,
) -> Response<Body> {
    // Git has no webhooks: a repository is looked at.
    let Some(name) = name.parse().ok().filter(|name| *name != SourceName::Git) else {
        return answer::status(StatusCode::NOT_FOUND);
    };
    crate::failpoint::hit("W1");
    match accept(&doors, name, request, &connection).await {
        Ok(answer) => answer,
        Err(refusal) => *refusal,
    }
}

async fn accept(
    doors: &Arc<Doors>,
    name: SourceName,
    request: Request,
    connection: &Connection,
) -> Result<Response<Body>, Refusal> {
    let hooks = &doors.hooks;
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
    let (body, _held) = bodies::read(body, length, cap, connection).await?;
    crate::failpoint::hit("W2");
    // A body takes a place once it has been received in full, so that slow senders hold a connection only.
    let is_large = body.len() as u64 > SMALL;
    let _places = hooks.take_places(is_large)?;
    let headers = parts.headers;
    if is_large {
        let turn = Arc::clone(&hooks.large_turn).acquire_owned().await;
        let turn = turn.expect("the semaphore is never closed");
        let (answer, answered) = oneshot::channel();
        let doors = Arc::clone(doors);
        // Neither a sender that leaves nor an answer that comes too late ends the turn: the body is in memory until it is stored.
        hooks.large.spawn(async move {
            let _turn = turn;
            let read = spawn_blocking(move || read(&*source, &headers, &body)).await;
            let read = read.unwrap_or_else(|error| resume_unwind(error.into_panic()));
            doors.hooks.store_whole(read, answer).await;
        });
        answered
            .await
            .unwrap_or_else(|_| Err(refused(StatusCode::INTERNAL_SERVER_ERROR)))
    } else {
        let read = read(&*source, &headers, &body)?;
        drop(body);
        hooks.store(read).await
    }
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
fn read(source: &dyn Source, headers: &HeaderMap, body: &[u8]) -> Result<Read, Refusal> {
    let headers = Headers::new(
        headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
    let now = random::now();
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
    crate::failpoint::hit("W3");
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
    async fn store(&self, read: Read) -> Result<Response<Body>, Refusal> {
        let events = match read {
            Read::Challenge(challenge) => return Ok(answer::plain(challenge.as_str())),
            Read::Events(events) => events,
        };
        let _room = self.keep_room(&events)?;
        let stored = tokio::time::timeout(COMMIT_TIME, self.admit.accept(events)).await;
        stored.map_or_else(|_| Err(unavailable(SLOW)), acknowledged)
    }

    /// Stores what was read to the end, also where the answer has to be given before.
    async fn store_whole(
        &self,
        read: Result<Read, Refusal>,
        answer: oneshot::Sender<Result<Response<Body>, Refusal>>,
    ) {
        let events = match read {
            Ok(Read::Events(events)) => events,
            Ok(Read::Challenge(challenge)) => {
                // The sender may be gone, here and below.
                return answer
                    .send(Ok(answer::plain(challenge.as_str())))
                    .unwrap_or_default();
            }
            Err(refusal) => return answer.send(Err(refusal)).unwrap_or_default(),
        };
        let _room = match self.keep_room(&events) {
            Ok(room) => room,
            Err(refusal) => return answer.send(Err(refusal)).unwrap_or_default(),
        };
        let mut storing = self.admit.accept(events);
        let stored = tokio::time::timeout(COMMIT_TIME, &mut storing).await;
        let is_late = stored.is_err();
        let stored = stored.map_or_else(|_| Err(unavailable(SLOW)), acknowledged);
        answer.send(stored).unwrap_or_default();
        if is_late {
            // A failure is logged; the sender was asked to come again.
            drop(acknowledged(storing.await));
        }
        // The store merges its log before it writes anything else: once this is done, the disk shows both copies.
        if let Err(error) = self.admit.accept(Vec::new()).await {
            tracing::debug!(%error, "the store could not be waited for");
        }
    }
}

const SLOW: &str = "the store is slow";

fn acknowledged(stored: Result<Vec<Accepted>, StoreError>) -> Result<Response<Body>, Refusal> {
    match stored {
        Ok(accepted) => Ok(acknowledge(&accepted)),
        Err(error) => {
            let error = crate::ops::chain(&error);
            tracing::error!(error, "a webhook could not be stored");
            Err(unavailable("the store cannot be written"))
        }
    }
}

fn malformed(error: Malformed) -> Refusal {
    let status =
        StatusCode::from_u16(error.status()).expect("a malformed delivery has a valid status");
    let message = crate::ops::chain(&error);
    Box::new(answer::failure(status, "invalid-event", &message, None))
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
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use async_trait::async_trait;
    use axum::body::{Body, to_bytes};
    use axum::http::Response;
    use daemon_store::{Accepted, NewEvent, StoreError};
    use serde_json::Value;

    use super::{Admit, Hooks, IN_FLIGHT, LARGE_IN_FLIGHT};

    /// Stores nothing.
    struct Nowhere;

    #[async_trait]
    impl Admit for Nowhere {
        async fn accept(&self, _: Vec<NewEvent>) -> Result<Vec<Accepted>, StoreError> {
            Ok(Vec::new())
        }

        fn backlog(&self) -> u64 {
            0
        }

        fn refusal(&self, _: u64) -> Option<String> {
            None
        }
    }

    async fn message(refusal: Response<Body>) -> String {
        let body = to_bytes(refusal.into_body(), 4_096).await.expect("a body");
        let answer: Value = serde_json::from_slice(&body).expect("an object");
        answer["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    }

    #[tokio::test]
    async fn a_refused_place_says_which_limit_was_reached() {
        let hooks = Hooks::new(BTreeMap::new(), Arc::new(Nowhere));
        let large: Vec<_> = (0..LARGE_IN_FLIGHT)
            .map(|_| hooks.take_places(true).expect("a place"))
            .collect();
        let refused = hooks
            .take_places(true)
            .expect_err("no place for a large one");
        assert_eq!(
            message(*refused).await,
            "32 webhooks with bodies over 1 MiB are in flight"
        );
        let small: Vec<_> = (large.len()..IN_FLIGHT)
            .map(|_| hooks.take_places(false).expect("a place"))
            .collect();
        let refused = hooks.take_places(false).expect_err("no place at all");
        assert_eq!(message(*refused).await, "128 webhooks are in flight");
        drop((large, small));
    }
}
