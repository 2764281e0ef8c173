//! Concurrent clients of one store.

use std::collections::BTreeSet;

use super::scene::{at, claim, enqueue, first, join_all, new_event, registered, woken};
use crate::rows::{ClaimRequest, Freshness};
use crate::traits::Store;

pub(super) async fn concurrent_senders_store_each_event_once(store: &dyn Store) {
    const SENDERS: u64 = 8;
    const EVENTS: u64 = 40;
    let senders = (0..SENDERS)
        .map(
            |sender| -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>> {
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
            },
        )
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
        .map(|_| -> std::pin::Pin<Box<dyn Future<Output = _> + Send>> {
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
