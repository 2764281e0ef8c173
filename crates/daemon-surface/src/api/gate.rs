//! The rate limit that a service announced: until it ends, no request is sent.

use std::sync::{Arc, Mutex};

use daemon_engine::RetryAfter;
use jiff::Timestamp;
use reqwest::header::HeaderMap;

use super::failure::{ApiError, limit_end, number};

/// The time until which a service accepts no requests; clones of a client share it.
#[derive(Clone, Debug, Default)]
pub(super) struct RateGate(Arc<Mutex<RateState>>);

#[derive(Debug, Default)]
struct RateState {
    closed: Option<Timestamp>,
    /// The limits of which less than a quarter is left, each with its end.
    scarce: Vec<(&'static str, Timestamp)>,
}

impl RateGate {
    /// Lets a request pass.
    ///
    /// # Errors
    /// `Limited` while the service accepts none; nothing is sent then.
    pub(super) fn pass(&self, now: Timestamp) -> Result<(), ApiError> {
        let closed = self.0.lock().expect("no holder panics").closed;
        match closed.filter(|until| *until > now) {
            Some(until) => Err(ApiError::limited(RetryAfter::Until(until))),
            None => Ok(()),
        }
    }

    /// Closes until the end of a limit, at most for an hour.
    pub(super) fn close(&self, limit: RetryAfter, now: Timestamp) {
        let until = limit.end(now);
        let mut state = self.0.lock().expect("no holder panics");
        // A second response may announce a shorter limit of another kind; the longer one still applies.
        state.closed = Some(state.closed.map_or(until, |known| known.max(until)));
    }

    /// Closes if a response used the last request that the service allows.
    pub(super) fn note(&self, headers: &HeaderMap, now: Timestamp) {
        let remaining = number(headers, "x-ratelimit-remaining");
        if remaining == Some(0) {
            self.close(limit_end(headers), now);
        }
        for kind in ["", "requests-", "complexity-"] {
            let of = |name: &str| number(headers, &format!("x-ratelimit-{kind}{name}"));
            let Some((remaining, limit)) = of("remaining").zip(of("limit")) else {
                continue;
            };
            // Linear has a limit of each kind, and writes their ends in milliseconds.
            let reset = of("reset").filter(|_| !kind.is_empty());
            let reset = reset.and_then(|reset| Timestamp::from_millisecond(reset).ok());
            let end = reset.unwrap_or_else(|| limit_end(headers).end(now));
            let is_scarce = remaining < limit / 4;
            let mut state = self.0.lock().expect("no holder panics");
            state.scarce.retain(|(scarce, _)| *scarce != kind);
            state.scarce.extend(is_scarce.then_some((kind, end)));
        }
    }

    /// Reports whether the service allows enough requests for work that can wait.
    pub(super) fn has_spare(&self, now: Timestamp) -> bool {
        let state = self.0.lock().expect("no holder panics");
        state.scarce.iter().all(|(_, until)| *until <= now)
    }
}
