//! The server of a service: records requests and applies faults.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use super::fault::{Applied, FaultPlan, ServiceFault};
use super::listener::{Closing, Listener};
use super::recent::Recent;
use super::request::HttpRequest;
use super::response::{HttpResponse, write, write_half, write_slowly};
use serde_json::json;

const PROXY_PAGE: &str = "<!doctype html><title>Bad gateway</title><h1>The server is busy</h1>";

/// An error that a service sends because of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceError {
    /// An error with this status.
    Status(u16),
    /// A limit of requests, which ends after this many seconds.
    RateLimited(u32),
}

/// A service behind a [`FakeServer`].
pub(crate) trait Service: Send + Sync + 'static {
    /// Applies a request and returns the response.
    fn respond(&self, request: &HttpRequest) -> HttpResponse;

    /// Returns an error in the form of the service; nothing is applied.
    fn failure(&self, failure: ServiceError) -> HttpResponse;
}

/// The HTTP side of a fake service: its address, the requests it received, and its faults.
#[derive(Debug)]
pub struct FakeServer {
    listener: Listener,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    received: Mutex<Recent<HttpRequest>>,
    plan: Mutex<FaultPlan>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl FakeServer {
    pub(crate) fn start(port: u16, service: Arc<dyn Service>) -> io::Result<Self> {
        let log = Arc::new(Log::default());
        let of_listener = Arc::clone(&log);
        let listener = Listener::start(port, move |request, stream, closing| {
            let fault = of_listener.record(&request);
            let exchange = Exchange {
                service: service.as_ref(),
                request: &request,
                closing,
            };
            exchange.answer(stream, fault)
        })?;
        Ok(Self { listener, log })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns `http://` and the address, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the newest requests, in order: at most 10,000, with at most 64 MiB of bodies.
    pub fn received(&self) -> Vec<HttpRequest> {
        self.log.received.lock().expect("no holder panics").to_vec()
    }

    /// Replaces the plan of faults.
    pub fn set_faults(&self, plan: FaultPlan) {
        *self.log.plan.lock().expect("a plan does not panic") = plan;
    }
}

impl Log {
    /// Records a request and returns its fault.
    fn record(&self, request: &HttpRequest) -> ServiceFault {
        let number = {
            let mut received = self.received.lock().expect("no holder panics");
            received.push(request.clone(), request.body.len())
        };
        let mut plan = self.plan.lock().expect("a plan does not panic");
        plan.decide(number, request)
    }
}

/// One request that is being answered.
struct Exchange<'e> {
    service: &'e dyn Service,
    request: &'e HttpRequest,
    closing: &'e Closing,
}

impl Exchange<'_> {
    fn answer(&self, stream: &mut TcpStream, fault: ServiceFault) -> io::Result<()> {
        let response = match fault {
            ServiceFault::None => self.respond(),
            ServiceFault::Closed => return Ok(()),
            ServiceFault::LostReply => {
                self.respond();
                return Ok(());
            }
            ServiceFault::LateReply(time) => {
                let response = self.respond();
                self.closing.wait(time);
                response
            }
            ServiceFault::LateEffect(time) => {
                if self.closing.wait(time) {
                    return Ok(());
                }
                self.respond()
            }
            ServiceFault::Status(status, applied) => {
                self.instead(applied, self.service.failure(ServiceError::Status(status)))
            }
            ServiceFault::Says(status, text, applied) => {
                let body = json!({"ok": false, "error": text, "message": text, "errors": [{"message": text}]});
                self.instead(applied, HttpResponse::json(status, &body))
            }
            ServiceFault::RateLimited(seconds, applied) => {
                let failure = ServiceError::RateLimited(seconds);
                self.instead(applied, self.service.failure(failure))
            }
            ServiceFault::Html(status, applied) => {
                self.instead(applied, HttpResponse::html(status, PROXY_PAGE.to_owned()))
            }
            ServiceFault::Truncated => self.truncated(),
            ServiceFault::Cut => return write_half(stream, &self.respond()),
            ServiceFault::Drip(pause) => {
                let response = self.respond();
                return write_slowly(stream, &response, pause, self.closing);
            }
        };
        write(stream, &response)
    }

    fn respond(&self) -> HttpResponse {
        self.service.respond(self.request)
    }

    /// Returns `response` in place of the real one.
    fn instead(&self, applied: Applied, response: HttpResponse) -> HttpResponse {
        if applied == Applied::Yes {
            self.respond();
        }
        response
    }

    /// Returns half of the body with the length of that half, so that only the JSON is wrong.
    fn truncated(&self) -> HttpResponse {
        let mut response = self.respond();
        response.body.truncate(response.body.len() / 2);
        response
    }
}
