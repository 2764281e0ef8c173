//! Pages: what the operations answer, for people with a browser.
//!
//! Every page asks the same operation as the route of its name under `/api/v1/`, and answers with the same object where the
//! client asks for JSON. What a page shows is strangers' text: templates escape it, [`text::visible`] makes its invisible
//! characters seen, and a content security policy lets nothing run but the host's own script. No page needs the script.

mod accept;
mod assets;
mod cell;
mod frame;
mod listing;
mod login;
mod overview;
mod run;
mod table;
mod text;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;

use crate::http::{Doors, answer};
use accept::Wish;

/// Builds the routes of the pages.
pub(crate) fn router() -> Router<Arc<Doors>> {
    let login = get(login::follow_link)
        .post(login::log_in)
        .layer(DefaultBodyLimit::max(login::FORM_BYTES));
    listing::router()
        .route("/", get(overview::show))
        .route("/runs/{id}", get(run::show))
        .route("/login", login)
        .route("/assets/{name}", get(assets::serve))
}

/// Answers what is nowhere.
pub(crate) async fn not_found(headers: HeaderMap) -> Response<Body> {
    match accept::among_others(&headers) {
        Wish::Page => frame::problem(StatusCode::NOT_FOUND, "There is no such page.", None),
        Wish::Json => answer::status(StatusCode::NOT_FOUND),
    }
}
