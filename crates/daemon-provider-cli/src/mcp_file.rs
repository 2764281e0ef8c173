//! The file that lists a run's MCP servers, in the format of MCP clients.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use daemon_provider::RunRequest;
use daemon_provider::inputs::McpServer;
use serde_json::{Map, json};

/// Writes the file into the run's private directory and returns its path.
pub(crate) fn write(request: &RunRequest) -> io::Result<PathBuf> {
    let servers = request.mcp.iter().map(|registration| {
        let server = match &registration.server {
            McpServer::Stdio { command, args, env } => {
                json!({"type": "stdio", "command": command, "args": args, "env": env})
            }
            McpServer::Http { url, headers } => {
                json!({"type": "http", "url": url, "headers": headers})
            }
        };
        (registration.name.clone(), server)
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
