//! Commits that activations wait for: as soon as one is in the repository, its activation is ready.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use daemon_engine::Activation;
use daemon_event::{ActivationId, RepoName};
use daemon_repo::ObjectId;
use daemon_store::StoreError;

use super::{Git, RepoError, RepositoryReader, store_failed};

/// The commits that one activation waits for.
#[derive(Clone, Debug)]
struct Awaited {
    repo: RepoName,
    /// One of these suffices; empty if the repository itself has to be read first.
    commits: Vec<ObjectId>,
}

/// The commits that activations wait for; a clone shares them.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct AwaitedCommits {
    awaited: Arc<Mutex<BTreeMap<ActivationId, Awaited>>>,
}

impl AwaitedCommits {
    /// Records that an activation waits for one of some commits, or, without commits, for its repository.
    pub(in crate::driver) fn insert(&self, activation: &Activation, commits: Vec<ObjectId>) {
        let awaited = Awaited {
            repo: activation.daemon.repo.clone(),
            commits,
        };
        self.lock().insert(activation.id.clone(), awaited);
    }

    /// Records that an activation waits no longer.
    pub(in crate::driver) fn remove(&self, id: &ActivationId) {
        self.lock().remove(id);
    }

    fn remove_all(&self, ids: &[ActivationId]) {
        let mut awaited = self.lock();
        for id in ids {
            awaited.remove(id);
        }
    }

    /// Returns what the activations of one repository wait for.
    fn of(&self, repo: &RepoName) -> BTreeMap<ActivationId, Vec<ObjectId>> {
        let awaited = self.lock();
        let here = awaited.iter().filter(|(_, one)| one.repo == *repo);
        here.map(|(id, one)| (id.clone(), one.commits.clone()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ActivationId, Awaited>> {
        self.awaited.lock().expect("no holder panics")
    }
}

/// Makes the activations ready whose commit exists.
pub(super) async fn look(reader: &RepositoryReader, git: &Git<'_>) -> Result<(), RepoError> {
    let repo = git.repo;
    // Activations without commits wait for the first reading itself.
    if reader
        .registrations
        .states
        .registered_at(&repo.name)
        .is_none()
    {
        return Ok(());
    }
    let awaited = reader.awaited.of(&repo.name);
    if awaited.is_empty() {
        return Ok(());
    }
    // All at once, so that one process of git suffices for any number of activations.
    let commits: BTreeSet<ObjectId> = awaited.values().flatten().cloned().collect();
    let there = git
        .run(move |repo| repo.repository.commits_among(&commits))
        .await?;
    let is_ready = |commits: &Vec<ObjectId>| {
        commits.is_empty() || commits.iter().any(|commit| there.contains(commit))
    };
    let (found, others): (Vec<_>, Vec<_>) = awaited
        .into_iter()
        .partition(|(_, commits)| is_ready(commits));
    let found: Vec<ActivationId> = found.into_iter().map(|(id, _)| id).collect();
    if !found.is_empty() {
        let hastened = reader.store.hasten(&found, reader.clock.now()).await;
        hastened.map_err(|source| store_failed(repo, source))?;
        // After the store: if that fails, the next look finds the same activations.
        reader.awaited.remove_all(&found);
        reader.signals.claims.notify_one();
    }
    let others = others.into_iter().map(|(id, _)| id).collect();
    forget_ended(reader, others)
        .await
        .map_err(|source| store_failed(repo, source))
}

/// Forgets the activations that ended otherwise: cancelled, expired, or with their daemon.
async fn forget_ended(
    reader: &RepositoryReader,
    awaiting: Vec<ActivationId>,
) -> Result<(), StoreError> {
    let mut ended = awaiting;
    if !ended.is_empty() {
        let unfinished = reader.store.unfinished_among(&ended).await?;
        ended.retain(|id| !unfinished.contains(id));
        reader.awaited.remove_all(&ended);
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
