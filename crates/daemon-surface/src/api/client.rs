//! The client: one request, its redirects, its response.

use std::time::Duration;

use daemon_engine::SurfaceError;
use daemon_engine::proposal::GithubName;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::base::ApiBase;
use super::clock::WallClock;
use super::credentials::Credentials;
use super::failure::{ApiError, ApiErrorKind, RequestEffect};
use super::gate::RateGate;

/// How long a request that reads may take, including its body.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long a request that writes may take.
// Longer, because a request that the service carries out after the timeout is not found by the look-up that follows.
const WRITE_TIMEOUT: Duration = Duration::from_secs(75);
/// The maximum size of one response body, in bytes.
const MAX_BODY: usize = 16 << 20;
/// How many redirects are followed for one request.
const MAX_REDIRECTS: usize = 3;

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
/// Requests carry the credentials, take at most 15 s (75 s if they write) and 16 MiB, and follow redirects only below the base. After a response
/// that used the last request of a rate limit, none is sent until the limit ends. Clones share that limit.
#[derive(Clone, Debug)]
pub struct ServiceApi {
    base: ApiBase,
    credentials: Credentials,
    clock: WallClock,
    gate: RateGate,
    client: Client,
    timeout: Duration,
    write_timeout: Duration,
    max_body: usize,
}

impl ServiceApi {
    /// Builds the client; sends nothing.
    ///
    /// # Errors
    /// If this machine's certificates cannot be read.
    pub fn new(
        base: ApiBase,
        credentials: Credentials,
        clock: WallClock,
    ) -> Result<Self, ApiSetupError> {
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
            // Redirects are followed by `follow`, which checks that they stay below the base: the token goes with them.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(TIMEOUT);
        if base.is_plain() {
            // Only loopback is allowed without TLS, and reading the machine's certificates takes time and may fail.
            client = client.tls_certs_only([]);
        }
        match client.build() {
            Ok(client) => Ok(Self {
                base,
                credentials,
                clock,
                gate: RateGate::default(),
                client,
                timeout: TIMEOUT,
                write_timeout: WRITE_TIMEOUT,
                max_body: MAX_BODY,
            }),
            Err(source) => Err(ApiSetupError { base, source }),
        }
    }

    /// Sets how long a request that reads may take; the default is 15 s.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets the maximum size of a response body in bytes; the default is 16 MiB.
    #[must_use]
    pub fn with_max_body(self, max_body: usize) -> Self {
        Self { max_body, ..self }
    }

    /// Reports whether at least a quarter of the requests of the service's limit is left, as far as its responses said.
    pub(crate) fn has_spare(&self) -> bool {
        self.gate.has_spare(self.clock.now())
    }

    pub(crate) fn clock(&self) -> &WallClock {
        &self.clock
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Returns the token for a repository on GitHub: the configured one, or that of the App's installation there.
    ///
    /// # Errors
    /// If the App is not installed there, or GitHub issues no token.
    pub async fn repository_token(&self, repo: &GithubName) -> Result<String, SurfaceError> {
        let path = ["repos", repo.owner(), repo.name()];
        let header = match &self.credentials {
            Credentials::Token(token) => token.header(),
            Credentials::App(app) => app.authorization(self, &path).await?,
        };
        let text = header.to_str().expect("a token is visible ASCII");
        Ok(text.trim_start_matches("Bearer ").to_owned())
    }

    /// Gets a resource and follows redirects below the base.
    pub(crate) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<ApiAnswer, ApiError> {
        self.get_changed(path, query, None).await
    }

    /// Gets a resource unless it still has this entity tag; then the answer is [`ApiAnswer::is_unchanged`].
    pub(crate) async fn get_changed(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        tag: Option<&str>,
    ) -> Result<ApiAnswer, ApiError> {
        self.exchange(&Request {
            method: Method::GET,
            path,
            query,
            body: None,
            effect: RequestEffect::None,
            tag,
            about: None,
        })
        .await
    }

    /// Sends a request that writes.
    pub(crate) async fn write(
        &self,
        method: Method,
        path: &[&str],
        body: &Value,
    ) -> Result<ApiAnswer, ApiError> {
        let request = Request {
            method,
            path,
            query: &[],
            body: Some(body),
            effect: RequestEffect::Write,
            tag: None,
            about: None,
        };
        let answer = self.exchange(&request).await?;
        // The success of a proxy is not that of the service, also where the caller does not read the body.
        if !answer.body.is_empty() {
            answer.json::<IgnoredAny>()?;
        }
        Ok(answer)
    }

    /// Sends a request that only reads, but with a body: a query of GraphQL.
    pub(crate) async fn query(&self, path: &[&str], body: &Value) -> Result<ApiAnswer, ApiError> {
        self.exchange(&Request {
            method: Method::POST,
            path,
            query: &[],
            body: Some(body),
            effect: RequestEffect::None,
            tag: None,
            about: None,
        })
        .await
    }

    /// Sends a mutation of GraphQL about an object of a repository, with the token for the repository at a path.
    pub(crate) async fn mutate(&self, about: &[&str], body: &Value) -> Result<ApiAnswer, ApiError> {
        self.exchange(&Request {
            method: Method::POST,
            path: &["graphql"],
            query: &[],
            body: Some(body),
            effect: RequestEffect::Write,
            tag: None,
            about: Some(about),
        })
        .await
    }

    /// Sends no further request for the duration of a limit that a successful response announced.
    pub(crate) fn pause(&self, error: &ApiError) {
        if let ApiErrorKind::Limited(limit) = error.kind {
            self.gate.close(limit, self.clock.now());
        }
    }

    async fn exchange(&self, request: &Request<'_>) -> Result<ApiAnswer, ApiError> {
        self.gate.pass(self.clock.now())?;
        let app = match &self.credentials {
            Credentials::Token(token) => return self.follow(request, token.header()).await,
            Credentials::App(app) => app,
        };
        let authorization = app.authorization(self, request.about()).await?;
        let answered = self.follow(request, authorization).await;
        match answered {
            // The token was revoked before its time; the request had no effect.
            Err(error) if error.is_unauthorized() && app.forget(request.about()) => {
                let authorization = app.authorization(self, request.about()).await?;
                self.follow(request, authorization).await
            }
            answered => answered,
        }
    }

    /// Sends a request with this header `Authorization`, and follows redirects below the base.
    pub(super) async fn follow(
        &self,
        request: &Request<'_>,
        authorization: HeaderValue,
    ) -> Result<ApiAnswer, ApiError> {
        let mut url = self.base.url(request.path, request.query);
        for _ in 0..=MAX_REDIRECTS {
            match self.ask(request, url, authorization.clone()).await? {
                Step::Answered(answer) => return Ok(answer),
                Step::Redirected(next) => url = next,
            }
        }
        Err(request.unusable("it redirects without end"))
    }

    async fn ask(
        &self,
        request: &Request<'_>,
        url: Url,
        authorization: HeaderValue,
    ) -> Result<Step, ApiError> {
        let mut asked = self
            .client
            .request(request.method.clone(), url.clone())
            .header(header::AUTHORIZATION, authorization)
            .timeout(match request.effect {
                RequestEffect::None => self.timeout,
                RequestEffect::Write => self.write_timeout,
            });
        if let Some(body) = request.body {
            asked = asked
                .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
                .body(body.to_string());
        }
        if let Some(tag) = request.tag {
            asked = asked.header(header::IF_NONE_MATCH, tag);
        }
        let broken = |error: reqwest::Error| ApiError::of_transport(&error, request.effect);
        let mut response = asked.send().await.map_err(broken)?;
        let (status, headers) = (response.status(), response.headers().clone());
        self.gate.note(&headers, self.clock.now());
        let is_unchanged = status == StatusCode::NOT_MODIFIED && request.tag.is_some();
        if status.is_redirection() && !is_unchanged {
            return self
                .redirected(request, &url, status, &headers)
                .map(Step::Redirected);
        }
        let body = self.body(request, &mut response).await?;
        if !status.is_success() && !is_unchanged {
            let error = ApiError::of_status(status, &headers, &body, request.effect);
            self.pause(&error);
            return Err(error);
        }
        Ok(Step::Answered(ApiAnswer {
            has_next: has_next(&headers),
            is_unchanged,
            headers,
            effect: request.effect,
            body,
        }))
    }

    fn redirected(
        &self,
        request: &Request<'_>,
        from: &Url,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Url, ApiError> {
        // A redirect is sent instead of carrying the request out, so nothing is ambiguous.
        let refused =
            |why: &str| ApiError::new(ApiErrorKind::Refused(status.as_u16()), request.effect, why);
        // Other redirects of a request with a body ask for a `GET`.
        let repeats = matches!(status.as_u16(), 307 | 308);
        if request.body.is_some() && !repeats {
            return Err(refused("it redirects a request with a body"));
        }
        let location = headers.get(header::LOCATION);
        let target = location.and_then(|location| from.join(location.to_str().ok()?).ok());
        match target {
            Some(target) if self.base.holds(&target) => Ok(target),
            Some(_) => Err(refused("it redirects to another place, which is not asked")),
            None => Err(refused("it redirects to nowhere")),
        }
    }

    async fn body(
        &self,
        request: &Request<'_>,
        response: &mut Response,
    ) -> Result<Vec<u8>, ApiError> {
        let broken = |error: reqwest::Error| ApiError::of_transport(&error, request.effect);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > self.max_body {
                let why = format!("its answer has more than {} bytes", self.max_body);
                return Err(request.unusable(why));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// One request.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: Option<&'a Value>,
    pub(super) effect: RequestEffect,
    /// The entity tag of what the caller has.
    pub(super) tag: Option<&'a str>,
    /// The path of what the request is about, if its own path does not name the repository.
    pub(super) about: Option<&'a [&'a str]>,
}

impl Request<'_> {
    /// Returns the path by which the token of an App is chosen.
    fn about(&self) -> &[&str] {
        self.about.unwrap_or(self.path)
    }

    fn unusable(&self, why: impl Into<String>) -> ApiError {
        ApiError::new(ApiErrorKind::Unusable, self.effect, why)
    }
}

enum Step {
    Answered(ApiAnswer),
    Redirected(Url),
}

/// A successful response.
#[derive(Debug)]
pub(crate) struct ApiAnswer {
    /// Whether another page follows; `None` if the response has no `Link` header.
    pub(crate) has_next: Option<bool>,
    /// Whether the resource still has the entity tag of the request; the body is empty then.
    pub(crate) is_unchanged: bool,
    headers: HeaderMap,
    effect: RequestEffect,
    body: Vec<u8>,
}

impl ApiAnswer {
    /// Reads the body.
    ///
    /// # Errors
    /// `Unanswered`: a proxy may have replied with a page of its own, and the next response may be JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let why = format!("its answer cannot be read: line {line}, column {column}");
            ApiError::new(ApiErrorKind::Unanswered, self.effect, why)
        })
    }

    /// Returns a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn has_next(headers: &HeaderMap) -> Option<bool> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    Some(link.contains("rel=\"next\""))
}
