//! The host's own server of tools for a run whose program can use one: its daemon's state, and what it proposes.

use std::collections::BTreeMap;
use std::sync::Arc;

use daemon_provider::inputs::{McpRegistration, McpServer};
use daemon_provider::{McpUse, RunRequest};

use super::grants::RunGrants;
use super::place::Prepared;
use crate::control::RunToken;
use crate::driver::Inner;
use crate::runs::Record;

/// The name of the server.
const NAME: &str = "daemon";
/// The variable in which the server finds the token of its run.
const TOKEN: &str = "DAEMON_RUN_TOKEN";

/// The server for one run; its token is good for as long as this is kept.
pub(super) struct HostTools {
    token: RunToken,
    registration: McpRegistration,
}

impl HostTools {
    /// Prepares the server, where the run's provider hands servers to a program and a host listens.
    pub(super) fn of(inner: &Inner, prepared: &Prepared, grants: &Arc<RunGrants>) -> Option<Self> {
        match prepared.provider.mcp() {
            McpUse::ByProgram => {}
            // It has doors of its own for state and outputs.
            McpUse::ByFile if !prepared.servers.is_empty() => {}
            McpUse::ByFile | McpUse::ByProvider | McpUse::Nobody => return None,
        }
        let runtime = inner.runtime();
        let program = runtime.parts.program.as_deref()?.to_str()?.to_owned();
        let socket = inner.home.below(&runtime.config.uds.path);
        let token = inner.tokens.issue(Arc::clone(grants) as Arc<_>)?;
        let registration = McpRegistration {
            name: NAME.to_owned(),
            server: McpServer::Stdio {
                command: program,
                args: vec![
                    "mcp".to_owned(),
                    "--run".to_owned(),
                    socket.to_str()?.to_owned(),
                ],
                env: BTreeMap::from([(TOKEN.to_owned(), token.text().to_owned())]),
            },
        };
        Some(Self {
            token,
            registration,
        })
    }

    /// Returns what must not be recorded.
    pub(super) fn secret(&self) -> String {
        self.token.text().to_owned()
    }

    /// Adds the server to a request.
    pub(super) fn mount(&self, request: &mut RunRequest, record: &Record) {
        request.mcp.push(self.registration.clone());
        request.private = Some(record.private());
    }
}
