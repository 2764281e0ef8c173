//! Logging in: by the link that a start prints, or with the token.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest as _, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::accept::{self, Wish};
use super::frame::{Frame, page};
use crate::http::{AppState, Session, answer};

/// The longest form, in bytes.
pub(super) const FORM_BYTES: usize = 4_096;
/// How long a client may take to send it.
const FORM_TIME: Duration = Duration::from_secs(10);

/// The page for whoever is not logged in.
#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    frame: Frame,
    /// What was wrong with the try before.
    problem: Option<&'static str>,
}

/// Refuses whoever has neither the token nor the cookie.
pub(super) fn refusal(app: &AppState, headers: &HeaderMap, wish: Wish) -> Option<Response<Body>> {
    let status = app.access.check_caller(headers).err()?;
    Some(match wish {
        Wish::Page => form(status, None),
        Wish::Json => answer::status(status),
    })
}

fn form(status: StatusCode, problem: Option<&'static str>) -> Response<Body> {
    let login = Login {
        frame: Frame::new("Log in", ""),
        problem,
    };
    let mut response = page(status, &login);
    let scheme = HeaderValue::from_static("Bearer");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// Exchanges a login link for a cookie; without a code, shows how to log in.
pub(super) async fn follow_link(
    State(app): State<Arc<AppState>>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response<Body> {
    let code = query.iter().find(|(name, _)| name == "code");
    let session = code.and_then(|(_, code)| app.access.log_in(code));
    match (session, accept::among_others(&headers)) {
        (Some(session), _) => enter(&session),
        (None, Wish::Json) => answer::status(StatusCode::UNAUTHORIZED),
        (None, Wish::Page) => form(
            StatusCode::UNAUTHORIZED,
            code.map(|_| "This link was used before, or is of an earlier start of the host."),
        ),
    }
}

/// Exchanges the token, as a form sends it, for a cookie.
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
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/"));
    let cookie = HeaderValue::from_str(&session.set_cookie()).expect("a session is hexadecimal");
    headers.insert(header::SET_COOKIE, cookie);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
