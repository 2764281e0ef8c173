//! Mounts the host's own MCP server in a run: tools for the state of its daemon and its outputs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::inputs::{McpRegistration, McpServer};
use daemon_provider::tool_access::{RunTools, ToolAccess};
use daemon_provider::{Grants, RunRequest};

use super::{RunPipes, RunToken, RunTokens};

/// The name of the server in the configuration of an agent.
const NAME: &str = "daemon";
/// The environment variable with the token of the run.
const TOKEN: &str = "DAEMON_RUN_TOKEN";
/// The lowest sandbox level at which a run may open no Unix socket, because Landlock cannot allow only the host's.
const CONFINED: u8 = 2;

/// Gives runs access to the host over its control socket or over pipes.
pub struct HostTools {
    program: PathBuf,
    socket: PathBuf,
    tokens: RunTokens,
}

impl HostTools {
    /// Creates the access; `program` is this program, whose `mcp --run` is the server.
    pub fn new(program: PathBuf, socket: PathBuf, tokens: RunTokens) -> Self {
        Self {
            program,
            socket,
            tokens,
        }
    }
}

impl std::fmt::Debug for HostTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostTools")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

impl ToolAccess for HostTools {
    fn open(&self, grants: Arc<dyn Grants>, sandbox_level: u8) -> Option<Box<dyn RunTools>> {
        let transport = if sandbox_level < CONFINED {
            Transport::Socket(self.socket.clone())
        } else {
            Transport::Pipes
        };
        Some(Box::new(OpenTools {
            token: self.tokens.issue(grants)?,
            tokens: self.tokens.clone(),
            program: self.program.clone(),
            transport,
            pipes: None,
        }))
    }
}

/// How the processes of a run reach the host.
enum Transport {
    /// The control socket.
    Socket(PathBuf),
    /// Pipes in the run's private directory, which only the run can open.
    Pipes,
}

/// The access of one run; its token is valid until this is dropped.
struct OpenTools {
    token: RunToken,
    tokens: RunTokens,
    program: PathBuf,
    transport: Transport,
    /// The pipes once they are mounted.
    pipes: Option<RunPipes>,
}

#[async_trait]
impl RunTools for OpenTools {
    fn secret(&self) -> &str {
        self.token.text()
    }

    fn mount(&mut self, request: &mut RunRequest, private: &Path) -> io::Result<()> {
        let address = match &self.transport {
            Transport::Socket(socket) => socket.as_path(),
            Transport::Pipes => {
                self.pipes = Some(RunPipes::make(private)?);
                private
            }
        };
        let text = |path: &Path| {
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| io::Error::other(format!("`{}` is not text", path.display())))
        };
        request.mcp.push(McpRegistration {
            name: NAME.to_owned(),
            server: McpServer::Stdio {
                command: text(&self.program)?,
                args: vec!["mcp".to_owned(), "--run".to_owned(), text(address)?],
                env: BTreeMap::from([(TOKEN.to_owned(), self.token.text().to_owned())]),
            },
        });
        // A confined run can read and write only what its request lists.
        request.readable.push(self.program.clone());
        let paths = self.pipes.iter().flat_map(RunPipes::paths);
        request.writable.extend(paths.cloned());
        request.private = Some(private.to_owned());
        Ok(())
    }

    async fn serve(&mut self) {
        if let Some(pipes) = self.pipes.take() {
            pipes.serve(&self.tokens).await;
        }
        std::future::pending::<()>().await;
    }
}
