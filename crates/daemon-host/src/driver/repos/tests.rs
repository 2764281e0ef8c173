use std::sync::Arc;

use daemon_store::Events as _;
use tokio_util::task::TaskTracker;

use super::awaited::tests::repository;
use super::{RepoError, sync};
use crate::config::Config;
use crate::driver::Parts;
use crate::driver::facts::tests::Rig;

#[tokio::test]
async fn a_reading_of_parts_that_were_replaced_registers_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let (watched, _) = repository(scratch.path());
    let repo = Arc::new(watched);
    let rig = Rig::new(&[], Vec::new());
    let host = &rig.host;
    let without = host.runtime().parts.clone();
    let with = Parts {
        repos: vec![Arc::clone(&repo)],
        ..without.clone()
    };
    host.replace_runtime(Config::default(), with);

    // What reads the registry holds the reading up, which has asked git by then.
    let deciding = host.registrations.hold().await;
    let tasks = TaskTracker::new();
    let reading = tasks.spawn({
        let (host, repo) = (Arc::clone(host), Arc::clone(&repo));
        async move { sync(&host.reader, &repo, host.stop()).await }
    });
    while host.registrations.lock.try_read().is_ok() {
        tokio::task::yield_now().await;
    }
    host.replace_runtime(Config::default(), without);
    drop(deciding);
    let read = reading.await.unwrap();
    assert!(matches!(read, Err(RepoError::Stopped { .. })), "{read:?}");
    assert_eq!(host.registrations.states.registered_at(&repo.name), None);
    assert_eq!(rig.store.ref_cursors(&repo.name).await.unwrap(), []);
}
