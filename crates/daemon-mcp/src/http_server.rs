//! An MCP server over streamable HTTP.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::server::{Served, ToolServer};

/// The maximum number of sessions; those that are silent for five minutes end.
const MAX_SESSIONS: usize = 64;
/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// Serves a [`ToolServer`] over HTTP, with a session for each client that begins one.
///
/// The caller decides who may send a request, and checks `Host` and `Origin`: a session is no proof of who uses it.
#[derive(Clone)]
pub struct HttpServer {
    service: StreamableHttpService<Served, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Makes a server whose sessions and streams end with `stop`.
    pub fn new(server: ToolServer, stop: CancellationToken) -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_cancellation_token(stop);
        let make = move || Ok(Served::of(server.clone()));
        Self {
            service: StreamableHttpService::new(make, Arc::clone(&sessions), config),
            sessions,
        }
    }

    /// Answers a `POST`, `GET` or `DELETE` request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: http_body::Body<Data: Send, Error: fmt::Display> + Send + 'static,
    {
        let begins = request.method() == Method::POST && !request.headers().contains_key(SESSION);
        if begins && self.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            let body = Full::new(Bytes::from("too many sessions")).boxed();
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return response;
        }
        self.service.handle(request).await
    }
}
