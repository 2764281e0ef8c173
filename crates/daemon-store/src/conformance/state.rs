//! What a daemon remembers, and what it did.

use std::collections::BTreeMap;

use daemon_engine::{
    ActivationState, AttemptEnd, DaemonState, Gate, MAX_VALUE_BYTES, PastActivation, StateChange,
};
use jiff::Timestamp;

use super::attempts::{begun, end};
use super::scene::{
    activation_id, at, claimed, daemon, done, enqueue, failed, planned, read, registered,
    registration, row, woken,
};
use crate::error::StoreError;
use crate::traits::Store;

fn set(key: &str, json: &str) -> StateChange {
    StateChange::Set {
        key: key.to_owned(),
        json: json.to_owned(),
    }
}

async fn state(store: &dyn Store, now: Timestamp) -> DaemonState {
    store.state(&daemon("a"), now).await.expect("reads")
}

pub(super) async fn state_is_kept_with_the_end_of_an_attempt(store: &dyn Store) {
    let activation = begun(store).await;
    assert_eq!(state(store, at(2)).await, DaemonState::default());
    let changed = AttemptEnd {
        state: vec![set("sha", "\"4be1c07\""), set("n", "1"), set("n", "2")],
        ..done(at(3))
    };
    end(store, &activation, changed).await;
    enqueue(store, woken("a", 2, at(4))).await;
    let second = claimed(store, at(4)).await;
    // State of a failed attempt is dropped: the next attempt would take its work for done.
    let lost = AttemptEnd {
        state: vec![set("n", "99")],
        ..failed(at(5))
    };
    end(store, &second, lost).await;
    enqueue(store, woken("a", 3, at(6))).await;
    let third = claimed(store, at(6)).await;
    let removed = AttemptEnd {
        state: vec![StateChange::Remove {
            key: "sha".to_owned(),
        }],
        ..done(at(7))
    };
    end(store, &third, removed).await;
    let values = BTreeMap::from([("n".to_owned(), "2".to_owned())]);
    assert_eq!(state(store, at(8)).await.values, values);
    let other = store.state(&daemon("b"), at(8)).await.expect("reads");
    assert_eq!(other, DaemonState::default());
    store
        .register(registration(Vec::new(), at(9)))
        .await
        .expect("registers");
    assert_eq!(
        state(store, at(10)).await.values,
        values,
        "removal keeps it"
    );
}

pub(super) async fn state_of_a_removed_daemon_is_forgotten_unless_it_returns(store: &dyn Store) {
    let activation = begun(store).await;
    let changed = AttemptEnd {
        state: vec![set("n", "1")],
        ..done(at(3))
    };
    end(store, &activation, changed).await;
    let forget = async |before| store.forget_states(before).await.expect("forgets");
    let n_values = async || state(store, at(50)).await.values.len();
    let register = async |ids: &[&str], now| {
        let rows = ids.iter().map(|id| row(id)).collect();
        store
            .register(registration(rows, now))
            .await
            .expect("registers");
    };
    forget(at(99)).await;
    assert_eq!(n_values().await, 1, "its file is there");
    register(&["b"], at(10)).await;
    register(&["b"], at(20)).await;
    forget(at(10)).await;
    assert_eq!(n_values().await, 1, "it was not removed before that");
    register(&["a", "b"], at(30)).await;
    forget(at(99)).await;
    assert_eq!(n_values().await, 1, "it returned");
    register(&[], at(40)).await;
    forget(at(40)).await;
    assert_eq!(n_values().await, 1, "it was removed again only now");
    forget(at(41)).await;
    assert_eq!(n_values().await, 0);
}

pub(super) async fn state_that_does_not_fit_writes_nothing(store: &dyn Store) {
    let activation = begun(store).await;
    let long = format!("\"{}\"", "x".repeat(MAX_VALUE_BYTES));
    let over = AttemptEnd {
        state: vec![set("fits", "1"), set("k", &long)],
        outputs: vec![planned(&activation.id, 0)],
        ..done(at(3))
    };
    let error = store
        .end_attempt(&activation.id, activation.run_lease, over)
        .await
        .expect_err("the value is too long");
    assert!(matches!(error, StoreError::State(_)), "{error:?}");
    assert_eq!(read(store, &activation.id).await, activation);
    assert_eq!(state(store, at(4)).await, DaemonState::default());
    assert_eq!(store.outputs_of(&activation.id).await.expect("reads"), []);
    // The lease is still held, so that the run can be ended without its state.
    end(store, &activation, done(at(4))).await;
}

pub(super) async fn history_shows_the_newest_ends(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    let hour = |n: u64| at(i64::try_from(n).expect("small") * 3600);
    for n in 1..=12 {
        enqueue(store, woken("a", n, hour(n))).await;
        let activation = claimed(store, hour(n)).await;
        let outcome = if n % 2 == 0 { done } else { failed };
        end(store, &activation, outcome(hour(n))).await;
        // Six of the twelve fail, and five in a row would trip the gate.
        if n % 5 == 0 {
            store
                .set_gate(&daemon("a"), Gate::Open)
                .await
                .expect("opens");
        }
    }
    enqueue(store, woken("b", 50, hour(12))).await;
    let state = state(store, at(30 * 3600)).await;
    let expected: Vec<PastActivation> = (3..=12)
        .rev()
        .map(|n| PastActivation {
            id: activation_id(n),
            state: if n % 2 == 0 {
                ActivationState::Succeeded
            } else {
                ActivationState::Failed
            },
            trigger: format!("event:{}", super::scene::event_id(n)),
            finished_at: hour(n),
            summary: Some("looked".to_owned()),
        })
        .collect();
    assert_eq!(state.history, expected);
    assert_eq!(state.activations_today, 6, "hours 7 to 12 of 30");
}
