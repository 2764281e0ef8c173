//! A Slack with state: methods of the Web API, and pages.

mod methods;
mod pages;
mod state;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::clock::FakeClock;
use crate::http::{self, FakeServer, HttpRequest, HttpResponse, Service, ServiceError};
use methods::{METHODS, SlackCall};
use state::SlackState;

pub use state::{SlackChannel, SlackMessage, SlackUser};

/// Slack's Web API on a port of loopback. Methods are below `/api/`.
#[derive(Debug)]
pub struct SlackApi {
    server: FakeServer,
    service: Arc<SlackService>,
}

struct SlackService {
    state: Mutex<SlackState>,
    clock: FakeClock,
    base: OnceLock<String>,
}

impl fmt::Debug for SlackService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlackService").finish_non_exhaustive()
    }
}

impl SlackApi {
    /// Starts a Slack without users and channels, on a free port for port 0.
    ///
    /// # Errors
    /// The port cannot be bound.
    pub fn start(port: u16, clock: FakeClock) -> io::Result<Self> {
        let service = Arc::new(SlackService {
            state: Mutex::default(),
            clock,
            base: OnceLock::new(),
        });
        let server = FakeServer::start(port, Arc::clone(&service) as Arc<_>)?;
        service.base.get_or_init(|| server.base_url());
        Ok(Self { server, service })
    }

    /// Returns the HTTP side: address, received requests, faults. The base of the methods is `/api/`.
    pub fn server(&self) -> &FakeServer {
        &self.server
    }

    /// Adds a user.
    pub fn add_user(&self, user: SlackUser) {
        self.service.change(|state, _| state.users.push(user));
    }

    /// Adds a token of a user.
    pub fn add_token(&self, token: &str, user: &str) {
        let entry = (token.to_owned(), user.to_owned());
        self.service.change(|state, _| state.tokens.push(entry));
    }

    /// Adds a channel, or replaces the one with this id.
    pub fn set_channel(&self, channel: SlackChannel) {
        self.service.change(|state, _| {
            state.channels.retain(|it| it.id != channel.id);
            state.channels.push(channel);
        });
    }

    /// Posts a message as a user, without a token, and returns its time.
    pub fn post(&self, channel: &str, user: &str, text: &str) -> String {
        self.service.change(|state, now| {
            let ts = state.next_ts(now);
            state.messages.push(SlackMessage {
                channel: channel.to_owned(),
                ts: ts.clone(),
                thread_ts: None,
                user: user.to_owned(),
                text: text.to_owned(),
                blocks: Value::Null,
                metadata: Value::Null,
                is_edited: false,
            });
            ts
        })
    }

    /// Returns the messages of all channels, the oldest first.
    pub fn messages(&self) -> Vec<SlackMessage> {
        self.service.change(|state, _| state.messages.clone())
    }
}

impl SlackService {
    fn change<T>(&self, change: impl FnOnce(&mut SlackState, Duration) -> T) -> T {
        let mut state = self.state.lock().expect("no holder panics");
        change(&mut state, self.clock.now())
    }

    fn carry_out(&self, request: &HttpRequest, method: &str) -> Result<Value, &'static str> {
        let mut methods = METHODS.iter();
        let found = methods.find(|(name, _)| *name == method);
        let (_, handle) = found.ok_or("unknown_method")?;
        let arguments = arguments(request)?;
        let base = self.base.get().cloned().unwrap_or_default();
        self.change(|state, now| {
            let of_form = arguments.get("token").and_then(Value::as_str);
            let token = request.token().or(of_form).ok_or("not_authed")?;
            let mut tokens = state.tokens.iter();
            let entry = tokens
                .find(|(known, _)| known == token)
                .ok_or("invalid_auth")?;
            let user = state.user(&entry.1).ok_or("account_inactive")?.clone();
            handle(&mut SlackCall {
                state,
                user,
                arguments,
                base,
                now,
            })
        })
    }
}

/// Returns the arguments of the query and of the body, which is JSON or a form.
fn arguments(request: &HttpRequest) -> Result<Map<String, Value>, &'static str> {
    let text = |(name, value): (String, String)| (name, Value::String(value));
    let mut acc: Map<String, Value> = request.query.iter().cloned().map(text).collect();
    let kind = request.header("content-type").unwrap_or_default();
    if kind.starts_with("application/json") {
        match request.json() {
            Value::Object(body) => acc.extend(body),
            Value::Null => return Err("invalid_json"),
            _ => return Err("json_not_object"),
        }
    } else if kind.starts_with("application/x-www-form-urlencoded") {
        let body = String::from_utf8_lossy(&request.body);
        acc.extend(http::pairs(&body).into_iter().map(text));
    } else if !request.body.is_empty() {
        return Err("invalid_post_type");
    }
    Ok(acc)
}

fn refused(status: u16, error: &str) -> HttpResponse {
    HttpResponse::json(status, &json!({"ok": false, "error": error}))
}

impl Service for SlackService {
    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        match request.path.strip_prefix("/api/") {
            Some(method) => match self.carry_out(request, method) {
                Ok(body) => HttpResponse::json(200, &body),
                Err(error) => refused(200, error),
            },
            None => HttpResponse::page(self.change(|state, _| pages::page(state, &request.path))),
        }
    }

    /// Returns an error. Slack sends most of them with status 200, which a fault can ask for.
    fn failure(&self, failure: ServiceError) -> HttpResponse {
        match failure {
            ServiceError::RateLimited(seconds) => {
                refused(429, "ratelimited").with_header("Retry-After", seconds.to_string())
            }
            ServiceError::Status(status) => refused(
                status,
                match status {
                    401 => "invalid_auth",
                    403 => "missing_scope",
                    404 => "channel_not_found",
                    429 => "ratelimited",
                    503 => "service_unavailable",
                    _ => "internal_error",
                },
            ),
        }
    }
}
