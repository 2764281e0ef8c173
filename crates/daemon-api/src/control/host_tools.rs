//! Mounts the host's own MCP server in a run: tools for the state of its daemon and its outputs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::inputs::{McpRegistration, McpServer};
use daemon_provider::tool_access::{OWN_SERVER as NAME, RunTools, ServedTools, ToolAccess};
use daemon_provider::{Grants, RunRequest};

use serde_json::json;

use super::{RunPipes, RunToken, RunTokens};

/// The environment variable with the token of the run.
const TOKEN: &str = "DAEMON_RUN_TOKEN";
/// The environment variables of a forwarder: the address of its server, and the headers as a JSON object.
const FORWARDED: [&str; 2] = ["DAEMON_MCP_URL", "DAEMON_MCP_HEADERS"];
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

    fn forwarder(&self, url: &str, headers: &BTreeMap<String, String>) -> io::Result<McpServer> {
        let values = [url.to_owned(), json!(headers).to_string()];
        let env = FORWARDED.into_iter().map(str::to_owned).zip(values);
        Ok(McpServer::Stdio {
            command: text(&self.program)?,
            args: ["mcp", "--through"].map(str::to_owned).into(),
            env: env.collect(),
        })
    }
}

fn text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::other(format!("`{}` is not text", path.display())))
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

    fn mount(
        &mut self,
        request: &mut RunRequest,
        directory: &Path,
        served: ServedTools<'_>,
    ) -> io::Result<()> {
        let address = match &self.transport {
            Transport::Socket(socket) => socket.as_path(),
            Transport::Pipes => {
                self.pipes = Some(RunPipes::make(directory)?);
                directory
            }
        };
        let mut args = vec!["mcp".to_owned(), "--run".to_owned(), text(address)?];
        let name = match served {
            ServedTools::OfHost => NAME,
            ServedTools::OfServer(name) => {
                args.push("--server".to_owned());
                name
            }
            ServedTools::OfAgent => {
                args.push("--server".to_owned());
                NAME
            }
        };
        request.mcp.push(McpRegistration {
            name: name.to_owned(),
            server: McpServer::Stdio {
                command: text(&self.program)?,
                args,
                env: BTreeMap::from([(TOKEN.to_owned(), self.token.text().to_owned())]),
            },
        });
        // A confined run can read and write only what its request lists.
        request.readable.push(self.program.clone());
        let paths = self.pipes.iter().flat_map(RunPipes::paths);
        request.writable.extend(paths.cloned());
        Ok(())
    }

    async fn serve(&mut self) {
        if let Some(pipes) = self.pipes.take() {
            pipes.serve(&self.tokens).await;
        }
        std::future::pending::<()>().await;
    }
}
