//! Cleans up after dead hosts and attempts: expired leases, processes, work trees.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Activation, HostEpoch};
use daemon_records::clock::Clock;
use daemon_store::{Store, StoreError};
use tokio::time::{Instant, timeout_at};

use super::active_runs::ActiveRuns;
use super::run_directory::SharedRuntime;
use crate::config::Config;
use crate::home::Home;

/// The time limit for removing work trees, because a large one takes long.
pub(super) const CLEARING: Duration = Duration::from_secs(5);

/// Removes the remains of dead hosts and attempts; clones share the state.
#[derive(Clone)]
pub(crate) struct Upkeep {
    pub(super) home: Home,
    pub(super) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) epoch: HostEpoch,
    pub(super) runtime: SharedRuntime,
    pub(super) runs: ActiveRuns,
}

/// Removes work trees that no run uses, and notes which children the kernel killed for want of memory.
pub(super) async fn clear_strays(upkeep: &Upkeep) {
    if !strays(&upkeep.home.worktrees(), &busy(upkeep)).is_empty() {
        clear_worktrees(upkeep, Instant::now() + CLEARING).await;
    }
    if let Err(error) = upkeep.home.note_memory_kills() {
        tracing::warn!(
            error = daemon_records::error::chain(&error),
            "kills for want of memory could not be noted"
        );
    }
}

/// Ends the processes of attempts whose host or lease has ended, then takes the attempts back.
///
/// Returns how many were taken back.
pub(super) async fn take_back(upkeep: &Upkeep) -> Result<usize, StoreError> {
    let now = upkeep.clock.now();
    if upkeep.store.is_shared() {
        let about = about(&upkeep.runtime.get().config);
        let n_taken = upkeep.store.check_in(&about, now).await?;
        if n_taken > 0 {
            tracing::warn!(
                n_taken,
                "outputs that a host was sending which is gone are looked up"
            );
        }
    }
    let left = upkeep.store.reclaimable(upkeep.epoch, now).await?;
    if left.is_empty() {
        return Ok(0);
    }
    // The processes end before the attempts are taken back, because they could still write.
    for activation in &left {
        end_remains(upkeep, activation).await?;
    }
    let taken_back = upkeep.store.reclaim(upkeep.epoch, now).await?;
    for taken in &taken_back {
        tracing::warn!(activation = %taken.id, state = taken.state.as_str(), "an attempt was taken back");
    }
    Ok(taken_back.len())
}

/// Returns what this host says of itself to others: its release, and the policies that all hosts should share.
fn about(config: &Config) -> String {
    let (limits, budget) = (&config.limits, &config.budget);
    serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "policies": {
            "budget.activation_usd": budget.activation_usd, "budget.day_usd": budget.day_usd,
            "limits.rate_subject": limits.rate_subject, "limits.rate_daemon": limits.rate_daemon,
            "limits.rate_host": limits.rate_host, "limits.chain_depth": limits.chain_depth,
        },
    })
    .to_string()
}

/// Ends the runs of an attempt with their process trees; its work tree is among those that no run works in.
async fn end_remains(upkeep: &Upkeep, activation: &Activation) -> Result<(), StoreError> {
    for run in upkeep.store.runs_of(&activation.id).await? {
        if run.finished_at.is_none() {
            let (store, runs) = (&*upkeep.store, upkeep.home.runs());
            daemon_runner::runs::end_orphan(store, &runs, &run, upkeep.clock.now()).await?;
        }
    }
    Ok(())
}

/// Removes what is left of work trees that no run works in: of attempts that a dead host had ended, or failed to remove.
///
/// What is not removed by `until` is removed in the background.
pub(super) async fn clear_worktrees(upkeep: &Upkeep, until: Instant) {
    let upkeep = upkeep.clone();
    let removal = tokio::task::spawn_blocking(move || {
        let below = upkeep.home.worktrees();
        remove_strays(&upkeep, &below);
        let parts = &upkeep.runtime.get().parts;
        // Until git has opened a repository without a configured name, its name is not known.
        if parts.unopened.is_empty() {
            upkeep.runs.context.trees.forget_others(parts.names());
        }
        for repo in &upkeep.runtime.get().parts.repos {
            if let Err(error) = repo.repository.forget_linked_worktrees(&below) {
                let error = daemon_records::error::chain(&error);
                tracing::warn!(repo = %repo.name, error, "records of work trees could not be removed");
            }
        }
    });
    match timeout_at(until, removal).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "removing work trees panicked"),
        Err(_) => tracing::warn!("work trees of a dead host are still being removed"),
    }
}

/// Removes stray files. The busy work trees are determined after the listing: a listed one does not become busy later.
fn remove_strays(upkeep: &Upkeep, below: &Path) {
    let found = strays(below, &BTreeSet::new());
    let busy = busy(upkeep);
    for path in found.iter().filter(|path| !is_busy(path, &busy)) {
        if let Err(error) = daemon_repo::remove_tree(path) {
            tracing::warn!(path = %path.display(), %error, "a stray file could not be removed");
        }
    }
}

/// Returns the work trees of active runs.
fn busy(upkeep: &Upkeep) -> BTreeSet<PathBuf> {
    let context = &upkeep.runs.context;
    let leases = upkeep.runs.leases().into_iter();
    let attempts = leases.map(|(id, lease)| context.paths.worktree(&id, lease));
    let one_off = context.emanations.ids().into_iter();
    let one_off = one_off.map(|id| context.paths.own_worktree(id));
    attempts.chain(one_off).collect()
}

/// Lists the entries of the directory of work trees that belong to no busy one.
fn strays(below: &Path, busy: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(below) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| !is_busy(path, busy)).collect()
}

/// Reports whether a path is a busy work tree, or an index next to one.
fn is_busy(path: &Path, busy: &BTreeSet<PathBuf>) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let tree = name.and_then(|name| name.split('.').next());
    tree.is_some_and(|tree| busy.contains(&path.with_file_name(tree)))
}
