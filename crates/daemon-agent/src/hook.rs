//! The seam of hooks: tools, prompts and observations that are added to the turns of agents.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};

use crate::definition::AgentDefinition;
use crate::event::AgentEvent;
use crate::line::MAX_DEPTH;
use crate::name::Pair;
use crate::turn::TurnContext;

/// Adds tools, prompts or injected text to turns, and observes them. A hook serves every agent and every conversation of a host.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Returns the name, for messages.
    fn name(&self) -> &str;

    /// Returns the tools that it offers to an agent.
    ///
    /// The names depend on the agent only, and an agent without restrictions is offered all of them:
    /// [`AgentHooks::new`](crate::AgentHooks::new) compares the names of all hooks for such an agent.
    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// Returns text that follows the prompt of an agent.
    fn system_prompt(&self, _agent: &AgentDefinition) -> Option<String> {
        None
    }

    /// Returns text for the model that precedes the message of the turn and is not stored.
    async fn before_run(&self, _turn: &HookTurn<'_>) -> Vec<Injected> {
        Vec::new()
    }

    /// Observes an event after clients were sent it: the tools that hooks run, questions, summaries and the end. The turn waits
    /// until this returns.
    async fn on_event(&self, _turn: &HookTurn<'_>, _event: &AgentEvent) {}

    /// Runs one of its tools. The agent may use the tool, and the arguments are valid under its schema.
    ///
    /// If the future is dropped, everything that the tool started has to end by itself.
    ///
    /// # Errors
    /// Fails with a message for the model; the turn continues.
    async fn dispatch(
        &self,
        _turn: &HookTurn<'_>,
        call: LoopCall,
    ) -> Result<ToolOutput, ToolError> {
        Err(ToolError::new(format!(
            "`{}` does not run `{}`",
            self.name(),
            call.name
        )))
    }
}

/// The turn that a hook serves.
#[derive(Clone, Copy)]
pub struct HookTurn<'a> {
    /// The agent, as it was when the turn began.
    pub agent: &'a AgentDefinition,
    /// The conversation.
    pub pair: &'a Pair,
    /// The number of the turn in its conversation, from 1.
    pub number: u64,
    /// The message that began the turn.
    pub content: &'a str,
    /// The directory that the turn works in.
    pub directory: &'a Path,
    pub(crate) context: &'a TurnContext,
}

impl HookTurn<'_> {
    /// Reports whether the turn may start work that leads to further turns: not if too many delegations led to it, or the mail of a run.
    pub fn may_start_work(&self) -> bool {
        self.context.chain.depth < MAX_DEPTH
    }
}

impl fmt::Debug for HookTurn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookTurn")
            .field("pair", self.pair)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Text that a hook places before the message of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected(pub String);
