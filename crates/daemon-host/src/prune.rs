//! The operation that removes branches of daemons, in a host and without one.

use daemon_api::ops::Prune;
use daemon_records::error::OpError;
use daemon_runner::pruning::{PruneFilter, PruneMode, PruneScope, PrunedBranch, prune};
use serde_json::{Value, json};

/// Removes branches, and returns the object of the operation.
///
/// # Errors
/// The store failed.
pub async fn answer(scope: PruneScope<'_>, request: Prune) -> Result<Value, OpError> {
    let is_dry = request.is_dry;
    let filter = PruneFilter {
        daemon: request.daemon,
        before: request.before,
        mode: match is_dry {
            true => PruneMode::List,
            false => PruneMode::Remove,
        },
    };
    let pruned = prune(scope, &filter).await?;
    let branches: Vec<Value> = pruned.branches.iter().map(branch).collect();
    Ok(json!({"dry_run": is_dry, "branches": branches, "problems": pruned.problems}))
}

fn branch(pruned: &PrunedBranch) -> Value {
    json!({
        "repo": pruned.repo.as_str(),
        "daemon_id": pruned.daemon.as_str(),
        "branch": pruned.branch.short(),
        "commit": pruned.commit.as_str(),
        "reason": pruned.reason.as_str(),
        "removed": pruned.is_removed,
        "error": pruned.error,
    })
}
