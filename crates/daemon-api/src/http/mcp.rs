//! `/mcp`: tools of the host for MCP clients, over streamable HTTP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use daemon_mcp::{HttpServer, ToolServer};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::server::AppState;
use crate::ops::Scope;
use crate::tokens::TokenHolder;

/// Makes the server of the tools that a scope may call.
type MakeServer = Box<dyn Fn(Scope) -> ToolServer + Send + Sync>;

/// The MCP servers of the callers. Each has its own, so that no caller reaches a session of another.
pub struct McpServers {
    make: MakeServer,
    stop: CancellationToken,
    of_callers: Mutex<BTreeMap<TokenHolder, HttpServer>>,
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServers").finish_non_exhaustive()
    }
}

impl McpServers {
    /// Serves what `make` returns for the scope of a caller, until `stop`.
    pub fn new(
        make: impl Fn(Scope) -> ToolServer + Send + Sync + 'static,
        stop: CancellationToken,
    ) -> Self {
        Self {
            make: Box::new(make),
            stop,
            of_callers: Mutex::default(),
        }
    }

    fn of(&self, caller: TokenHolder) -> HttpServer {
        let mut known = self.of_callers.lock().expect("no holder panics");
        let scope = caller.scope;
        let server = known
            .entry(caller)
            .or_insert_with(|| HttpServer::new((self.make)(scope), self.stop.clone()));
        server.clone()
    }
}

/// Answers a request of an MCP client. Each needs the token, because a session proves nothing.
pub(super) async fn serve(State(app): State<Arc<AppState>>, request: Request) -> Response<Body> {
    match app.access.caller(request.headers()) {
        Ok(caller) => app.mcp.of(caller).answer(request).await.map(Body::new),
        Err(status) => refusal(status),
    }
}

fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = answer::status(status);
    let scheme = HeaderValue::from_static("Bearer");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    response
}
