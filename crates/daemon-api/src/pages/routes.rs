//! The routes of the pages.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;

use super::accept::{self, Representation};
use super::{
    assets, conversation, detail, frame, listing, login, overview, run, schedule, search, spawn,
    usage,
};
use crate::http::{AppState, answer};

/// Builds the routes of the pages.
pub(crate) fn router() -> Router<Arc<AppState>> {
    let login = get(login::follow_link)
        .post(login::log_in)
        .layer(DefaultBodyLimit::max(login::FORM_BYTES));
    listing::router()
        .merge(detail::router())
        .route("/", get(overview::show))
        .route("/conversation", get(conversation::show))
        .route("/schedule", get(schedule::show))
        .route("/search", get(search::show))
        .route("/usage", get(usage::show))
        .merge(run::router())
        .merge(spawn::router())
        .route("/login", login)
        .route("/assets/{name}", get(assets::serve))
}

/// Returns the 404 response for an unknown path.
pub(crate) async fn not_found(headers: HeaderMap) -> Response<Body> {
    match accept::among_others(&headers) {
        Representation::Page => {
            frame::problem(StatusCode::NOT_FOUND, "There is no such page.", None)
        }
        Representation::Json => answer::status(StatusCode::NOT_FOUND),
    }
}
