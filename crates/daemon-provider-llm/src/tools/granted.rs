//! Tools that the host grants to a run: the groups `state` and `output`, and the tools of servers that the host is connected to.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec, schema_validator};
use daemon_provider::{GrantError, Grants, ToolStatus, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{read, spec};

/// Tools for the daemon's state.
#[derive(Debug, Clone)]
pub(crate) struct StateTools(pub(crate) Arc<dyn Grants>);

/// The tool that proposes outputs.
#[derive(Debug, Clone)]
pub(crate) struct OutputTools(pub(crate) Arc<dyn Grants>);

/// Tools of servers that the host is connected to. The run never sees the credentials of these servers.
#[derive(Debug)]
pub(crate) struct GrantedTools {
    grants: Arc<dyn Grants>,
    specs: Vec<ToolSpec>,
}

impl GrantedTools {
    /// Fetches the granted tools from the host.
    pub(crate) async fn of(grants: &Arc<dyn Grants>) -> Self {
        let granted = grants.tools().await.into_iter();
        let specs = granted.map(|tool| ToolSpec {
            name: tool.name,
            description: tool.description,
            schema: usable(Value::Object(tool.schema)),
        });
        Self {
            grants: Arc::clone(grants),
            specs: specs.collect(),
        }
    }
}

/// Returns the schema if it is valid, else one that accepts every object.
fn usable(schema: Value) -> Value {
    // The mistake of a third party must not end the run; the server checks the arguments itself.
    match schema_validator(&schema) {
        Ok(_) => schema,
        Err(_) => json!({"type": "object"}),
    }
}

#[derive(Debug, Deserialize)]
struct Get {
    key: String,
}

#[derive(Debug, Deserialize)]
struct Set {
    key: String,
    value: Value,
}

#[derive(Debug, Deserialize)]
struct Propose {
    output: Value,
}

#[async_trait]
impl ToolSource for StateTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let key = json!({"type": "string"});
        vec![
            spec(
                "state_get",
                "Reads one value of the daemon's state; null if there is none. The key `$counters` has what the daemon did today and this week.",
                &["key"],
                json!({"key": key}),
            ),
            spec(
                "state_set",
                "Sets one value of the daemon's state, kept if the run ends well.",
                &["key", "value"],
                json!({"key": key, "value": {}}),
            ),
        ]
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        if name == "state_get" {
            let Get { key } = read(arguments)?;
            let value = self.0.state_get(&key).await.map_err(refused)?;
            return Ok(value.unwrap_or(Value::Null).to_string());
        }
        let Set { key, value } = read(arguments)?;
        self.0.state_set(&key, value).await.map_err(refused)?;
        Ok("set".to_owned())
    }
}

#[async_trait]
impl ToolSource for OutputTools {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![spec(
            "propose_output",
            "Proposes one output, in the form of a line of the outputs file; answers whether it is accepted.",
            &["output"],
            json!({"output": usable(self.0.output_schema())}),
        )]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let Propose { output } = read(arguments)?;
        match self.0.propose(output).await.map_err(refused)? {
            Verdict::Accepted => Ok("accepted: it is delivered if the run ends well".to_owned()),
            Verdict::Refused(reason) => Err(ToolError::new(format!("refused: {reason}"))),
        }
    }
}

#[async_trait]
impl ToolSource for GrantedTools {
    fn tools(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let reply = self.grants.call_tool(name, arguments).await;
        let text = match reply.structured {
            Some(structured) if reply.text.is_empty() => structured.to_string(),
            _ => reply.text,
        };
        match reply.status {
            ToolStatus::Ok => Ok(text),
            ToolStatus::Error => Err(ToolError::new(text)),
        }
    }
}

fn refused(error: GrantError) -> ToolError {
    ToolError::new(error.to_string())
}
