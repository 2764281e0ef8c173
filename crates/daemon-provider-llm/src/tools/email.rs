//! The group `email`: mail to agents and to other runs.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec};
use daemon_provider::{Grants, Mail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{read, spec};

/// The tool that sends mail.
#[derive(Debug)]
pub(crate) struct EmailTools(pub(crate) Arc<dyn Grants>);

#[derive(Deserialize)]
struct Send {
    to: String,
    subject: String,
    body: String,
}

#[async_trait]
impl ToolSource for EmailTools {
    fn tools(&self) -> Vec<ToolSpec> {
        vec![spec(
            "send_email",
            "Sends mail to an agent of this host, which answers in a conversation of its own, or to a run of the same parent that has not ended.",
            &["to", "subject", "body"],
            json!({
                "to": {"type": "string", "maxLength": 128, "description": "The name of an agent, or the id of a run."},
                "subject": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\n\r]*$"},
                "body": {"type": "string", "minLength": 1, "maxLength": 20_000},
            }),
        )]
    }

    async fn call(&self, _: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let Send { to, subject, body } = read(arguments)?;
        let sent = self.0.email(Mail { to, subject, body }).await;
        sent.map_err(|error| ToolError::new(error.to_string()))
    }
}
