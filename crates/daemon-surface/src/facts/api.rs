//! One API of a service: requests below its base and nowhere else.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use daemon_engine::{FactError, FactErrorKind, Patience};
use jiff::{SignedDuration, Timestamp};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};

/// How long one request may take, its body included.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The most bytes of one answer.
const MAX_BODY: usize = 16 << 20;
/// The most redirects that are followed for one answer.
const MAX_REDIRECTS: usize = 3;
/// How long a service that wants to be left alone, and says no time, is left alone.
const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// The URL below which a service answers: `https://api.github.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiBase(Url);

/// Reports a text that is no base of an API.
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

    /// Whether a URL is below the base.
    fn holds(&self, url: &Url) -> bool {
        let own = self.0.path().trim_end_matches('/');
        let rest = url.path().strip_prefix(own);
        self.0.origin() == url.origin()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What a service knows us by; it is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(HeaderValue);

/// Reports a text that cannot be a token, without showing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is one line of visible ASCII characters")]
pub struct InvalidToken;

impl FromStr for Token {
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

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Reports that requests cannot be sent at all.
#[derive(Debug, thiserror::Error)]
#[error("requests to `{base}` cannot be prepared")]
pub struct ApiSetupError {
    base: ApiBase,
    #[source]
    source: reqwest::Error,
}

/// One API of a service.
///
/// Requests carry the token, take at most 15 s and 16 MiB, and follow redirects only below the base.
#[derive(Clone, Debug)]
pub struct Api {
    base: ApiBase,
    token: Token,
    client: Client,
    timeout: Duration,
    max_body: usize,
}

impl Api {
    /// Prepares requests.
    ///
    /// # Errors
    /// If this machine's certificates cannot be read.
    pub fn new(base: ApiBase, token: Token) -> Result<Self, ApiSetupError> {
        // Somebody else in the process may have chosen another; either serves.
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap_or_default();
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, accept);
        let mut client = Client::builder()
            .user_agent(concat!("daemon-run/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(TIMEOUT);
        if base.0.scheme() == "http" {
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

    /// Lets a request take another time.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Lets an answer have at most so many bytes.
    #[must_use]
    pub fn with_max_body(self, max_body: usize) -> Self {
        Self { max_body, ..self }
    }

    /// Gets a resource.
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

/// What a service answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// Whether there is another page; `None` where the service does not say.
    pub(super) has_next: Option<bool>,
    body: Vec<u8>,
}

impl Answer {
    /// Reads the body.
    ///
    /// # Errors
    /// Something that is no JSON of this shape may stand between; asking again may give the answer.
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
        let kind = FactErrorKind::Limited(patience(headers));
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

/// Whether a refusal is about how often, and not about what, was asked.
fn is_limit(headers: &HeaderMap, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    headers.contains_key(header::RETRY_AFTER)
        || number(headers, "x-ratelimit-remaining") == Some(0)
        || text.contains("rate limit")
}

fn patience(headers: &HeaderMap) -> Patience {
    let after = headers.get(header::RETRY_AFTER);
    if let Some(text) = after.and_then(|value| value.to_str().ok()) {
        if let Ok(seconds) = text.trim().parse::<u32>() {
            return Patience::For(SignedDuration::from_secs(i64::from(seconds)));
        }
        if let Ok(date) = jiff::fmt::rfc2822::parse(text.trim()) {
            return Patience::Until(date.timestamp());
        }
    }
    let reset = number(headers, "x-ratelimit-reset");
    match reset.and_then(|reset| Timestamp::from_second(reset).ok()) {
        Some(reset) => Patience::Until(reset),
        None => Patience::For(PATIENCE),
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}
