//! The operations as routes below `/api/v1/`.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{MethodFilter, get, on};
use daemon_records::error::OpError;
use http_body_util::LengthLimitError;
use serde_json::{Map, Value};

use super::answer;
use super::repeats;
use super::server::AppState;
use crate::ops::{Operation, Params, Scope, Verb};

/// The maximum length of the body of an operation, in bytes.
// `daemon/fire` and `daemon/explain` contain a payload, which may have 25 MiB.
const BODY_CAP: usize = 26 * 1024 * 1024;

/// The operations that accept `follow=true`.
const FOLLOWED: [Operation; 6] = [
    Operation::RunLog,
    Operation::EventList,
    Operation::TickList,
    Operation::ActivationList,
    Operation::RunList,
    Operation::OutputList,
];

/// Builds the routes from the table of operations.
pub(super) fn router() -> Router<Arc<AppState>> {
    Operation::ALL
        .iter()
        .fold(Router::new(), |router, operation| {
            let Some(route) = operation.route() else {
                return router;
            };
            let filter = match operation.verb() {
                Verb::Get => MethodFilter::GET,
                Verb::Post => MethodFilter::POST,
            };
            let handle = move |state: State<Arc<AppState>>,
                               path: Result<Option<Path<String>>, PathRejection>,
                               query: Query<Vec<(String, String)>>,
                               request: Request| {
                answer_operation(*operation, state, path, query, request)
            };
            router.route(&format!("/api/v1/{route}"), on(filter, handle))
        })
        .route("/api/v1/stream", get(stream))
}

/// Streams the changes of all listings.
async fn stream(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    request: Request,
) -> Response<Body> {
    if let Err(status) = app.access.check_caller(request.headers(), Scope::Read) {
        return answer::status(status);
    }
    match params(Map::new(), query, None) {
        Ok(params) => app.streams.rows(&app.operations, params, None).await,
        Err(answer) => *answer,
    }
}

/// Performs a reading operation for an authenticated caller: once, or as a stream with `follow=true`.
pub(crate) async fn look(
    app: &AppState,
    operation: Operation,
    query: Vec<(String, String)>,
    path: Option<Path<String>>,
    headers: &HeaderMap,
) -> Response<Body> {
    let mut params = match params(Map::new(), query, path) {
        Ok(params) => params,
        Err(answer) => return *answer,
    };
    let follows = match FOLLOWED.contains(&operation) {
        true => params.flag("follow"),
        false => Ok(false),
    };
    match follows {
        Ok(false) => {}
        Ok(true) => {
            let (operations, streams) = (&app.operations, &app.streams);
            return if operation == Operation::RunLog {
                streams.log(operations, params, headers).await
            } else {
                streams.rows(operations, params, Some(operation)).await
            };
        }
        Err(error) => return answer::op_error(&error),
    }
    match app.operations.call(operation, params).await {
        Ok(members) => answer::members(StatusCode::OK, members),
        Err(error) => answer::op_error(&error),
    }
}

async fn answer_operation(
    operation: Operation,
    State(app): State<Arc<AppState>>,
    path: Result<Option<Path<String>>, PathRejection>,
    Query(query): Query<Vec<(String, String)>>,
    request: Request,
) -> Response<Body> {
    let needed = operation.scope();
    if let Err(status) = app.access.check_caller(request.headers(), needed) {
        return answer::status(status);
    }
    let Ok(path) = path else {
        return answer::op_error(&OpError::invalid("the id in the path is not UTF-8"));
    };
    match operation.verb() {
        Verb::Get => {
            let headers = request.headers();
            look(&app, operation, query, path, headers).await
        }
        Verb::Post => match change(operation, &app, path, query, request).await {
            Ok(members) => answer::members(StatusCode::ACCEPTED, members),
            Err(answer) => *answer,
        },
    }
}

/// Performs a changing operation, once for each `Idempotency-Key`.
async fn change(
    operation: Operation,
    app: &AppState,
    path: Option<Path<String>>,
    query: Vec<(String, String)>,
    request: Request,
) -> Result<Map<String, Value>, Refusal> {
    let key = repeats::key(request.headers());
    let key = key.map_err(|bad| Box::new(answer::op_error(&bad.into())))?;
    let key = key.map(str::to_owned);
    let uri = request.uri().to_string();
    let bytes = to_bytes(request.into_body(), BODY_CAP).await;
    let bytes = bytes.map_err(|error| Box::new(answer::status(status_of(&error))))?;
    let params = params(members(&bytes)?, query, path)?;
    let called = match key {
        None => app.operations.call(operation, params).await,
        Some(key) => {
            let parts = [uri.as_bytes(), &bytes];
            change_once(operation, app, params, Some(&key), &parts).await
        }
    };
    called.map_err(|error| Box::new(answer::op_error(&error)))
}

/// Performs a changing operation, once for each key. `parts` is everything by which an equal request is recognised; without a key,
/// their hash is the key.
///
/// # Errors
/// Those of the operation, and if another request had the key.
pub(crate) async fn change_once(
    operation: Operation,
    app: &AppState,
    mut params: Params,
    key: Option<&str>,
    parts: &[&[u8]],
) -> Result<Map<String, Value>, OpError> {
    let fingerprint = repeats::fingerprint(operation, parts);
    let hashed = repeats::key_of(fingerprint);
    let key = key.unwrap_or(&hashed);
    let asked = app.repeats.find(key, fingerprint);
    let asked = asked.map_err(OpError::from)?;
    // Held until the operation is done, so that an equal request waits for its result.
    let mut answered = asked.answer.lock().await;
    // The store recognises a repeated fire by its request id, also after a restart, and reports it as a duplicate.
    if operation == Operation::DaemonFire {
        params.set("request_id", key.to_owned());
        return app.operations.call(operation, params).await;
    }
    if let Some(members) = &*answered {
        return Ok(members.clone());
    }
    if operation == Operation::EventReplay || operation.roster_tool().is_some() {
        params.set("request_id", key.to_owned());
    }
    let members = app.operations.call(operation, params).await?;
    *answered = Some(members.clone());
    Ok(members)
}

/// Returns the status for a body that could not be read: it is too large, or its framing is wrong.
fn status_of(error: &axum::Error) -> StatusCode {
    match std::error::Error::source(error) {
        Some(source) if source.is::<LengthLimitError>() => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// An error response.
pub(crate) type Refusal = Box<Response<Body>>;

/// Merges the parameters of a body, a query and a path.
fn params(
    members: Map<String, Value>,
    query: Vec<(String, String)>,
    path: Option<Path<String>>,
) -> Result<Params, Refusal> {
    let id = path.map(|Path(id)| ("id".to_owned(), id));
    let params = Params::new(members).with_url(query.into_iter().chain(id));
    params.map_err(|error| Box::new(answer::op_error(&error)))
}

/// Reads the members of a body that is empty or a JSON object.
fn members(bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("the body is not a JSON object: {error}");
        let status = StatusCode::BAD_REQUEST;
        Box::new(answer::failure(status, "invalid-body", &message, None))
    })
}
