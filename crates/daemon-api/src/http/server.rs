//! The HTTP listener, its limits, and the routes of a host.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::routing::{get, post};
use daemon_records::{HeldRoster, RosterError};
use daemon_roster::{Principal, RosterCommand};
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::io::Errno;
use serde_json::{Map, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::access::Access;
use super::connections::{Connection, Connections};
use super::exchange::{Received, Sent};
use super::framing::{Findings, Framing};
use super::hooks::Hooks;
use super::mcp::{self, McpServers};
use super::repeats::Repeats;
use super::stall::{READ_TIME, TimedStream};
use super::stream::{Streams, is_stream};
use super::{answer, api, hooks};
use crate::ops::{Operations, Scope};

/// The maximum number of connections.
const MAX_CONNECTIONS: usize = 1_024;
/// The maximum number of stalled connections that are closed when descriptors or memory ran out.
const CLOSED_IN_NEED: usize = 64;
/// The maximum number of headers of a request.
const MAX_HEADERS: usize = 100;
/// The maximum size of all headers of a request, in bytes.
const HEADER_BYTES: usize = 64 * 1024;
/// The longest path in the audit log, in characters.
const LONGEST_AUDITED: usize = 200;
/// The time limit for the headers of a request.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// The condition of a part of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The part works.
    Up,
    /// The part works, with a note for the operator.
    Noted(String),
    /// The part does not work, for this reason.
    Down(String),
}

impl Condition {
    /// Reports whether the host can be ready in this condition.
    pub fn is_up(&self) -> bool {
        !matches!(self, Self::Down(_))
    }

    /// Returns what `/readyz` shows: `ok`, a note or a reason.
    pub fn summary(&self) -> &str {
        match self {
            Self::Up => "ok",
            Self::Noted(text) | Self::Down(text) => text,
        }
    }
}

impl From<Result<(), String>> for Condition {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Down, |()| Self::Up)
    }
}

/// A source of the host's condition and metrics.
#[async_trait]
pub trait Health: Send + Sync {
    /// Returns the name and condition of each part.
    async fn parts(&self) -> Vec<(&'static str, Condition)>;

    /// Returns the metrics in the Prometheus format.
    async fn metrics(&self) -> String;
}

/// The state that all routes share.
pub struct AppState {
    /// Authenticates callers.
    pub access: Access,
    /// Performs the operations.
    pub operations: Operations,
    /// Receives webhooks.
    pub hooks: Arc<Hooks>,
    /// Remembers requests with an `Idempotency-Key`.
    pub repeats: Repeats,
    /// Returns the condition and the metrics of the host.
    pub health: Arc<dyn Health>,
    /// Limits and stops server-sent event streams.
    pub streams: Streams,
    /// Serves MCP clients.
    pub mcp: McpServers,
    /// Knows the tokens of agents.
    pub roster: Arc<HeldRoster>,
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").finish_non_exhaustive()
    }
}

impl AppState {
    /// Records in the audit log of the roster that a form was refused which no page of the host sent. Repetitions within a minute make
    /// one entry.
    pub(crate) async fn record_foreign_form(&self, path: &str) {
        let path = path.chars().take(LONGEST_AUDITED).collect();
        let command = RosterCommand::SendForeignForm { path };
        let refused = self.roster.perform(Principal::Unregistered, command, None);
        if let Err(RosterError::Store(error)) = refused.await {
            tracing::warn!(%error, "the refusal of a form could not be recorded");
        }
    }
}

/// The routes of a starting host: before [`Opening::open`] only `/healthz` and `/readyz` work.
#[derive(Clone, Debug, Default)]
pub struct Opening(Arc<Steps>);

#[derive(Debug, Default)]
struct Steps {
    open: OnceLock<(Router, Arc<AppState>)>,
    /// The current step of the start.
    step: Mutex<&'static str>,
}

impl Opening {
    /// Sets the current step of the start.
    pub fn step(&self, step: &'static str) {
        *self.0.step.lock().expect("no holder panics") = step;
    }

    /// Enables all routes; later calls have no effect.
    pub fn open(&self, app: Arc<AppState>) {
        self.0.open.get_or_init(|| (router(Arc::clone(&app)), app));
    }

    async fn answer(&self, request: hyper::Request<Received>) -> Response<Body> {
        let answered = match self.0.open.get() {
            Some((router, _)) => TowerToHyperService::new(router.clone()).call(request).await,
            None => {
                let step = *self.0.step.lock().expect("no holder panics");
                Ok(starting(request.uri().path(), step))
            }
        };
        answered.unwrap_or_else(|never| match never {})
    }
}

/// Returns the response of a host that is not ready, with the current step.
fn starting(path: &str, step: &str) -> Response<Body> {
    let why = match step {
        // The listener is open before the start sets its first step.
        "" => "the host is starting".to_owned(),
        step => format!("the host is starting: {step}"),
    };
    match path {
        "/healthz" => alive(),
        "/readyz" => readiness(&[("start", Condition::Down(why))]),
        _ => answer::unavailable(&why),
    }
}

/// Serves connections until `stop`, then waits for active requests.
pub async fn serve(listener: TcpListener, opening: Opening, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let connections = Connections::new(MAX_CONNECTIONS);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _peer)) => {
                let connection = tokio::select! {
                    () = stop.cancelled() => break,
                    connection = connections.open() => connection,
                };
                let (opening, stop) = (opening.clone(), stop.clone());
                tasks.spawn(serve_connection(stream, opening, connection, stop));
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                // Connections that wait for their peer can be closed without a loss.
                if is_exhausted(&error) {
                    connections.close_stalled(CLOSED_IN_NEED);
                }
                // `accept` fails at once while descriptors are missing, and the loop would spin.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    tasks.close();
    tasks.wait().await;
    // A delivery is stored to the end also if its connection was closed.
    if let Some((_, app)) = opening.0.open.get() {
        app.hooks.finish().await;
    }
}

/// Reports whether descriptors or memory ran out, which closing connections can remedy.
fn is_exhausted(error: &std::io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}

async fn serve_connection(
    stream: TcpStream,
    opening: Opening,
    connection: Connection,
    stop: CancellationToken,
) {
    let closed = connection.closed();
    let (connection, findings) = (Arc::new(connection), Arc::new(Findings::default()));
    let (mut framing, seen) = (Framing::default(), Arc::clone(&findings));
    let on_read = move |bytes: &[u8]| framing.see(bytes, &seen);
    let asked = Arc::clone(&findings);
    // A sender that closed its writing side may still read the response. For a stream it means that the reader is gone:
    // without this check it would keep its place forever.
    let is_gone = move |stream: &TcpStream| asked.is_stream() && is_at_end(stream);
    let stream = TimedStream::new(stream, READ_TIME, on_read, is_gone);
    let service = service_fn(move |request| {
        let (opening, connection) = (opening.clone(), Arc::clone(&connection));
        exchange(request, opening, connection, Arc::clone(&findings))
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        // By default hyper drops the response if the sender closes its writing side after the request.
        .half_close(true)
        .header_read_timeout(HEADER_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = closed.cancelled() => return,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Reports whether a peer has closed its writing side.
fn is_at_end(stream: &TcpStream) -> bool {
    let peeked = stream.peek(&mut [0]).now_or_never();
    matches!(peeked, Some(Ok(0) | Err(_)))
}

/// Handles one request of a connection.
async fn exchange(
    request: hyper::Request<Incoming>,
    opening: Opening,
    connection: Arc<Connection>,
    findings: Arc<Findings>,
) -> Result<Response<Sent>, Infallible> {
    connection.works();
    let mut request = request.map(|body| Received::new(body, Arc::clone(&connection)));
    request.extensions_mut().insert(Arc::clone(&connection));
    let mut response = if findings.is_ambiguous() {
        answer::status(StatusCode::BAD_REQUEST)
    } else {
        opening.answer(request).await
    };
    // After such a request the next head cannot be found in the raw bytes, so no further request is accepted.
    if findings.is_ambiguous() || findings.is_last() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    findings.answers_with_stream(is_stream(response.headers()));
    Ok(response.map(|body| Sent::new(body, connection)))
}

fn router(app: Arc<AppState>) -> Router {
    let guarded = Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/mcp", get(mcp::serve).post(mcp::serve).delete(mcp::serve))
        .merge(api::router())
        .merge(crate::pages::router())
        .layer(from_fn_with_state(Arc::clone(&app), check_host));
    // Webhooks are not checked for `Host`: a proxy in front passes its own name on, and the signature or the token identifies
    // the sender.
    Router::new()
        .route("/webhooks/{source}", post(hooks::receive))
        .route("/events", post(hooks::receive_cloudevents))
        .merge(guarded)
        .fallback(crate::pages::not_found)
        .method_not_allowed_fallback(async || answer::status(StatusCode::METHOD_NOT_ALLOWED))
        // axum's default of 2 MB is below the limits of webhooks and operations.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(check_size))
        .with_state(app)
}

/// Refuses headers that are too large in total; the read buffer limits them only roughly.
async fn check_size(request: Request, next: Next) -> Response<Body> {
    let lines = request.headers().iter();
    let bytes: usize = lines
        .map(|(name, value)| name.as_str().len() + value.len() + b": \r\n".len())
        .sum();
    if bytes > HEADER_BYTES {
        return answer::status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    next.run(request).await
}

async fn check_host(
    State(app): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    match app.access.check_site(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(status) => {
            if request.method() == Method::POST {
                app.record_foreign_form(request.uri().path()).await;
            }
            answer::status(status)
        }
    }
}

async fn healthz() -> Response<Body> {
    alive()
}

fn alive() -> Response<Body> {
    let mut map = Map::new();
    map.insert("ok".to_owned(), json!(true));
    answer::members(StatusCode::OK, map)
}

async fn readyz(State(app): State<Arc<AppState>>) -> Response<Body> {
    let parts = app.health.parts().await;
    readiness(&parts)
}

/// Returns the response of `/readyz`: 200 if every part is up.
fn readiness(parts: &[(&'static str, Condition)]) -> Response<Body> {
    let ok = parts.iter().all(|(_, condition)| condition.is_up());
    let part =
        |(name, condition): &(&str, Condition)| ((*name).to_owned(), json!(condition.summary()));
    let parts: Map<_, _> = parts.iter().map(part).collect();
    let mut map = Map::new();
    map.insert("ok".to_owned(), json!(ok));
    map.insert("parts".to_owned(), parts.into());
    let status = match ok {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    answer::members(status, map)
}

async fn metrics(State(app): State<Arc<AppState>>, request: Request) -> Response<Body> {
    if let Err(status) = app.access.check_caller(request.headers(), Scope::Read) {
        return answer::status(status);
    }
    let mut response = Response::new(Body::from(app.health.metrics().await));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Binds the listener.
///
/// # Errors
/// If the address cannot be bound.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}
