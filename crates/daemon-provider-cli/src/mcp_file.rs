//! The MCP servers of a run that its program starts, and the file that lists them in the format of MCP clients.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use daemon_provider::RunRequest;
use daemon_provider::inputs::McpServer;
use serde_json::{Map, json};

/// A server that the program of a run starts.
pub(crate) struct ServerProgram<'r> {
    pub(crate) name: &'r str,
    pub(crate) command: &'r str,
    pub(crate) args: &'r [String],
    pub(crate) env: &'r BTreeMap<String, String>,
}

/// Returns the servers of a run.
///
/// # Errors
/// If one is not a program: an agent that connected to it would show the secrets of its address and headers to its model.
pub(crate) fn programs(request: &RunRequest) -> io::Result<Vec<ServerProgram<'_>>> {
    let servers = request.mcp.iter().map(|registration| {
        let name = registration.name.as_str();
        match &registration.server {
            McpServer::Stdio { command, args, env } => Ok(ServerProgram {
                name,
                command,
                args,
                env,
            }),
            McpServer::Http { .. } => Err(io::Error::other(format!(
                "the MCP server `{name}` is not a program"
            ))),
        }
    });
    servers.collect()
}

/// Writes the file into the run's private directory and returns its path.
pub(crate) fn write(request: &RunRequest) -> io::Result<PathBuf> {
    let servers = programs(request)?.into_iter().map(|server| {
        let ServerProgram {
            name,
            command,
            args,
            env,
        } = server;
        let server = json!({"type": "stdio", "command": command, "args": args, "env": env});
        (name.to_owned(), server)
    });
    let config = json!({"mcpServers": servers.collect::<Map<_, _>>()});
    let directory = request
        .private
        .as_deref()
        .ok_or_else(|| io::Error::other("the run has no private directory"))?;
    // The modes are set at creation: the file holds secrets, and `chmod` afterwards would leave a moment to read them.
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let path = directory.join("mcp.json");
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(config.to_string().as_bytes())?;
    Ok(path)
}
