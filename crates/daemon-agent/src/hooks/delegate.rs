//! The tool with which an agent has another agent answer a message.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use serde_json::json;

use crate::conversations::NewMessage;
use crate::definition::{AgentDefinition, AllowedNames};
use crate::error::AgentError;
use crate::hook::{Hook, HookTurn};
use crate::line::{MAX_DEPTH, TurnChain, TurnOutcome};
use crate::live::{LiveTurn, StopWhy};
use crate::name::{AgentName, Pair};

/// Delegates to members.
pub(super) struct DelegateHook;

/// Ends a delegated turn when its caller stops waiting.
struct Delegated(Arc<LiveTurn>);

impl Drop for Delegated {
    fn drop(&mut self) {
        self.0.stop(StopWhy::Killed);
    }
}

#[async_trait]
impl Hook for DelegateHook {
    fn name(&self) -> &str {
        "delegation"
    }

    fn tools(&self, agent: &AgentDefinition) -> Vec<ToolSpec> {
        let members = match &agent.members {
            AllowedNames::All => "any agent".to_owned(),
            AllowedNames::Only(names) if names.is_empty() => return Vec::new(),
            AllowedNames::Only(names) => format!("one of: {}", names.join(", ")),
        };
        vec![ToolSpec {
            name: "delegate".to_owned(),
            description: "Sends a message to another agent and returns its reply. The agent remembers what was said before in this turn of yours."
                .to_owned(),
            schema: json!({
                "type": "object", "required": ["agent", "message"], "additionalProperties": false,
                "properties": {
                    "agent": {"type": "string", "description": members},
                    "message": {"type": "string", "minLength": 1},
                },
            }),
        }]
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let argument = |name: &str| call.arguments[name].as_str().unwrap_or_default();
        let answered = answer(turn, argument("agent"), argument("message")).await;
        answered.map_err(|error| ToolError::new(error.to_string()))
    }
}

/// Runs a turn of another agent and returns its text.
async fn answer(turn: &HookTurn<'_>, agent: &str, message: &str) -> Result<ToolOutput, AgentError> {
    let agent: AgentName = agent.parse()?;
    if !turn.agent.members.has(agent.as_str()) {
        let message = format!("`{agent}` is not among your members");
        return Err(AgentError::Forbidden(message));
    }
    let chain = turn.context.chain;
    if chain.depth >= MAX_DEPTH {
        let message = format!("{MAX_DEPTH} delegations led to this turn, which cannot delegate");
        return Err(AgentError::Conflict(message));
    }
    let pair = Pair {
        agent,
        // The hash is that of the conversation, because turns of different ones have the same numbers.
        sender: format!("delegate:{}.{}", turn.pair.hash(), turn.number).parse()?,
    };
    let message = NewMessage {
        content: message.to_owned(),
        via: "delegate".to_owned(),
        key: None,
        cwd: None,
        tool_choice: None,
        chain: TurnChain {
            depth: chain.depth + 1,
            ..chain
        },
    };
    let (live, mut stream) = turn.context.conversations.offer(pair, message)?;
    let _delegated = Delegated(live);
    let result = stream.end().await?;

    match (result.outcome, result.error) {
        (TurnOutcome::Limit, Some(error)) => Err(AgentError::Conflict(error)),
        _ => Ok(result.text),
    }
}
