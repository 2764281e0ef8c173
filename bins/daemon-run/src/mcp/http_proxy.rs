//! An MCP server on standard input and output that forwards to a server over HTTP.
//!
//! The host starts it in the sandbox of a run for a server that the run's caller registered: so that server is reached only if the
//! run may reach it, and the agent does not see the address and the headers.

use std::time::Duration;

use async_trait::async_trait;
use daemon_mcp::{Endpoint, ToolCall, ToolClient, ToolDescription, ToolResult, ToolTable};
use serde_json::json;

use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;

/// The variable with the address.
const URL: &str = "DAEMON_MCP_URL";
/// The variable with the headers, as a JSON object.
const HEADERS: &str = "DAEMON_MCP_HEADERS";
/// The variable with the proxy of the run, through which a program in its sandbox reaches other hosts.
const PROXY: &str = "HTTPS_PROXY";
/// How long connecting may take. The client waits for this server to start meanwhile, so it is less than its usual timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a call may take: longer than the timeouts of clients, so that they decide.
const CALL_TIMEOUT: Duration = Duration::from_secs(600);

/// Forwards calls to the server over HTTP.
pub(super) struct HttpProxy(ToolClient);

impl HttpProxy {
    /// Connects to the server that the environment names.
    pub(super) async fn connect(place: &Place) -> Result<Self, CommandFailure> {
        let wrong = |message: String| CommandFailure::new(ExitKind::Usage, "no-server", message);
        let url = place.environment.get(URL).cloned();
        let url = url.ok_or_else(|| wrong(format!("`{URL}` is not set")))?;
        let headers = place.environment.get(HEADERS);
        let headers = serde_json::from_str(headers.map_or("{}", String::as_str));
        let headers = headers.map_err(|error| wrong(format!("`{HEADERS}`: {error}")))?;
        let proxy = place.environment.get(PROXY).cloned();
        let endpoint = Endpoint {
            url,
            headers,
            proxy,
        };
        let client = ToolClient::connect(&endpoint, CONNECT_TIMEOUT).await;
        // Only the error itself, not its causes: they could contain the address.
        let client = client.map_err(|error| {
            CommandFailure::new(
                ExitKind::Unavailable,
                "no-server",
                format!("the server {error}"),
            )
        })?;
        Ok(Self(client.with_timeout(CALL_TIMEOUT)))
    }
}

#[async_trait]
impl ToolTable for HttpProxy {
    async fn tools(&self) -> Vec<ToolDescription> {
        self.0.tools().to_vec()
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        match self.0.call(&call.tool, call.arguments).await {
            Ok(answer) => answer,
            Err(error) => {
                ToolResult::failed(json!({"status": "error", "message": error.to_string()}))
            }
        }
    }
}
