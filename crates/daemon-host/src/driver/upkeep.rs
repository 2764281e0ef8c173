//! Cleans up after dead hosts and attempts: expired leases, processes, work trees.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::{Activation, HostEpoch};
use daemon_event::ActivationId;
use daemon_records::clock::Clock;
use daemon_repo::GitError;
use daemon_store::{Store, StoreError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::active_runs::ActiveRuns;
use super::repos::Watched;
use super::run_directory::SharedRuntime;
use crate::home::Home;

/// The time limit for removing work trees, because git may hang in one repository.
pub(super) const CLEARING: Duration = Duration::from_secs(5);

/// Removes the remains of dead hosts and attempts; clones share the state.
#[derive(Clone)]
pub(crate) struct Upkeep {
    pub(super) home: Home,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
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
/// What git has not removed by `until` is removed in the background.
pub(super) async fn clear_worktrees(upkeep: &Upkeep, until: Instant) {
    let below = upkeep.home.worktrees();
    let mut removals = JoinSet::new();
    // A thread for each repository: git that hangs in one must not delay the others.
    for repo in &upkeep.runtime.get().parts.repos {
        let (upkeep, repo, below) = (upkeep.clone(), Arc::clone(repo), below.clone());
        let runtime = Handle::current();
        removals.spawn_blocking(move || remove_recorded(&upkeep, &repo, &below, &runtime));
    }
    let removed = async {
        while let Some(removed) = removals.join_next().await {
            if let Err(error) = removed {
                tracing::error!(%error, "removing work trees panicked");
            }
        }
    };
    if timeout_at(until, removed).await.is_err() {
        tracing::warn!("work trees of a dead host are still being removed");
    }
    removals.detach_all();
    let (upkeep, below) = (upkeep.clone(), below);
    let strays = tokio::task::spawn_blocking(move || remove_strays(&upkeep, &below)).await;
    if let Err(error) = strays {
        tracing::error!(%error, "removing stray files panicked");
    }
}

/// Removes the work trees that git has records of, and the records. The busy ones are determined after the listing: a
/// listed one does not become busy later.
fn remove_recorded(upkeep: &Upkeep, repo: &Watched, below: &Path, runtime: &Handle) {
    let unremoved = |error: &GitError| {
        let error = daemon_records::error::chain(error);
        tracing::warn!(repo = %repo.name, error, "work trees could not be removed");
    };
    let records = match repo.repository.worktree_records() {
        Ok(records) => records,
        Err(error) => return unremoved(&error),
    };
    let busy = busy(upkeep);
    for record in records {
        let removed = match &record.dir {
            Some(dir) if dir.starts_with(below) && !is_busy(dir, &busy) => {
                repo.repository.remove_worktree(dir)
            }
            None if runtime.block_on(is_cut_off(upkeep, &record.name)) => {
                repo.repository.forget_worktree(&record)
            }
            Some(_) | None => Ok(()),
        };
        if let Err(error) = removed {
            unremoved(&error);
        }
    }
}

/// Reports whether a record without a directory is of an attempt of this home that no run works on: hosts of other homes
/// may be making work trees of the same repository.
async fn is_cut_off(upkeep: &Upkeep, name: &OsStr) -> bool {
    let id = name.to_str().and_then(|name| name.rsplit_once('-'));
    let Some(id) = id.and_then(|(id, _)| id.parse::<ActivationId>().ok()) else {
        return false;
    };
    let is_leased = upkeep.runs.leases().iter().any(|(leased, _)| *leased == id);
    // A failure of the store is logged by the operations that depend on it.
    !is_leased && matches!(upkeep.store.activation(&id).await, Ok(Some(_)))
}

fn remove_strays(upkeep: &Upkeep, below: &Path) {
    let found = strays(below, &BTreeSet::new());
    let busy = busy(upkeep);
    for path in found.iter().filter(|path| !is_busy(path, &busy)) {
        let metadata = path.symlink_metadata();
        let removed = match metadata.is_ok_and(|metadata| metadata.is_dir()) {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        if let Err(error) = removed {
            tracing::warn!(path = %path.display(), %error, "a stray file could not be removed");
        }
    }
}

/// Returns the work trees of active runs.
fn busy(upkeep: &Upkeep) -> BTreeSet<PathBuf> {
    let leases = upkeep.runs.leases().into_iter();
    leases
        .map(|(id, lease)| upkeep.runs.context.paths.worktree(&id, lease))
        .collect()
}

/// Lists the entries of the directory of work trees that belong to no busy one.
fn strays(below: &Path, busy: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(below) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| !is_busy(path, busy)).collect()
}

/// Reports whether a path is a busy work tree, or a file that git keeps next to one.
fn is_busy(path: &Path, busy: &BTreeSet<PathBuf>) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let tree = name.and_then(|name| name.split('.').next());
    tree.is_some_and(|tree| busy.contains(&path.with_file_name(tree)))
}
