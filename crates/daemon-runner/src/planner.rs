//! The seam to what turns the changes of a run into a branch.

use daemon_engine::NewOutput;
use daemon_event::{ActivationId, DaemonKey};
use daemon_provider::redact::Redactor;
use daemon_repo::Worktree;

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
    /// The commit message.
    pub message: String,
    /// The time of the commit.
    pub at: jiff::Timestamp,
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

/// Plans the branch of a run; the binary passes the surface's planner. It blocks.
pub trait BranchPlanner: Send + Sync {
    /// Plans an output; `None` if nothing changed and no branch was proposed.
    ///
    /// # Errors
    /// Returns why the changes could not be read or written.
    fn plan(&self, request: &BranchRequest) -> Result<Option<NewOutput>, String>;
}
