//! What happens to operations when connections and servers end.

use std::sync::Arc;

use daemon_engine::Admission;
use daemon_store::{Activations as _, Hosting as _, StoreError};
use daemon_store_postgres::{PostgresOptions, PostgresStore};

use crate::hosts::{asked, host, register};
use crate::relay::{Fault, Relay};
use crate::server::{runtime, server, with_client};

/// Ends every session of the stores, as a network or an administrator does.
pub(crate) async fn end_sessions(address: &str) {
    with_client(address, async |client| {
        client
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'daemon-run'",
                &[],
            )
            .await
            .unwrap();
    })
    .await;
}

#[test]
fn operations_survive_the_end_of_their_connections_and_happen_once() {
    const OPERATIONS: u64 = 60;
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, _) = host(&address, "one").await;
        let store = Arc::new(store);
        register(&store, &["a"]).await;
        let mut senders = tokio::task::JoinSet::new();
        for sender in 0..4 {
            let store = Arc::clone(&store);
            senders.spawn(async move {
                let mut n_made = 0u64;
                for n in 0..OPERATIONS / 4 {
                    let new = asked("a", 1 + sender * OPERATIONS + n);
                    // A repetition of what was committed already would be a duplicate.
                    match store.enqueue(new).await.unwrap() {
                        Admission::Enqueued(_) => n_made += 1,
                        other => panic!("{other:?}"),
                    }
                }
                n_made
            });
        }
        let ender = async {
            for _ in 0..20 {
                end_sessions(&address).await;
                tokio::task::yield_now().await;
            }
        };
        let (made, ()) = tokio::join!(senders.join_all(), ender);
        assert_eq!(made.into_iter().sum::<u64>(), OPERATIONS);
        let counts = store.counts().await.unwrap();
        let n_stored: u64 = counts.activations.iter().map(|(_, n)| n).sum();
        assert_eq!(n_stored, OPERATIONS);
    });
}

#[test]
fn acknowledged_operations_outlive_crashes_of_the_server() {
    const CRASHES: u64 = 3;
    const OPERATIONS: u64 = 20;
    let Some(mut server) = server() else {
        return;
    };
    let address = runtime().block_on(server.database());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let store = runtime.block_on(async {
        let (store, _) = host(&address, "one").await;
        register(&store, &["a"]).await;
        Arc::new(store)
    });
    let writer = runtime.spawn({
        let store = Arc::clone(&store);
        async move {
            for n in 0..CRASHES * OPERATIONS {
                let admitted = store.enqueue(asked("a", 1 + n)).await.unwrap();
                assert!(matches!(admitted, Admission::Enqueued(_)), "{admitted:?}");
            }
        }
    });
    for crash in 1..=CRASHES {
        runtime.block_on(async {
            // Any time within the load will do.
            while n_activations(&store).await < crash * OPERATIONS / 2 && !writer.is_finished() {
                tokio::task::yield_now().await;
            }
        });
        server.crash();
        server.start();
    }
    runtime.block_on(async {
        writer.await.unwrap();
        assert_eq!(n_activations(&store).await, CRASHES * OPERATIONS);
    });
}

async fn n_activations(store: &PostgresStore) -> u64 {
    let counts = store.counts().await.unwrap();
    counts.activations.iter().map(|(_, n)| n).sum()
}

/// Probes once over a connection that breaks at its commit; returns how often the database counted it, and the relay.
async fn probe_once(address: &str, fault: Fault) -> (i64, Relay) {
    let (relay, relayed) = Relay::start(address);
    let (store, _) = host(&relayed, "one").await;
    relay.break_next(fault);
    store.probe().await.unwrap();
    (probes(address).await, relay)
}

async fn probes(address: &str) -> i64 {
    with_client(address, async |client| {
        let row = client
            .query_one("SELECT probes FROM host", &[])
            .await
            .unwrap();
        row.get(0)
    })
    .await
}

#[test]
fn a_commit_whose_answer_is_lost_is_not_repeated() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (probes, _relay) = probe_once(&address, Fault::LoseAnswer).await;
        assert_eq!(probes, 1);
    });
}

#[test]
fn a_commit_that_is_lost_is_repeated() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (probes, _relay) = probe_once(&address, Fault::LoseCommit).await;
        assert_eq!(probes, 1);
    });
}

#[test]
fn a_commit_that_arrives_after_its_repetition_has_begun_fails() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (_, relay) = probe_once(&address, Fault::DelayCommit).await;
        let answer = relay.late_answer().await;
        assert!(answer.contains("division by zero"), "{answer}");
        assert_eq!(probes(&address).await, 1);
    });
}

#[test]
fn a_connection_whose_mark_was_removed_is_replaced() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, _) = host(&address, "one").await;
        with_client(&address, async |client| {
            client
                .execute("DELETE FROM commit_mark", &[])
                .await
                .unwrap();
        })
        .await;
        store.probe().await.unwrap();
        assert_eq!(probes(&address).await, 1);
    });
}

#[test]
fn a_database_that_does_not_answer_is_unavailable() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("host={} user=test", folder.path().display());
        tokio::time::pause();
        let refused = PostgresStore::open(&PostgresOptions::new(address, "one")).await;
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            "failed to reach the store: open the database"
        );
    });
}
