//! The host's own server of tools for a run whose program can use one: its daemon's state, and what it proposes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use daemon_provider::inputs::{McpRegistration, McpServer};
use daemon_provider::{McpUse, RunRequest};

use super::grants::RunGrants;
use super::place::Prepared;
use crate::control::{RunPipes, RunToken, RunTokens};
use crate::driver::Inner;
use crate::runs::Record;

/// The name of the server.
const NAME: &str = "daemon";
/// The variable in which the server finds the token of its run.
const TOKEN: &str = "DAEMON_RUN_TOKEN";
/// The sandbox level from which on a run may open no socket.
const CONFINED: u8 = 2;

/// The server for one run; its token is good for as long as this is kept.
pub(super) struct HostTools {
    token: RunToken,
    tokens: RunTokens,
    program: PathBuf,
    way: Way,
}

/// How a run's processes reach the host.
enum Way {
    /// By the host's own socket, which knows them by the token.
    Socket(PathBuf),
    /// By pipes of the run's own: it is confined, and may open no socket.
    Pipes,
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
        let way = if prepared.sandbox.0 < CONFINED {
            Way::Socket(inner.home.below(&runtime.config.uds.path))
        } else {
            Way::Pipes
        };
        Some(Self {
            program: runtime.parts.program.clone()?,
            token: inner.tokens.issue(Arc::clone(grants) as Arc<_>)?,
            tokens: inner.tokens.clone(),
            way,
        })
    }

    /// Returns what must not be recorded.
    pub(super) fn secret(&self) -> String {
        self.token.text().to_owned()
    }

    /// Adds the server to a request; returns the pipes to be served for as long as the run goes on, if it has some.
    ///
    /// # Errors
    /// The pipes cannot be made, or a path is not text.
    pub(super) fn mount(
        &self,
        request: &mut RunRequest,
        record: &Record,
    ) -> io::Result<Option<RunPipes>> {
        let private = record.private();
        let (way, pipes) = match &self.way {
            Way::Socket(socket) => (socket, None),
            Way::Pipes => (&private, Some(RunPipes::make(&private)?)),
        };
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| io::Error::other(format!("`{}` is not text", path.display())))
        };
        request.mcp.push(McpRegistration {
            name: NAME.to_owned(),
            server: McpServer::Stdio {
                command: text(&self.program)?,
                args: vec!["mcp".to_owned(), "--run".to_owned(), text(way)?],
                env: BTreeMap::from([(TOKEN.to_owned(), self.token.text().to_owned())]),
            },
        });
        request.readable.push(self.program.clone());
        let paths = pipes.iter().flat_map(RunPipes::paths);
        request.writable.extend(paths.cloned());
        request.private = Some(private);
        Ok(pipes)
    }

    /// Answers what comes through the pipes; does not end where there are none.
    pub(super) async fn serve(&self, pipes: Option<RunPipes>) {
        if let Some(pipes) = pipes {
            pipes.serve(&self.tokens).await;
        }
        std::future::pending::<()>().await;
    }
}
