//! `/mcp`: tools of the host for MCP clients, over streamable HTTP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use daemon_mcp::{HttpServer, ToolServer};
use daemon_roster::TokenHash;
use tokio_util::sync::CancellationToken;

use super::answer;
use super::server::AppState;
use crate::ops::{RosterCaller, Scope};
use crate::tokens::TokenHolder;

/// Who an MCP client is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpCaller {
    /// Who has a token of the host.
    Holder(TokenHolder),
    /// An agent of the roster, by its token.
    Agent(TokenHash),
}

impl McpCaller {
    /// Returns the scope of the operations outside of the roster that the client may call.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Holder(holder) => holder.scope,
            Self::Agent(_) => Scope::Read,
        }
    }

    /// Returns who calls the operations of the roster.
    pub fn caller(&self) -> RosterCaller {
        match self {
            Self::Holder(_) => RosterCaller::Operator,
            Self::Agent(token) => RosterCaller::Agent(*token),
        }
    }
}

/// Makes the server of the tools that a client may call.
type MakeServer = Box<dyn Fn(&McpCaller) -> ToolServer + Send + Sync>;

/// The MCP servers of the callers. Each has its own, so that no caller reaches a session of another.
pub struct McpServers {
    make: MakeServer,
    stop: CancellationToken,
    of_callers: Mutex<BTreeMap<McpCaller, HttpServer>>,
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServers").finish_non_exhaustive()
    }
}

impl McpServers {
    /// Serves what `make` returns for a caller, until `stop`.
    pub fn new(
        make: impl Fn(&McpCaller) -> ToolServer + Send + Sync + 'static,
        stop: CancellationToken,
    ) -> Self {
        Self {
            make: Box::new(make),
            stop,
            of_callers: Mutex::default(),
        }
    }

    fn of(&self, caller: McpCaller) -> HttpServer {
        let mut known = self.of_callers.lock().expect("no holder panics");
        if let Some(server) = known.get(&caller) {
            return server.clone();
        }
        let server = HttpServer::new((self.make)(&caller), self.stop.clone());
        known.insert(caller, server.clone());
        server
    }
}

/// Answers a request of an MCP client. Each needs the token, because a session proves nothing.
pub(super) async fn serve(State(app): State<Arc<AppState>>, request: Request) -> Response<Body> {
    match caller(&app, request.headers()) {
        Ok(caller) => app.mcp.of(caller).answer(request).await.map(Body::new),
        Err(status) => refusal(status),
    }
}

fn caller(app: &AppState, headers: &HeaderMap) -> Result<McpCaller, StatusCode> {
    app.access
        .caller(headers)
        .map(McpCaller::Holder)
        .or_else(|status| {
            let token = app.access.bearer_hash(headers).ok_or(status)?;
            // Found by its hash, so that the time reveals nothing about a valid token.
            let known = app.roster.view().principal(&token);
            known.map(|_| McpCaller::Agent(token)).ok_or(status)
        })
}

fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = answer::status(status);
    let scheme = HeaderValue::from_static("Bearer");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    response
}
