//! Tools of the MCP servers that were registered for a run.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use daemon_mcp::{ClientError, Endpoint, Program, ToolClient, ToolStatus};
use daemon_process::{Launch, ProgramError, Supervisor};
use daemon_provider::RunRequest;
use daemon_provider::inputs::{McpRegistration, McpServer};
use futures_util::future::join_all;
use serde_json::Value;

use daemon_provider::tool_loop::{ToolError, ToolOutput, ToolSource, ToolSpec};

/// Time limit for the start of a server, and for each call.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes of a result that the model receives.
const MOST_ANSWER: usize = 64 << 10;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// Its program was not found.
    #[error("the MCP server `{name}` cannot be started")]
    Program {
        /// The name of the registration.
        name: String,
        /// Why the program cannot be started.
        source: ProgramError,
    },
    /// It does not respond, or not as an MCP server does.
    #[error("the MCP server `{name}` cannot be used")]
    Client {
        /// The name of the registration.
        name: String,
        /// The error of the connection.
        source: ClientError,
    },
}

/// The tools of one server, under the server's own names.
pub(crate) struct ServerTools {
    name: String,
    /// `None` after [`ToolSource::close`].
    client: Mutex<Option<Arc<ToolClient>>>,
}

impl fmt::Debug for ServerTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerTools({})", self.name)
    }
}

/// Connects to all servers of a run concurrently; `launch` has the settings that every child of the run shares.
///
/// # Errors
/// Fails with the first server that cannot be used, after closing the others.
pub(crate) async fn connect(
    supervisor: &Supervisor,
    launch: &Launch,
    request: &RunRequest,
) -> Result<Vec<ServerTools>, ServerError> {
    let run = request.run_id.to_string();
    let begun = request
        .mcp
        .iter()
        .map(|registration| begin(supervisor, launch, registration, &run));
    // All are awaited even after a failure: a server that is still starting could not be closed.
    let mut servers = Vec::new();
    let mut failed = None;
    for begun in join_all(begun).await {
        match begun {
            Ok(server) => servers.push(server),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let Some(error) = failed else {
        return Ok(servers);
    };
    for server in &servers {
        server.close().await;
    }
    Err(error)
}

async fn begin(
    supervisor: &Supervisor,
    launch: &Launch,
    registration: &McpRegistration,
    run: &str,
) -> Result<ServerTools, ServerError> {
    let name = &registration.name;
    let client = match &registration.server {
        McpServer::Stdio { command, args, env } => {
            let program = Program {
                command: command.clone(),
                args: args.clone(),
                env: env.clone(),
            };
            // An absolute path was chosen by the person who registered the server. A name must not be found in the worktree,
            // where the repository would choose the program.
            let forbidden: &[&Path] = if Path::new(command).is_absolute() {
                &[]
            } else {
                &[&launch.cwd]
            };
            // A marker per server, so that its exit does not end the other programs of the run.
            let launch = program.launch(launch, format!("{run}/mcp-{name}"), forbidden);
            let launch = launch.map_err(|source| ServerError::Program {
                name: name.clone(),
                source,
            })?;
            ToolClient::start(supervisor, launch, TIMEOUT).await
        }
        McpServer::Http { url, headers } => {
            let endpoint = Endpoint {
                url: url.clone(),
                headers: headers.clone(),
                proxy: None,
            };
            ToolClient::connect(&endpoint, TIMEOUT).await
        }
    };
    let client = client.map_err(|source| ServerError::Client {
        name: name.clone(),
        source,
    })?;
    Ok(ServerTools {
        name: name.clone(),
        client: Mutex::new(Some(Arc::new(client))),
    })
}

impl ServerTools {
    fn client(&self) -> Option<Arc<ToolClient>> {
        self.client.lock().expect("no holder panics").clone()
    }
}

#[async_trait]
impl ToolSource for ServerTools {
    fn tools(&self) -> Vec<ToolSpec> {
        let client = self.client();
        let tools = client.iter().flat_map(|client| client.tools());
        let specs = tools.map(|tool| ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: Value::Object(tool.input_schema.clone()),
        });
        specs.collect()
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        let closed = || ToolError::new(format!("the server `{}` is closed", self.name));
        let client = self.client().ok_or_else(closed)?;
        let answer = client.call(name, arguments).await;
        let answer = answer.map_err(|error| ToolError::new(format!("`{}`: {error}", self.name)))?;
        let answer = answer.bounded(MOST_ANSWER);
        let text = match answer.structured {
            Some(structured) if answer.text.is_empty() => structured.to_string(),
            _ => answer.text,
        };
        match answer.status {
            ToolStatus::Ok => Ok(text),
            ToolStatus::Error => Err(ToolError::new(text)),
        }
    }

    async fn close(&self) {
        let client = self.client.lock().expect("no holder panics").take();
        // A call in progress has its own reference; the client is closed when that call is dropped.
        if let Some(client) = client.and_then(Arc::into_inner) {
            client.close().await;
        }
    }
}
