//! One request to the fake GitHub: who makes it, its parameters, and the errors it can end with.

use std::time::Duration;

use serde_json::{Value, json};

use super::state::{GithubRepo, GithubState};
use super::view::GithubView;
use crate::http::{HttpRequest, HttpResponse};

const DOCUMENTATION: &str = "https://docs.github.com/rest";
/// What the service stores of a body at most, in characters.
pub(crate) const MAX_BODY: usize = 65_536;

/// The account behind a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GithubCaller {
    pub(crate) login: String,
    /// The installation, for a token of an App.
    pub(crate) installation: Option<u64>,
}

/// A request with what its route found in the path.
pub(crate) struct GithubCall<'c> {
    pub(crate) state: &'c mut GithubState,
    pub(crate) request: &'c HttpRequest,
    pub(crate) body: Value,
    pub(crate) caller: GithubCaller,
    pub(crate) now: Duration,
    pub(crate) base: &'c str,
    pub(crate) repo_at: Option<usize>,
    pub(crate) params: Vec<(&'static str, String)>,
}

/// A response other than 2xx.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GithubError {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) errors: Option<Value>,
}

impl GithubError {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: None,
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    /// Returns 422 for a body that is not what the route accepts.
    pub(crate) fn request(message: &str) -> Self {
        Self::new(422, format!("Invalid request.\n\n{message}"))
    }

    /// Returns 422 for a field that is required.
    pub(crate) fn missing(name: &str) -> Self {
        Self::request(&format!("\"{name}\" wasn't supplied."))
    }

    /// Returns 422 with one entry of `errors`.
    pub(crate) fn invalid(error: Value) -> Self {
        Self {
            status: 422,
            message: "Validation Failed".to_owned(),
            errors: Some(json!([error])),
        }
    }

    /// Returns 422 for a field with a code such as `missing_field` or `invalid`.
    pub(crate) fn field(resource: &str, field: &str, code: &str) -> Self {
        Self::invalid(json!({"resource": resource, "field": field, "code": code}))
    }

    /// Returns 422 with a message of the service, which has the code `custom`.
    pub(crate) fn custom(resource: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self::invalid(json!({"resource": resource, "code": "custom", "message": message}))
    }

    /// Returns 422 in the form that has only strings in `errors`, as reviews do.
    pub(crate) fn unprocessable(message: &str) -> Self {
        Self {
            status: 422,
            message: "Unprocessable Entity".to_owned(),
            errors: Some(json!([message])),
        }
    }

    pub(crate) fn to_response(&self) -> HttpResponse {
        let mut body = json!({
            "message": self.message,
            "documentation_url": DOCUMENTATION,
            "status": self.status.to_string(),
        });
        if let Some(errors) = &self.errors {
            body["errors"] = errors.clone();
        }
        HttpResponse::json(self.status, &body)
    }
}

impl GithubCall<'_> {
    /// Returns a parameter of the path, decoded. The route table guarantees that it exists.
    pub(crate) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(param, _)| *param == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns a number of the path.
    pub(crate) fn number(&self, name: &str) -> Result<u64, GithubError> {
        let number = self.param(name).parse().ok();
        number.ok_or_else(GithubError::not_found)
    }

    /// Returns the repository of the path.
    pub(crate) fn repo(&self) -> Result<&GithubRepo, GithubError> {
        let repo = self.repo_at.and_then(|at| self.state.repos.get(at));
        repo.ok_or_else(GithubError::not_found)
    }

    pub(crate) fn repo_mut(&mut self) -> Result<&mut GithubRepo, GithubError> {
        let repo = self.repo_at.and_then(|at| self.state.repos.get_mut(at));
        repo.ok_or_else(GithubError::not_found)
    }

    pub(crate) fn view(&self) -> GithubView<'_> {
        GithubView {
            state: self.state,
            base: self.base,
        }
    }

    /// Returns a field of the body that must be a string if it is there.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, GithubError> {
        match &self.body[name] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            other => Err(wrong_type(name, other, "string")),
        }
    }

    /// Returns a field of the body that must be a list of strings if it is there.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, GithubError> {
        let items = match &self.body[name] {
            Value::Null => return Ok(None),
            Value::Array(items) => items,
            other => return Err(wrong_type(name, other, "array")),
        };
        let text = |item: &Value| match item {
            Value::String(text) => Ok(text.clone()),
            other => Err(wrong_type(name, other, "string")),
        };
        items.iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the body of an issue or a pull request, which is limited.
    pub(crate) fn long_text(&self, resource: &str) -> Result<Option<String>, GithubError> {
        let body = self.text("body")?;
        if body.as_ref().is_some_and(|body| is_too_long(body)) {
            return Err(GithubError::invalid(json!({
                "resource": resource, "code": "custom", "field": "body",
                "message": "body is too long (maximum is 65536 characters)",
            })));
        }
        Ok(body)
    }

    /// Returns the body of a comment, which is required and limited.
    pub(crate) fn comment_text(&self, resource: &str) -> Result<String, GithubError> {
        let unprocessable = |message: &str| {
            GithubError::invalid(json!({
                "resource": resource, "code": "unprocessable", "field": "data", "message": message,
            }))
        };
        match self.text("body")? {
            None => Err(GithubError::field(resource, "body", "missing_field")),
            Some(body) if body.trim().is_empty() => Err(unprocessable("Body cannot be blank")),
            Some(body) if is_too_long(&body) => Err(unprocessable(
                "Body is too long (maximum is 65536 characters)",
            )),
            Some(body) => Ok(body),
        }
    }
}

pub(crate) fn is_too_long(body: &str) -> bool {
    body.chars().count() > MAX_BODY
}

fn wrong_type(name: &str, value: &Value, expected: &str) -> GithubError {
    let message = format!(
        "Invalid request.\n\nFor 'properties/{name}', {value} is not {} {expected}.",
        if expected == "array" { "an" } else { "a" }
    );
    GithubError::new(422, message)
}
