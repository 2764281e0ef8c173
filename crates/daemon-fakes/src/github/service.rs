//! The service behind the port: authentication, routing, limits, webhooks.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::app;
use super::call::{GithubCall, GithubCaller, GithubError};
use super::hooks::GithubDelivery;
use super::limits;
use super::pages;
use super::routes::{self, Needs, PathParams};
use super::state::{GithubAccess, GithubRepo, GithubState, GithubToken};
use super::webhooks::{GithubWebhook, SendWebhook};
use crate::clock::FakeClock;
use crate::http::{HttpRequest, HttpResponse, Service, ServiceError};

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
        let route = routes::find(&request.method, &request.path);
        let answer = match route {
            Some((route, params)) => self.call(request, caller, params, route.handle),
            None => Err(GithubError::not_found()),
        };
        answer.unwrap_or_else(|error| error.to_response())
    }

    /// Calls a handler with the state and the repository that the parameters name, and sends the webhooks it causes.
    pub(crate) fn call<T>(
        &self,
        request: &HttpRequest,
        caller: GithubCaller,
        params: PathParams,
        handle: impl FnOnce(&mut GithubCall<'_>) -> Result<T, GithubError>,
    ) -> Result<T, GithubError> {
        let answer = self.change(|state, now| {
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
            if !request.body.is_empty() && !request.is_json() {
                return Err(GithubError::new(400, "Problems parsing JSON"));
            }
            handle(&mut GithubCall {
                body: request.json(),
                state,
                request,
                caller,
                now,
                base: self.base(),
                repo_at,
                params,
            })
        });
        self.send_events();
        answer
    }

    /// Sends what happened since the last call. The state is not locked while a hook runs, which may send requests to this
    /// service.
    pub(crate) fn send_events(&self) {
        for waiting in self.change(|state, _| waiting(state)) {
            let status = (waiting.send)(&waiting.webhook);
            self.change(|state, now| {
                let delivery = GithubDelivery {
                    id: state.next_id(),
                    webhook: waiting.webhook,
                    is_redelivery: waiting.is_redelivery,
                    status,
                    delivered_at: now,
                };
                if let Some(hook) = state.hook_mut(waiting.hook) {
                    hook.deliveries.push(delivery);
                }
            });
        }
    }

    /// Returns the account of a token, if the token allows the request.
    fn authenticate(&self, request: &HttpRequest) -> Result<GithubCaller, GithubError> {
        let token = request.token();
        let token = token.ok_or_else(|| GithubError::new(401, "Requires authentication"))?;
        let route = routes::find(&request.method, &request.path);
        self.change(|state, now| {
            if route
                .as_ref()
                .is_some_and(|(route, _)| route.needs == Needs::App)
            {
                let login = app::authenticate(state, token, now)?;
                return Ok(GithubCaller {
                    login,
                    installation: None,
                });
            }
            let is_valid = |it: &&GithubToken| it.expires_at.is_none_or(|end| now < end);
            let entry = state.tokens.get(token).filter(is_valid);
            let entry = entry.ok_or_else(|| GithubError::new(401, "Bad credentials"))?;
            if let Some((route, params)) = &route {
                check_rights(entry, route.needs, params)?;
            }
            let installation = entry.installation.as_ref().map(|it| it.id);
            Ok(GithubCaller {
                login: entry.login.clone(),
                installation,
            })
        })
    }
}

impl Service for GithubService {
    fn respond(&self, request: &HttpRequest) -> HttpResponse {
        // A browser sends no token; every client of the API does.
        if request.method == "GET" && request.header("authorization").is_none() {
            let page = self.change(|state, _| {
                state.repos.iter_mut().for_each(GithubRepo::refresh_heads);
                pages::page(state, &request.path)
            });
            if page.is_some() {
                return HttpResponse::page(page);
            }
        }
        if let Some(refused) = limits::unnamed(request) {
            return refused;
        }
        let (counted, limit) = self.change(|state, now| (state.limit.count(now), state.limit));
        let caller = counted.and_then(|()| self.authenticate(request));
        let response = match caller {
            Ok(caller) => limits::tagged(request, self.carry_out(request, caller)),
            Err(error) => error.to_response(),
        };
        limit.add_headers(response)
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

/// A webhook that is to be sent.
struct WaitingWebhook {
    hook: u64,
    send: SendWebhook,
    webhook: GithubWebhook,
    is_redelivery: bool,
}

/// Takes the events and the requested redeliveries of the state, for each hook.
fn waiting(state: &mut GithubState) -> Vec<WaitingWebhook> {
    let mut acc = Vec::new();
    for event in std::mem::take(&mut state.events) {
        let webhook = GithubWebhook {
            event: event.event,
            guid: guid(state.next_id()),
            body: event.payload.to_string(),
        };
        acc.extend(
            state.repos[event.repo_at]
                .hooks
                .iter()
                .chain(&state.app_hook)
                .map(|hook| WaitingWebhook {
                    hook: hook.id,
                    send: Arc::clone(&hook.send),
                    webhook: webhook.clone(),
                    is_redelivery: false,
                }),
        );
    }
    for (id, webhook) in std::mem::take(&mut state.redeliveries) {
        let hook = state.hooks().find(|hook| hook.id == id);
        acc.extend(hook.map(|hook| WaitingWebhook {
            hook: id,
            send: Arc::clone(&hook.send),
            webhook,
            is_redelivery: true,
        }));
    }
    acc
}

/// Checks what a token may do, and which repositories a token of an installation reaches.
fn check_rights(token: &GithubToken, needs: Needs, params: &PathParams) -> Result<(), GithubError> {
    let refused = |kind: &str| GithubError::new(403, format!("Resource not accessible by {kind}"));
    if let Some(installation) = &token.installation {
        if needs == Needs::User {
            return Err(refused("integration"));
        }
        let param = |name| params.iter().find(|(param, _)| *param == name);
        if let (Some((_, owner)), Some((_, name))) = (param("o"), param("r")) {
            let full_name = format!("{owner}/{name}");
            let mut repos = installation.repos.iter();
            if !repos.any(|repo| repo.eq_ignore_ascii_case(&full_name)) {
                return Err(GithubError::not_found());
            }
        }
    }
    if needs == Needs::Write && token.access == GithubAccess::Read {
        return Err(refused("personal access token"));
    }
    Ok(())
}

/// Returns the form of a UUID for a number.
pub(crate) fn guid(number: u64) -> String {
    format!("{:08x}-0000-4000-8000-{number:012x}", number % 0xffff_ffff)
}
