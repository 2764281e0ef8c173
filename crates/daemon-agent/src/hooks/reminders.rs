//! The tools with which an agent reminds itself.

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::hook::{Hook, HookTurn};
use crate::reminders::{Dismissed, NewReminder, Recipient};

const REMIND: &str = "remind";
const DISMISS: &str = "dismiss_reminder";

/// Reminders, for agents.
pub(super) struct ReminderHook;

#[async_trait]
impl Hook for ReminderHook {
    fn name(&self) -> &str {
        "reminders"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        let spec = |name: &str, description: &str, required: &[&str], properties: Value| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({
                "type": "object", "required": required, "properties": properties, "additionalProperties": false,
            }),
        };
        vec![
            spec(
                REMIND,
                "Starts a turn of this conversation with a text of yours at an instant, or after some seconds. Returns the id of the \
                 reminder.",
                &["text"],
                json!({
                    "text": {"type": "string", "minLength": 1, "maxLength": 4000},
                    "at": {"type": "string", "description": "An instant, such as 2026-01-02T03:04:05Z."},
                    "in_seconds": {"type": "integer", "minimum": 1, "maximum": 31_536_000},
                }),
            ),
            spec(
                DISMISS,
                "Removes a reminder of this conversation.",
                &["id"],
                json!({"id": {"type": "integer", "minimum": 1}}),
            ),
        ]
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let done = match call.name.as_str() {
            REMIND => remind(turn, &call.arguments).await,
            _ => dismiss(turn, &call.arguments).await,
        };
        done.map_err(|error| ToolError::new(error.to_string()))
    }
}

async fn remind(turn: &HookTurn<'_>, arguments: &Value) -> Result<ToolOutput, AgentError> {
    let context = turn.context;
    let at = instant(arguments, context.conversations.host.now())?;
    let text = context.redactor.json(&arguments["text"]);
    let id = context.conversations.remind(NewReminder {
        at,
        text: text.as_str().unwrap_or_default().to_owned(),
        recipient: Recipient::conversation(turn.pair),
    });
    Ok(json!({"id": id.await?, "at": at.to_string()}).to_string())
}

/// Returns when a reminder is due.
fn instant(arguments: &Value, now: Timestamp) -> Result<Timestamp, AgentError> {
    let invalid = |what: &str| AgentError::Argument(what.to_owned());
    match (arguments["at"].as_str(), arguments["in_seconds"].as_i64()) {
        (Some(at), None) => {
            let at = at.parse();
            at.or(Err(invalid(
                "`at` must be an instant, such as 2026-01-02T03:04:05Z",
            )))
        }
        (None, Some(seconds)) => {
            let at = now.checked_add(SignedDuration::from_secs(seconds));
            at.or(Err(invalid("`in_seconds` is too large")))
        }
        _ => Err(invalid("give `at` or `in_seconds`")),
    }
}

async fn dismiss(turn: &HookTurn<'_>, arguments: &Value) -> Result<ToolOutput, AgentError> {
    let id = arguments["id"].as_u64().unwrap_or(0);
    let which = Dismissed::Own(id, turn.pair);
    match turn.context.conversations.dismiss_reminders(which).await? {
        0 => Err(AgentError::NotFound {
            what: "reminder",
            id: id.to_string(),
        }),
        _ => Ok(format!("reminder {id} is dismissed")),
    }
}
