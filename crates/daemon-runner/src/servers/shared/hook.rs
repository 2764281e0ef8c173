//! The tools of MCP servers in the turns of agents.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_agent::definition::AgentDefinition;
use daemon_agent::{Hook, HookTurn};
use daemon_mcp::ToolStatus;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use daemon_records::error::chain;
use serde_json::{Map, Value};

use super::super::link::{Naming, Offer, offer};
use super::SharedServers;
use super::connection::Connection;

/// What the names of tools begin with; the name of the server and that of the tool follow.
const PREFIX: &str = "mcp__";
/// The bytes of a result that a model receives.
const MOST_ANSWER: usize = 64 << 10;

/// The hook of the MCP servers.
#[derive(Debug)]
pub struct McpHook(Arc<SharedServers>);

impl McpHook {
    /// Makes the hook.
    pub fn new(servers: Arc<SharedServers>) -> Self {
        Self(servers)
    }

    /// Returns the tools of a server that agents are offered, with the server's own names of them.
    fn offer(&self, connection: &Connection) -> Offer {
        let permissions = self.0.state().permissions;
        match (connection.client(), permissions) {
            (Ok(client), Some(permissions)) => {
                let prefix = format!("{PREFIX}{}", connection.server.registration.name);
                let naming = Naming::Prefixed(&prefix, permissions);
                offer(naming, client.tools(), &connection.redactor)
            }
            _ => Offer::default(),
        }
    }
}

#[async_trait]
impl Hook for McpHook {
    fn name(&self) -> &str {
        "mcp"
    }

    fn tools(&self, agent: &AgentDefinition) -> Vec<ToolSpec> {
        let connections: Vec<Arc<Connection>> = {
            let state = self.0.state();
            let allowed = state.connections.iter();
            let allowed = allowed.filter(|(name, _)| agent.mcps.has(name));
            allowed.map(|(_, one)| Arc::clone(one)).collect()
        };
        let offers = connections.iter().flat_map(|one| self.offer(one).tools);
        let specs = offers.map(|tool| ToolSpec {
            name: tool.name,
            description: tool.description,
            schema: Value::Object(tool.schema),
        });
        specs.collect()
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let unknown = || ToolError::new(format!("there is no tool `{}`", call.name));
        let parts = call.name.strip_prefix(PREFIX);
        let (server, _) = parts
            .and_then(|rest| rest.split_once("__"))
            .ok_or_else(unknown)?;
        let connection = self.0.connection(server);
        let connection = connection
            .filter(|_| turn.agent.mcps.has(server))
            .ok_or_else(unknown)?;
        let failed = |problem: &str| ToolError::new(format!("the server `{server}`: {problem}"));
        let client = connection
            .client()
            .map_err(|state| failed(&format!("it is {state}")))?;
        let offer = self.offer(&connection);
        let tool = offer.own_names.get(&call.name).ok_or_else(unknown)?;
        let arguments = match call.arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let answer = client.call(tool, arguments).await;
        let redactor = &connection.redactor;
        let answer = answer.map_err(|error| failed(&redactor.text(&chain(&error))))?;
        let answer = answer.bounded(MOST_ANSWER);
        let text = match answer.structured {
            Some(structured) if answer.text.is_empty() => structured.to_string(),
            _ => answer.text,
        };
        let text = redactor.text(&text).into_owned();
        match answer.status {
            ToolStatus::Ok => Ok(text),
            ToolStatus::Error => Err(ToolError::new(text)),
        }
    }
}
