//! The parts that all pages share: the head, the navigation, and the response headers.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use daemon_records::error::OpError;
use serde_json::{Map, Value};

use super::accept::Representation;
use super::assets;
use super::login;
use crate::http::{AppState, answer};
use crate::ops::Params;
use daemon_view::text::visible;

/// The content security policy: only the host's own style, script, icon, streams and forms.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The headers of every page.
const HEADERS: [(header::HeaderName, &str); 8] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::CACHE_CONTROL, "no-store"),
    // One address returns a page or JSON, depending on `Accept`.
    (header::VARY, "Accept"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // With `no-referrer` browsers send a form with `Origin: null`, which is the origin of no page.
    (header::REFERRER_POLICY, "same-origin"),
    (
        header::HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// The parts of a page outside of its content.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The title of the document.
    pub(super) title: String,
    /// The path of the current entry of the navigation; empty if it has none.
    pub(super) place: &'static str,
    /// The text in the field of the search.
    pub(super) query: String,
    /// The seconds after which a browser without scripts reloads the page.
    pub(super) refresh: Option<u32>,
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

/// An entry of the navigation: path and name.
type Place = (&'static str, &'static str);

/// What daemons do.
const PLACES: [Place; 7] = [
    ("/", "Overview"),
    ("/roster", "Roster"),
    ("/activations", "Activations"),
    ("/runs", "Runs"),
    ("/outputs", "Outputs"),
    ("/events", "Events"),
    ("/schedule", "Schedule"),
];

/// What else the host has.
const HOST_PLACES: [Place; 7] = [
    ("/usage", "Usage"),
    ("/ticks", "Ticks"),
    ("/agents", "Agents"),
    ("/conversations", "Conversations"),
    ("/crons", "Crons"),
    ("/subscriptions", "Subscriptions"),
    ("/mcp-servers", "MCP servers"),
];

impl Frame {
    /// Creates the frame of a page.
    pub(super) fn new(title: impl Into<String>, place: &'static str) -> Self {
        Self {
            title: title.into(),
            place,
            query: String::new(),
            refresh: None,
            style: assets::STYLE.path(),
            script: assets::SCRIPT.path(),
            icon: assets::ICON.path(),
        }
    }

    pub(super) fn places(&self) -> [&'static [Place]; 2] {
        [&PLACES, &HOST_PLACES]
    }
}

/// Returns the response with a page.
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

/// Admits a client to the page of one operation, reads it, and answers.
pub(super) async fn shown<T: Template>(
    app: &AppState,
    headers: &HeaderMap,
    query: Vec<(String, String)>,
    read: impl AsyncFnOnce(Params) -> Result<Map<String, Value>, OpError>,
    page_of: impl FnOnce(&Map<String, Value>) -> T,
) -> Response<Body> {
    let wanted = match login::admit(app, headers) {
        Ok(wanted) => wanted,
        Err(refusal) => return *refusal,
    };
    let read = match Params::default().with_url(query) {
        Ok(params) => read(params).await,
        Err(error) => Err(error),
    };
    answered(read, wanted, page_of)
}

/// Answers with what was read, as a page or as JSON.
pub(super) fn answered<T: Template>(
    read: Result<Map<String, Value>, OpError>,
    wanted: Representation,
    page_of: impl FnOnce(&Map<String, Value>) -> T,
) -> Response<Body> {
    match (read, wanted) {
        (Ok(members), Representation::Json) => answer::members(StatusCode::OK, members),
        (Ok(members), Representation::Page) => page(StatusCode::OK, &page_of(&members)),
        (Err(error), Representation::Json) => answer::op_error(&error),
        (Err(error), Representation::Page) => op_error(&error),
    }
}

/// The page that describes an error.
#[derive(Template)]
#[template(path = "problem.html")]
struct Problem {
    frame: Frame,
    status: StatusCode,
    message: String,
    help: Option<String>,
}

/// Returns the error page for a status.
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

/// Returns the error page for a failed operation.
pub(super) fn op_error(error: &OpError) -> Response<Body> {
    let help = error.help.as_deref();
    problem(status_of(error), &sentence(&error.message), help)
}

/// Returns the error page for an object that does not exist.
pub(super) fn missing(noun: &str) -> Response<Body> {
    let message = format!("There is no such {noun}.");
    problem(StatusCode::NOT_FOUND, &message, None)
}

/// Returns the status for a failed operation.
pub(super) fn status_of(error: &OpError) -> StatusCode {
    StatusCode::from_u16(error.kind.http_status()).expect("every kind has a valid status")
}

/// Begins a message with a capital, as other messages of pages do.
pub(super) fn sentence(message: &str) -> String {
    let mut rest = message.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest).collect()
}
