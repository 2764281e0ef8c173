//! Server-sent events: the log of a run as it grows, and rows of listings as they change.
//!
//! Nothing is pushed: each stream asks the operations again for itself, and only after its client took what it was sent.
//! So no reader, however slow, holds up a run, the store or another reader.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use daemon_run_folder::LogPlace;
use futures_util::stream;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::answer;
use crate::ops::{Operation, Operations, Params, log_place};
use crate::wire::{FailureObject, Versioned};
use daemon_runner::error::OpError;

/// Streams at once; far fewer than connections, so that there is always room to ask.
const MAX_STREAMS: usize = 256;
/// How often a log is looked at.
const LOG_PERIOD: Duration = Duration::from_millis(300);
/// How often listings are looked at.
const ROWS_PERIOD: Duration = Duration::from_secs(1);
/// How often a stream without news shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The listings that `stream` follows: the name of their rows, what one is called, and the operation.
const LISTINGS: [(&str, &str, Operation); 5] = [
    ("events", "event", Operation::EventList),
    ("ticks", "tick", Operation::TickList),
    ("activations", "activation", Operation::ActivationList),
    ("runs", "run", Operation::RunList),
    ("outputs", "output", Operation::OutputList),
];

/// The streams of a host.
#[derive(Clone, Debug)]
pub struct Streams {
    places: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Streams {
    /// Makes room for streams that end when the host stops.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_STREAMS)),
            stop,
        }
    }

    /// Follows the log of a run to its end.
    pub(super) async fn log(
        &self,
        operations: &Operations,
        params: Map<String, Value>,
        headers: &HeaderMap,
    ) -> Response<Body> {
        let follow = match Log::new(operations.clone(), params, headers) {
            Ok(follow) => follow,
            Err(error) => return answer::op_error(&error),
        };
        // What cannot be followed is told by a status.
        if let Err(error) = follow.operations.run_part(&follow.id, follow.place).await {
            return answer::op_error(&error);
        }
        self.answer(follow)
    }

    /// Follows listings: all of them, or the one of an operation.
    pub(super) async fn rows(
        &self,
        operations: &Operations,
        params: Map<String, Value>,
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

    fn answer(&self, follow: impl Follow) -> Response<Body> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return answer::unavailable("too many streams are open");
        };
        let course = Course {
            follow,
            ready: VecDeque::new(),
            state: State::Open,
            stop: self.stop.clone(),
            _place: place,
        };
        let events = stream::unfold(course, |mut course| async move {
            let event = course.next().await?;
            Some((Ok::<_, Infallible>(event), course))
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

/// Reports whether an answer with these headers is a stream.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "text/event-stream")
}

/// Something that is followed by looking again.
trait Follow: Send + 'static {
    /// How often.
    const PERIOD: Duration;

    /// Returns what is new, and whether more may come.
    fn look(&mut self) -> impl Future<Output = Result<(Vec<Event>, State), OpError>> + Send;
}

/// Whether more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
}

/// A stream on its way.
struct Course<F> {
    follow: F,
    ready: VecDeque<Event>,
    state: State,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl<F: Follow> Course<F> {
    /// Waits for the next event; `None` after the last.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.state == State::Ended || self.stop.is_cancelled() {
                return None;
            }
            match self.follow.look().await {
                Ok((events, state)) => {
                    self.state = state;
                    self.ready.extend(events);
                }
                Err(error) => {
                    self.state = State::Ended;
                    let told =
                        FailureObject::new(&error.code, &error.message, error.help.as_deref());
                    self.ready
                        .push_back(event("error", Versioned::new(told).to_line()));
                }
            }
            if self.ready.is_empty() && self.state == State::Open {
                tokio::select! {
                    () = self.stop.cancelled() => return None,
                    () = tokio::time::sleep(F::PERIOD) => {}
                }
            }
        }
    }
}

fn event(name: &str, line: String) -> Event {
    Event::default().event(name).data(line.trim_end())
}

/// The log of a run.
struct Log {
    operations: Operations,
    id: String,
    place: LogPlace,
    /// How the run was told to stand.
    told: Option<Value>,
}

impl Log {
    fn new(
        operations: Operations,
        params: Map<String, Value>,
        headers: &HeaderMap,
    ) -> Result<Self, OpError> {
        let mut params = Params::new(params);
        let id = params.required("id")?;
        let asked = log_place(&mut params)?;
        params.finish()?;
        // A client that lost its connection goes on where it was.
        let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
        let place = last.and_then(place_of).unwrap_or(asked);
        Ok(Self {
            operations,
            id,
            place,
            told: None,
        })
    }
}

/// Writes a place as the id of an event.
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

    async fn look(&mut self) -> Result<(Vec<Event>, State), OpError> {
        let part = self.operations.run_part(&self.id, self.place).await?;
        let has_more = part.next != self.place;
        self.place = part.next;
        let mut events = Vec::with_capacity(part.lines.len() + 1);
        for line in &part.lines {
            events.push(Event::default().data(Versioned::new(line).to_line().trim_end()));
        }
        // The place is told with the last line: lines before it come once more to who lost them.
        if let Some(last) = events.pop() {
            events.push(last.id(id_of(part.next)));
        }
        let state = part.run.state.clone();
        let mut run = serde_json::to_value(&part.run).unwrap_or_default();
        // It changes whenever it is looked at.
        let elapsed = run["elapsed_s"].take();
        if self.told.as_ref() != Some(&run) {
            self.told = Some(run.clone());
            run["elapsed_s"] = elapsed;
            events.push(event("run", Versioned::new(run).to_line()));
        }
        if state == "running" || has_more {
            return Ok((events, State::Open));
        }
        let end = json!({"id": self.id, "state": state});
        events.push(event("end", Versioned::new(end).to_line()));
        Ok((events, State::Ended))
    }
}

/// Rows of listings.
struct Rows {
    operations: Operations,
    params: Map<String, Value>,
    listings: Vec<(&'static str, &'static str, Operation)>,
    /// The newest page of each listing, as it was told.
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

/// Reports whether a row was told as it is; what changes by itself with time is no change.
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

    async fn look(&mut self) -> Result<(Vec<Event>, State), OpError> {
        Ok((self.changed().await?, State::Open))
    }
}

/// A stream whose first events are known.
struct Begun {
    first: Option<Vec<Event>>,
    follow: Rows,
}

impl Follow for Begun {
    const PERIOD: Duration = ROWS_PERIOD;

    async fn look(&mut self) -> Result<(Vec<Event>, State), OpError> {
        match self.first.take() {
            Some(first) => Ok((first, State::Open)),
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
    fn the_id_of_an_event_names_the_place_behind_it() {
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
    fn a_row_is_told_again_when_it_changed_and_not_because_time_passed() {
        let seen = [json!({"id": "a", "state": "running", "elapsed_s": 1.0})];
        let row = |state, elapsed| json!({"id": "a", "state": state, "elapsed_s": elapsed});
        assert!(is_known(&seen, &row("running", 2.0)));
        assert!(!is_known(&seen, &row("done", 2.0)));
        assert!(!is_known(&[], &row("running", 1.0)));
    }
}
