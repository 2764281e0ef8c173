//! A form that a browser sent: whether it is one of the host's own, and what it contains.

use std::sync::Arc;

use axum::Form;
use axum::body::Body;
use axum::extract::{FromRequest as _, Request};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use daemon_records::error::OpError;
use serde_json::{Map, Value};

use crate::http::api::{Refusal, change_once};
use crate::http::{AppState, answer};
use crate::ops::{Operation, Params};
use crate::pages::{frame, login};

/// The maximum size of a form, in bytes.
pub(in crate::pages) const FORM_BYTES: usize = 32 * 1024;
/// The longest id of a form.
const LONGEST_KEY: usize = 64;

/// A form of one of the host's own pages.
pub(in crate::pages) struct SentForm {
    pub(in crate::pages) headers: HeaderMap,
    pub(in crate::pages) fields: Vec<(String, String)>,
}

impl SentForm {
    /// Reads a form.
    ///
    /// # Errors
    /// The response if it cannot be read, or if the host did not send it to the session of the request.
    pub(in crate::pages) async fn receive(
        app: &Arc<AppState>,
        request: Request,
    ) -> Result<Self, Refusal> {
        let headers = request.headers().clone();
        let path = request.uri().path().to_owned();
        let read = Form::<Vec<(String, String)>>::from_request(request, &());
        let fields = match tokio::time::timeout(login::FORM_TIME, read).await {
            Ok(Ok(Form(fields))) => fields,
            Ok(Err(refused)) => return Err(Box::new(answer::status(refused.status()))),
            Err(_) => return Err(Box::new(answer::status(StatusCode::REQUEST_TIMEOUT))),
        };
        let form = Self { headers, fields };
        match app.access.check_form(&form.headers, form.field("form")) {
            Ok(()) => Ok(form),
            Err(StatusCode::UNAUTHORIZED) => {
                Err(Box::new(login::form(StatusCode::UNAUTHORIZED, None)))
            }
            Err(_) => {
                app.record_foreign_form(&path).await;
                Err(Box::new(forged()))
            }
        }
    }

    /// Returns the value of a field; empty if the form does not contain it.
    pub(in crate::pages) fn field(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(given, _)| given == name);
        found.map(|(_, value)| value.trim()).unwrap_or_default()
    }

    /// Returns a field as a parameter, if it is filled in.
    pub(in crate::pages) fn filled(&self, name: &str) -> Option<(String, String)> {
        let value = self.field(name);
        (!value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    }

    /// Performs an operation, once for each form and its values.
    ///
    /// # Errors
    /// Those of the operation, and if the form has no id.
    pub(in crate::pages) async fn perform(
        &self,
        app: &AppState,
        operation: Operation,
        given: Vec<(String, String)>,
    ) -> Result<Map<String, Value>, OpError> {
        let key = self.field("request");
        let is_key = |byte: u8| byte.is_ascii_alphanumeric();
        if !(1..=LONGEST_KEY).contains(&key.len()) || !key.bytes().all(is_key) {
            return Err(OpError::invalid("the form has no id"));
        }
        // A form that is sent again with other values is another request: a person went back and changed it.
        let values = given
            .iter()
            .flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        let parts: Vec<&[u8]> = std::iter::once(key)
            .chain(values)
            .map(str::as_bytes)
            .collect();
        let params = Params::default().with_url(given.clone())?;
        change_once(operation, app, params, None, &parts).await
    }

    /// Returns the response that makes the browser load a page with GET, which shows the result once.
    pub(in crate::pages) fn see_other(
        &self,
        app: &AppState,
        path: &str,
        done: &str,
    ) -> Response<Body> {
        app.access.leave_notice(&self.headers, path, done);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        // Paths are percent-encoded.
        let location = HeaderValue::from_str(path).expect("a path is ASCII");
        headers.insert(header::LOCATION, location);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// Reports whether pages have no actions.
pub(in crate::pages) fn is_read_only(app: &AppState) -> bool {
    app.roster.view().settings().is_read_only
}

/// Returns the token for the forms of a page; `None` if the page has no actions.
pub(in crate::pages) fn form_token(app: &AppState, headers: &HeaderMap) -> Option<String> {
    let token = app.access.form_token(headers);
    token.filter(|_| !is_read_only(app))
}

/// Returns the page for a form that is of no page of this session.
fn forged() -> Response<Body> {
    let message = "This form is not one that the host sent to your session. Nothing was done.";
    let help = "Open the page again and use its form; after a new login, forms of the earlier one are not accepted.";
    frame::problem(StatusCode::FORBIDDEN, message, Some(help))
}

/// Returns the page for an action that pages do not have: without a session, or because the host is read only.
pub(in crate::pages) fn refused_form(app: &AppState) -> Response<Body> {
    match is_read_only(app) {
        true => frame::problem(
            StatusCode::FORBIDDEN,
            "This host is read only: its pages have no actions.",
            Some("`roster.read_only` is set in config.toml of the home."),
        ),
        false => frame::problem(
            StatusCode::FORBIDDEN,
            "Actions of pages need a session of a browser.",
            Some(
                "Open the link that `daemon-run login` prints. Programs use the routes below /api/v1/.",
            ),
        ),
    }
}
