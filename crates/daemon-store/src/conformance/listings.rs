//! Listings: pages that neither repeat nor hide a row.

use daemon_engine::{Activation, OutputState};
use daemon_event::{Need, RepoName};
use daemon_schedule::{Cancels, TickOutcome};

use super::scene::{
    activation_id, at, claimed, daemon, done, enqueue, event, event_id, first, new_event, planned,
    registered, registration, run, scheduled, tick, woken,
};
use crate::error::StoreError;
use crate::rows::{Matched, Query, TickCommit};
use crate::stored::facts;
use crate::traits::Store;

async fn page(store: &dyn Store, query: &Query) -> (Vec<u64>, Option<String>) {
    let page = store.activations(query).await.expect("lists");
    let numbers = page.rows.iter().map(number).collect();
    (numbers, page.next)
}

fn number(activation: &Activation) -> u64 {
    (1..100)
        .find(|n| activation_id(*n) == activation.id)
        .expect("made by the case")
}

pub(super) async fn pages_follow_each_other_without_gaps(store: &dyn Store) {
    for n in 1..=5 {
        // Two were made in the same instant: their numbers decide.
        let second = i64::try_from(n / 2).expect("small");
        enqueue(store, woken("a", n, at(second))).await;
    }
    let mut query = first(2);
    let mut pages = Vec::new();
    loop {
        let (numbers, next) = page(store, &query).await;
        pages.push(numbers);
        query.after = next;
        if query.after.is_none() {
            break;
        }
    }
    assert_eq!(pages, [vec![5, 4], vec![3, 2], vec![1]]);
    assert_eq!(
        page(store, &first(5)).await.1,
        None,
        "an exact fit is the last"
    );
}

pub(super) async fn rows_that_arrive_between_pages_do_not_shift_them(store: &dyn Store) {
    for n in 1..=4 {
        enqueue(store, woken("a", n, at(1))).await;
    }
    let (numbers, next) = page(store, &first(2)).await;
    assert_eq!(numbers, [4, 3]);
    // With an offset instead of a cursor, the new row would push one row of the first page onto the second.
    enqueue(store, woken("a", 5, at(2))).await;
    let query = Query {
        after: next,
        ..first(2)
    };
    assert_eq!(page(store, &query).await, (vec![2, 1], None));

    store
        .accept((1..=3).map(|n| new_event(n, &format!("id:{n}"))).collect())
        .await
        .expect("accepts");
    let events = store.events(&first(2)).await.expect("lists");
    store
        .accept(vec![new_event(4, "id:4")])
        .await
        .expect("accepts");
    let query = Query {
        after: events.next,
        ..first(2)
    };
    let rest = store.events(&query).await.expect("lists");
    let ids: Vec<_> = rest.rows.into_iter().map(|row| row.event.id).collect();
    assert_eq!((ids, rest.next), (vec![event_id(1)], None));
}

pub(super) async fn listings_filter(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    for (n, id, second) in [(1, "a", 10), (2, "b", 20), (3, "a", 30)] {
        enqueue(store, woken(id, n, at(second))).await;
    }
    let activation = claimed(store, at(40)).await;
    for (query, expected) in activation_queries() {
        assert_eq!(page(store, &query).await.0, expected, "{query:?}");
    }
    runs_filter(store, &activation).await;
    events_filter(store).await;
    ticks_filter(store).await;
    outputs_filter(store, &activation).await;
}

/// Lists queries of activations 1 to 3, with the numbers that each finds.
fn activation_queries() -> [(Query, &'static [u64]); 8] {
    let all = || first(50);
    let daemon_a = Some("a".to_owned());
    let elsewhere: RepoName = "o/other".parse().expect("a valid name");
    let of_daemon = Query {
        daemon: daemon_a.clone(),
        ..all()
    };
    let in_state = Query {
        state: Some("claimed".to_owned()),
        ..all()
    };
    let since = Query {
        since: Some(at(20)),
        ..all()
    };
    let until = Query {
        until: Some(at(20)),
        ..all()
    };
    let of_repo = Query {
        repo: Some(elsewhere),
        ..all()
    };
    let by_everything = Query {
        repo: Some(daemon("a").repo),
        daemon: daemon_a,
        state: Some("pending".to_owned()),
        since: Some(at(0)),
        until: Some(at(99)),
        ..all()
    };
    // A store that builds a LIKE pattern from the id would match everything.
    let wildcard = Query {
        daemon: Some("%".to_owned()),
        ..all()
    };
    [
        (all(), &[3, 2, 1]),
        (of_daemon, &[3, 1]),
        (in_state, &[1]),
        (since, &[3, 2]),
        (until, &[1]),
        (of_repo, &[]),
        (by_everything, &[3]),
        (wildcard, &[]),
    ]
}

async fn runs_filter(store: &dyn Store, activation: &Activation) {
    let row = run("r-1", activation, at(41));
    store
        .start_run(&activation.id, activation.run_lease, row.clone(), at(41))
        .await
        .expect("starts");
    let listed = async |state: &str, daemon: &str| {
        let query = Query {
            state: Some(state.to_owned()),
            daemon: Some(daemon.to_owned()),
            ..first(5)
        };
        store.runs(&query).await.expect("lists").rows
    };
    assert_eq!(listed("running", "a").await, [row]);
    assert_eq!(listed("done", "a").await, []);
    assert_eq!(listed("running", "b").await, []);
}

async fn events_filter(store: &dyn Store) {
    store
        .accept(vec![new_event(7, "id:7"), new_event(8, "id:8")])
        .await
        .expect("accepts");
    let matched = Matched {
        n_later: 0,
        event: event_id(7),
        wanted: Vec::new(),
        triggers: vec![woken("b", 7, at(7))],
    };
    store
        .commit_matches(vec![matched], at(7))
        .await
        .expect("commits");
    let listed = async |query: Query| -> Vec<_> {
        let page = store.events(&query).await.expect("lists");
        page.rows.into_iter().map(|row| row.event.id).collect()
    };
    let of_b = Query {
        daemon: Some("b".to_owned()),
        ..first(5)
    };
    assert_eq!(listed(of_b).await, [event_id(7)], "those that woke it");
    let since = Query {
        since: Some(at(8)),
        ..first(5)
    };
    assert_eq!(listed(since).await, [event_id(8)]);
    // GitHub treats the case of repository names as equal.
    let any_case = Query {
        repo: Some("O/R".parse().expect("a valid name")),
        ..first(5)
    };
    assert_eq!(listed(any_case).await, [event_id(8), event_id(7)]);
}

pub(super) async fn a_listed_event_has_no_payload_and_no_facts(store: &dyn Store) {
    registered(store, &["a"]).await;
    store
        .accept(vec![new_event(7, "id:7")])
        .await
        .expect("accepts");
    let matched = Matched {
        n_later: 0,
        event: event_id(7),
        wanted: vec![Need::ChangedFiles],
        triggers: vec![woken("a", 7, at(7))],
    };
    let matched = store.commit_matches(vec![matched], at(7)).await;
    matched.expect("commits");
    let whole = store.event(&event_id(7)).await.expect("reads");
    let whole = whole.expect("it is stored");
    assert_eq!(whole.event.payload, event(7, at(7)).payload);
    // A page of 500 events could otherwise hold 500 bodies of 25 MiB.
    let mut listed = whole.clone();
    listed.event.payload = [].into();
    listed.event.facts = facts::listed(&listed.event.facts);
    let page = store.events(&first(5)).await.expect("lists");
    assert_eq!(page.rows, [listed]);
    let among = store.events_among(&[event_id(8), event_id(7)]).await;
    assert_eq!(among.expect("reads"), page.rows, "unknown ids are left out");
    let woken: Vec<&str> = page.rows[0]
        .triggers
        .iter()
        .map(|one| one.daemon.id.as_str())
        .collect();
    assert_eq!(woken, ["a"]);
}

async fn ticks_filter(store: &dyn Store) {
    let rows = ["a", "b"].map(|id| scheduled(id, "* * * * *")).to_vec();
    store
        .register(registration(rows, at(0)))
        .await
        .expect("registers");
    let missed = |id: &str, seconds: i64| TickCommit {
        daemon: daemon(id),
        coverage: 1,
        from: at(0),
        to: at(seconds),
        rows: vec![
            tick(at(seconds), TickOutcome::MissedWindow),
            tick(at(seconds + 1), TickOutcome::SkippedQuiet),
        ],
        trigger: None,
        cancels: Cancels::Nothing,
        now: at(seconds),
    };
    store
        .commit_ticks(vec![missed("a", 60), missed("b", 120)])
        .await
        .expect("commits");
    let listed = async |query: Query| -> Vec<_> {
        let page = store.ticks(&query).await.expect("lists");
        page.rows
            .into_iter()
            .map(|tick| tick.scheduled_at)
            .collect()
    };
    let outcome = Query {
        state: Some("missed_window".to_owned()),
        ..first(5)
    };
    assert_eq!(listed(outcome).await, [at(120), at(60)]);
    let of_a = Query {
        daemon: Some("a".to_owned()),
        until: Some(at(61)),
        ..first(5)
    };
    assert_eq!(listed(of_a).await, [at(60)]);
}

async fn outputs_filter(store: &dyn Store, activation: &Activation) {
    let proposed = daemon_engine::AttemptEnd {
        outputs: vec![planned(&activation.id, 0)],
        ..done(at(50))
    };
    store
        .end_attempt(&activation.id, activation.run_lease, proposed)
        .await
        .expect("ends");
    let listed = async |state: OutputState| {
        let query = Query {
            state: Some(state.as_str().to_owned()),
            ..first(5)
        };
        store.outputs(&query).await.expect("lists").rows.len()
    };
    assert_eq!(listed(OutputState::Planned).await, 1);
    assert_eq!(listed(OutputState::GaveUp).await, 0);
}

fn is_refused<T: std::fmt::Debug>(result: &Result<T, StoreError>, given: &str) -> bool {
    matches!(result, Err(StoreError::Query { value, .. }) if value == given)
}

pub(super) async fn a_forged_cursor_is_refused(store: &dyn Store) {
    enqueue(store, woken("a", 1, at(1))).await;
    enqueue(store, woken("a", 2, at(1))).await;
    let next = page(store, &first(1)).await.1.expect("there is more");
    let after = |cursor: &str| Query {
        after: Some(cursor.to_owned()),
        ..first(1)
    };
    assert_eq!(page(store, &after(&next)).await.0, [1]);
    // Cursors come back from clients. One that parses loosely could page through another listing or reach into SQL.
    let forged = [
        String::new(),
        "0".to_owned(),
        format!("{next} "),
        format!("{next}.0"),
        next.replacen('a', "x", 1),
        next.replacen('.', ".+", 1),
        "a.1.99999999999999999999".to_owned(),
        "a.-.1".to_owned(),
        "' OR 1=1 --".to_owned(),
    ];
    for cursor in forged {
        let answer = store.activations(&after(&cursor)).await;
        assert!(is_refused(&answer, &cursor), "{cursor:?}: {answer:?}");
    }
    let of_another = store.outputs(&after(&next)).await;
    assert!(is_refused(&of_another, &next), "{of_another:?}");
}

pub(super) async fn a_limit_out_of_range_is_refused(store: &dyn Store) {
    // Refused instead of clamped: a client that asked for 1,000 would take 500 rows for all.
    for limit in [0, 501, u32::MAX] {
        let given = limit.to_string();
        let query = first(limit);
        assert!(is_refused(&store.events(&query).await, &given));
        assert!(is_refused(&store.ticks(&query).await, &given));
        assert!(is_refused(&store.activations(&query).await, &given));
        assert!(is_refused(&store.runs(&query).await, &given));
        assert!(is_refused(&store.outputs(&query).await, &given));
    }
    let most = store.activations(&first(500)).await.expect("lists");
    assert_eq!(most.rows, []);
}

pub(super) async fn an_unknown_state_is_refused(store: &dyn Store) {
    let query = Query {
        state: Some("asleep".to_owned()),
        ..first(5)
    };
    // A misspelt state would otherwise list nothing and look like an empty queue.
    assert!(is_refused(&store.events(&query).await, "asleep"));
    assert!(is_refused(&store.ticks(&query).await, "asleep"));
    assert!(is_refused(&store.activations(&query).await, "asleep"));
    assert!(is_refused(&store.runs(&query).await, "asleep"));
    assert!(is_refused(&store.outputs(&query).await, "asleep"));
}
