//! What every response has: the limit of requests an hour, and an entity tag.

use std::time::Duration;

use super::call::GithubError;
use crate::http::{HttpRequest, HttpResponse};

const HOUR: Duration = Duration::from_secs(3600);
/// Requests an hour, as of a token of a person.
const HOURLY_LIMIT: u64 = 5000;

/// The requests of the current hour, which begins with the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HourlyLimit {
    pub(crate) limit: u64,
    used: u64,
    resets_at: Duration,
    n_requests: u64,
}

impl Default for HourlyLimit {
    fn default() -> Self {
        Self {
            limit: HOURLY_LIMIT,
            used: 0,
            resets_at: Duration::ZERO,
            n_requests: 0,
        }
    }
}

impl HourlyLimit {
    /// Counts a request.
    ///
    /// # Errors
    /// The requests of this hour are used up.
    pub(crate) fn count(&mut self, now: Duration) -> Result<(), GithubError> {
        self.n_requests += 1;
        if now >= self.resets_at {
            (self.used, self.resets_at) = (0, now + HOUR);
        }
        if self.used >= self.limit {
            return Err(GithubError::new(
                403,
                "API rate limit exceeded for user ID 1.",
            ));
        }
        self.used += 1;
        Ok(())
    }

    pub(crate) fn add_headers(&self, response: HttpResponse) -> HttpResponse {
        let left = self.limit.saturating_sub(self.used);
        response
            .with_header("X-RateLimit-Limit", self.limit.to_string())
            .with_header("X-RateLimit-Remaining", left.to_string())
            .with_header("X-RateLimit-Used", self.used.to_string())
            .with_header("X-RateLimit-Reset", self.resets_at.as_secs().to_string())
            .with_header("X-RateLimit-Resource", "core")
            .with_header("X-GitHub-Request-Id", format!("FAKE:{:X}", self.n_requests))
    }
}

/// Adds an entity tag, or replaces the response by 304 if the client has it already.
pub(crate) fn tagged(request: &HttpRequest, response: HttpResponse) -> HttpResponse {
    if request.method != "GET" || response.status != 200 {
        return response;
    }
    // FNV-1a: equal bodies have equal tags, which is all that a tag is for.
    let hash = response
        .body
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let tag = format!("W/\"{hash:016x}\"");
    let response = if request.header("if-none-match") == Some(tag.as_str()) {
        HttpResponse::empty(304)
    } else {
        response
    };
    response.with_header("ETag", tag)
}

/// Refuses a request without `User-Agent`, as the service does before it reads anything else.
pub(crate) fn unnamed(request: &HttpRequest) -> Option<HttpResponse> {
    const MESSAGE: &str = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.";
    let refused = || HttpResponse::html(403, format!("<!doctype html><p>{MESSAGE}</p>"));
    let name = request.header("user-agent").unwrap_or_default();
    name.is_empty().then(refused)
}
