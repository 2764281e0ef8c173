//! The HTTP client of one API: requests only below its base URL, with limits on time, size and redirects.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use daemon_engine::{FactError, FactErrorKind, RetryAfter};
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};

/// How long one request may take, including its body.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum size of one response body, in bytes.
const MAX_BODY: usize = 16 << 20;
/// How many redirects are followed for one request.
const MAX_REDIRECTS: usize = 3;
/// The delay after a response that limits requests without a time.
// GitHub's secondary limits are such responses; a client is to wait at least a minute.
const LIMIT_DELAY: SignedDuration = SignedDuration::from_secs(60);

/// The base URL of an API: `https://api.github.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiBase(Url);

/// The error for a string that is not a valid [`ApiBase`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a base of an API: {why}")]
pub struct InvalidBase {
    text: String,
    why: &'static str,
}

impl FromStr for ApiBase {
    type Err = InvalidBase;

    fn from_str(text: &str) -> Result<Self, InvalidBase> {
        let refused = |why| InvalidBase {
            // A password has no place in a message.
            text: match text.contains('@') {
                true => "…".to_owned(),
                false => text.chars().take(200).collect(),
            },
            why,
        };
        let Ok(url) = Url::parse(text) else {
            return Err(refused("it is not a URL"));
        };
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_loopback = host == "localhost" || address.is_ok_and(|ip| ip.is_loopback());
        match url.scheme() {
            "https" => {}
            // A token is never sent where others can read it.
            "http" if is_loopback => {}
            _ => return Err(refused("it is neither https nor on this machine")),
        }
        let has_more = url.query().is_some() || url.fragment().is_some();
        if has_more || !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it has more than a host and a path"));
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ApiBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl ApiBase {
    /// Returns the URL of a resource; each piece is escaped.
    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.0.clone();
        url.path_segments_mut()
            .expect("a URL with a host has a path")
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Reports whether a URL is below the base.
    fn holds(&self, url: &Url) -> bool {
        let own = self.0.path().trim_end_matches('/');
        let rest = url.path().strip_prefix(own);
        self.0.origin() == url.origin()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A bearer token. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken(HeaderValue);

/// The error for a string that cannot be an [`ApiToken`]; it does not contain the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is one line of visible ASCII characters")]
pub struct InvalidToken;

impl FromStr for ApiToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value = value.expect("visible ASCII is a header's value");
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiToken(…)")
    }
}

/// The error of [`ServiceApi::new`]: the HTTP client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("requests to `{base}` cannot be prepared")]
pub struct ApiSetupError {
    base: ApiBase,
    #[source]
    source: reqwest::Error,
}

/// A client of one API.
///
/// Requests carry the token, take at most 15 s and 16 MiB, and follow redirects only below the base.
#[derive(Clone, Debug)]
pub struct ServiceApi {
    base: ApiBase,
    token: ApiToken,
    client: Client,
    timeout: Duration,
    max_body: usize,
}

impl ServiceApi {
    /// Builds the client; sends nothing.
    ///
    /// # Errors
    /// If this machine's certificates cannot be read.
    pub fn new(base: ApiBase, token: ApiToken) -> Result<Self, ApiSetupError> {
        // Fails if another part of the process has installed a provider before; any provider will do.
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap_or_default();
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, accept);
        let mut client = Client::builder()
            .user_agent(concat!("daemon-run/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            // Redirects are followed by `get`, which checks that they stay below the base: the token goes with them.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(TIMEOUT);
        if base.0.scheme() == "http" {
            // Only loopback is allowed without TLS, and reading the machine's certificates takes time and may fail.
            client = client.tls_certs_only([]);
        }
        match client.build() {
            Ok(client) => Ok(Self {
                base,
                token,
                client,
                timeout: TIMEOUT,
                max_body: MAX_BODY,
            }),
            Err(source) => Err(ApiSetupError { base, source }),
        }
    }

    /// Sets how long one request may take; the default is 15 s.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the maximum size of a response body in bytes; the default is 16 MiB.
    #[must_use]
    pub fn with_max_body(self, max_body: usize) -> Self {
        Self { max_body, ..self }
    }

    /// Gets a resource and follows redirects below the base.
    pub(super) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Answer, FactError> {
        let mut url = self.base.url(path, query);
        for _ in 0..=MAX_REDIRECTS {
            match self.ask(url).await? {
                Step::Answered(answer) => return Ok(answer),
                Step::Redirected(next) => url = next,
            }
        }
        Err(refused("it redirects without end"))
    }

    async fn ask(&self, url: Url) -> Result<Step, FactError> {
        let asked = self
            .client
            .get(url.clone())
            .header(header::AUTHORIZATION, self.token.0.clone())
            .timeout(self.timeout)
            .send();
        let mut response = asked.await.map_err(|error| unanswered(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_redirection() {
            return self.redirected(&url, &headers).map(Step::Redirected);
        }
        let body = self.body(&mut response).await?;
        if !status.is_success() {
            return Err(failed(status, &headers, &body));
        }
        Ok(Step::Answered(Answer {
            has_next: has_next(&headers),
            body,
        }))
    }

    fn redirected(&self, from: &Url, headers: &HeaderMap) -> Result<Url, FactError> {
        let location = headers.get(header::LOCATION);
        let target = location.and_then(|location| from.join(location.to_str().ok()?).ok());
        match target {
            Some(target) if self.base.holds(&target) => Ok(target),
            Some(_) => Err(refused("it redirects to another place, which is not asked")),
            None => Err(refused("it redirects to nowhere")),
        }
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, FactError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(&error))? {
            if body.len() + chunk.len() > self.max_body {
                let why = format!("its answer has more than {} bytes", self.max_body);
                return Err(FactError::new(FactErrorKind::Final, why));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

enum Step {
    Answered(Answer),
    Redirected(Url),
}

/// A successful response.
#[derive(Debug)]
pub(super) struct Answer {
    /// Whether another page follows; `None` if the response has no `Link` header.
    pub(super) has_next: Option<bool>,
    body: Vec<u8>,
}

impl Answer {
    /// Reads the body.
    ///
    /// # Errors
    /// Retryable: a proxy may have replied with a page of its own, and the next response may be JSON.
    pub(super) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, FactError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let why = format!("its answer cannot be read: line {line}, column {column}");
            FactError::new(FactErrorKind::Retryable, why)
        })
    }
}

fn refused(why: &str) -> FactError {
    FactError::new(FactErrorKind::Final, why)
}

fn unanswered(error: &reqwest::Error) -> FactError {
    let why = if error.is_timeout() {
        "it does not answer in time"
    } else if error.is_connect() {
        "it cannot be reached"
    } else {
        "the connection broke"
    };
    FactError::new(FactErrorKind::Retryable, why)
}

fn has_next(headers: &HeaderMap) -> Option<bool> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    Some(link.contains("rel=\"next\""))
}

fn failed(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> FactError {
    let is_limited = match status.as_u16() {
        429 => true,
        403 => is_limit(headers, body),
        503 => headers.contains_key(header::RETRY_AFTER),
        _ => false,
    };
    let (kind, why) = if is_limited {
        let kind = FactErrorKind::Limited(retry_after(headers));
        (kind, "it wants fewer requests")
    } else if status.is_server_error() || matches!(status.as_u16(), 408 | 425) {
        (FactErrorKind::Retryable, "it failed")
    } else {
        let why = match status.as_u16() {
            401 => "the token is not accepted",
            403 => "the token may not read it",
            404 => "it is not there, or the token may not see it",
            _ => "it was refused",
        };
        (FactErrorKind::Final, why)
    };
    FactError::new(kind, format!("{} ({why})", status.as_u16()))
}

/// Reports whether a 403 is a rate limit and not a missing permission.
// GitHub uses 403 for both; its secondary limit is named only in the message.
fn is_limit(headers: &HeaderMap, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    headers.contains_key(header::RETRY_AFTER)
        || number(headers, "x-ratelimit-remaining") == Some(0)
        || text.contains("rate limit")
}

fn retry_after(headers: &HeaderMap) -> RetryAfter {
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

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}
