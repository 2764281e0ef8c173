//! The tools with which an agent keeps entries in its memory and finds them again.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use daemon_store::StoreError;
use daemon_store::agent_memory::{MemoryEntry, RecallWords, Remembered, StoredEntry};
use serde::Serialize;
use serde_json::{Value, json};

use crate::definition::AgentDefinition;
use crate::hook::{Hook, HookTurn};
use crate::memories::Memories;

const REMEMBER: &str = "remember";
const RECALL: &str = "recall";
const FORGET: &str = "forget";
/// The kind of an entry whose call names none.
const USUAL_KIND: &str = "note";
/// The most entries that a call may ask for.
const MOST_RECALLED: u64 = 50;

/// The hook of the memories.
#[derive(Debug)]
pub struct MemoryHook(Arc<Memories>);

/// An entry as the model reads it.
#[derive(Serialize)]
struct Recalled {
    kind: String,
    name: String,
    content: String,
    aliases: Vec<String>,
    at: String,
}

impl MemoryHook {
    /// Makes the hook.
    pub fn new(memories: Arc<Memories>) -> Self {
        Self(memories)
    }
}

#[async_trait]
impl Hook for MemoryHook {
    fn name(&self) -> &str {
        "memory"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        let kind = json!({"type": "string", "minLength": 1, "maxLength": 64,
            "description": "What the entry is about, such as person, preference or decision; by default note."});
        let name = json!({"type": "string", "minLength": 1, "maxLength": 256,
            "description": "A short title, unique among the entries of its kind."});
        let tool = |name: &str, description: &str, schema: Value| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
        };
        vec![
            tool(
                REMEMBER,
                "Keeps an entry in your memory, which all your conversations share. It replaces the entry with the same kind and name.",
                json!({"type": "object", "required": ["name", "content"], "additionalProperties": false,
                    "properties": {"kind": kind, "name": name,
                        "content": {"type": "string", "minLength": 1, "maxLength": 16_384},
                        "aliases": {"type": "array", "maxItems": 16,
                            "description": "Other words under which the entry is to be found.",
                            "items": {"type": "string", "minLength": 1, "maxLength": 256}}}}),
            ),
            tool(
                RECALL,
                "Finds entries of your memory that have words of the query, the best match first; with an empty query, the newest.",
                json!({"type": "object", "required": ["query"], "additionalProperties": false,
                    "properties": {"query": {"type": "string", "maxLength": 4000},
                        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_RECALLED}}}),
            ),
            tool(
                FORGET,
                "Removes an entry from your memory.",
                json!({"type": "object", "required": ["name"], "additionalProperties": false,
                    "properties": {"kind": kind, "name": name}}),
            ),
        ]
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        // Entries outlive the conversation, whose log is kept free of the host's secrets, too.
        let arguments = turn.context.redactor.json(&call.arguments);
        let given = |key: &str| arguments[key].as_str();
        let kind = given("kind").unwrap_or(USUAL_KIND).trim();
        let name = given("name").unwrap_or_default().trim();
        let memory = self.0.of(&turn.agent.name);
        match call.name.as_str() {
            REMEMBER => {
                let aliases = arguments["aliases"].as_array().into_iter().flatten();
                let aliases: Vec<String> = aliases
                    .filter_map(|alias| alias.as_str().map(str::to_owned))
                    .collect();
                let content = given("content").unwrap_or_default();
                let entry = MemoryEntry::new(kind, name, content, &aliases)
                    .map_err(|problem| ToolError::new(problem.to_string()))?;
                let now = turn.context.conversations.host.now();
                let kept = memory.remember(entry, now).await.map_err(failed)?;
                Ok(match kept {
                    Remembered::Added => format!("kept `{kind}/{name}`"),
                    Remembered::Replaced => format!("replaced `{kind}/{name}`"),
                })
            }
            RECALL => {
                let query = RecallWords::parse(given("query").unwrap_or_default());
                let asked = arguments["limit"].as_u64().map(usize::try_from);
                let limit = match asked {
                    Some(Ok(limit)) => limit,
                    Some(Err(_)) | None => turn.context.conversations.host.bounds().recall_limit,
                };
                let found = memory.recall(&query, limit).await.map_err(failed)?;
                shown(found)
            }
            _ => {
                memory.forget(kind, name).await.map_err(failed)?;
                Ok(format!("forgot `{kind}/{name}`"))
            }
        }
    }
}

fn shown(found: Vec<StoredEntry>) -> Result<ToolOutput, ToolError> {
    let entries = found.into_iter().map(|found| Recalled {
        kind: found.entry.kind().to_owned(),
        name: found.entry.name().to_owned(),
        content: found.entry.content().to_owned(),
        aliases: found.entry.aliases().to_vec(),
        at: found.at.to_string(),
    });
    let entries: Vec<Recalled> = entries.collect();
    serde_json::to_string_pretty(&entries).map_err(|error| ToolError::new(error.to_string()))
}

/// Returns the message for the model. The error of the disk, with its path, is for the log of the host.
fn failed(error: StoreError) -> ToolError {
    if matches!(error, StoreError::NotFound { .. }) {
        return ToolError::new(error.to_string());
    }
    let source = std::error::Error::source(&error).map(ToString::to_string);
    tracing::warn!(%error, source, "the memory of an agent failed");
    ToolError::new("the memory cannot be used at the moment")
}
