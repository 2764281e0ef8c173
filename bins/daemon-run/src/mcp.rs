//! `mcp`: the same answers as tools, for agents and editors.

mod answer;
mod calls;
mod daemon;
mod ends;
mod granted;
mod manual;
mod parent;
mod table;
mod through;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use clap::Args;
use daemon_mcp::{Effect, ToolCall, ToolDescription, ToolResult, ToolServer, ToolTable};

use crate::failure::{Exit, Failure};
use crate::place::Place;
use parent::Parent;
use table::{Does, TOOLS};

/// `mcp`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Serves only what changes nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Keeps the runs of this client across connections: one text of at least 16 characters that no other client knows
    #[arg(long, value_name = "TOKEN")]
    pub(crate) parent: Option<String>,
    /// Serves a run of the host that listens at this socket, or at pipes in this directory, what it was granted, by the token in
    /// DAEMON_RUN_TOKEN
    #[arg(long, value_name = "PATH", conflicts_with_all = ["read_only", "parent"], hide = true)]
    pub(crate) run: Option<PathBuf>,
    /// Serves the tools of the MCP server in DAEMON_MCP_URL, with the headers in DAEMON_MCP_HEADERS
    #[arg(long, conflicts_with_all = ["read_only", "parent", "run"], hide = true)]
    pub(crate) through: bool,
}

/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a model is told before it uses the tools.
const INSTRUCTIONS: &str = "Daemons are agents that a repository describes in .agents/daemons/<id>/DAEMON.md and that wake on \
     events and schedules. `lint`, `explain` and `next` read the working tree; the listings, `show`, `run` and `logs` tell \
     what the host of this home recorded; `daemon` dispatches one-off runs. Read the resource skill://daemon-manual/SKILL.md \
     before you inspect, wait for or reclaim a run that is slow or failed.";

/// Serves the tools on standard input and output until the input ends.
pub(crate) async fn serve(args: &Mcp, place: &Place) -> Result<(), Failure> {
    if let Some(way) = &args.run {
        let granted = granted::Granted::read(way, place)?;
        return speak(ToolServer::new("daemon-run", VERSION, Arc::new(granted))).await;
    }
    if args.through {
        let through = through::Through::connect(place).await?;
        return speak(ToolServer::new("daemon-run", VERSION, Arc::new(through))).await;
    }
    let served = if args.read_only {
        Served::Reading
    } else {
        Served::All
    };
    let parent = match &args.parent {
        Some(token) => Parent::of_token(token)?,
        None => Parent::drawn(),
    };
    let ends = Arc::new(ends::Ends::of(place, parent.clone()));
    let tools = Tools {
        place: place.clone(),
        parent,
        served,
        ends: Arc::clone(&ends),
    };
    let server = ToolServer::new("daemon-run", VERSION, Arc::new(tools))
        .with_instructions(INSTRUCTIONS)
        .with_notifications(ends)
        .with_resources(manual::resources());
    speak(server).await
}

async fn speak(server: ToolServer) -> Result<(), Failure> {
    let served = server.serve(tokio::io::stdin(), tokio::io::stdout()).await;
    served.map_err(|error| {
        let message = daemon_host::ops::chain(&error);
        Failure::new(Exit::Invalid, "mcp-protocol", message)
    })
}

/// Which of the tools are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    All,
    /// Those that change nothing.
    Reading,
}

/// The tools of one home and one directory.
struct Tools {
    place: Place,
    parent: Parent,
    served: Served,
    ends: Arc<ends::Ends>,
}

#[async_trait]
impl ToolTable for Tools {
    async fn tools(&self) -> Vec<ToolDescription> {
        let wanted = TOOLS.iter().filter(|tool| {
            self.served == Served::All
                || tool.effect() == Effect::Reads
                || tool.does == Does::Daemon
        });
        wanted.map(|tool| tool.spec(self.served)).collect()
    }

    async fn call(&self, call: ToolCall) -> ToolResult {
        let tool = TOOLS.iter().find(|tool| tool.name == call.tool);
        match tool {
            Some(tool) if tool.does == Does::Daemon => {
                if daemon::has_an_end(&call) {
                    self.ends.ready().await;
                }
                daemon::call(call, self.served, &self.parent, &self.place).await
            }
            Some(tool) => {
                let told = calls::call(tool, call.arguments, &self.place).await;
                answer::of(told)
            }
            None => answer::of(Err(Failure::usage(format!("no tool `{}`", call.tool)))),
        }
    }
}
