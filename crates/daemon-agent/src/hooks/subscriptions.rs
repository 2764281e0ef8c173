//! The tools with which an agent subscribes to events and publishes them.

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::bus::Subscription;
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::hook::{Hook, HookTurn};

const SUBSCRIBE: &str = "subscribe_event";
const UNSUBSCRIBE: &str = "unsubscribe_event";
const PUBLISH: &str = "publish_event";

/// Events, for agents.
pub(super) struct SubscriptionHook;

/// Describes a tool with the required properties first.
fn spec(name: &str, description: &str, required: &[&str], properties: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object", "required": required, "properties": properties, "additionalProperties": false,
        }),
    }
}

#[async_trait]
impl Hook for SubscriptionHook {
    fn name(&self) -> &str {
        "subscriptions"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        let source = json!({"type": "string", "minLength": 1, "maxLength": 250});
        vec![
            spec(
                SUBSCRIBE,
                "Starts a turn of yours for each event of a source, or for the next one only. Returns the id of the subscription.",
                &["source"],
                json!({"source": source, "once": {"type": "boolean"}}),
            ),
            spec(
                UNSUBSCRIBE,
                "Ends a subscription of yours.",
                &["id"],
                json!({"id": {"type": "integer", "minimum": 1}}),
            ),
            spec(
                PUBLISH,
                "Publishes an event, which starts a turn of each agent that subscribed to its source.",
                &["source", "payload"],
                json!({"source": source, "payload": {}}),
            ),
        ]
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let done = match call.name.as_str() {
            SUBSCRIBE => subscribe(turn, &call.arguments).await,
            UNSUBSCRIBE => unsubscribe(turn, &call.arguments).await,
            _ => publish(turn, &call.arguments).await,
        };
        done.map_err(|error| ToolError::new(error.to_string()))
    }
}

async fn subscribe(turn: &HookTurn<'_>, arguments: &Value) -> Result<ToolOutput, AgentError> {
    let subscription = Subscription {
        source: source(arguments),
        target_agent: turn.agent.name.clone(),
        once: arguments["once"].as_bool().unwrap_or(false),
    };
    let conversations = &turn.context.conversations;
    // A model that repeats itself must not be woken twice by one event.
    let known = conversations.subscriptions().await?;
    let known = known.valid().find(|(_, entry)| **entry == subscription);
    let id = match known {
        Some((id, _)) => id,
        None => conversations.subscribe(subscription).await?,
    };
    Ok(json!({"id": id}).to_string())
}

async fn unsubscribe(turn: &HookTurn<'_>, arguments: &Value) -> Result<ToolOutput, AgentError> {
    let id = arguments["id"].as_u64().unwrap_or(0);
    let conversations = &turn.context.conversations;
    conversations
        .unsubscribe(id, Some(&turn.agent.name))
        .await?;
    Ok(format!("subscription {id} has ended"))
}

async fn publish(turn: &HookTurn<'_>, arguments: &Value) -> Result<ToolOutput, AgentError> {
    let context = turn.context;
    let payload = context.redactor.json(&arguments["payload"]);
    let published = context
        .conversations
        .publish(&source(arguments), payload, context.chain)
        .await?;
    Ok(json!({"event_id": published.event_id, "matched": published.matched}).to_string())
}

fn source(arguments: &Value) -> String {
    arguments["source"].as_str().unwrap_or_default().to_owned()
}
