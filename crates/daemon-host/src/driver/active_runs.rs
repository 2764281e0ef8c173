//! The runs under way, and the commits that activations wait for.

use std::sync::Arc;

use daemon_engine::RunLease;
use daemon_event::ActivationId;
use daemon_provider::StopReason;
use daemon_runner::RunContext;

use super::repos::AwaitedCommits;

/// The runs under way; a clone shares them.
#[derive(Clone, Debug)]
pub(crate) struct ActiveRuns {
    pub(crate) context: Arc<RunContext>,
    pub(super) awaited: AwaitedCommits,
}

impl ActiveRuns {
    /// Requests the attempt at an activation to stop; the first reason counts.
    pub(crate) fn stop(&self, id: &ActivationId, why: StopReason) {
        self.awaited.remove(id);
        self.context.attempts.stop(id, why);
    }

    /// Returns the leases of the attempts under way.
    pub(crate) fn leases(&self) -> Vec<(ActivationId, RunLease)> {
        self.context.attempts.leases()
    }
}
