//! The host's own server for a run: its daemon's state, and what it proposes.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use daemon_host::control::Client;
use daemon_mcp::{Answer, Call, Effect, ToolSpec, Toolbox};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::failure::{Exit, Failure};
use crate::place::Place;
use crate::session;

/// The variable that holds the token of the run.
pub(super) const TOKEN: &str = "DAEMON_RUN_TOKEN";

/// The tools of one run, which the host answers for as long as the run goes on.
pub(super) struct Granted {
    socket: PathBuf,
    token: String,
    /// Connected at the first call: a program that starts servers early must not wait for the host.
    host: Mutex<Option<Client>>,
}

impl Granted {
    /// Takes the run's token from the environment.
    pub(super) fn read(socket: &Path, place: &Place) -> Result<Self, Failure> {
        let token = place.environment.get(TOKEN).cloned().ok_or_else(|| {
            let message = format!("`{TOKEN}` is not set: only a run of a host has one");
            Failure::new(Exit::Usage, "no-token", message)
        })?;
        Ok(Self {
            socket: socket.to_owned(),
            token,
            host: Mutex::new(None),
        })
    }

    async fn ask(&self, method: &str, params: Map<String, Value>) -> Result<Value, Failure> {
        let mut host = self.host.lock().await;
        let client = match host.take() {
            Some(client) => client,
            None => Client::connect_as_run(&self.socket, &self.token)
                .await
                .map_err(session::call_failure)?,
        };
        let asked = host.insert(client).call(method, params).await;
        asked.map(Value::Object).map_err(session::call_failure)
    }
}

#[async_trait]
impl Toolbox for Granted {
    fn tools(&self) -> Vec<ToolSpec> {
        let tool = |name: &str, description: &str, properties: Value, effect| {
            let needed: Vec<&String> = properties
                .as_object()
                .into_iter()
                .flat_map(Map::keys)
                .collect();
            let schema = json!({"type": "object", "required": needed, "properties": properties, "additionalProperties": false});
            ToolSpec::new(name, description, schema, effect)
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

    async fn call(&self, call: Call) -> Answer {
        let method = match call.tool.as_str() {
            "state_get" => "grant/state_get",
            "state_set" => "grant/state_set",
            _ => "grant/propose",
        };
        match self.ask(method, call.arguments).await {
            Ok(answer) => Answer::done(answer),
            Err(failure) => Answer::failed(json!({"status": "error", "message": failure.message})),
        }
    }
}
