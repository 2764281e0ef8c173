//! The schema, its partitions and the connections of stores.

use std::sync::Arc;

use daemon_event::{Event, EventFacts, EventId, Source};
use daemon_store::{Events as _, Hosting as _, Matching, NewEvent, StoreError};
use daemon_store_postgres::{MAX_CONNECTIONS, PostgresOptions, PostgresStore};
use jiff::Timestamp;

use crate::hosts::host;
use crate::server::{runtime, server, with_client};

fn event(n: u64, received_at: &str, matching: Matching) -> NewEvent {
    let received_at: Timestamp = received_at.parse().unwrap();
    NewEvent {
        event: Event {
            id: EventId::new(n, [0; 10]),
            source: Source::Github,
            kind: "ping\0".to_owned(),
            action: None,
            subject: None,
            actor: None,
            repo: Some("o/r".parse().unwrap()),
            time: received_at,
            received_at,
            delivery: format!("d-{n}").parse().unwrap(),
            facts: EventFacts::default(),
            payload: b"{\0}".as_slice().into(),
        },
        identities: Vec::new(),
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching,
    }
}

/// Returns which of some tables exist.
async fn existing(address: &str, tables: &[&str]) -> Vec<bool> {
    with_client(address, async |client| {
        let mut acc = Vec::new();
        for table in tables {
            let row = client
                .query_one("SELECT to_regclass($1) IS NOT NULL", &[table])
                .await
                .unwrap();
            acc.push(row.get(0));
        }
        acc
    })
    .await
}

#[test]
fn months_without_anything_to_keep_are_dropped_as_a_whole() {
    const OLD: [&str; 5] = [
        "payload_2020_01",
        "report_2020_01",
        "payload_2020_02",
        "tick_2020_01",
        "tick_2020_02",
    ];
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, _) = host(&address, "one").await;
        with_client(&address, async |client| {
            let (january, february, march) = ("1577836800000000", "1580515200000000", "1583020800000000");
            for (suffix, from, to) in [("2020_01", january, february), ("2020_02", february, march)] {
                for table in ["event", "payload", "report", "tick"] {
                    let sql = format!("CREATE TABLE {table}_{suffix} PARTITION OF {table} FOR VALUES FROM ({from}) TO ({to})");
                    client.batch_execute(&sql).await.unwrap();
                }
                // The ticks of February were recorded late.
                let recorded_at = if suffix == "2020_01" { from } else { "1590000000000000" };
                let sql = format!(
                    "INSERT INTO tick (repo, daemon, scheduled_at, first, count, outcome, recorded_at) \
                     VALUES ('o/r', 'a', {from}, {from}, 1, 'enqueued', {recorded_at})"
                );
                client.batch_execute(&sql).await.unwrap();
            }
        })
        .await;
        let events = vec![
            event(1, "2020-01-10T00:00:00Z", Matching::Done),
            event(2, "2020-02-10T00:00:00Z", Matching::Due),
        ];
        store.accept(events).await.unwrap();
        assert_eq!(existing(&address, &OLD).await, [true; 5]);
        let old: Timestamp = "2020-04-01T00:00:00Z".parse().unwrap();
        store.retain(old, old, old).await.unwrap();
        assert_eq!(existing(&address, &OLD).await, [false, false, true, false, true]);
        let payload = async |n| {
            let row = store.event(&EventId::new(n, [0; 10])).await.unwrap().unwrap();
            (row.event.kind, row.event.payload.to_vec())
        };
        assert_eq!(payload(1).await, ("ping\u{FFFD}".to_owned(), Vec::new()));
        assert_eq!(payload(2).await, ("ping\u{FFFD}".to_owned(), b"{\0}".to_vec()));
    });
}

#[test]
fn this_month_and_the_next_two_have_partitions() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (_store, _) = host(&address, "one").await;
        let missing = with_client(&address, async |client| {
            let row = client
                .query_one(
                    "SELECT count(*) FROM generate_series(0, 2) AS n, unnest(ARRAY['event', 'payload', 'report', 'tick']) AS t \
                     WHERE to_regclass(t || to_char((now() AT TIME ZONE 'UTC') + n * interval '1 month', '_YYYY_MM')) IS NULL",
                    &[],
                )
                .await
                .unwrap();
            row.get::<_, i64>(0)
        });
        assert_eq!(missing.await, 0);
    });
}

#[test]
fn a_newer_schema_is_used_if_it_admits_this_version_and_refused_otherwise() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let (store, _) = host(&address, "one").await;
        let later = async |admits: i64| {
            with_client(&address, async |client| {
                client
                    .execute(
                        "INSERT INTO schema_step (version, admits) VALUES (99, $1) \
                         ON CONFLICT (version) DO UPDATE SET admits = excluded.admits",
                        &[&admits],
                    )
                    .await
                    .unwrap();
            })
            .await;
            PostgresStore::open(&PostgresOptions::new(&address, "two")).await
        };
        let known = PostgresStore::schema_version();
        let admitted = later(known).await.unwrap();
        admitted.probe().await.unwrap();
        let refused = later(known + 1).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::Newer { found: 99, known: it } if it == known),
            "{refused:?}"
        );
        // A program that runs already is not stopped by an upgrade that it must not survive a restart of.
        store.probe().await.unwrap();
    });
}

#[test]
fn hosts_that_start_at_once_make_the_schema_once() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let address = server.database().await;
        let mut starts = tokio::task::JoinSet::new();
        for n in 0..4 {
            let address = address.clone();
            starts.spawn(async move {
                let (store, _) = host(&address, &format!("host-{n}")).await;
                store.probe().await.unwrap();
            });
        }
        starts.join_all().await;
        let steps = with_client(&address, async |client| {
            let row = client
                .query_one("SELECT count(*) FROM schema_step", &[])
                .await;
            row.unwrap().get::<_, i64>(0)
        });
        assert_eq!(steps.await, PostgresStore::schema_version());
    });
}

#[test]
fn a_store_opens_few_connections_however_many_operations_wait() {
    let Some(server) = server() else {
        return;
    };
    runtime().block_on(async {
        let (store, _) = host(&server.database().await, "one").await;
        let store = Arc::new(store);
        let mut operations = tokio::task::JoinSet::new();
        for _ in 0..64 {
            let store = Arc::clone(&store);
            operations.spawn(async move { store.probe().await.unwrap() });
        }
        operations.join_all().await;
        let address = server.address("public");
        let open = with_client(&address, async |client| {
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'daemon-run'";
            client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
        });
        let open = usize::try_from(open.await).unwrap();
        assert!((1..=MAX_CONNECTIONS).contains(&open), "{open}");
    });
}
