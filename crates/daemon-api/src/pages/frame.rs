//! What surrounds every page: its head, the way to the other pages, and the headers of its answer.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use super::assets;
use super::text::visible;
use crate::http::answer;
use daemon_runner::error::OpError;

/// What may be loaded and done: nothing but the host's own style, script, picture, streams and forms.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Every header of a page.
const HEADERS: [(header::HeaderName, &str); 8] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::CACHE_CONTROL, "no-store"),
    (header::VARY, "Accept"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// What a page says of itself.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The title.
    pub(super) title: String,
    /// Which of the places is shown, if one of them is.
    pub(super) place: &'static str,
    /// After how many seconds the page is loaded again where scripts do not run.
    pub(super) refresh: Option<u32>,
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

/// Where a reader can go: path and name.
const PLACES: [(&str, &str); 6] = [
    ("/", "Overview"),
    ("/runs", "Runs"),
    ("/activations", "Activations"),
    ("/events", "Events"),
    ("/ticks", "Ticks"),
    ("/outputs", "Outputs"),
];

impl Frame {
    /// Makes the frame of a page.
    pub(super) fn new(title: impl Into<String>, place: &'static str) -> Self {
        Self {
            title: title.into(),
            place,
            refresh: None,
            style: assets::STYLE.path(),
            script: assets::SCRIPT.path(),
            icon: assets::ICON.path(),
        }
    }

    pub(super) fn places(&self) -> &'static [(&'static str, &'static str)] {
        &PLACES
    }
}

/// Answers with a page.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Response<Body> {
    let Ok(text) = template.render() else {
        // Writing into a string does not fail, and no template does anything else.
        return answer::status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page that says why there is no other.
#[derive(Template)]
#[template(path = "problem.html")]
struct Problem {
    frame: Frame,
    status: StatusCode,
    message: String,
    help: Option<String>,
}

/// Answers with why there is no page.
pub(super) fn problem(status: StatusCode, message: &str, help: Option<&str>) -> Response<Body> {
    let words = status.canonical_reason().unwrap_or("Failed");
    let problem = Problem {
        frame: Frame::new(words, ""),
        status,
        message: visible(message),
        help: help.map(visible),
    };
    page(status, &problem)
}

/// Answers with why an operation was not done.
pub(super) fn op_error(error: &OpError) -> Response<Body> {
    let status =
        StatusCode::from_u16(error.kind.http_status()).expect("every kind has a valid status");
    problem(status, &error.message, error.help.as_deref())
}
