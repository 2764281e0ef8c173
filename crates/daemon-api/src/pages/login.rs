//! Logging in: with the link that a start prints, or with the token.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest as _, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::accept::{self, Representation};
use super::frame::{Frame, page};
use crate::http::api::Refusal;
use crate::http::{AppState, Session, answer};
use crate::ops::Scope;

/// The maximum size of the form, in bytes.
// The form is accepted from unauthenticated clients, so its size and time are limited.
pub(super) const FORM_BYTES: usize = 4_096;
/// The time limit for the form.
pub(super) const FORM_TIME: Duration = Duration::from_secs(10);

/// The page for a client that is not logged in.
#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    frame: Frame,
    /// The error of the previous attempt.
    problem: Option<&'static str>,
}

/// Checks that a client has the token or a session, and returns the representation that it prefers.
///
/// # Errors
/// The response for any other client: the login form, or a status for programs.
pub(super) fn admit(app: &AppState, headers: &HeaderMap) -> Result<Representation, Refusal> {
    let wanted = accept::on_page(headers);
    match app.access.check_caller(headers, Scope::Read) {
        Ok(()) => Ok(wanted),
        Err(status) => Err(Box::new(match wanted {
            Representation::Page => form(status, None),
            Representation::Json => answer::status(status),
        })),
    }
}

/// Returns the login page.
pub(super) fn form(status: StatusCode, problem: Option<&'static str>) -> Response<Body> {
    let login = Login {
        frame: Frame::new("Log in", ""),
        problem,
    };
    let mut response = page(status, &login);
    // HTTP requires this header with the status 401.
    let scheme = HeaderValue::from_static("Bearer");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// Exchanges a login link for a cookie; without a code, shows the login page.
pub(super) async fn follow_link(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let code = query.iter().find(|(name, _)| name == "code");
    let session = code.and_then(|(_, code)| app.access.log_in(code));
    match (session, accept::among_others(&headers)) {
        (Some(session), _) => enter(&session),
        (None, Representation::Json) => answer::status(StatusCode::UNAUTHORIZED),
        (None, Representation::Page) => form(
            StatusCode::UNAUTHORIZED,
            code.map(|_| "This link was used before, or is of an earlier start of the host."),
        ),
    }
}

/// Exchanges the token in a form for a cookie.
pub(super) async fn log_in(State(app): State<Arc<AppState>>, request: Request) -> Response<Body> {
    let read = Form::<Vec<(String, String)>>::from_request(request, &());
    let Ok(Ok(Form(fields))) = tokio::time::timeout(FORM_TIME, read).await else {
        return answer::status(StatusCode::BAD_REQUEST);
    };
    let token = fields.iter().find(|(name, _)| name == "token");
    let session = token.and_then(|(_, token)| app.access.log_in_with(token.trim()));
    match session {
        Some(session) => enter(&session),
        None => form(
            StatusCode::UNAUTHORIZED,
            Some("This is not the token of this host."),
        ),
    }
}

fn enter(session: &Session) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    // 303 makes the browser load the overview with GET after the POST of the form.
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    let cookie = HeaderValue::from_str(&session.set_cookie()).expect("a session is hexadecimal");
    headers.insert(header::SET_COOKIE, cookie);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
