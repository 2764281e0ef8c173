//! The registry: what a commit holds, and what follows from its change.

use daemon_engine::{ActivationState, Gate};
use daemon_event::{DaemonKey, RepoName};

use super::scene::{
    activation_id, at, claimed, daemon, done, enqueue, fail_one, new_event, read, registered,
    registration, row, scheduled, state_of, woken,
};
use crate::error::StoreError;
use crate::rows::{Coverage, DaemonRow, Registration, RegistryChange, ScheduleText, Validity};
use crate::traits::Store;

async fn register(store: &dyn Store, rows: Vec<DaemonRow>, seconds: i64) -> RegistryChange {
    store
        .register(registration(rows, at(seconds)))
        .await
        .expect("registers")
}

async fn daemons(store: &dyn Store) -> Vec<DaemonRow> {
    store.daemons().await.expect("reads")
}

async fn of_repo(store: &dyn Store, repo: &RepoName) -> Vec<DaemonRow> {
    store.daemons_of(repo).await.expect("reads")
}

fn keys(ids: &[&str]) -> Vec<DaemonKey> {
    ids.iter().map(|id| daemon(id)).collect()
}

pub(super) async fn a_new_daemon_begins_after_the_newest_event(store: &dyn Store) {
    register(store, vec![row("old")], 0).await;
    // The push that adds the daemon is stored before its tree is read.
    store
        .accept(vec![new_event(1, "id:1"), new_event(2, "id:2")])
        .await
        .expect("accepts");
    let change = register(store, vec![row("new"), row("old")], 5).await;
    assert_eq!(
        change,
        RegistryChange {
            added: keys(&["new"]),
            ..RegistryChange::default()
        }
    );
    let new = DaemonRow {
        since_seq: 2,
        registered_at: at(5),
        ..row("new")
    };
    // A daemon must not wake on the push that added it, nor on any event from before it existed.
    assert_eq!(daemons(store).await, [new, row("old")]);
    assert_eq!(
        of_repo(store, &row("old").key.repo).await,
        daemons(store).await
    );
    let other = "elsewhere/entirely".parse().expect("a name");
    assert_eq!(of_repo(store, &other).await, []);
}

pub(super) async fn a_new_daemon_begins_after_what_was_received_by_then(store: &dyn Store) {
    let event = |n: u64, second| {
        let mut new = new_event(n, &format!("id:{n}"));
        new.event.received_at = at(second);
        new
    };
    let events = vec![event(1, 1), event(2, 5), event(3, 6)];
    store.accept(events).await.expect("accepts");
    // The first reading of a repository may take minutes; events that were received meanwhile wait for its daemons.
    let since = |instant| Registration {
        since: Some(instant),
        ..registration(vec![row("new")], at(9))
    };
    store.register(since(at(5))).await.expect("registers");
    let new = DaemonRow {
        since_seq: 2,
        registered_at: at(9),
        ..row("new")
    };
    assert_eq!(daemons(store).await, std::slice::from_ref(&new));
    // One that is known keeps where it began.
    store.register(since(at(0))).await.expect("registers");
    assert_eq!(daemons(store).await, [new]);
}

pub(super) async fn a_registration_keeps_gate_failures_and_age(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    assert_eq!(fail_one(store, "a", 1, at(1)).await, Gate::Open);
    store
        .set_gate(&daemon("b"), Gate::Held)
        .await
        .expect("holds");
    store
        .accept(vec![new_event(1, "id:1")])
        .await
        .expect("accepts");
    // The given row has other values on purpose: a commit must not open a gate or hide failures.
    let edited = |id: &str| DaemonRow {
        rev: "rev-2".to_owned(),
        purpose: "does more".to_owned(),
        gate: Gate::Tripped,
        failures: 99,
        since_seq: 99,
        registered_at: at(99),
        ..row(id)
    };
    let change = register(store, vec![edited("a"), edited("b")], 9).await;
    assert_eq!(
        change,
        RegistryChange {
            modified: keys(&["a", "b"]),
            ..RegistryChange::default()
        }
    );
    let kept = |id: &str, gate, failures| DaemonRow {
        rev: "rev-2".to_owned(),
        purpose: "does more".to_owned(),
        gate,
        failures,
        ..row(id)
    };
    assert_eq!(
        daemons(store).await,
        [kept("a", Gate::Open, 1), kept("b", Gate::Held, 0)]
    );
}

pub(super) async fn a_daemon_that_is_gone_is_remembered(store: &dyn Store) {
    let once = async || store.daemons_once().await.expect("reads");
    assert_eq!(once().await, []);
    register(store, vec![row("stays"), row("goes")], 0).await;
    register(store, vec![row("stays")], 1).await;
    // A policy for a removed daemon is only warned of, one for a daemon that never existed is refused.
    assert_eq!(once().await, keys(&["goes", "stays"]));
    assert_eq!(daemons(store).await.len(), 1);
}

pub(super) async fn removal_and_invalidity_cancel_what_waits(store: &dyn Store) {
    registered(store, &["gone", "bad", "fine"]).await;
    enqueue(store, woken("gone", 1, at(1))).await;
    // It runs with the text that it started with, and its end has to be stored though the daemon no longer exists.
    let running = claimed(store, at(1)).await;
    for (n, id) in [(2, "gone"), (3, "bad"), (4, "fine")] {
        enqueue(store, woken(id, n, at(2))).await;
    }
    let bad = DaemonRow {
        validity: Validity::Invalid,
        ..row("bad")
    };
    let change = register(store, vec![row("fine"), bad], 5).await;
    assert_eq!(change.removed, keys(&["gone"]));
    for (n, reason) in [
        (2, "the daemon was removed"),
        (3, "the daemon file is invalid"),
    ] {
        let cancelled = read(store, &activation_id(n)).await;
        assert_eq!(
            (
                cancelled.state,
                cancelled.reason.as_deref(),
                cancelled.finished_at
            ),
            (ActivationState::Cancelled, Some(reason), Some(at(5)))
        );
    }
    assert_eq!(
        state_of(store, &activation_id(4)).await,
        ActivationState::Pending
    );
    assert_eq!(
        state_of(store, &running.id).await,
        ActivationState::Claimed,
        "what runs goes on"
    );
    let ended = store
        .end_attempt(&running.id, running.run_lease, done(at(6)))
        .await
        .expect("ends");
    assert_eq!(
        (ended.activation.state, ended.gate),
        (ActivationState::Succeeded, Gate::Open)
    );
}

pub(super) async fn two_files_of_one_id_are_both_invalid(store: &dyn Store) {
    let twin = DaemonRow {
        path: ".agents/daemons/b/DAEMON.md".to_owned(),
        ..row("a")
    };
    let change = register(store, vec![twin.clone(), row("a")], 0).await;
    assert_eq!(change.added, keys(&["a"]));
    let invalid = |row: DaemonRow| DaemonRow {
        validity: Validity::Invalid,
        ..row
    };
    assert_eq!(daemons(store).await, [invalid(row("a")), invalid(twin)]);
    // Removing one of the two repairs the other, which keeps its path.
    register(store, vec![row("a")], 1).await;
    assert_eq!(daemons(store).await, [row("a")]);
}

pub(super) async fn one_repository_never_touches_another(store: &dyn Store) {
    registered(store, &["a"]).await;
    let repo: RepoName = "o/other".parse().expect("a valid name");
    let key = DaemonKey {
        repo: repo.clone(),
        id: daemon("a").id,
    };
    let other = DaemonRow {
        key: key.clone(),
        ..scheduled("a", "0 9 * * *")
    };
    let elsewhere = |daemons, now| Registration {
        repo: repo.clone(),
        commit: "beef".to_owned(),
        daemons,
        now,
        since: None,
    };
    store
        .register(elsewhere(vec![other.clone()], at(0)))
        .await
        .expect("registers");
    enqueue(store, woken("a", 1, at(1))).await;
    assert_eq!(daemons(store).await, [other, row("a")]);
    let change = store
        // An unreadable or emptied repository must not cancel work of its neighbours.
        .register(elsewhere(Vec::new(), at(2)))
        .await
        .expect("registers");
    assert_eq!(change.removed, [key]);
    assert_eq!(daemons(store).await, [row("a")]);
    assert_eq!(store.coverages().await.expect("reads"), []);
    assert_eq!(
        state_of(store, &activation_id(1)).await,
        ActivationState::Pending
    );
}

fn coverage(id: &str, number: u64, expression: &str, seconds: i64) -> Coverage {
    Coverage {
        daemon: daemon(id),
        number,
        schedule: ScheduleText {
            expression: expression.to_owned(),
            zone: "UTC".to_owned(),
        },
        cursor: at(seconds),
    }
}

async fn open(store: &dyn Store) -> Vec<Coverage> {
    store.coverages().await.expect("reads")
}

pub(super) async fn coverages_follow_schedules(store: &dyn Store) {
    register(store, vec![scheduled("b", "0 9 * * *"), row("a")], 0).await;
    assert_eq!(open(store).await, [coverage("b", 1, "0 9 * * *", 0)]);

    // A new coverage has no catch-up, so that a change of the prose must not start one.
    let edited = DaemonRow {
        rev: "rev-2".to_owned(),
        ..scheduled("b", "0 9 * * *")
    };
    register(store, vec![edited], 10).await;
    assert_eq!(
        open(store).await,
        [coverage("b", 1, "0 9 * * *", 0)],
        "another edit keeps it"
    );

    register(
        store,
        vec![scheduled("b", "0 8 * * *"), scheduled("a", "5 * * * *")],
        20,
    )
    .await;
    assert_eq!(
        open(store).await,
        [
            coverage("a", 1, "5 * * * *", 20),
            coverage("b", 2, "0 8 * * *", 20)
        ],
        "a new expression begins when it is seen"
    );
}

pub(super) async fn a_coverage_ends_with_its_schedule(store: &dyn Store) {
    let both = vec![scheduled("b", "0 8 * * *"), scheduled("a", "5 * * * *")];
    register(store, both, 20).await;
    let invalid = DaemonRow {
        validity: Validity::Invalid,
        ..scheduled("a", "5 * * * *")
    };
    register(store, vec![invalid], 30).await;
    assert_eq!(open(store).await, [], "removal and invalidity end it");

    register(store, vec![scheduled("b", "0 8 * * *")], 40).await;
    assert_eq!(
        open(store).await,
        [coverage("b", 2, "0 8 * * *", 40)],
        "adding again begins another"
    );

    // The same expression in another zone fires at other instants.
    let zoned = DaemonRow {
        schedule: Some(ScheduleText {
            expression: "0 8 * * *".to_owned(),
            zone: "Europe/Berlin".to_owned(),
        }),
        ..scheduled("b", "")
    };
    register(store, vec![zoned], 50).await;
    let numbers: Vec<u64> = open(store).await.iter().map(|open| open.number).collect();
    assert_eq!(numbers, [3], "a zone counts like an expression");
}

pub(super) async fn a_gate_is_set_only_for_a_registered_daemon(store: &dyn Store) {
    registered(store, &["a"]).await;
    // A misspelt id must not look like a daemon that was held.
    let error = store
        .set_gate(&daemon("b"), Gate::Held)
        .await
        .expect_err("it is not registered");
    assert!(
        matches!(&error, StoreError::NotFound { what: "daemon", id } if id == "o/r:b"),
        "{error:?}"
    );
    store
        .set_gate(&daemon("a"), Gate::Held)
        .await
        .expect("holds");
    assert_eq!(
        daemons(store).await,
        [DaemonRow {
            gate: Gate::Held,
            ..row("a")
        }]
    );
}

pub(super) async fn the_host_gate_is_kept(store: &dyn Store) {
    assert_eq!(store.host_gate().await.expect("reads"), Gate::Open);
    store.set_host_gate(Gate::Held).await.expect("holds");
    assert_eq!(store.host_gate().await.expect("reads"), Gate::Held);
}
