//! The tools that an agent may use.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec};
use serde_json::Value;

use crate::definition::{AgentDefinition, AllowedNames};

/// A group of tools without those that an agent may not use.
#[derive(Debug)]
pub(crate) struct Scoped {
    source: Arc<dyn ToolSource>,
    allowed: AllowedNames,
}

impl Scoped {
    pub(crate) fn of(agent: &AgentDefinition, source: &Arc<dyn ToolSource>) -> Arc<dyn ToolSource> {
        Arc::new(Self {
            source: Arc::clone(source),
            allowed: agent.tools.clone(),
        })
    }
}

#[async_trait]
impl ToolSource for Scoped {
    fn tools(&self) -> Vec<ToolSpec> {
        let mut tools = self.source.tools();
        tools.retain(|tool| self.allowed.has(&tool.name));
        tools
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.source.call(name, arguments).await
    }
}
