//! Failures of requests, and what they mean for facts and for outputs.

use daemon_engine::{FactError, FactErrorKind, RetryAfter, SurfaceError, SurfaceErrorKind};
use jiff::{SignedDuration, Timestamp};
use reqwest::StatusCode;
use reqwest::header::{self, HeaderMap};
use serde::Deserialize;

/// The delay after a response that limits requests without a time.
// GitHub's secondary limits are such responses; a client is to wait at least a minute.
const LIMIT_DELAY: SignedDuration = SignedDuration::from_secs(60);
/// The delay before a look-up, because a service may still carry out a request whose response is lost.
const LANDING: RetryAfter = RetryAfter::For(SignedDuration::from_secs(5));
/// How much of a service's own message is kept, in characters.
const MAX_SAID: usize = 300;

/// Whether a request can have changed something at the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestEffect {
    /// It only reads.
    None,
    /// It writes: without a response, the result is unknown.
    Write,
}

/// What a failed request means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApiErrorKind {
    /// Nothing was sent.
    Unsent,
    /// The request was sent, and there is no usable response.
    Unanswered,
    /// The service accepts no requests for some time, and did not carry this one out.
    Limited(RetryAfter),
    /// The service failed, and may have carried the request out before.
    Failed(Option<RetryAfter>),
    /// The state of the object does not allow the request at the moment.
    Conflict,
    /// The service refused the request, with this status.
    Refused(u16),
    /// The response is not of the API, or exceeds the limits.
    Unusable,
}

/// A failed request.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) kind: ApiErrorKind,
    effect: RequestEffect,
    /// What happened, in our words.
    message: String,
    /// What the service wrote, without control characters and cut.
    said: Option<String>,
}

impl ApiError {
    pub(super) fn new(
        kind: ApiErrorKind,
        effect: RequestEffect,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            effect,
            message: message.into(),
            said: None,
        }
    }

    /// The error for a request that is not sent because the service limits them.
    pub(super) fn limited(limit: RetryAfter) -> Self {
        let kind = ApiErrorKind::Limited(limit);
        Self::new(kind, RequestEffect::None, "it wants fewer requests")
    }

    /// The error for a request that the service refuses, for services that report it in a successful response.
    pub(crate) fn refused(effect: RequestEffect, message: impl Into<String>) -> Self {
        Self::new(ApiErrorKind::Refused(200), effect, message)
    }

    /// The error for a failure that the service reports in a successful response.
    pub(crate) fn failed(effect: RequestEffect, message: impl Into<String>) -> Self {
        Self::new(ApiErrorKind::Failed(None), effect, message)
    }

    /// The error for a request that a service limits in a successful response.
    pub(crate) fn rate_limited(message: impl Into<String>) -> Self {
        let kind = ApiErrorKind::Limited(RetryAfter::For(LIMIT_DELAY));
        Self::new(kind, RequestEffect::None, message)
    }

    /// Makes the error of a response with this status.
    pub(super) fn of_status(
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        effect: RequestEffect,
    ) -> Self {
        let (kind, why) = meaning(status, headers, body);
        let said = said(body);
        Self {
            said,
            ..Self::new(kind, effect, format!("{} ({why})", status.as_u16()))
        }
    }

    pub(super) fn of_transport(error: &reqwest::Error, effect: RequestEffect) -> Self {
        let (kind, why) = if error.is_connect() {
            (ApiErrorKind::Unsent, "it cannot be reached")
        } else if error.is_timeout() {
            (ApiErrorKind::Unanswered, "it does not answer in time")
        } else {
            (ApiErrorKind::Unanswered, "the connection broke")
        };
        Self::new(kind, effect, why)
    }

    /// Reports whether the credentials were not accepted.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.kind == ApiErrorKind::Refused(401)
    }

    /// Reports whether the credentials do not allow the request.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.kind == ApiErrorKind::Refused(403)
    }

    /// Reports whether the object does not exist, or must not be seen.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(
            self.kind,
            ApiErrorKind::Refused(404) | ApiErrorKind::Refused(410)
        )
    }

    /// Returns the error as that of an object that does not exist, for services that report it in words.
    pub(crate) fn into_absent(self) -> Self {
        Self {
            kind: ApiErrorKind::Refused(404),
            ..self
        }
    }

    /// Returns the service's own message.
    pub(crate) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// Reports whether the message contains a word of the service.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.message.contains(word)
    }

    /// Adds what was attempted.
    pub(crate) fn context(self, what: &str) -> Self {
        Self {
            message: format!("{what}: {}", self.message),
            ..self
        }
    }

    /// Returns the kind of error for an output, and when the service accepts requests again.
    fn surface_kind(&self) -> (SurfaceErrorKind, Option<RetryAfter>) {
        let is_write = self.effect == RequestEffect::Write;
        let open = match is_write {
            true => SurfaceErrorKind::Ambiguous,
            false => SurfaceErrorKind::Retryable,
        };
        match self.kind {
            ApiErrorKind::Unsent => (SurfaceErrorKind::Retryable, None),
            ApiErrorKind::Limited(limit) => (SurfaceErrorKind::Retryable, Some(limit)),
            ApiErrorKind::Failed(limit) => (open, limit),
            // A conflict may be the object that an earlier request made.
            ApiErrorKind::Unanswered | ApiErrorKind::Conflict => (open, None),
            ApiErrorKind::Unusable if is_write => (open, None),
            ApiErrorKind::Unusable | ApiErrorKind::Refused(_) => (SurfaceErrorKind::Refused, None),
        }
    }
}

impl From<ApiError> for FactError {
    fn from(error: ApiError) -> Self {
        let kind = match error.kind {
            ApiErrorKind::Unsent | ApiErrorKind::Unanswered | ApiErrorKind::Failed(None) => {
                FactErrorKind::Retryable
            }
            ApiErrorKind::Limited(limit) | ApiErrorKind::Failed(Some(limit)) => {
                FactErrorKind::Limited(limit)
            }
            ApiErrorKind::Conflict | ApiErrorKind::Refused(_) | ApiErrorKind::Unusable => {
                FactErrorKind::Final
            }
        };
        Self::new(kind, error.message)
    }
}

impl From<ApiError> for SurfaceError {
    fn from(error: ApiError) -> Self {
        let (kind, limit) = error.surface_kind();
        let message = match error.said {
            Some(said) => format!("{}: {said}", error.message),
            None => error.message,
        };
        let made = Self::new(kind, message);
        let landing = (kind == SurfaceErrorKind::Ambiguous).then_some(LANDING);
        match limit.or(landing) {
            Some(limit) => made.with_retry_after(limit),
            None => made,
        }
    }
}

fn meaning(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> (ApiErrorKind, &'static str) {
    let limit = || limit_end(headers);
    match status.as_u16() {
        429 => (ApiErrorKind::Limited(limit()), "it wants fewer requests"),
        403 if is_limit(headers, body) => {
            (ApiErrorKind::Limited(limit()), "it wants fewer requests")
        }
        400 if is_graphql_limit(body) => {
            (ApiErrorKind::Limited(limit()), "it wants fewer requests")
        }
        503 if headers.contains_key(header::RETRY_AFTER) => (
            ApiErrorKind::Failed(Some(limit())),
            "it wants fewer requests",
        ),
        408 | 425 | 500..=599 => (ApiErrorKind::Failed(None), "it failed"),
        409 => (ApiErrorKind::Conflict, "it was refused"),
        401 => (ApiErrorKind::Refused(401), "the token is not accepted"),
        403 => (ApiErrorKind::Refused(403), "the token has no permission"),
        404 => (
            ApiErrorKind::Refused(404),
            "it is not there, or the token may not see it",
        ),
        status => (ApiErrorKind::Refused(status), "it was refused"),
    }
}

/// Reports whether a 403 is a rate limit and not a missing permission.
// GitHub uses 403 for both; its secondary limit is named only in the message.
fn is_limit(headers: &HeaderMap, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    headers.contains_key(header::RETRY_AFTER)
        || number(headers, "x-ratelimit-remaining") == Some(0)
        || text.contains("rate limit")
}

/// Reports whether a response is the limit of Linear, which has the status of an invalid request.
fn is_graphql_limit(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).contains("\"RATELIMITED\"")
}

/// Returns when a service that limits requests accepts them again.
pub(super) fn limit_end(headers: &HeaderMap) -> RetryAfter {
    let after = headers.get(header::RETRY_AFTER);
    if let Some(text) = after.and_then(|value| value.to_str().ok()) {
        if let Ok(seconds) = text.trim().parse::<u32>() {
            return RetryAfter::For(SignedDuration::from_secs(i64::from(seconds)));
        }
        if let Ok(date) = jiff::fmt::rfc2822::parse(text.trim()) {
            return RetryAfter::Until(date.timestamp());
        }
    }
    let reset = number(headers, "x-ratelimit-reset");
    match reset.and_then(|reset| Timestamp::from_second(reset).ok()) {
        Some(reset) => RetryAfter::Until(reset),
        None => RetryAfter::For(LIMIT_DELAY),
    }
}

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// The error forms of GitHub and of GraphQL.
#[derive(Deserialize)]
struct Said {
    message: Option<String>,
    #[serde(default)]
    errors: Vec<serde_json::Value>,
}

/// Returns the service's own message, which is shown to people.
fn said(body: &[u8]) -> Option<String> {
    let said: Said = serde_json::from_slice(body).ok()?;
    let details = said.errors.iter().filter_map(|error| {
        let part = |name: &str| error.get(name).and_then(serde_json::Value::as_str);
        let named = || Some(format!("{} {}", part("field")?, part("code")?));
        error
            .as_str()
            .or_else(|| part("message"))
            .map_or_else(named, |text| Some(text.to_owned()))
    });
    let parts: Vec<String> = said.message.into_iter().chain(details).collect();
    cleaned(&parts.join("; "))
}

/// Cuts a string of a service and removes its control characters; `None` if nothing is left.
pub(crate) fn cleaned(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    let joined = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let cut: String = joined.chars().take(MAX_SAID).collect();
    (!cut.is_empty()).then_some(cut)
}
