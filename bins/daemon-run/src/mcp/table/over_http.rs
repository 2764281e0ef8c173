//! What differs for clients over HTTP, who name no file of this machine.

use daemon_api::ops::{Operation, Scope};
use daemon_mcp::ToolDescription;
use serde_json::{Map, Value, json};

use super::{Parameter, Served, ToolAction, ToolRow, all, schema};
use crate::failure::CommandFailure;

/// Returns the parameter that names the repository of a registered daemon.
fn registered_repo<'p>() -> impl Iterator<Item = &'p Parameter> {
    let show = all().filter(|tool| tool.action == ToolAction::Operation(Operation::DaemonGet));
    let parameters = show.flat_map(|tool| &tool.parameters);
    let named = parameters.filter(|parameter| parameter.name == "repo");
    named.map(|parameter| -> &'p Parameter { parameter })
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
        let mut schema = schema(self.remote_parameters());
        let remote = self.over_http.as_ref();
        if let Some(remote) = remote {
            schema["required"] = json!([remote.needed]);
        }
        if let Some(event) = schema["properties"].get_mut("event") {
            *event = json!({"type": "object", "description": "The payload of an event, which needs `source` and `kind`."});
        }
        let description = remote.map_or(&self.description, |remote| &remote.description);
        ToolDescription::new(&self.name, description, schema, self.effect())
    }

    /// Returns the arguments of a call over HTTP.
    ///
    /// # Errors
    /// If one is not served over HTTP, or a necessary one is missing.
    pub(in crate::mcp) fn take_over_http(
        &self,
        given: Map<String, Value>,
    ) -> Result<Map<String, Value>, CommandFailure> {
        let is_known = |name: &str| {
            self.remote_parameters()
                .any(|parameter| parameter.name == name)
        };
        if let Some(name) = given.keys().find(|name| !is_known(name)) {
            let name: String = name.chars().take(80).collect();
            let message = format!("`{name}` is not served over HTTP");
            return Err(CommandFailure::usage(message));
        }
        if given.get("event").is_some_and(|event| !event.is_object()) {
            return Err(CommandFailure::usage("`event` is an object"));
        }
        match self.over_http.as_ref().map(|remote| &remote.needed) {
            Some(needed) if !given.contains_key(needed) => {
                Err(CommandFailure::usage(format!("`{needed}` is missing")))
            }
            _ => Ok(given),
        }
    }

    /// Returns the parameters that clients over HTTP may give.
    fn remote_parameters(&self) -> impl Iterator<Item = &Parameter> {
        let left_out = self.over_http.as_ref();
        let left_out = left_out.map_or(&[][..], |remote| remote.left_out.as_slice());
        let parameters = self.parameters.iter();
        let kept = parameters.filter(move |parameter| !left_out.contains(&parameter.name));
        // `fire` reads the working tree of a directory otherwise.
        let is_fire = self.action == ToolAction::Fire;
        kept.chain(registered_repo().filter(move |_| is_fire))
    }
}
