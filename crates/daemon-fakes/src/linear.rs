//! A Linear with state: the GraphQL API of one team, and pages.

mod error;
mod execute;
mod filter;
pub(crate) mod graphql;
mod history;
mod pages;
mod schema;
mod state;
mod webhooks;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::FakeClock;
use crate::http::{FakeServer, HttpRequest, HttpResponse, Service, ServiceError};
use error::LinearError;
use execute::LinearCall;
use state::LinearState;

pub use state::{LinearComment, LinearIssue, LinearName, LinearUser};
pub use webhooks::LinearWebhook;

/// Requests an hour, as of an API key.
const HOURLY_LIMIT: u32 = 5000;

/// Linear's GraphQL API on a port of loopback, with one team.
#[derive(Debug)]
pub struct LinearApi {
    server: FakeServer,
    service: Arc<LinearService>,
}

struct LinearService {
    state: Mutex<LinearState>,
    clock: FakeClock,
}

impl fmt::Debug for LinearService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinearService").finish_non_exhaustive()
    }
}

impl LinearApi {
    /// Starts a Linear whose team has this key, such as `ENG`, on a free port for port 0. The team has the states `Todo`,
    /// `In Progress` and `Done`.
    ///
    /// # Errors
    /// The port cannot be bound.
    pub fn start(port: u16, team: &str, clock: FakeClock) -> io::Result<Self> {
        let mut state = LinearState::new(team);
        for (name, kind) in [
            ("Todo", "unstarted"),
            ("In Progress", "started"),
            ("Done", "completed"),
        ] {
            let id = state.next_id();
            state.states.push(LinearName {
                id,
                name: name.to_owned(),
                kind: kind.to_owned(),
            });
        }
        let service = Arc::new(LinearService {
            state: Mutex::new(state),
            clock,
        });
        let server = FakeServer::start(port, Arc::clone(&service) as Arc<_>)?;
        service.change(|state, _| state.base = server.base_url());
        Ok(Self { server, service })
    }

    /// Returns the HTTP side: address, received requests, faults. The API is at `/graphql`.
    pub fn server(&self) -> &FakeServer {
        &self.server
    }

    /// Adds a user and returns the id.
    pub fn add_user(&self, name: &str, email: &str) -> String {
        self.add(name, email, false)
    }

    /// Adds an application with a token and returns the id of its user.
    pub fn add_app(&self, name: &str, token: &str) -> String {
        let id = self.add(name, "", true);
        self.add_token(token, &id);
        id
    }

    fn add(&self, name: &str, email: &str, is_app: bool) -> String {
        self.service.change(|state, _| {
            let id = state.next_id();
            state.users.push(LinearUser {
                id: id.clone(),
                name: name.to_owned(),
                email: email.to_owned(),
                is_app,
            });
            id
        })
    }

    /// Adds a token of a user. An API key begins with `lin_api_` and is sent without `Bearer`.
    pub fn add_token(&self, token: &str, user: &str) {
        let entry = (token.to_owned(), user.to_owned());
        self.service.change(|state, _| state.tokens.push(entry));
    }

    /// Adds a label and returns the id.
    pub fn add_label(&self, name: &str) -> String {
        self.service.change(|state, _| {
            let id = state.next_id();
            state.labels.push(LinearName {
                id: id.clone(),
                name: name.to_owned(),
                kind: String::new(),
            });
            id
        })
    }

    /// Adds an issue of a user in the first state and returns its identifier, such as `ENG-1`.
    pub fn add_issue(&self, creator: &str, title: &str, description: &str) -> String {
        self.service.change(|state, now| {
            let id = state.next_id();
            let number = state.issues.last().map_or(1, |issue| issue.number + 1);
            let first = state.states.first().map(|it| it.id.clone());
            let issue = LinearIssue {
                id,
                number,
                title: title.to_owned(),
                description: description.to_owned(),
                priority: 0,
                state: first.unwrap_or_default(),
                assignee: None,
                creator: creator.to_owned(),
                labels: Vec::new(),
                created_at: now,
                updated_at: now,
            };
            let identifier = state.identifier(&issue);
            state.tell_created(&issue, now);
            state.issues.push(issue);
            identifier
        })
    }

    /// Returns the issues, the oldest first.
    pub fn issues(&self) -> Vec<LinearIssue> {
        self.service.change(|state, _| state.issues.clone())
    }

    /// Returns the comments, the oldest first.
    pub fn comments(&self) -> Vec<LinearComment> {
        self.service.change(|state, _| state.comments.clone())
    }

    /// Carries out a document as a user, as for a request, and returns the data, or the error.
    ///
    /// # Errors
    /// The message that the service answers with.
    pub fn act(&self, user: &str, document: &str, variables: &Value) -> Result<Value, String> {
        let operation = graphql::parse(document, variables)?;
        let user = user.to_owned();
        let answer = self
            .service
            .change(|state, now| LinearCall { state, user, now }.execute(&operation));
        answer.map_err(LinearError::into_message)
    }

    /// Returns the webhooks that the service would have sent, the oldest first.
    pub fn webhooks(&self) -> Vec<LinearWebhook> {
        self.service.change(|state, _| state.webhooks.clone())
    }

    /// Returns the states of issues.
    pub fn states(&self) -> Vec<LinearName> {
        self.service.change(|state, _| state.states.clone())
    }
}

impl LinearService {
    fn change<T>(&self, change: impl FnOnce(&mut LinearState, Duration) -> T) -> T {
        let mut state = self.state.lock().expect("no holder panics");
        change(&mut state, self.clock.now())
    }

    fn execute(&self, request: &HttpRequest) -> Result<Value, LinearError> {
        let refused = |message: &str| LinearError::new(error::AUTHENTICATION, message);
        let header = request.header("authorization").unwrap_or_default();
        if header.starts_with("Bearer lin_api_") {
            let message = "It looks like you're trying to use an API key as a Bearer token. Remove the Bearer prefix from the Authorization header.";
            return Err(refused(message));
        }
        self.change(|state, now| {
            let token = request.token();
            let mut tokens = state.tokens.iter();
            let entry = tokens.find(|(known, _)| Some(known.as_str()) == token);
            let (_, user) = entry.ok_or_else(|| refused("Authentication required, not authenticated"))?;
            let (user, body) = (user.clone(), request.json());
            let Some(text) = body["query"].as_str() else {
                let message = "GraphQL operations must contain a non-empty `query` or a `persistedQuery` extension.";
                return Err(LinearError::validation(message));
            };
            let variables = match &body["variables"] {
                Value::Object(variables) => Value::Object(variables.clone()),
                _ => json!({}),
            };
            let operation = graphql::parse(text, &variables).map_err(LinearError::validation)?;
            LinearCall { state, user, now }.execute(&operation)
        })
    }
}

impl Service for LinearService {
    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        if (request.method.as_str(), request.path.as_str()) != ("POST", "/graphql") {
            return HttpResponse::page(self.change(|state, _| pages::page(state, &request.path)));
        }
        let response = match self.execute(request) {
            Ok(data) => HttpResponse::json(200, &json!({"data": data})),
            Err(error) => error.to_response(),
        };
        response.with_header("X-RateLimit-Requests-Limit", HOURLY_LIMIT.to_string())
    }

    fn failure(&self, failure: ServiceError) -> HttpResponse {
        let limited = || LinearError::new(error::RATE_LIMITED, "Rate limit exceeded").to_response();
        match failure {
            ServiceError::RateLimited(seconds) => limited()
                .with_header("Retry-After", seconds.to_string())
                .with_header("X-RateLimit-Requests-Remaining", "0"),
            ServiceError::Status(429) => HttpResponse {
                status: 429,
                ..limited()
            },
            ServiceError::Status(status) => {
                let (kind, message) = match status {
                    401 => (
                        error::AUTHENTICATION,
                        "Authentication required, not authenticated",
                    ),
                    403 => (error::FORBIDDEN, "You do not have access to this data."),
                    _ => (error::INTERNAL, "Internal server error"),
                };
                HttpResponse {
                    status,
                    ..LinearError::new(kind, message).to_response()
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::state::LinearValue;
    use super::*;

    #[test]
    fn every_field_of_the_schema_has_a_value_of_its_type() {
        let api = LinearApi::start(0, "ENG", FakeClock::default()).unwrap();
        let user = api.add_app("Helper", "t");
        api.add_label("docs");
        api.add_issue(&user, "Broken", "");
        let body = json!({"query": "mutation { commentCreate(input: {issueId: \"ENG-1\", body: \"x\"}) { success } issueUpdate(id: \"ENG-1\", input: {priority: 1}) { success } }"});
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: "/graphql".to_owned(),
            headers: vec![("authorization".to_owned(), "Bearer t".to_owned())],
            body: body.to_string().into_bytes(),
            ..HttpRequest::default()
        };
        assert_eq!(api.service.respond(&request).status, 200);
        api.service.change(|state, _| {
            for of in [
                "User",
                "Team",
                "WorkflowState",
                "IssueLabel",
                "Issue",
                "IssueHistory",
                "Comment",
            ] {
                let id = state.all(of).remove(0);
                for (name, type_name) in schema::fields_of(of) {
                    let value = state.value(of, &id, name);
                    let is_scalar = matches!(value, Some(LinearValue::Scalar(_)));
                    assert_eq!(
                        value.is_some() && is_scalar,
                        type_name.is_empty(),
                        "{of}.{name}: {value:?}"
                    );
                }
            }
        });
    }
}
