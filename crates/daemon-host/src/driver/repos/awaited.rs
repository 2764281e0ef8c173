//! Commits that activations wait for: as soon as one is in the repository, its activation is ready.

use std::collections::BTreeMap;

use daemon_engine::Activation;
use daemon_event::{ActivationId, RepoName};
use daemon_repo::ObjectId;

use super::{Git, RepoError, Watched, store_failed};
use crate::driver::Inner;
use crate::execute::present;
use crate::random;

/// How many activations are looked after at once; the others try again by themselves.
const AT_ONCE: usize = 64;

/// What an activation waits for.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Awaited {
    repo: RepoName,
    /// One of these has to come; none where the repository itself has to be read.
    commits: Vec<ObjectId>,
}

impl Inner {
    /// Notes that an activation waits for one of some commits, or for its repository.
    pub(crate) fn note_awaited(&self, activation: &Activation, commits: Vec<ObjectId>) {
        let awaited = Awaited {
            repo: activation.daemon.repo.clone(),
            commits,
        };
        let mut state = self.state();
        state.awaited.insert(activation.id.clone(), awaited);
    }

    fn awaited_in(&self, repo: &RepoName) -> BTreeMap<ActivationId, Vec<ObjectId>> {
        let state = self.state();
        let here = state.awaited.iter().filter(|(_, one)| one.repo == *repo);
        here.take(AT_ONCE)
            .map(|(id, one)| (id.clone(), one.commits.clone()))
            .collect()
    }
}

/// Makes the activations ready whose commit is there.
pub(super) async fn look(inner: &Inner, git: &Git<'_>) -> Result<(), RepoError> {
    let repo = git.repo;
    if inner.registered_at(&repo.name).is_none() {
        return Ok(());
    }
    let awaited = inner.awaited_in(&repo.name);
    if awaited.is_empty() {
        return Ok(());
    }
    let search = move |repo: &Watched| {
        let mut found = Vec::new();
        for (id, commits) in awaited {
            if commits.is_empty() || present(repo, &commits)?.is_some() {
                found.push(id);
            }
        }
        Ok(found)
    };
    let found: Vec<ActivationId> = git.run(search).await?;
    if found.is_empty() {
        return Ok(());
    }
    let hastened = inner.store.hasten(&found, random::now()).await;
    hastened.map_err(|source| store_failed(repo, source))?;
    for id in &found {
        inner.state().awaited.remove(id);
    }
    inner.signals.claims.notify_one();
    Ok(())
}
