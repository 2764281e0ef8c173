//! The service behind the port: authentication, routing, limits, webhooks.

use std::fmt;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::call::{GithubCall, GithubCaller, GithubError};
use super::routes::{self, Needs};
use super::state::{GithubAccess, GithubState};
use super::webhooks::{GithubEvent, GithubWebhook, SendWebhook};
use crate::clock::FakeClock;
use crate::http::{HttpRequest, HttpResponse, Service, ServiceError};

/// Requests an hour, as of a token of a person.
const HOURLY_LIMIT: u64 = 5000;

/// The state of the fake and what it needs to answer.
pub(crate) struct GithubService {
    state: Mutex<GithubState>,
    clock: FakeClock,
    base: OnceLock<String>,
}

impl fmt::Debug for GithubService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubService").finish_non_exhaustive()
    }
}

impl GithubService {
    pub(crate) fn new(clock: FakeClock) -> Self {
        Self {
            state: Mutex::default(),
            clock,
            base: OnceLock::new(),
        }
    }

    /// Sets the address once the port is known.
    pub(crate) fn set_base(&self, base: String) {
        self.base.get_or_init(|| base);
    }

    fn base(&self) -> &str {
        self.base.get().map_or("", String::as_str)
    }

    /// Reads or changes the state.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut GithubState, Duration) -> T) -> T {
        let mut state = self.state.lock().expect("no holder panics");
        change(&mut state, self.clock.now())
    }

    /// Carries out a request of an account and sends the webhooks it causes.
    pub(crate) fn carry_out(&self, request: &HttpRequest, caller: GithubCaller) -> HttpResponse {
        let answer = self.change(|state, now| {
            let Some((route, params)) = routes::find(&request.method, &request.path) else {
                return Err(GithubError::not_found());
            };
            let param = |name| params.iter().find(|(param, _)| *param == name);
            let repo_at = match (param("o"), param("r")) {
                (Some((_, owner)), Some((_, name))) => {
                    let found = state.repo_at(owner, name);
                    Some(found.ok_or_else(GithubError::not_found)?)
                }
                _ => None,
            };
            if let Some(at) = repo_at {
                state.repos[at].refresh_heads();
            }
            let mut call = GithubCall {
                body: request.json(),
                state,
                request,
                caller,
                now,
                base: self.base(),
                repo_at,
                params,
            };
            if !request.body.is_empty() && !request.is_json() {
                return Err(GithubError::new(400, "Problems parsing JSON"));
            }
            (route.handle)(&mut call)
        });
        self.send_events();
        answer.unwrap_or_else(|error| error.to_response())
    }

    /// Sends what happened since the last call. The state is not locked while a hook runs, which may ask this service.
    fn send_events(&self) {
        let waiting = self.change(|state, _| {
            let events = std::mem::take(&mut state.events);
            let with_hooks = |event: GithubEvent| {
                let hooks: Vec<SendWebhook> = state.repos[event.repo_at].hooks.clone();
                let number = state.next_id();
                (event, hooks, number)
            };
            events.into_iter().map(with_hooks).collect::<Vec<_>>()
        });
        for (event, hooks, number) in waiting {
            let webhook = GithubWebhook {
                event: event.event,
                guid: guid(number),
                body: event.payload.to_string(),
            };
            for send in hooks {
                send(&webhook);
            }
        }
    }

    /// Returns the account of a token, if the token allows the request.
    fn authenticate(&self, request: &HttpRequest) -> Result<GithubCaller, GithubError> {
        let token = request.token();
        let token = token.ok_or_else(|| GithubError::new(401, "Requires authentication"))?;
        let needs = routes::find(&request.method, &request.path).map(|(route, _)| route.needs);
        self.change(|state, now| {
            let entry = state.tokens.get(token).filter(|entry| {
                entry
                    .installation
                    .is_none_or(|(_, expires_at)| now < expires_at)
            });
            let entry = entry.ok_or_else(|| GithubError::new(401, "Bad credentials"))?;
            let installation = entry.installation.map(|(id, _)| id);
            let is_refused = match needs {
                Some(Needs::User) => installation.is_some(),
                Some(Needs::Write) => entry.access == GithubAccess::Read,
                Some(Needs::Read) | None => false,
            };
            if is_refused {
                let kind = if installation.is_some() {
                    "integration"
                } else {
                    "personal access token"
                };
                let message = format!("Resource not accessible by {kind}");
                return Err(GithubError::new(403, message));
            }
            Ok(GithubCaller {
                login: entry.login.clone(),
                installation,
            })
        })
    }

    fn with_limit(&self, response: HttpResponse) -> HttpResponse {
        let (n_requests, now) = self.change(|state, now| {
            state.n_requests += 1;
            (state.n_requests, now)
        });
        let used = n_requests.min(HOURLY_LIMIT);
        let reset = now.as_secs() + 3600;
        response
            .with_header("X-RateLimit-Limit", HOURLY_LIMIT.to_string())
            .with_header("X-RateLimit-Remaining", (HOURLY_LIMIT - used).to_string())
            .with_header("X-RateLimit-Used", used.to_string())
            .with_header("X-RateLimit-Reset", reset.to_string())
            .with_header("X-RateLimit-Resource", "core")
            .with_header("X-GitHub-Request-Id", format!("FAKE:{n_requests:X}"))
    }
}

impl Service for GithubService {
    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        let response = match self.authenticate(request) {
            Ok(caller) => self.carry_out(request, caller),
            Err(error) => error.to_response(),
        };
        self.with_limit(response)
    }

    fn failure(&self, failure: ServiceError) -> HttpResponse {
        let (status, message) = match failure {
            ServiceError::RateLimited(seconds) => {
                let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
                let response = GithubError::new(403, message).to_response();
                return response.with_header("Retry-After", seconds.to_string());
            }
            ServiceError::Status(401) => (401, "Bad credentials"),
            ServiceError::Status(403) => (403, "Resource not accessible by integration"),
            ServiceError::Status(404) => (404, "Not Found"),
            ServiceError::Status(409) => (409, "Git Repository is empty."),
            ServiceError::Status(422) => (422, "Validation Failed"),
            ServiceError::Status(429) => (429, "API rate limit exceeded"),
            ServiceError::Status(503) => (503, "Service Unavailable"),
            ServiceError::Status(status) => (status, "Server Error"),
        };
        GithubError::new(status, message).to_response()
    }
}

/// Returns the form of a UUID for a number.
pub(crate) fn guid(number: u64) -> String {
    format!("{:08x}-0000-4000-8000-{number:012x}", number % 0xffff_ffff)
}
