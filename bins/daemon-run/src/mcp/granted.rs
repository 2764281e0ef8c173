//! The MCP server that a host gives a run: the state of its daemon, proposals of outputs, and the tools of granted servers; or the
//! tools of one server that the caller of the run registered.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use daemon_api::control::Client;
use daemon_mcp::{Effect, ToolCall, ToolDescription, ToolResult, ToolStatus, ToolTable};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, OnceCell};

use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;
use crate::session;

/// The variable with the token of the run.
pub(super) const TOKEN: &str = "DAEMON_RUN_TOKEN";

/// The tools of a run that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServedTools {
    /// The host's own, and those of granted servers.
    OfHost,
    /// Those of one server, by the names that it gives them.
    OfServer,
}

/// What a host offers a run.
#[derive(Default)]
struct Offered {
    /// The JSON Schema of outputs.
    outputs: Option<Value>,
    /// The tools of servers.
    of_servers: Vec<ToolDescription>,
}

/// The tools of one run. The host executes them as long as the run has not ended.
pub(super) struct RunTools {
    served: ServedTools,
    /// The host's socket, or the directory with the pipes of the run.
    way: PathBuf,
    token: String,
    /// Connected at the first call: an agent that starts its servers early must not wait for the host.
    host: Mutex<Option<Client>>,
    /// What the host offers, fetched when the client lists its tools.
    offered: OnceCell<Offered>,
}

impl RunTools {
    /// Reads the token of the run from the environment.
    pub(super) fn read(
        way: &Path,
        served: ServedTools,
        place: &Place,
    ) -> Result<Self, CommandFailure> {
        let token = place.environment.get(TOKEN).cloned().ok_or_else(|| {
            let message = format!("`{TOKEN}` is not set: only a run of a host has one");
            CommandFailure::new(ExitKind::Usage, "no-token", message)
        })?;
        Ok(Self {
            served,
            way: way.to_owned(),
            token,
            host: Mutex::new(None),
            offered: OnceCell::new(),
        })
    }

    async fn call_host(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, CommandFailure> {
        let mut host = self.host.lock().await;
        if self.way.is_dir() {
            // Other processes of the run use the same pipes, so the connection is closed after each call.
            let client = Client::connect_over_pipes(&self.way, &self.token).await;
            let mut client = client.map_err(session::call_failure)?;
            let reply = client.request(method, params).await;
            return reply.map(Value::Object).map_err(session::call_failure);
        }
        let client = match host.take() {
            Some(client) => client,
            None => Client::connect_with_token(&self.way, &self.token)
                .await
                .map_err(session::call_failure)?,
        };
        let reply = host.insert(client).request(method, params).await;
        reply.map(Value::Object).map_err(session::call_failure)
    }
}

impl RunTools {
    /// Calls the host on a new connection, so that a slow call does not delay others.
    async fn call_apart(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandFailure> {
        let client = if self.way.is_dir() {
            Client::connect_over_pipes(&self.way, &self.token).await
        } else {
            Client::connect_with_token(&self.way, &self.token).await
        };
        let mut client = client.map_err(session::call_failure)?;
        let reply = client.request(method, params).await;
        reply.map_err(session::call_failure)
    }

    /// Returns what the host offers. A failure is not cached: the next listing asks the host again.
    async fn offered(&self) -> Option<&Offered> {
        let fetch = async {
            let mut answer = self.call_apart("grant/tools", Map::new()).await?;
            let tools = match answer.remove("tools") {
                Some(Value::Array(tools)) => tools,
                _ => Vec::new(),
            };
            Ok::<_, CommandFailure>(Offered {
                outputs: answer.remove("output_schema"),
                of_servers: tools.iter().map(described).collect(),
            })
        };
        self.offered.get_or_try_init(|| fetch).await.ok()
    }

    async fn call_server(&self, call: ToolCall) -> ToolResult {
        let mut params = session::parameter("name", &call.tool);
        params.insert("arguments".to_owned(), Value::Object(call.arguments));
        match self.call_apart("grant/call", params).await {
            Ok(mut answer) => ToolResult {
                status: if answer.get("status") == Some(&json!("ok")) {
                    ToolStatus::Ok
                } else {
                    ToolStatus::Error
                },
                text: text(answer.get("text")),
                structured: answer.remove("structured"),
            },
            Err(failure) => refused(&failure),
        }
    }

    /// Returns the tools of every run; `outputs` is the JSON Schema of outputs.
    fn own(outputs: Option<&Value>) -> Vec<ToolDescription> {
        let tool = |name: &str, description: &str, properties: Value, effect| {
            let needed: Vec<&String> = properties
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .collect();
            let schema = json!({"type": "object", "required": needed, "properties": properties, "additionalProperties": false});
            ToolDescription::new(name, description, schema, effect)
        };
        let key = json!({"type": "string"});
        vec![
            tool(
                "state_get",
                "Returns one value of the daemon's state, or null. The key `$counters` has what the daemon did today and this week.",
                json!({"key": key}),
                Effect::Reads,
            ),
            tool(
                "state_set",
                "Sets one value of the daemon's state. It is kept if the run succeeds.",
                json!({"key": key, "value": {}}),
                Effect::Changes,
            ),
            tool(
                "propose_output",
                "Proposes one output, in the format of a line of the outputs file. Returns whether it is accepted.",
                json!({"output": outputs.unwrap_or(&json!({"type": "object"}))}),
                Effect::Changes,
            ),
        ]
    }
}

#[async_trait]
impl ToolTable for RunTools {
    async fn tools(&self) -> Vec<ToolDescription> {
        let offered = self.offered().await;
        let mut acc = match self.served {
            ServedTools::OfHost => Self::own(offered.and_then(|offered| offered.outputs.as_ref())),
            ServedTools::OfServer => Vec::new(),
        };
        acc.extend(
            offered
                .into_iter()
                .flat_map(|offered| offered.of_servers.iter().cloned()),
        );
        acc
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        let method = match (self.served, call.tool.as_str()) {
            (ServedTools::OfHost, "state_get") => "grant/state_get",
            (ServedTools::OfHost, "state_set") => "grant/state_set",
            (ServedTools::OfHost, "propose_output") => "grant/propose",
            // A server may have tools with these names.
            (ServedTools::OfHost | ServedTools::OfServer, _) => {
                return self.call_server(call).await;
            }
        };
        match self.call_host(method, call.arguments).await {
            Ok(answer) => ToolResult::done(answer),
            Err(failure) => refused(&failure),
        }
    }
}

fn refused(failure: &CommandFailure) -> ToolResult {
    ToolResult::failed(json!({"status": "error", "message": failure.message}))
}

/// Reads the description of a tool from the host.
fn described(tool: &Value) -> ToolDescription {
    ToolDescription::new(
        &text(tool.get("name")),
        &text(tool.get("description")),
        tool.get("input_schema").cloned().unwrap_or_default(),
        if tool.get("read_only") == Some(&json!(true)) {
            Effect::Reads
        } else {
            Effect::Changes
        },
    )
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
