//! The tools of a host for MCP clients over HTTP.
//!
//! A client may be on another machine and may have a token that only reads, so that no argument names a file or a directory of this
//! machine.

use async_trait::async_trait;
use daemon_api::http::McpCaller;
use daemon_api::ops::{Operation, Operations};
use daemon_mcp::{ToolCall, ToolDescription, ToolResult, ToolServer, ToolTable};
use serde_json::{Map, Value, json};

use super::table::{ToolAction, ToolRow};
use super::{VERSION, answer, calls, daemon, manual, parent::Parent, table};
use crate::failure::CommandFailure;
use crate::place::Place;

/// The instructions that a client passes to its model.
const INSTRUCTIONS: &str = "Daemons are agents that a repository describes in .agents/daemons/<id>/DAEMON.md and that wake on \
     events and schedules. The listings, `show`, `run` and `logs` read the records of this host; `lint`, `explain` and `next` work on \
     text that you give.";

/// Makes the server of the tools that a client may call.
pub(crate) fn server(operations: &Operations, caller: &McpCaller, place: &Place) -> ToolServer {
    let tools = HostTools {
        operations: operations.of_caller(caller.caller()),
        caller: caller.clone(),
        place: place.clone(),
        parent: Parent::drawn(),
    };
    ToolServer::new("daemon-run", VERSION, std::sync::Arc::new(tools))
        .with_instructions(INSTRUCTIONS)
        .with_tasks()
        .with_resources(manual::resources())
}

struct HostTools {
    operations: Operations,
    caller: McpCaller,
    place: Place,
    parent: Parent,
}

impl HostTools {
    fn offered(&self) -> impl Iterator<Item = &'static ToolRow> {
        let is_agent = matches!(self.caller, McpCaller::Agent(_));
        let scope = self.caller.scope();
        table::all().filter(move |tool| {
            let is_of_roster = is_agent && tool.of_roster().is_some();
            is_of_roster || tool.scope() <= scope
        })
    }

    async fn members(
        &self,
        tool: &ToolRow,
        call: ToolCall,
    ) -> Result<Map<String, Value>, CommandFailure> {
        let given = tool.take_over_http(call.arguments)?;
        let (operation, given) = match tool.action {
            ToolAction::Operation(operation) => (operation, given),
            ToolAction::Fire => (Operation::DaemonFire, fired(given)),
            ToolAction::Lint | ToolAction::Explain | ToolAction::Next => {
                return Box::pin(calls::call(tool, given, &self.place)).await;
            }
            ToolAction::Daemon => {
                return Err(CommandFailure::bug("`daemon` is called elsewhere"));
            }
        };
        Ok(self.operations.call(operation, given).await?)
    }

    /// Reads the state of one-off runs. A dispatch names directories of this machine, and the others belong to who dispatched.
    async fn runs(&self, call: ToolCall) -> ToolResult {
        let action = call.arguments.get("action").and_then(Value::as_str);
        if !action.is_some_and(|action| daemon::READ_ONLY.contains(&action)) {
            return daemon::refused("only list and check are served over HTTP");
        }
        let mut given = call.arguments;
        let parent = self.parent.address(&call.client);
        given.insert("parent_addr".to_owned(), json!(parent));
        match self.operations.call(Operation::RunCall, given).await {
            Ok(reply) => ToolResult::done(Value::Object(reply)),
            Err(error) => daemon::refused(&error.message),
        }
    }
}

#[async_trait]
impl ToolTable for HostTools {
    async fn tools(&self) -> Vec<ToolDescription> {
        self.offered().map(ToolRow::spec_over_http).collect()
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        let tool = self.offered().find(|tool| tool.name == call.tool);
        match tool {
            Some(tool) if tool.action == ToolAction::Daemon => self.runs(call).await,
            Some(tool) => answer::of(self.members(tool, call).await),
            None => answer::of(Err(CommandFailure::usage(format!(
                "no tool `{}`",
                call.tool
            )))),
        }
    }

    fn may_take_long(&self, call: &ToolCall) -> bool {
        daemon::waits(call)
    }
}

/// Puts what describes an event into one member, as the operation reads it.
fn fired(mut given: Map<String, Value>) -> Map<String, Value> {
    let Some(payload) = given.remove("event") else {
        return given;
    };
    let mut event = Map::from_iter([("payload".to_owned(), payload)]);
    for name in ["source", "kind", "changed_files"] {
        let value = given.remove(name);
        event.extend(value.map(|value| (name.to_owned(), value)));
    }
    given.insert("event".to_owned(), Value::Object(event));
    given
}
