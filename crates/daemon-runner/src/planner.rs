//! The seam to what turns the changes and the proposals of a run into outputs.

use async_trait::async_trait;
use daemon_engine::proposal::{Act, OutputVerb, OwnOutput, TargetPattern};
use daemon_engine::{NewOutput, Output};
use daemon_event::{ActivationId, DaemonKey};
use daemon_provider::redact::Redactor;
use daemon_repo::{BranchTip, Worktree};

use crate::settings::RunRepository;

/// The changes of a run, to become a branch.
#[derive(Clone, Debug)]
pub struct BranchRequest {
    /// The repository.
    pub repo: RunRepository,
    /// The work tree of the run.
    pub worktree: Worktree,
    /// The daemon.
    pub daemon: DaemonKey,
    /// The activation.
    pub activation: ActivationId,
    /// The place of the output among those of the activation, from 0.
    pub ordinal: u32,
    /// The branch that the changes are added to; `None` for a new branch of the activation.
    pub onto: Option<BranchTip>,
    /// The commit message.
    pub message: String,
    /// The time of the commit.
    pub at: jiff::Timestamp,
    /// The names that may be mentioned, among other patterns.
    pub configured: Vec<TargetPattern>,
    /// Finds the secrets of the run in what would be committed.
    pub secrets: Redactor,
    /// Whether the run may push at all.
    pub permission: PushPermission,
    /// Whether the run proposed a branch.
    pub proposal: BranchProposal,
}

/// Whether a run may push at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushPermission {
    /// It may.
    Allowed,
    /// It may only read; a changed work tree is recorded as a refused output.
    ReadOnly,
}

/// Whether a run proposed a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchProposal {
    /// It did; an unchanged work tree is recorded as a refused output.
    Made,
    /// It did not; a changed work tree becomes a branch, an unchanged one nothing.
    None,
}

/// An admitted proposal, to become an output.
#[derive(Clone, Debug)]
pub struct ActRequest {
    /// The proposal, with its target.
    pub act: Act,
    /// The daemon.
    pub daemon: DaemonKey,
    /// The activation.
    pub activation: ActivationId,
    /// The place of the output among those of the activation, from 0.
    pub ordinal: u32,
    /// The full name of the activation's branch; `None` if nothing is pushed.
    pub head: Option<String>,
    /// The surface's id of the own output that this one replaces.
    pub edits: Option<String>,
    /// The names that may be mentioned, among other patterns.
    pub configured: Vec<TargetPattern>,
    /// Finds the secrets of the run in what would be sent.
    pub secrets: Redactor,
}

/// The state of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullState {
    /// It is open.
    Open,
    /// It was merged or closed, or does not exist any more.
    Closed,
    /// No client of its service is configured.
    Unknown,
}

/// Plans the outputs of a run; the binary passes the planner of the surfaces.
#[async_trait]
pub trait OutputPlanner: Send + Sync {
    /// Plans the output of a proposal, a refused one if it may not be sent.
    fn plan_act(&self, request: &ActRequest) -> NewOutput;

    /// Returns the verb of an output; `None` if it cannot be read.
    fn verb(&self, output: &Output) -> Option<OutputVerb>;

    /// Reads what an output that is on its surface did; `None` for branches.
    fn own_output(&self, output: &Output) -> Option<OwnOutput>;

    /// Returns the slot of an output; `None` if it has none.
    fn slot(&self, output: &Output) -> Option<String>;

    /// Returns an output that replaces the object with this id of its surface.
    fn replacing(&self, output: &Output, remote_id: &str) -> Output;

    /// Returns the state of the pull request that an output opened.
    ///
    /// # Errors
    /// Returns why the service could not be asked.
    async fn pull_state(&self, opened: &Output) -> Result<PullState, String>;

    /// Plans the branch of a run; it blocks. `None` if nothing changed and no branch was proposed.
    ///
    /// # Errors
    /// Returns why the changes could not be read or written.
    fn plan_branch(&self, request: &BranchRequest) -> Result<Option<NewOutput>, String>;
}
