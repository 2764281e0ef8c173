//! What differs for clients over HTTP, who name no file of this machine.

use daemon_api::ops::{Operation, Scope};
use daemon_mcp::ToolDescription;
use serde_json::{Map, Value, json};

use super::{Parameter, REPO, Served, ToolAction, ToolRow, schema};
use crate::failure::CommandFailure;

/// What a tool is over HTTP if it reads files otherwise.
struct Remote {
    description: &'static str,
    left_out: &'static [&'static str],
    /// The parameter without which the tool would read the working tree.
    needed: Option<&'static str>,
}

impl ToolRow {
    /// Returns the scope that a client over HTTP needs.
    pub(in crate::mcp) fn scope(&self) -> Scope {
        match self.action {
            ToolAction::Operation(operation) => operation.scope(),
            ToolAction::Fire => Operation::DaemonFire.scope(),
            // Over HTTP `daemon` only reads.
            ToolAction::Daemon | ToolAction::Lint | ToolAction::Explain | ToolAction::Next => {
                Scope::Read
            }
        }
    }

    /// Returns the description for clients over HTTP.
    pub(in crate::mcp) fn spec_over_http(&self) -> ToolDescription {
        if self.action == ToolAction::Daemon {
            return self.spec(Served::ReadOnly);
        }
        let mut schema = schema(self.over_http());
        let remote = self.remote();
        if let Some(needed) = remote.as_ref().and_then(|remote| remote.needed) {
            schema["required"] = json!([needed]);
        }
        if let Some(event) = schema["properties"].get_mut("event") {
            *event = json!({"type": "object", "description": "The payload of an event, which needs `source` and `kind`."});
        }
        let description = remote.map_or(self.description, |remote| remote.description);
        ToolDescription::new(self.name, description, schema, self.effect())
    }

    /// Returns the arguments of a call over HTTP.
    ///
    /// # Errors
    /// If one is not served over HTTP, or a necessary one is missing.
    pub(in crate::mcp) fn take_over_http(
        &self,
        given: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandFailure> {
        let is_known = |name: &str| self.over_http().any(|parameter| parameter.name == name);
        if let Some(name) = given.keys().find(|name| !is_known(name)) {
            let name: String = name.chars().take(80).collect();
            let message = format!("`{name}` is not served over HTTP");
            return Err(CommandFailure::usage(message));
        }
        if given.get("event").is_some_and(|event| !event.is_object()) {
            return Err(CommandFailure::usage("`event` is an object"));
        }
        match self.remote().and_then(|remote| remote.needed) {
            Some(needed) if !given.contains_key(needed) => {
                Err(CommandFailure::usage(format!("`{needed}` is missing")))
            }
            _ => Ok(given),
        }
    }

    /// Returns the parameters that clients over HTTP may give.
    fn over_http(&self) -> impl Iterator<Item = &'static Parameter> {
        let left_out = self.remote().map_or(&[][..], |remote| remote.left_out);
        let parameters = self.parameters.iter();
        let kept = parameters.filter(move |parameter| !left_out.contains(&parameter.name));
        kept.chain((self.action == ToolAction::Fire).then_some(&REPO))
    }

    fn remote(&self) -> Option<Remote> {
        Some(match self.action {
            ToolAction::Lint => Remote {
                description: "Checks the text of one DAEMON.md file and returns every diagnostic with its position, help and fix.",
                left_out: &["paths", "path"],
                needed: Some("text"),
            },
            ToolAction::Explain => Remote {
                description: "Explains how a watch condition is read, which words were not understood, and whether an event wakes it.",
                left_out: &["id", "all_daemons", "repo"],
                needed: Some("condition"),
            },
            ToolAction::Next => Remote {
                description: "Returns the next due times of a cron expression, in UTC.",
                left_out: &["id", "repo"],
                needed: Some("cron"),
            },
            ToolAction::Fire => Remote {
                description: "Wakes a registered daemon now, for a person, a tick or an event, under the host's own policy, and returns the activation, which continues in the host.",
                left_out: &["dry_run", "repo"],
                needed: Some("id"),
            },
            ToolAction::Operation(_) | ToolAction::Daemon => return None,
        })
    }
}
