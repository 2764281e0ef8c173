//! The tools with which an agent of a conversation dispatches one-off runs and reads the roster.
//!
//! An agent has the address `agent:<name>` as the parent of its runs. It lists, checks, asks and reclaims these only, and they work
//! in the directory of its conversation or beneath `tools.roots`.

use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use daemon_agent::definition::AgentDefinition;
use daemon_agent::{Hook, HookTurn};
use daemon_api::ops::{Live, Operation, Operations};
use daemon_provider::tool_loop::{LoopCall, ToolError, ToolOutput, ToolSpec};
use daemon_records::error::OpError;
use daemon_registry::SharedRegistry;
use daemon_store::Store;
use serde_json::{Map, Value, json};

/// The tool about runs.
const DAEMON: &str = "daemon";
/// The tool that lists the roster.
const RECALL_ROSTER: &str = "recall_roster";
/// The tool that shows a row of the roster.
const RECALL_DAEMON: &str = "recall_daemon";

/// What the agents of conversations reach of their host. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct AgentDispatch(Arc<OnceLock<Serving>>);

/// The parts of the operations of a host. The host has its agents, so that they hold no host.
struct Serving {
    store: Arc<dyn Store>,
    registry: SharedRegistry,
    live: Weak<dyn Live>,
}

impl std::fmt::Debug for AgentDispatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentDispatch").finish_non_exhaustive()
    }
}

impl AgentDispatch {
    /// Lets the tools perform operations of a host. Before, they fail.
    pub(crate) fn begin(
        &self,
        (store, registry): (&Arc<dyn Store>, &SharedRegistry),
        live: &Arc<dyn Live>,
    ) {
        self.0.get_or_init(|| Serving {
            store: Arc::clone(store),
            registry: registry.clone(),
            live: Arc::downgrade(live),
        });
    }

    /// Returns the hooks of turns: that of runs, and that of the roster.
    pub(crate) fn hooks(&self) -> [Arc<dyn Hook>; 2] {
        [
            Arc::new(RunsHook(self.clone())),
            Arc::new(RosterHook(self.clone())),
        ]
    }

    fn operations(&self) -> Result<Operations, ToolError> {
        let serving = self.0.get();
        let operations = serving.and_then(|serving| {
            let (store, registry) = (Arc::clone(&serving.store), serving.registry.clone());
            Some(Operations::new(store, registry, serving.live.upgrade()?))
        });
        operations.ok_or_else(|| ToolError::new("the host does not serve"))
    }
}

/// The hook of one-off runs.
struct RunsHook(AgentDispatch);

#[async_trait]
impl Hook for RunsHook {
    fn name(&self) -> &str {
        "runs"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: DAEMON.to_owned(),
            description:
                "Dispatches one-off runs, which work on their own, and lists, checks, asks and reclaims those of yours. Use `wait` \
                 instead of checking again and again."
                    .to_owned(),
            schema: serde_json::from_str(include_str!("dispatching/daemon.json"))
                .expect("a test reads it"),
        }]
    }

    async fn dispatch(&self, turn: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let operations = self.0.operations()?;
        let Value::Object(call) = call.arguments else {
            return Err(ToolError::new("the arguments are no object"));
        };
        let starts = matches!(
            call.get("action").and_then(Value::as_str),
            Some("emanate" | "ask")
        );
        if starts && !turn.may_start_work() {
            let message = "the mail of a run, or too many delegations, led to this turn, which starts no runs";
            return Err(ToolError::new(message));
        }
        let runs = RunsOfAgent {
            operations: &operations,
            address: format!("agent:{}", turn.agent.name),
            directory: turn.directory,
        };
        let reply = runs.call(call).await;
        let reply = reply.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(Value::Object(reply).to_string())
    }
}

/// The runs of an agent.
struct RunsOfAgent<'a> {
    operations: &'a Operations,
    /// The address of the agent.
    address: String,
    /// The directory of its conversation.
    directory: &'a Path,
}

impl RunsOfAgent<'_> {
    async fn call(&self, mut call: Map<String, Value>) -> Result<Map<String, Value>, OpError> {
        set_directories(&mut call, self.directory);
        self.operations
            .check_directories_of(self.directory, &call)?;
        match call.get("action").and_then(Value::as_str) {
            Some("list") => self.list(call).await,
            Some("check" | "ask" | "reclaim") if call.contains_key("id") => {
                self.check_own(&call["id"]).await?;
                self.perform(call).await
            }
            _ => self.perform(call).await,
        }
    }

    async fn perform(&self, mut call: Map<String, Value>) -> Result<Map<String, Value>, OpError> {
        call.insert("parent_addr".to_owned(), json!(self.address));
        Box::pin(self.operations.call(Operation::RunCall, call)).await
    }

    /// Lists the runs of the agent only: others may be about what it must not know.
    async fn list(&self, mut call: Map<String, Value>) -> Result<Map<String, Value>, OpError> {
        let last = call.insert("last".to_owned(), json!(1_000));
        let last = last.and_then(|last| last.as_u64()).unwrap_or(50);
        let mut reply = self.perform(call).await?;
        let Some(Value::Array(entries)) = reply.remove("emanations") else {
            return Ok(reply);
        };
        let own = entries.into_iter().filter(|entry| self.is_own(entry));
        let own: Vec<Value> = own
            .take(usize::try_from(last).unwrap_or(usize::MAX))
            .collect();
        Ok(Map::from_iter([
            ("showing".to_owned(), json!(own.len())),
            ("emanations".to_owned(), Value::Array(own)),
        ]))
    }

    /// Refuses a run of another parent as if there were none.
    async fn check_own(&self, id: &Value) -> Result<(), OpError> {
        let check = json!({"action": "check", "id": id, "last": 1});
        let Value::Object(check) = check else {
            unreachable!("it is written as an object");
        };
        let found = Value::Object(self.perform(check).await?);
        if self.is_own(&found) {
            return Ok(());
        }
        let id: String = id.as_str().unwrap_or_default().chars().take(80).collect();
        Err(OpError::not_found("run of yours", &id))
    }

    fn is_own(&self, entry: &Value) -> bool {
        entry["parent_addr"] == self.address.as_str()
    }
}

/// Makes the directories of a call absolute; a call without one works in that of the conversation.
fn set_directories(call: &mut Map<String, Value>, directory: &Path) {
    let absolute = |path: &str| json!(directory.join(path).to_string_lossy());
    let tasks = call.get_mut("tasks").and_then(Value::as_array_mut);
    for task in tasks.into_iter().flatten() {
        if let Some(path) = task["cwd"].as_str().map(absolute) {
            task["cwd"] = path;
        }
    }
    if call.get("action").is_some_and(|action| action == "emanate") {
        call.insert("cwd".to_owned(), absolute(""));
    }
}

/// The hook of the roster.
struct RosterHook(AgentDispatch);

#[async_trait]
impl Hook for RosterHook {
    fn name(&self) -> &str {
        "roster"
    }

    fn tools(&self, _agent: &AgentDefinition) -> Vec<ToolSpec> {
        let spec = |name: &str, description: &str, required: &[&str], properties: Value| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({
                "type": "object", "required": required, "properties": properties, "additionalProperties": false,
            }),
        };
        let text = || json!({"type": "string"});
        vec![
            spec(
                RECALL_ROSTER,
                "Lists the daemons of this host: whether each is alive, may act, and holds a baton.",
                &[],
                json!({
                    "project": text(), "role": text(), "kind": text(), "liveness": text(), "after": text(),
                    "limit": {"type": "integer", "minimum": 1, "maximum": 500},
                }),
            ),
            spec(
                RECALL_DAEMON,
                "Returns one row of the roster with its check-ins, signals and reset.",
                &["daemon"],
                json!({"daemon": text()}),
            ),
        ]
    }

    async fn dispatch(&self, _: &HookTurn<'_>, call: LoopCall) -> Result<ToolOutput, ToolError> {
        let operations = self.0.operations()?;
        let Value::Object(params) = call.arguments else {
            return Err(ToolError::new("the arguments are no object"));
        };
        let operation = match call.name.as_str() {
            RECALL_ROSTER => Operation::RosterList,
            _ => Operation::RosterGet,
        };
        let reply = Box::pin(operations.call(operation, params)).await;
        let reply = reply.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(Value::Object(reply).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_works_where_its_conversation_does_unless_it_says_otherwise() {
        let call = json!({"action": "emanate", "tasks": [{"task": "a"}, {"task": "b", "cwd": "sub"}, {"task": "c", "cwd": "/x"}]});
        let mut call = call.as_object().unwrap().clone();
        set_directories(&mut call, Path::new("/desk"));
        assert_eq!(
            Value::Object(call),
            json!({"action": "emanate", "cwd": "/desk/", "tasks": [
                {"task": "a"}, {"task": "b", "cwd": "/desk/sub"}, {"task": "c", "cwd": "/x"}]})
        );
    }

    #[test]
    fn the_tools_have_schemas_and_different_names() {
        let dispatch = AgentDispatch::default();
        let hooks = daemon_agent::AgentHooks::new(dispatch.hooks());
        assert!(hooks.is_ok(), "{hooks:?}");
    }
}
