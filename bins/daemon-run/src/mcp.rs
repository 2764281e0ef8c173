//! `mcp`: the commands as MCP tools, for agents and editors.

mod answer;
mod calls;
mod daemon;
mod granted;
mod http_proxy;
mod manual;
pub(crate) mod over_http;
mod parent;
mod roster_agent;
mod run_ends;
mod table;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use clap::Args;
use daemon_mcp::{Effect, ToolCall, ToolDescription, ToolResult, ToolServer, ToolTable};

use crate::failure::{CommandFailure, ExitKind};
use crate::place::Place;
use parent::Parent;
use roster_agent::RosterAgent;
use table::ToolAction;

/// `mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Serves only tools that change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// A secret of at least 16 characters by which this client finds its runs again after it reconnects
    #[arg(long, value_name = "TOKEN")]
    pub(crate) parent: Option<String>,
    /// Serves the tools that were granted to a run, from the host at this socket or at the pipes in this directory; the token is
    /// in DAEMON_RUN_TOKEN
    #[arg(long, value_name = "PATH", conflicts_with_all = ["read_only", "parent"], hide = true)]
    pub(crate) run: Option<PathBuf>,
    /// With --run: serves only the tools of one server or of an agent, without those that the host itself offers to a run
    #[arg(long, requires = "run", hide = true)]
    pub(crate) server: bool,
    /// Serves the tools of the MCP server in DAEMON_MCP_URL, with the headers in DAEMON_MCP_HEADERS
    #[arg(long, conflicts_with_all = ["read_only", "parent", "run"], hide = true)]
    pub(crate) through: bool,
}

/// The version reported to clients.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The instructions that a client passes to its model.
const INSTRUCTIONS: &str = "Daemons are agents that a repository describes in .agents/daemons/<id>/DAEMON.md and that wake on \
     events and schedules. `lint`, `explain` and `next` read the working tree; the listings, `show`, `run` and `logs` read \
     the records of the host of this home; `daemon` dispatches one-off runs. Read the resource skill://daemon-manual/SKILL.md \
     before you inspect, wait for or reclaim a run that is slow or failed. A standing daemon calls `daemon_checkin` first in every \
     wake; `recall_roster` shows who is alive.";

/// Serves the tools on standard input and output until the input ends.
pub(crate) async fn serve(args: &McpArgs, place: &Place) -> Result<(), CommandFailure> {
    if let Some(way) = &args.run {
        let served = if args.server {
            granted::ServedTools::OfServer
        } else {
            granted::ServedTools::OfHost
        };
        let granted = granted::RunTools::read(way, served, place)?;
        return serve_stdio(ToolServer::new("daemon-run", VERSION, Arc::new(granted))).await;
    }
    if args.through {
        let proxy = http_proxy::HttpProxy::connect(place).await?;
        return serve_stdio(ToolServer::new("daemon-run", VERSION, Arc::new(proxy))).await;
    }
    let served = if args.read_only {
        Served::ReadOnly
    } else {
        Served::All
    };
    let parent = match &args.parent {
        Some(token) => Parent::of_token(token)?,
        None => Parent::drawn(),
    };
    let ends = Arc::new(run_ends::RunEnds::of(place, parent.clone()));
    let tools = Tools {
        place: place.clone(),
        parent,
        served,
        ends: Arc::clone(&ends),
        agent: RosterAgent::new(),
    };
    let server = ToolServer::new("daemon-run", VERSION, Arc::new(tools))
        .with_instructions(INSTRUCTIONS)
        .with_notifications(ends)
        .with_tasks()
        .with_resources(manual::resources());
    serve_stdio(server).await
}

async fn serve_stdio(server: ToolServer) -> Result<(), CommandFailure> {
    let served = server.serve(tokio::io::stdin(), tokio::io::stdout()).await;
    served.map_err(|error| {
        let message = daemon_records::error::chain(&error);
        CommandFailure::new(ExitKind::Invalid, "mcp-protocol", message)
    })
}

/// The tools that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    All,
    /// Only tools that change nothing.
    ReadOnly,
}

/// The tools of one home and one directory.
struct Tools {
    place: Place,
    parent: Parent,
    served: Served,
    ends: Arc<run_ends::RunEnds>,
    agent: RosterAgent,
}

#[async_trait]
impl ToolTable for Tools {
    async fn tools(&self) -> Vec<ToolDescription> {
        let wanted = table::all().filter(|tool| {
            self.served == Served::All
                || tool.effect() == Effect::Reads
                // `daemon` is served read-only, too, but with fewer actions.
                || tool.action == ToolAction::Daemon
        });
        wanted.map(|tool| tool.spec(self.served)).collect()
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        let tool = table::all().find(|tool| tool.name == call.tool);
        match tool {
            Some(tool) if tool.action == ToolAction::Daemon => {
                if daemon::has_an_end(&call) {
                    // Subscribe before the dispatch: the end of a short run could otherwise be missed.
                    self.ends.ready().await;
                }
                daemon::call(call, self.served, &self.parent, &self.place).await
            }
            Some(tool) if tool.name == "remind" => {
                self.ends.ready().await;
                let given = daemon::of_parent(call, &self.parent);
                answer::of(calls::call(tool, given, &self.place).await)
            }
            Some(tool) => answer::of(match tool.of_roster() {
                Some(operation) => {
                    let called = self.agent.call(operation, call.arguments, &self.place);
                    called.await
                }
                None => calls::call(tool, call.arguments, &self.place).await,
            }),
            None => answer::of(Err(CommandFailure::usage(format!(
                "no tool `{}`",
                call.tool
            )))),
        }
    }

    fn may_take_long(&self, call: &ToolCall) -> bool {
        daemon::waits(call)
    }
}
