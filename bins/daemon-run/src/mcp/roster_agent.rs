//! The client of `mcp` as an agent of the roster.

use daemon_api::control::AGENT_TOKEN;
use daemon_api::ops::{Operation, Scope};
use serde_json::{Map, Value};

use crate::failure::CommandFailure;
use crate::place::Place;
use crate::session::{CommandSession, Intent, call_failure, live_as, no_host_runs};

/// An agent, by a token that only this process has. The host learns it with the first check-in.
///
/// The process belongs to the owner of the home, but an agent never acts as the operator.
pub(super) struct RosterAgent {
    token: String,
}

impl RosterAgent {
    pub(super) fn new() -> Self {
        Self {
            token: format!("{AGENT_TOKEN}{}", daemon_records::random::hex(32)),
        }
    }

    /// Calls a tool of the roster. Without a host it only reads.
    pub(super) async fn call(
        &self,
        operation: Operation,
        given: Map<String, Value>,
        place: &Place,
    ) -> Result<Map<String, Value>, CommandFailure> {
        if let Some(mut client) = live_as(place, Some(&self.token)).await? {
            return client.call(operation, given).await.map_err(call_failure);
        }
        if operation.scope() != Scope::Read {
            return Err(no_host_runs());
        }
        let mut session = CommandSession::open(place, Intent::Look).await?;
        session.call(operation, given).await
    }
}
