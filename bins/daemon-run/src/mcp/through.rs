//! A server over standard input and output that passes everything on to one over HTTP, whose address its own client must not see.

use std::time::Duration;

use async_trait::async_trait;
use daemon_mcp::{Endpoint, ToolCall, ToolClient, ToolDescription, ToolResult, ToolTable};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::place::Place;

/// The variable that holds the address.
const URL: &str = "DAEMON_MCP_URL";
/// The variable that holds the headers, as a JSON object.
const HEADERS: &str = "DAEMON_MCP_HEADERS";
/// How long the server may take to begin; the client of this one has begun to wait too.
const BEGIN: Duration = Duration::from_secs(20);
/// How long it may take to answer: longer than clients wait, which give a call up themselves.
const ANSWER: Duration = Duration::from_secs(600);

/// The tools of the server behind.
pub(super) struct Through(ToolClient);

impl Through {
    /// Connects to the server that the environment names.
    pub(super) async fn connect(place: &Place) -> Result<Self, Failure> {
        let wrong = |message: String| Failure::new(Exit::Usage, "no-server", message);
        let url = place.environment.get(URL).cloned();
        let url = url.ok_or_else(|| wrong(format!("`{URL}` is not set")))?;
        let headers = place.environment.get(HEADERS);
        let headers = serde_json::from_str(headers.map_or("{}", String::as_str));
        let headers = headers.map_err(|error| wrong(format!("`{HEADERS}`: {error}")))?;
        let client = ToolClient::connect(&Endpoint { url, headers }, BEGIN).await;
        // A cause could name the address.
        let client = client.map_err(|error| {
            Failure::new(
                Exit::Unavailable,
                "no-server",
                format!("the server {error}"),
            )
        })?;
        Ok(Self(client.with_timeout(ANSWER)))
    }
}

#[async_trait]
impl ToolTable for Through {
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
