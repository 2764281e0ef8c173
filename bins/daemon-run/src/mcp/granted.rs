//! The host's own server for a run: its daemon's state, what it proposes, and the tools of servers that it is granted.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use daemon_host::control::Client;
use daemon_mcp::{CallStatus, Effect, ToolCall, ToolDescription, ToolResult, ToolTable};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, OnceCell};

use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::session;

/// The variable that holds the token of the run.
pub(super) const TOKEN: &str = "DAEMON_RUN_TOKEN";

/// The tools of one run, which the host answers for as long as the run goes on.
pub(super) struct Granted {
    /// The host's socket, or the directory of the run's own pipes.
    way: PathBuf,
    token: String,
    /// Connected at the first call: a program that starts servers early must not wait for the host.
    host: Mutex<Option<Client>>,
    /// The tools of granted servers, asked for when the client asks for tools.
    of_servers: OnceCell<Vec<ToolDescription>>,
}

impl Granted {
    /// Takes the run's token from the environment.
    pub(super) fn read(way: &Path, place: &Place) -> Result<Self, Failure> {
        let token = place.environment.get(TOKEN).cloned().ok_or_else(|| {
            let message = format!("`{TOKEN}` is not set: only a run of a host has one");
            Failure::new(Exit::Usage, "no-token", message)
        })?;
        Ok(Self {
            way: way.to_owned(),
            token,
            host: Mutex::new(None),
            of_servers: OnceCell::new(),
        })
    }

    async fn ask(&self, method: &str, params: Map<String, Value>) -> Result<Value, Failure> {
        let mut host = self.host.lock().await;
        if self.way.is_dir() {
            // Others of the run use the same pipes, so they are let go after each question.
            let client = Client::connect_over_pipes(&self.way, &self.token).await;
            let mut client = client.map_err(session::call_failure)?;
            let asked = client.request(method, params).await;
            return asked.map(Value::Object).map_err(session::call_failure);
        }
        let client = match host.take() {
            Some(client) => client,
            None => Client::connect_as_run(&self.way, &self.token)
                .await
                .map_err(session::call_failure)?,
        };
        let asked = host.insert(client).request(method, params).await;
        asked.map(Value::Object).map_err(session::call_failure)
    }
}

impl Granted {
    /// Asks on a connection of its own, so that one slow answer delays no other.
    async fn ask_apart(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        let client = if self.way.is_dir() {
            Client::connect_over_pipes(&self.way, &self.token).await
        } else {
            Client::connect_as_run(&self.way, &self.token).await
        };
        let mut client = client.map_err(session::call_failure)?;
        let asked = client.request(method, params).await;
        asked.map_err(session::call_failure)
    }

    /// Returns the tools of granted servers; a host that does not answer is asked again the next time.
    async fn of_servers(&self) -> &[ToolDescription] {
        let asking = async {
            let mut answer = self.ask_apart("grant/tools", Map::new()).await?;
            let tools = match answer.remove("tools") {
                Some(Value::Array(tools)) => tools,
                _ => Vec::new(),
            };
            Ok::<_, Failure>(tools.iter().map(described).collect())
        };
        match self.of_servers.get_or_try_init(|| asking).await {
            Ok(tools) => tools,
            Err(_) => &[],
        }
    }

    async fn call_server(&self, call: ToolCall) -> ToolResult {
        let mut params = session::parameter("name", &call.tool);
        params.insert("arguments".to_owned(), Value::Object(call.arguments));
        match self.ask_apart("grant/call", params).await {
            Ok(mut answer) => ToolResult {
                status: if answer.get("status") == Some(&json!("ok")) {
                    CallStatus::Done
                } else {
                    CallStatus::Failed
                },
                text: text(answer.get("text")),
                structured: answer.remove("structured"),
            },
            Err(failure) => refused(&failure),
        }
    }

    /// Returns the tools that every run has.
    fn own() -> Vec<ToolDescription> {
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
                "Reads one value of the daemon's state; null if there is none.",
                json!({"key": key}),
                Effect::Reads,
            ),
            tool(
                "state_set",
                "Sets one value of the daemon's state, kept if the run ends well.",
                json!({"key": key, "value": {}}),
                Effect::Changes,
            ),
            tool(
                "propose_output",
                "Proposes one output, in the form of a line of the outputs file; answers whether it is accepted.",
                json!({"output": {"type": "object"}}),
                Effect::Changes,
            ),
        ]
    }
}

#[async_trait]
impl ToolTable for Granted {
    async fn tools(&self) -> Vec<ToolDescription> {
        let mut acc = Self::own();
        acc.extend(self.of_servers().await.iter().cloned());
        acc
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        let method = match call.tool.as_str() {
            "state_get" => "grant/state_get",
            "state_set" => "grant/state_set",
            "propose_output" => "grant/propose",
            _ => return self.call_server(call).await,
        };
        match self.ask(method, call.arguments).await {
            Ok(answer) => ToolResult::done(answer),
            Err(failure) => refused(&failure),
        }
    }
}

fn refused(failure: &Failure) -> ToolResult {
    ToolResult::failed(json!({"status": "error", "message": failure.message}))
}

/// Reads a tool as the host describes it.
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
