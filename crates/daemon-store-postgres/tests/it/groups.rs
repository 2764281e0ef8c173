//! Groups of operations, one of which fails.

use daemon_engine::{Activation, AttemptEnd, HostEpoch, StateChange};
use daemon_event::EventId;
use daemon_store::{Activations as _, Events as _, Matched, StoreError};
use daemon_store_postgres::{PostgresOptions, PostgresStore};

use crate::fleet::delivering;
use crate::hosts::{asked, claim, done, host, register};
use crate::server::{runtime, server, with_client};

/// Returns how many transactions the connections of stores have committed.
async fn n_commits(address: &str) -> i64 {
    number(address, "SELECT sum(n)::bigint FROM commit_mark").await
}

async fn number(address: &str, sql: &str) -> i64 {
    with_client(address, async |client| {
        client.query_one(sql, &[]).await.unwrap().get(0)
    })
    .await
}

/// Makes an activation of each of three daemons, and claims it.
async fn held(store: &PostgresStore, epoch: HostEpoch, daemons: [&str; 3]) -> Vec<Activation> {
    let mut held = Vec::new();
    for id in daemons {
        let n = u64::from(id.as_bytes()[0]);
        store.enqueue(asked(id, n)).await.unwrap();
        held.push(store.claim(&claim(epoch, 60)).await.unwrap().unwrap());
    }
    held
}

/// Ends three attempts at once, each with an output and a value that its daemon remembers.
async fn end(
    store: &PostgresStore,
    held: &[Activation],
    values: [&str; 3],
) -> [Result<(), StoreError>; 3] {
    let end = async |n: usize| {
        let set = StateChange::Set {
            key: "seen".to_owned(),
            json: values[n].to_owned(),
        };
        let end = AttemptEnd {
            state: vec![set],
            ..delivering(&held[n]).1
        };
        let ended = store.end_attempt(&held[n].id, held[n].run_lease, end).await;
        ended.map(drop)
    };
    // On one thread, all of them are queued before the task of the group takes the first.
    let (first, second, third) = tokio::join!(end(0), end(1), end(2));
    [first, second, third]
}

#[test]
fn an_attempt_whose_end_fails_leaves_the_others_of_its_group_ended_once() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, epoch) = host(&address, "one").await;
        register(&store, &["a", "b", "c", "d", "e", "f"]).await;
        let valid = held(&store, epoch, ["a", "b", "c"]).await;
        let before = n_commits(&address).await;
        let ended = end(&store, &valid, ["1", "1", "1"]).await;
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
        let in_one_transaction = n_commits(&address).await - before;
        assert_eq!(in_one_transaction, 1);
        let mixed = held(&store, epoch, ["d", "e", "f"]).await;
        let too_long = "9".repeat(daemon_engine::MAX_VALUE_BYTES + 1);
        let ended = end(&store, &mixed, ["2", &too_long, "2"]).await;
        assert!(
            matches!(ended, [Ok(()), Err(StoreError::State(_)), Ok(())]),
            "{ended:?}"
        );
        let delivering = "SELECT count(*) FROM activation WHERE state = 'delivering'";
        let outputs = "SELECT count(*) FROM output";
        let remembered = "SELECT count(*) FROM memory WHERE json = '2' AND daemon IN ('d', 'f')";
        for (sql, expected) in [(delivering, 5), (outputs, 5), (remembered, 2)] {
            assert_eq!(number(&address, sql).await, expected, "{sql}");
        }
        // Its lease is still held.
        let again = end(&store, &mixed, ["3", "3", "3"]).await;
        assert!(
            matches!(
                again,
                [
                    Err(StoreError::LeaseLost),
                    Ok(()),
                    Err(StoreError::LeaseLost)
                ]
            ),
            "{again:?}"
        );
        assert_eq!(number(&address, delivering).await, 6);
    });
}

/// Returns how many rows of the tables of activations were read without an index, once every other session has ended.
async fn n_read_without_index(address: &str) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity \
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    let read = "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables \
         WHERE schemaname = current_schema() AND relname IN ('activation', 'wake')";
    with_client(address, async |client| {
        // A session adds to the statistics when it ends, if not before.
        while client
            .query_one(others, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
            > 0
        {}
        client.query_one(read, &[]).await.unwrap().get(0)
    })
    .await
}

#[test]
fn claims_and_ends_on_tables_without_statistics_find_their_rows_by_index() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let daemons: Vec<String> = (0..8).map(|n| format!("d-{n}")).collect();
        let ids: Vec<&str> = daemons.iter().map(String::as_str).collect();
        let (store, epoch) = host(&address, "one").await;
        register(&store, &ids).await;
        for n in 0..80 {
            store
                .enqueue(asked(ids[n % ids.len()], n.try_into().unwrap()))
                .await
                .unwrap();
        }
        drop(store);
        let before = n_read_without_index(&address).await;
        let store = PostgresStore::open(&PostgresOptions::new(&address, "one"))
            .await
            .unwrap();
        for _ in 0..80 {
            let held = store.claim(&claim(epoch, 60)).await.unwrap().unwrap();
            store
                .end_attempt(&held.id, held.run_lease, done())
                .await
                .unwrap();
        }
        drop(store);
        assert_eq!(n_read_without_index(&address).await, before);
    });
}

#[test]
fn a_match_that_fails_leaves_the_claims_of_its_group_made_once() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, epoch) = host(&address, "one").await;
        register(&store, &["a", "b"]).await;
        for (n, id) in [(1, "a"), (2, "b")] {
            store.enqueue(asked(id, n)).await.unwrap();
        }
        let request = claim(epoch, 60);
        let unknown = Matched {
            event: EventId::new(7, [7; 10]),
            n_later: 0,
            triggers: Vec::new(),
            wanted: Vec::new(),
        };
        let (first, failed, second) = tokio::join!(
            store.claim(&request),
            store.match_and_claim(&request, vec![unknown]),
            store.claim(&request),
        );
        assert!(
            matches!(failed, Err(StoreError::NotFound { .. })),
            "{failed:?}"
        );
        let mut claimed = [first, second].map(|one| {
            let one = one.unwrap().expect("one for each");
            (one.daemon.id.to_string(), one.run_lease.0, one.attempts)
        });
        claimed.sort();
        assert_eq!(claimed, [("a".to_owned(), 1, 1), ("b".to_owned(), 1, 1)]);
    });
}
