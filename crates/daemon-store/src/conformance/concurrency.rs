//! Concurrent clients of one store.

use std::collections::BTreeSet;
use std::pin::Pin;

use daemon_engine::{ActivationState, NewTrigger};

use super::attempts::{begun, end};
use super::reports::{CLOSED, MERGED, report_of};
use super::scene::{
    activation_id, at, claim, claimed, crashed, done, enqueue, event_id, first, join_all,
    new_event, read, registered, woken,
};
use crate::rows::{ClaimRequest, Freshness, Matched};
use crate::traits::Store;

/// A caller of one store among others.
type Caller<'s, T> = Pin<Box<dyn Future<Output = T> + Send + 's>>;

pub(super) async fn concurrent_senders_store_each_event_once(store: &dyn Store) {
    const SENDERS: u64 = 8;
    const EVENTS: u64 = 40;
    let senders = (0..SENDERS)
        .map(|sender| -> Caller<'_, u64> {
            Box::pin(async move {
                let mut n_new = 0;
                for n in 0..EVENTS {
                    // Every sender sends every event, each in another order and under ids of its own.
                    let n = (n * 7 + sender * 5) % EVENTS;
                    let told = new_event(1 + n + sender * EVENTS, &format!("id:{n}"));
                    let accepted = store.accept(vec![told]).await.expect("accepts");
                    if accepted[0].freshness == Freshness::New {
                        n_new += 1;
                    }
                }
                n_new
            })
        })
        .collect();
    let n_new: u64 = join_all(senders).await.into_iter().sum();
    assert_eq!(n_new, EVENTS);
    let rows = store.events(&first(500)).await.expect("lists").rows;
    let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    let expected: Vec<u64> = (1..=EVENTS).rev().collect();
    // A daemon begins after a number, and readers page by it. A gap that was filled later would hide its event from both.
    assert_eq!(seqs, expected, "no gaps");
    let told: u64 = rows.iter().map(|row| row.duplicates).sum();
    assert_eq!(told, EVENTS * (SENDERS - 1));
}

pub(super) async fn concurrent_claims_never_share_an_activation(store: &dyn Store) {
    registered(store, &["a", "b", "c"]).await;
    for (n, id) in [(1, "a"), (2, "b"), (3, "c"), (4, "a"), (5, "b")] {
        enqueue(store, woken(id, n, at(1))).await;
    }
    let request = ClaimRequest {
        daemon_slots: 2,
        rates: Default::default(),
        day_usd: None,
        ..claim(at(2))
    };
    // Two claims that read the same row before either writes are the race that a transaction has to exclude.
    let claims = (0..8)
        .map(|_| -> Caller<'_, _> {
            Box::pin(async { store.claim(&request).await.expect("claims") })
        })
        .collect();
    let claimed: Vec<_> = join_all(claims).await.into_iter().flatten().collect();
    let ids: BTreeSet<_> = claimed.iter().map(|one| one.id.clone()).collect();
    assert_eq!(
        (claimed.len(), ids.len()),
        (4, 4),
        "as many as the host has slots, each another"
    );
}

pub(super) async fn a_late_end_does_not_refuse_the_valid_one_of_the_same_moment(store: &dyn Store) {
    let stale = begun(store).await;
    end(store, &stale, crashed(at(3))).await;
    let held = claimed(store, at(3600)).await;
    let ends = [&stale, &held, &stale].map(|of| -> Caller<'_, bool> {
        Box::pin(async {
            let ended = store.end_attempt(&of.id, of.run_lease, done(at(3601)));
            ended.await.is_ok()
        })
    });
    assert_eq!(join_all(ends.into()).await, [false, true, false]);
    let stored = read(store, &held.id).await;
    assert_eq!(stored.state, ActivationState::Succeeded);
}

pub(super) async fn a_stale_match_does_not_take_the_place_of_the_one_of_the_same_moment(
    store: &dyn Store,
) {
    registered(store, &["a"]).await;
    for (n, kind) in [(1, MERGED), (2, CLOSED)] {
        let report = report_of(n, kind, "merge:o/r:1");
        store.accept(vec![report]).await.expect("accepts");
    }
    // What matched before the second report came wakes no daemon.
    let matches = [(0, None), (1, Some(11)), (0, None)].map(|(n_later, wakes)| {
        let trigger = |n| NewTrigger {
            activation_id: activation_id(n),
            ..woken("a", 1, at(5))
        };
        let matched = Matched {
            n_later,
            event: event_id(1),
            wanted: Vec::new(),
            triggers: wakes.map(trigger).into_iter().collect(),
        };
        let caller: Caller<'_, usize> = Box::pin(async {
            let admitted = store.match_and_claim(&claim(at(5)), vec![matched]).await;
            admitted.expect("commits").0.len()
        });
        caller
    });
    assert_eq!(join_all(matches.into()).await, [0, 1, 0]);
    let due = store.unmatched(0, 5).await.expect("reads");
    assert_eq!(due, []);
}
