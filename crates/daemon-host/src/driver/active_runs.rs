//! The runs under way, and the commits that activations wait for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use daemon_engine::RunLease;
use daemon_event::ActivationId;
use daemon_provider::StopReason;
use daemon_runner::RunContext;
use daemon_store::ClaimRequest;

use super::repos::AwaitedCommits;
use crate::spending;

/// The runs under way; a clone shares them.
#[derive(Clone, Debug)]
pub(crate) struct ActiveRuns {
    pub(crate) context: Arc<RunContext>,
    pub(super) awaited: AwaitedCommits,
    /// Whether a person was warned that the budget of the day is nearly used up.
    pub(super) is_day_low: Arc<AtomicBool>,
}

impl ActiveRuns {
    /// Ends claims if the budget of the day leaves too little for another run. The store adds up only activations that ended: one-off
    /// runs and reservations have a share as well.
    pub(super) fn within_day(&self, request: ClaimRequest) -> ClaimRequest {
        let bounds = self.context.host.settings().bounds.day;
        let budget = &self.context.budget;
        if let Some(limit) = bounds.limit {
            let (spent, limit) = (budget.spent().as_usd(), limit.as_usd());
            let is_low = spending::is_low(spent, limit);
            let was_low = self.is_day_low.swap(is_low, Ordering::Relaxed);
            if is_low && !was_low {
                tracing::warn!(spent, limit, "the budget of the day is nearly used up");
            }
        }
        match budget.lets_start(bounds) {
            true => request,
            false => ClaimRequest {
                day_usd: Some(0.0),
                ..request
            },
        }
    }

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
