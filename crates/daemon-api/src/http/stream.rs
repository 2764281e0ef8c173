//! Server-sent events: the log of a run as it grows, and rows of listings as they change.
//!
//! Nothing is pushed: each stream calls the operations again, and only after its client has read the previous events.
//! So a slow reader delays neither a run, nor the store, nor other readers.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use daemon_records::error::OpError;
use daemon_run_folder::LogPlace;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::answer;
use crate::ops::{Operation, Operations, Params, log_place};
use crate::wire::{FailureObject, Versioned};

/// The maximum number of streams; far below that of connections, so that other requests always find one.
const MAX_STREAMS: usize = 256;
/// How often a stream reads a log.
const LOG_PERIOD: Duration = Duration::from_millis(300);
/// How often a stream reads listings.
const ROWS_PERIOD: Duration = Duration::from_secs(1);
/// How often a stream without events sends a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The listings of `stream`: the name of the rows, the name of an event, and the operation.
const LISTINGS: [(&str, &str, Operation); 5] = [
    ("events", "event", Operation::EventList),
    ("ticks", "tick", Operation::TickList),
    ("activations", "activation", Operation::ActivationList),
    ("runs", "run", Operation::RunList),
    ("outputs", "output", Operation::OutputList),
];

/// The limit of streams, and the token that ends them.
#[derive(Clone, Debug)]
pub struct Streams {
    places: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Streams {
    /// Creates the limit for streams that end when the host stops.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_STREAMS)),
            stop,
        }
    }

    /// Streams the log of a run to its end.
    pub(super) async fn log(
        &self,
        operations: &Operations,
        params: Params,
        headers: &HeaderMap,
    ) -> Response<Body> {
        let follow = match Log::new(operations.clone(), params, headers) {
            Ok(follow) => follow,
            Err(error) => return answer::op_error(&error),
        };
        // Read once before the response begins, so that an error becomes an HTTP status and not an event.
        if let Err(error) = follow.operations.run_part(&follow.id, follow.place).await {
            return answer::op_error(&error);
        }
        self.answer(follow)
    }

    /// Streams the changes of all listings, or of the listing of one operation.
    pub(super) async fn rows(
        &self,
        operations: &Operations,
        params: Params,
        one: Option<Operation>,
    ) -> Response<Body> {
        let listings = LISTINGS
            .iter()
            .filter(|(_, _, listed)| one.is_none_or(|one| one == *listed));
        let mut follow = Rows {
            operations: operations.clone(),
            params,
            listings: listings.copied().collect(),
            seen: HashMap::new(),
        };
        match follow.changed().await {
            Ok(first) => self.answer(Begun {
                first: Some(first),
                follow,
            }),
            Err(error) => answer::op_error(&error),
        }
    }

    /// Returns the response that streams a source, or 503 while too many streams are open.
    pub(crate) fn answer(&self, follow: impl Follow) -> Response<Body> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return answer::unavailable("too many streams are open");
        };
        let open = OpenStream {
            follow,
            ready: VecDeque::new(),
            state: StreamState::Open,
            stop: self.stop.clone(),
            _place: place,
        };
        let events = stream::unfold(open, |mut open| async move {
            let event = open.next().await?;
            Some((Ok::<_, Infallible>(event), open))
        });
        let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
        let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        *response.status_mut() = StatusCode::OK;
        response
    }
}

/// Reports whether a response with these headers is a stream.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "text/event-stream")
}

/// A source of events that is polled.
pub(crate) trait Follow: Send + 'static {
    /// The pause between two calls of [`Follow::look`].
    const PERIOD: Duration;

    /// Returns the new events, and whether more may follow.
    fn look(&mut self) -> impl Future<Output = Result<(Vec<Event>, StreamState), OpError>> + Send;
}

/// Whether more events may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// They may.
    Open,
    /// There are no more.
    Ended,
}

/// The state of an open stream.
struct OpenStream<F> {
    follow: F,
    ready: VecDeque<Event>,
    state: StreamState,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl<F: Follow> OpenStream<F> {
    /// Waits for the next event; `None` after the last.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.state == StreamState::Ended || self.stop.is_cancelled() {
                return None;
            }
            match self.follow.look().await {
                Ok((events, state)) => {
                    self.state = state;
                    self.ready.extend(events);
                }
                Err(error) => {
                    self.state = StreamState::Ended;
                    let failure =
                        FailureObject::new(&error.code, &error.message, error.help.as_deref());
                    self.ready
                        .push_back(event("error", Versioned::new(failure).to_line()));
                }
            }
            if self.ready.is_empty() && self.state == StreamState::Open {
                tokio::select! {
                    () = self.stop.cancelled() => return None,
                    () = tokio::time::sleep(F::PERIOD) => {}
                }
            }
        }
    }
}

/// Returns an event with a line of JSON.
pub(crate) fn event(name: &str, line: String) -> Event {
    Event::default().event(name).data(line.trim_end())
}

/// The log of a run.
struct Log {
    operations: Operations,
    id: String,
    place: LogPlace,
    /// The run as it was sent last.
    sent: Option<Value>,
}

impl Log {
    fn new(
        operations: Operations,
        mut params: Params,
        headers: &HeaderMap,
    ) -> Result<Self, OpError> {
        let id = params.required("id")?;
        let asked = log_place(&mut params)?;
        params.finish()?;
        // A browser sends this header when it reconnects, with the URL of the first request.
        let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let place = last.and_then(place_of).unwrap_or(asked);
        Ok(Self {
            operations,
            id,
            place,
            sent: None,
        })
    }
}

/// Formats a place as the id of an event.
fn id_of(place: LogPlace) -> String {
    match place.output {
        Some(output) => format!("{}-{output}", place.events),
        None => place.events.to_string(),
    }
}

fn place_of(id: &str) -> Option<LogPlace> {
    let (events, output) = match id.split_once('-') {
        Some((events, output)) => (events, Some(output.parse().ok()?)),
        None => (id, None),
    };
    let events = events.parse().ok()?;
    Some(LogPlace { events, output })
}

impl Follow for Log {
    const PERIOD: Duration = LOG_PERIOD;

    async fn look(&mut self) -> Result<(Vec<Event>, StreamState), OpError> {
        let part = self.operations.run_part(&self.id, self.place).await?;
        let has_more = part.next != self.place;
        self.place = part.next;
        let mut events = Vec::with_capacity(part.lines.len() + 1);
        for line in &part.lines {
            events.push(Event::default().data(Versioned::new(line).to_line().trim_end()));
        }
        // Only the last line has an id: a client that lost the connection before it receives all lines of the part again.
        if let Some(last) = events.pop() {
            events.push(last.id(id_of(part.next)));
        }
        let state = part.run.state.clone();
        let mut run = serde_json::to_value(&part.run).unwrap_or_default();
        // The duration differs in each poll, and is no change of the run.
        let elapsed = run["elapsed_s"].take();
        if self.sent.as_ref() != Some(&run) {
            self.sent = Some(run.clone());
            run["elapsed_s"] = elapsed;
            events.push(event("run", Versioned::new(run).to_line()));
        }
        if state == "running" || has_more {
            return Ok((events, StreamState::Open));
        }
        let end = json!({"id": self.id, "state": state});
        events.push(event("end", Versioned::new(end).to_line()));
        Ok((events, StreamState::Ended))
    }
}

/// The rows of listings.
struct Rows {
    operations: Operations,
    params: Params,
    listings: Vec<(&'static str, &'static str, Operation)>,
    /// The newest page of each listing, as it was sent.
    seen: HashMap<&'static str, Vec<Value>>,
}

impl Rows {
    /// Returns the rows that are new or have changed, oldest first.
    async fn changed(&mut self) -> Result<Vec<Event>, OpError> {
        let mut events = Vec::new();
        for (plural, name, operation) in self.listings.clone() {
            let mut page = self.operations.call(operation, self.params.clone()).await?;
            let Some(Value::Array(rows)) = page.remove(plural) else {
                continue;
            };
            let seen = self.seen.entry(plural).or_default();
            for row in rows.iter().rev().filter(|row| !is_known(seen, row)) {
                events.push(event(name, Versioned::new(row).to_line()));
            }
            *seen = rows;
        }
        Ok(events)
    }
}

/// Reports whether a row was sent before, apart from its duration.
fn is_known(seen: &[Value], row: &Value) -> bool {
    let same = |known: &Value| match (known.as_object(), row.as_object()) {
        (Some(known), Some(row)) => known
            .iter()
            .all(|(name, value)| name == "elapsed_s" || row.get(name) == Some(value)),
        _ => false,
    };
    seen.iter().any(same)
}

impl Follow for Rows {
    const PERIOD: Duration = ROWS_PERIOD;

    async fn look(&mut self) -> Result<(Vec<Event>, StreamState), OpError> {
        Ok((self.changed().await?, StreamState::Open))
    }
}

/// A stream of rows whose first events were read before the response began.
struct Begun {
    first: Option<Vec<Event>>,
    follow: Rows,
}

impl Follow for Begun {
    const PERIOD: Duration = ROWS_PERIOD;

    async fn look(&mut self) -> Result<(Vec<Event>, StreamState), OpError> {
        match self.first.take() {
            Some(first) => Ok((first, StreamState::Open)),
            None => self.follow.look().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use daemon_run_folder::LogPlace;
    use serde_json::json;

    use super::{id_of, is_known, place_of};

    #[test]
    fn the_id_of_an_event_is_the_place_after_it() {
        for id in ["0", "8388700", "8388700-1.0", "8388700-2.4096"] {
            assert_eq!(place_of(id).map(id_of), Some(id.to_owned()));
        }
        assert_eq!(
            place_of("7"),
            Some(LogPlace {
                events: 7,
                output: None
            })
        );
        for id in ["", "-", "x", "1-", "1-3.0", "-1", "1-1.0-2"] {
            assert_eq!(place_of(id), None, "{id}");
        }
    }

    #[test]
    fn a_row_is_sent_again_when_it_changed_and_not_because_time_passed() {
        let seen = [json!({"id": "a", "state": "running", "elapsed_s": 1.0})];
        let row = |state, elapsed| json!({"id": "a", "state": state, "elapsed_s": elapsed});
        assert!(is_known(&seen, &row("running", 2.0)));
        assert!(!is_known(&seen, &row("done", 2.0)));
        assert!(!is_known(&[], &row("running", 1.0)));
    }
}
