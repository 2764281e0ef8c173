//! The operations as routes below `/api/v1/`.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Query, Request, State};
use axum::http::{Response, StatusCode};
use axum::routing::{MethodFilter, on};
use serde_json::{Map, Value};

use super::answer;
use super::server::Doors;
use crate::ops::{OPERATIONS, Operation, Verb};

/// The longest body of an operation.
const BODY_CAP: usize = 26 * 1024 * 1024;

/// Builds the routes from the table of operations.
pub(super) fn router() -> Router<Arc<Doors>> {
    OPERATIONS.iter().fold(Router::new(), |router, operation| {
        let filter = match operation.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        let handle = move |state: State<Arc<Doors>>,
                           path: Option<Path<String>>,
                           query: Query<Vec<(String, String)>>,
                           request: Request| {
            answer_operation(*operation, state, path, query, request)
        };
        router.route(&format!("/api/v1/{}", operation.route), on(filter, handle))
    })
}

async fn answer_operation(
    operation: Operation,
    State(doors): State<Arc<Doors>>,
    path: Option<Path<String>>,
    Query(query): Query<Vec<(String, String)>>,
    request: Request,
) -> Response<Body> {
    if let Err(status) = doors.access.check_caller(request.headers()) {
        return answer::status(status);
    }
    let key = request
        .headers()
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut params = Map::new();
    if operation.verb == Verb::Post {
        match body(request).await {
            Ok(members) => params = members,
            Err(answer) => return *answer,
        }
    }
    for (name, value) in query {
        if params.insert(name.clone(), Value::String(value)).is_some() {
            let message = format!("`{name}` is given twice");
            return answer::failure(StatusCode::BAD_REQUEST, "invalid-argument", &message, None);
        }
    }
    if let Some(Path(id)) = path {
        params.insert("id".to_owned(), Value::String(id));
    }
    if let (Some(key), "daemon/fire") = (key, operation.method) {
        params.insert("request_id".to_owned(), Value::String(key));
    }
    let status = match operation.verb {
        Verb::Get => StatusCode::OK,
        Verb::Post => StatusCode::ACCEPTED,
    };
    match doors.operations.call(operation.method, params).await {
        Ok(members) => answer::members(status, members),
        Err(error) => answer::op_error(&error),
    }
}

/// Reads the members of a body that is empty or a JSON object.
async fn body(request: Request) -> Result<Map<String, Value>, Box<Response<Body>>> {
    let Ok(bytes) = to_bytes(request.into_body(), BODY_CAP).await else {
        return Err(Box::new(answer::status(StatusCode::PAYLOAD_TOO_LARGE)));
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("the body is not a JSON object: {error}");
        Box::new(answer::failure(
            StatusCode::BAD_REQUEST,
            "invalid-body",
            &message,
            None,
        ))
    })
}
