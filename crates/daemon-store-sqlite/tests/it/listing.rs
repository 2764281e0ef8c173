//! Listings of many events: a filter passes over what it excludes, and over nothing else.

use daemon_event::{DeliveryId, Event, EventFacts, EventId, RepoName, Source};
use daemon_store::memory::MemoryStore;
use daemon_store::{Events, Matching, NewEvent, Query};
use daemon_store_sqlite::SqliteStore;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::conformance::runtime;

const N_EVENTS: u64 = 10_000;
const RARE: [u64; 3] = [10, 5_000, 9_998];

fn at(n: u64) -> Timestamp {
    // The clock is set back once, in the second block.
    let step = if n < 5_500 { 0 } else { 3_000 };
    Timestamp::from_second(i64::try_from(1_000_000 + n).unwrap() - step).unwrap()
}

fn event(n: u64) -> NewEvent {
    let repo = if RARE.contains(&n) { "o/rare" } else { "O/r" };
    let event = Event {
        id: EventId::new(n, [0; 10]),
        source: Source::Github,
        kind: "push".to_owned(),
        action: None,
        subject: None,
        actor: None,
        repo: (!n.is_multiple_of(3)).then(|| repo.parse().unwrap()),
        time: at(n),
        received_at: at(n),
        delivery: format!("d-{n}").parse::<DeliveryId>().unwrap(),
        facts: EventFacts::default(),
        payload: [].into(),
    };
    NewEvent {
        event,
        identities: Vec::new(),
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Done,
    }
}

async fn fill(store: &impl Events) {
    let mut all: Vec<NewEvent> = (0..N_EVENTS).map(event).collect();
    while !all.is_empty() {
        let rest = all.split_off(all.len().min(1_000));
        store
            .accept(std::mem::replace(&mut all, rest))
            .await
            .unwrap();
    }
}

/// Returns the events of all pages.
async fn listed(store: &impl Events, query: &Query) -> Vec<EventId> {
    let mut query = Query {
        limit: 450,
        ..query.clone()
    };
    let mut ids = Vec::new();
    loop {
        let page = store.events(&query).await.unwrap();
        ids.extend(page.rows.into_iter().map(|row| row.event.id));
        query.after = page.next;
        if query.after.is_none() {
            return ids;
        }
    }
}

fn queries() -> Vec<Query> {
    let repo = |name: &str| Some(name.parse::<RepoName>().unwrap());
    let mut queries = vec![Query::default()];
    for (since, until) in [
        (Some(9_990), None),
        (None, Some(20)),
        (Some(4_000), Some(4_200)),
        (Some(6_000), Some(6_010)),
        (Some(20_000), None),
    ] {
        let instant = |n: Option<i64>| n.map(|n| at(0) + SignedDuration::from_secs(n));
        for repo in [None, repo("o/R"), repo("o/rare"), repo("o/none")] {
            queries.push(Query {
                since: instant(since),
                until: instant(until),
                repo,
                ..Query::default()
            });
        }
    }
    queries.push(Query {
        repo: repo("o/rare"),
        ..Query::default()
    });
    queries
}

#[test]
fn filters_of_many_events_list_what_they_list_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    runtime().block_on(async {
        let (store, model) = (SqliteStore::open(&path).unwrap(), MemoryStore::default());
        fill(&store).await;
        fill(&model).await;
        for query in queries() {
            let (found, expected) = (listed(&store, &query).await, listed(&model, &query).await);
            assert_eq!(found, expected, "{query:?}");
        }
    });
    let conn = Connection::open(&path).unwrap();
    let n: i64 = conn
        .query_row("SELECT count(*) FROM event_block", [], |row| row.get(0))
        .unwrap();
    assert_eq!(n, 2, "full blocks");
    // A store of an earlier version has no summaries; its migration makes the same ones.
    let summaries = || -> Vec<(i64, i64, i64, i64)> {
        let mut find = conn
            .prepare(
                "SELECT block, first_at, last_at, length(repos) FROM event_block ORDER BY block",
            )
            .unwrap();
        let rows = find.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    };
    let before = summaries();
    conn.execute_batch("DELETE FROM event_block").unwrap();
    let (_, fill) = include_str!("../../src/schema/0018.sql")
        .split_once("INSERT INTO event_block")
        .unwrap();
    conn.execute_batch(&format!("INSERT INTO event_block{fill}"))
        .unwrap();
    assert_eq!(summaries(), before);
}
