//! The tools that work in the place of a turn: files and commands, in the sandbox of its provider.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSource, ToolSpec};

use crate::definition::AgentDefinition;
use crate::hook::{Hook, HookTurn};

/// The tools of one turn, which the host opened for it.
pub(super) struct OsHook {
    sources: Vec<Arc<dyn ToolSource>>,
}

impl OsHook {
    pub(super) fn of(sources: &[Arc<dyn ToolSource>]) -> Self {
        Self {
            sources: sources.to_vec(),
        }
    }
}

#[async_trait]
impl Hook for OsHook {
    fn name(&self) -> &str {
        "os"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        let tools = self.sources.iter().flat_map(|source| source.tools());
        tools.collect()
    }

    async fn dispatch(
        &self,
        _turn: &HookTurn<'_>,
        call: LoopCall,
    ) -> Result<ToolOutput, ToolError> {
        let is_of = |source: &Arc<dyn ToolSource>| {
            let tools = source.tools();
            tools.iter().any(|tool| tool.name == call.name)
        };
        let source = self.sources.iter().find(|source| is_of(source));
        let source = source.expect("only tools of these sources are dispatched");
        source.call(&call.name, call.arguments).await
    }
}
