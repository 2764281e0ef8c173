//! The tools of an agent whose model is a program: it reaches them on an MCP server of the host, as the program of a run does.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use daemon_provider::tool_access::{OWN_SERVER, RunTools, ServedTools};
use daemon_provider::tool_loop::{ProgramCall, ToolSpec};
use daemon_provider::{
    GrantedTool, Grants, McpUse, Provider, RunRequest, SessionId, ToolReply, ToolStatus,
};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::settings::RunSettings;

/// The access of the program of one turn; its token is worthless once this is dropped.
pub(super) struct TurnTools {
    access: Box<dyn RunTools>,
    calls: Arc<TurnCalls>,
    /// A directory for pipes and for the configuration of the program, of this turn only.
    directory: PathBuf,
    /// How long the program waits for a result.
    wait: Duration,
}

impl TurnTools {
    /// Opens the access, and returns with it what the program will call; `None` if the program uses no servers, or no host listens.
    pub(super) fn open(
        settings: &RunSettings,
        provider: &dyn Provider,
        sandbox_level: u8,
        (directory, wait): (PathBuf, Duration),
    ) -> Option<(Self, mpsc::Receiver<ProgramCall>)> {
        match provider.mcp() {
            McpUse::ByProgram | McpUse::ByFile => {}
            McpUse::ByProvider | McpUse::Nobody => return None,
        }
        let (sender, receiver) = mpsc::channel(1);
        let calls = Arc::new(TurnCalls {
            offered: Mutex::default(),
            session: Mutex::default(),
            calls: sender,
            ended: CancellationToken::new(),
        });
        let grants = Arc::clone(&calls);
        let access = settings.tools.as_ref()?.open(grants, sandbox_level)?;
        let tools = Self {
            access,
            calls,
            directory,
            wait,
        };
        Some((tools, receiver))
    }

    /// Returns the token by which the host recognises the program; no record may contain it.
    pub(super) fn secret(&self) -> String {
        self.access.secret().to_owned()
    }

    /// Returns what the token grants.
    pub(super) fn calls(&self) -> Arc<TurnCalls> {
        Arc::clone(&self.calls)
    }

    /// Adds the server of the tools to a request.
    ///
    /// # Errors
    /// If its files cannot be made.
    pub(super) fn mount(
        &mut self,
        request: &mut RunRequest,
        offered: &[ToolSpec],
    ) -> std::io::Result<()> {
        self.calls.offer(offered);
        // A host that ended within a turn left its files.
        self.remove_files()?;
        self.access
            .mount(request, &self.directory, ServedTools::OfAgent)?;
        request.private = Some(self.directory.clone());
        request.mcp_wait = Some(self.wait);
        Ok(())
    }

    /// Serves the program; never returns.
    pub(super) async fn serve(&mut self) {
        self.access.serve().await;
    }

    fn remove_files(&self) -> std::io::Result<()> {
        match std::fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Drop for TurnTools {
    fn drop(&mut self) {
        self.calls.ended.cancel();
        if let Err(error) = self.remove_files() {
            tracing::warn!(directory = %self.directory.display(), %error, "the files of a turn were not removed");
        }
    }
}

/// What the token of a turn grants: the tools of the agent, and nothing else.
pub(super) struct TurnCalls {
    offered: Mutex<Vec<ToolSpec>>,
    session: Mutex<Option<SessionId>>,
    calls: mpsc::Sender<ProgramCall>,
    ended: CancellationToken,
}

impl fmt::Debug for TurnCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnCalls").finish_non_exhaustive()
    }
}

impl TurnCalls {
    fn offer(&self, offered: &[ToolSpec]) {
        *self.offered.lock().expect("no holder panics") = offered.to_vec();
    }

    /// Notes the session of the program.
    pub(super) fn began(&self, session: &SessionId) {
        *self.session.lock().expect("no holder panics") = Some(session.clone());
    }

    /// Reports whether a program calls one of these tools by a name. Programs put the name of the server in front, each in its own way.
    pub(super) fn has(&self, name: &str) -> bool {
        let offered = self.offered.lock().expect("no holder panics");
        offered.iter().any(|tool| {
            let before = name.strip_suffix(tool.name.as_str()).unwrap_or_default();
            let server = before.trim_end_matches(['_', '.']);
            server.len() < before.len() && server.ends_with(OWN_SERVER)
        })
    }

    /// Passes a call to the turn and waits for the result; `None` if the turn has ended.
    async fn pass(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Option<Result<String, String>> {
        let (result, ended) = oneshot::channel();
        let call = ProgramCall {
            name: name.to_owned(),
            arguments: Value::Object(arguments),
            session: self.session.lock().expect("no holder panics").clone(),
            result,
        };
        self.calls.send(call).await.ok()?;
        let result = ended.await.ok()?;
        Some(result.map_err(|error| error.message))
    }
}

#[async_trait]
impl Grants for TurnCalls {
    async fn tools(&self) -> Vec<GrantedTool> {
        let offered = self.offered.lock().expect("no holder panics").clone();
        let tools = offered.into_iter().map(|tool| GrantedTool {
            name: tool.name,
            description: tool.description,
            schema: match tool.schema {
                Value::Object(schema) => schema,
                _ => Map::new(),
            },
            is_read_only: false,
        });
        tools.collect()
    }

    async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let passed = tokio::select! {
            biased;
            () = self.ended.cancelled() => None,
            passed = self.pass(name, arguments) => passed,
        };
        match passed {
            Some(Ok(text)) => ToolReply {
                status: ToolStatus::Ok,
                text,
                structured: None,
            },
            Some(Err(message)) => ToolReply::failed(message),
            None => ToolReply::failed("the turn has ended"),
        }
    }
}
