//! The MCP servers that a caller registers for a run. The host starts them in the sandbox of the run, and the program of the run
//! reaches them through the host, so that it can read neither their secrets nor their files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon_provider::inputs::{McpRegistration, McpServer};
use daemon_provider::tool_access::{RunTools, ServedTools, ToolAccess};
use daemon_provider::{Grants, McpUse, RunEvent, RunRequest};
use tokio::sync::mpsc;

use super::plan::Plan;
use crate::run_context::RunContext;
use crate::runs::Record;
use crate::servers::{
    GrantedServer, Origin, Recorder, RegisteredServer, RunServers, ServerTimeouts, Terms, WAITING,
};
use crate::settings::usual_environment;

/// The directory of the servers in a run's directory for secrets, which is removed when the run ends.
const DIRECTORY: &str = "servers";
/// The time for the result of a call. It is longer than the timeouts of most clients, so that they decide.
const CALL: Duration = Duration::from_secs(600);

/// The servers of one turn.
pub(super) struct TaskServers {
    servers: Vec<Arc<RunServers>>,
    /// The accesses of the program, one for each server; dropped with the turn, so that their tokens are worthless then.
    pub(super) tools: Vec<Box<dyn RunTools>>,
    /// Events of the servers and of calls of their tools.
    pub(super) events: mpsc::Receiver<RunEvent>,
    /// The directory of secrets, which is removed with the turn of a standing daemon, whose run has more.
    private: Option<PathBuf>,
}

impl TaskServers {
    /// Replaces the servers in a request by ones of the host, unless the provider is itself their client.
    pub(super) fn replace(
        run_context: &RunContext,
        plan: &Plan,
        record: &mut Record,
        request: &mut RunRequest,
    ) -> io::Result<Self> {
        let (sender, events) = mpsc::channel(WAITING);
        let mut replaced = Self {
            servers: Vec::new(),
            tools: Vec::new(),
            events,
            private: None,
        };
        if let Some(grants) = &plan.common.standing {
            replaced.mount_standing(run_context, plan, grants, (record, request))?;
            return Ok(replaced);
        }
        let recorder = match plan.common.provider.mcp() {
            McpUse::ByFile => Some(Recorder::Host),
            McpUse::ByProgram => Some(Recorder::Provider),
            McpUse::ByProvider | McpUse::Nobody => None,
        };
        let Some(recorder) = recorder.filter(|_| !request.mcp.is_empty()) else {
            return Ok(replaced);
        };
        let settings = run_context.host.settings();
        let of_run = request.clone();
        for registration in std::mem::take(&mut request.mcp) {
            let Some(access) = &settings.tools else {
                break;
            };
            let name = registration.name.clone();
            let directory = record.folder().private().join(DIRECTORY).join(&name);
            let terms = terms(
                plan,
                &registration,
                of_server(&of_run, &directory),
                recorder,
            );
            let chosen = vec![program(registration, &**access)?];
            let server = Arc::new(RunServers::new(terms, chosen, sender.clone()));
            let grants = Arc::clone(&server);
            if let Some(mut opened) = access.open(grants, plan.common.sandbox.level) {
                opened.mount(request, &directory, ServedTools::OfServer(&name))?;
                replaced.tools.push(opened);
                replaced.servers.push(server);
            }
        }
        if replaced.servers.is_empty() {
            let detail = "no host listens, so that the program cannot reach its MCP servers";
            record.event(&RunEvent::Limit {
                name: "mcp".to_owned(),
                detail: detail.to_owned(),
            });
        }
        let tokens = replaced.tools.iter();
        let tokens = tokens.map(|tools| tools.secret().to_owned());
        record.redact_with(plan.redactor(tokens));
        Ok(replaced)
    }

    /// Mounts the tools of the roster for the run of a standing daemon.
    fn mount_standing(
        &mut self,
        run_context: &RunContext,
        plan: &Plan,
        grants: &Arc<dyn Grants>,
        (record, request): (&mut Record, &mut RunRequest),
    ) -> io::Result<()> {
        let settings = run_context.host.settings();
        let access = settings.tools.as_ref();
        let opened = access.and_then(|it| it.open(Arc::clone(grants), plan.common.sandbox.level));
        let mut opened = opened.ok_or_else(|| io::Error::other("no host listens"))?;
        let private = record.folder().private();
        // A host that ended within a turn left its files.
        remove(&private)?;
        opened.mount(request, &private, ServedTools::OfAgent)?;
        request.private = Some(private.clone());
        request.allowed.clone_from(&settings.standing_allowlist);
        record.redact_with(plan.redactor([opened.secret().to_owned()]));
        self.tools.push(opened);
        self.private = Some(private);
        Ok(())
    }

    /// Starts the servers. Agents wait a few seconds for lists of tools, so that the servers start together with the agent.
    pub(super) fn start(&self) -> impl Future<Output = ()> + use<> {
        let servers = self.servers.clone();
        async move {
            let listed = servers.iter().map(|server| server.tools());
            futures_util::future::join_all(listed).await;
        }
    }

    /// Closes the servers, and records what they did last.
    pub(super) async fn close(mut self, record: &mut Record) {
        let closed = self.servers.iter().map(|servers| servers.close());
        futures_util::future::join_all(closed).await;
        while let Ok(event) = self.events.try_recv() {
            record.event(&event);
        }
        if let Some(private) = &self.private
            && let Err(error) = remove(private)
        {
            tracing::warn!(directory = %private.display(), %error, "the files of a turn were not removed");
        }
    }
}

fn remove(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the settings with which one server is started; `request` decides what it reaches.
fn terms(
    plan: &Plan,
    registration: &McpRegistration,
    request: RunRequest,
    recorder: Recorder,
) -> Terms {
    Terms {
        run: request.run_id.to_string(),
        origin: Origin::Registered(Box::new(RegisteredServer {
            provider: Arc::clone(&plan.common.provider),
            request,
            named_secrets: registration.named_secrets(),
        })),
        recorder,
        timeouts: ServerTimeouts {
            call: CALL,
            ..ServerTimeouts::default()
        },
    }
}

/// Returns a server as it is started: one over HTTP by a program that forwards to it, since the host itself may reach more than the
/// run.
fn program(registration: McpRegistration, access: &dyn ToolAccess) -> io::Result<GrantedServer> {
    let secrets = registration.secrets();
    let server = match registration.server {
        McpServer::Http { url, headers } => access.forwarder(&url, &headers)?,
        server @ McpServer::Stdio { .. } => server,
    };
    Ok(GrantedServer {
        registration: McpRegistration {
            server,
            ..registration
        },
        secrets,
    })
}

/// Returns the request that decides what a server reaches: the paths of the run, but a home of its own in `directory`, and none of
/// the variables that the configuration gives to the program of the run, such as its keys.
fn of_server(run: &RunRequest, directory: &Path) -> RunRequest {
    let home = directory.join("home");
    let temporary = ("TMPDIR".into(), home.join("tmp").into_os_string());
    RunRequest {
        own_tree: run.own_tree.clone(),
        readable: run.readable.clone(),
        environment: usual_environment().into_iter().chain([temporary]).collect(),
        permissions: run.permissions,
        home,
        ..RunRequest::new(run.run_id, run.worktree.clone())
    }
}
