//! The file that tells a program of a run's MCP servers, in the form that MCP clients read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use daemon_provider::RunRequest;
use daemon_provider::inputs::McpServer;
use serde_json::{Map, json};

/// Writes the file into the run's private directory, and returns its path.
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
