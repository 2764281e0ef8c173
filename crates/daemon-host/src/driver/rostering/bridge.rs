//! The built-in bridge: standing daemons are runs of this host's providers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use daemon_mcp::{Effect, ToolCall, ToolTable};
use daemon_provider::{GrantedTool, Grants, ToolReply};
use daemon_roster::{
    AgentActivity, Bridge, BridgeError, BridgeHandle, ClosedAgent, Destination, ExistingAgent,
    Nonce, Project, RosterRow, SpawnOrder, TokenHash,
};
use daemon_run_folder::RunId;
use daemon_runner::emanation::standing::{
    self, StandingEnd, StandingOrder, StandingReply, StandingState,
};
use serde_json::{Map, Value};

use super::spawning::Spawning;

/// Makes the tools of the agent that has a token.
pub(crate) type MakeTools = Arc<dyn Fn(TokenHash) -> Arc<dyn ToolTable> + Send + Sync>;

/// Starts standing daemons as children of this host, each as a run with its folder. The handle of an agent is the id of its run.
pub(crate) struct BuiltInBridge {
    spawning: Spawning,
    tools: MakeTools,
}

impl BuiltInBridge {
    /// Makes the bridge of a host.
    pub(crate) fn new(spawning: Spawning, tools: MakeTools) -> Self {
        Self { spawning, tools }
    }

    /// Gives the run of an agent its tools. The run keeps them only as long as this process lives, so that they are given before each
    /// turn.
    fn grant(&self, nonce: &Nonce, token: TokenHash) {
        let tools = AgentTools((self.tools)(token));
        standing::grant(&self.spawning.runs, nonce.as_str(), Arc::new(tools));
    }

    /// Returns the row of an agent.
    fn row(&self, handle: &BridgeHandle) -> Option<RosterRow> {
        let view = self.spawning.roster.view();
        let mut rows = view.tables().rows.values();
        rows.find(|row| row.handle() == Some(handle)).cloned()
    }

    async fn state(&self, run: RunId) -> Result<StandingState, BridgeError> {
        let runs = Arc::clone(&self.spawning.runs);
        blocking("read a run", move || Ok(standing::state(&runs, run))).await
    }
}

/// Returns the run of an agent.
fn run_of(handle: &BridgeHandle) -> Result<RunId, BridgeError> {
    let run = handle.as_str().parse();
    run.ok().ok_or_else(|| BridgeError::Gone(handle.clone()))
}

fn handle_of(run: RunId) -> BridgeHandle {
    let handle = run.to_string().parse();
    handle.expect("the id of a run is a handle")
}

async fn blocking<T: Send + 'static>(
    action: &'static str,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, BridgeError> {
    let failed = |reason: String| BridgeError::Failed { action, reason };
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| failed(error.to_string()))?;
    done.map_err(|error| failed(error.to_string()))
}

#[async_trait]
impl Bridge for BuiltInBridge {
    fn name(&self) -> &str {
        "built-in"
    }

    async fn destination(&self, project: &Project) -> Result<Destination, BridgeError> {
        let root = self.spawning.root(project);
        let root = root.ok_or_else(|| BridgeError::NoDestination(project.clone()))?;
        Ok(Destination { root })
    }

    async fn existing(&self, project: &Project) -> Result<Vec<ExistingAgent>, BridgeError> {
        let view = self.spawning.roster.view();
        let rows = view.tables().rows.values();
        let open = rows.filter(|row| row.has_process() && row.project.as_ref() == Some(project));
        let mut existing = Vec::new();
        for row in open {
            let Some(handle) = row.handle().cloned() else {
                continue;
            };
            let activity = match self.state(run_of(&handle)?).await? {
                StandingState::Working => AgentActivity::Working,
                StandingState::Waiting => AgentActivity::Waiting,
                // One that has no session is started again, as one that was cut off.
                StandingState::CutOff | StandingState::Lost => AgentActivity::CutOff,
            };
            existing.push(ExistingAgent {
                name: row.name.clone(),
                handle,
                activity,
            });
        }
        Ok(existing)
    }

    async fn spawn(&self, order: &SpawnOrder, packet: &str) -> Result<BridgeHandle, BridgeError> {
        let Destination { root } = self.destination(&order.project).await?;
        self.grant(&order.nonce, order.token);
        let started = standing::start(
            &self.spawning.runs,
            StandingOrder {
                nonce: order.nonce.to_string(),
                provider: order.harness.as_ref().map(ToString::to_string),
                directory: root,
                packet: packet.to_owned(),
            },
        );
        let run = started.await.map_err(|error| BridgeError::Failed {
            action: "start the agent",
            reason: error.to_string(),
        })?;
        Ok(handle_of(run))
    }

    async fn find(&self, nonce: &Nonce) -> Result<Option<BridgeHandle>, BridgeError> {
        let (runs, nonce) = (Arc::clone(&self.spawning.runs), nonce.to_string());
        blocking("find the run of an agent", move || {
            let run = standing::find(&runs, &nonce)?;
            let known = run.filter(|run| standing::state(&runs, *run) != StandingState::Lost);
            Ok(known.map(handle_of))
        })
        .await
    }

    async fn say(&self, to: &BridgeHandle, line: &str) -> Result<(), BridgeError> {
        let gone = || BridgeError::Gone(to.clone());
        let row = self.row(to).ok_or_else(gone)?;
        let view = self.spawning.roster.view();
        let order = view.order_again(&row.id).ok_or_else(gone)?;
        self.grant(&order.nonce, order.token);
        let run = run_of(to)?;
        match standing::say(&self.spawning.runs, run, line).await {
            Ok(StandingReply::Taken) => Ok(()),
            Ok(StandingReply::Busy) => Err(BridgeError::Busy(to.clone())),
            Ok(StandingReply::Gone) => Err(gone()),
            Err(error) => Err(BridgeError::Failed {
                action: "wake the agent",
                reason: error.to_string(),
            }),
        }
    }

    async fn close(
        &self,
        handle: &BridgeHandle,
        grace: Duration,
    ) -> Result<ClosedAgent, BridgeError> {
        let failed = |reason: String| BridgeError::Failed {
            action: "close the agent",
            reason,
        };
        let ended = standing::close(&self.spawning.runs, run_of(handle)?, grace).await;
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        if ended == StandingEnd::Pending {
            return Err(failed("its processes have not ended yet".to_owned()));
        }
        if let Some(spawn) = self.row(handle).and_then(|row| row.spawn) {
            standing::revoke(&self.spawning.runs, spawn.nonce.as_str());
        }
        Ok(match ended {
            StandingEnd::Ended | StandingEnd::Pending => ClosedAgent::Ended,
            StandingEnd::Gone => ClosedAgent::Gone,
        })
    }
}

/// The tools of the roster for the run of an agent. The host knows the agent by its run, so that no token of the
/// roster leaves this process.
struct AgentTools(Arc<dyn ToolTable>);

impl fmt::Debug for AgentTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTools").finish_non_exhaustive()
    }
}

#[async_trait]
impl Grants for AgentTools {
    async fn tools(&self) -> Vec<GrantedTool> {
        let tools = self.0.tools().await.into_iter();
        let granted = tools.map(|tool| GrantedTool {
            name: tool.name,
            description: tool.description,
            schema: tool.input_schema,
            is_read_only: tool.effect == Effect::Reads,
        });
        granted.collect()
    }

    async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> ToolReply {
        let call = ToolCall {
            tool: name.to_owned(),
            arguments,
            client: "standing-daemon".to_owned(),
        };
        let result = self.0.call(call).await;
        ToolReply {
            status: result.status,
            text: result.text,
            structured: result.structured,
        }
    }
}
