//! Runs: their rows begin, change and go.

use daemon_engine::{ActivationState, HostEpoch};

use super::attempts::{begun, end};
use super::scene::{at, claimed, crashed, first, read, run};
use crate::rows::{Query, RunEnd, RunRow};
use crate::traits::Store;

pub(super) async fn a_run_begins_once_and_is_updated(store: &dyn Store) {
    let activation = begun(store).await;
    let started = run("r-1", &activation, at(3));
    store
        .start_run(&activation.id, activation.run_lease, started.clone(), at(3))
        .await
        .expect("starts");
    let running = read(store, &activation.id).await;
    assert_eq!(
        (running.state, running.started_at),
        (ActivationState::Running, Some(at(3)))
    );
    assert_eq!(
        store.run("r-1").await.expect("reads"),
        Some(started.clone())
    );
    let ended = RunRow {
        state: "done".to_owned(),
        finished_at: Some(at(4)),
        object: "{\"turn\":1}".to_owned(),
        ..started
    };
    store
        .put_run(ended.clone(), Some(activation.run_lease))
        .await
        .expect("stores");
    // A one-off run has no activation, so that no lease protects its row.
    let alone = RunRow {
        id: "em-1".to_owned(),
        activation: None,
        daemon: None,
        ..ended.clone()
    };
    store.put_run(alone.clone(), None).await.expect("stores");
    assert_eq!(store.run("r-1").await.expect("reads"), Some(ended.clone()));
    assert_eq!(store.run("em-1").await.expect("reads"), Some(alone));
    assert_eq!(store.runs_of(&activation.id).await.expect("reads"), [ended]);
    end(store, &activation, crashed(at(5))).await;
    let second = claimed(store, at(3600)).await;
    store
        .start_run(
            &second.id,
            second.run_lease,
            run("r-2", &second, at(3601)),
            at(3601),
        )
        .await
        .expect("starts");
    assert_eq!(
        read(store, &second.id).await.started_at,
        Some(at(3)),
        "the first beginning counts"
    );
    let runs = store.runs_of(&second.id).await.expect("reads");
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["r-1", "r-2"]);
}

pub(super) async fn the_end_of_a_run_is_stored_after_its_lease_too(store: &dyn Store) {
    let activation = begun(store).await;
    let running = run("r-1", &activation, at(3));
    store
        .start_run(&activation.id, activation.run_lease, running.clone(), at(3))
        .await
        .expect("starts");
    let reclaimed = store.reclaim(HostEpoch(2), at(4)).await.expect("reclaims");
    assert_eq!(reclaimed.len(), 1);
    let before = read(store, &activation.id).await;
    let end = RunEnd {
        state: "failed".to_owned(),
        finished_at: at(5),
        object: "{\"turn\":1}".to_owned(),
    };
    for id in ["r-1", "never"] {
        store.end_run(id, end.clone()).await.expect("stores");
    }
    let ended = RunRow {
        state: end.state,
        finished_at: Some(end.finished_at),
        object: end.object,
        ..running
    };
    let failed = Query {
        state: Some("failed".to_owned()),
        ..first(5)
    };
    let listed = store.runs(&failed).await.expect("lists").rows;
    assert_eq!(listed, std::slice::from_ref(&ended));
    assert_eq!(store.runs(&first(5)).await.expect("lists").rows, [ended]);
    // Only the row of the run has changed.
    assert_eq!(read(store, &activation.id).await, before);
}

pub(super) async fn only_a_run_that_ended_is_forgotten(store: &dyn Store) {
    let activation = begun(store).await;
    let running = run("r-1", &activation, at(3));
    store
        .start_run(&activation.id, activation.run_lease, running.clone(), at(3))
        .await
        .expect("starts");
    let ended = RunRow {
        id: "em-1".to_owned(),
        activation: None,
        daemon: None,
        state: "done".to_owned(),
        finished_at: Some(at(4)),
        ..running.clone()
    };
    store.put_run(ended.clone(), None).await.expect("stores");
    // A run that still works keeps its row, in which its end is stored.
    for id in ["r-1", "em-1", "em-2"] {
        store.forget_run(id).await.expect("forgets");
    }
    assert_eq!(store.run("em-1").await.expect("reads"), None);
    assert_eq!(store.runs(&first(5)).await.expect("lists").rows, [running]);
    store.put_run(ended.clone(), None).await.expect("stores");
    let runs = store.runs(&first(5)).await.expect("lists").rows;
    assert_eq!(runs[0], ended, "what is written anew is the newest");
}
