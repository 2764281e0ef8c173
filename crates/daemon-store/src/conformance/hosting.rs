//! The host's own bookkeeping.

use daemon_engine::{ActivationState, FactState, HostEnd, HostEpoch, OutputState};
use daemon_schedule::{Cancels, TickOutcome};

use super::scene::{
    at, claimed, daemon, done, enqueue, event_id, first, forever, new_event, planned, registered,
    registration, scheduled, tick, woken,
};
use crate::rows::{Counts, Freshness, Matched, NewEvent, TickCommit};
use crate::traits::Store;

pub(super) async fn the_epoch_rises(store: &dyn Store) {
    assert_eq!(store.epoch().await.expect("reads"), HostEpoch(0));
    // An epoch is never used twice, also after an orderly stop: leases of an older one belong to a host that has ended.
    for epoch in 1..=3 {
        let begun = store.begin_epoch(HostEnd::Stopped, at(0)).await;
        let begun = begun.expect("begins");
        assert_eq!(begun, HostEpoch(epoch));
        assert_eq!(store.epoch().await.expect("reads"), begun);
    }
}

pub(super) async fn starts_after_crashes_are_counted(store: &dyn Store) {
    let ends = [
        (HostEnd::Stopped, 0),
        (HostEnd::Killed, 1),
        (HostEnd::Stopped, 2),
        (HostEnd::Aborted, 3),
        (HostEnd::Panicked, 4),
    ];
    for (end, second) in ends {
        store.begin_epoch(end, at(second)).await.expect("begins");
    }
    // Only crashes count, since a host that is restarted often is not in a crash loop.
    for (since, expected) in [(-1, 3), (0, 3), (1, 2), (3, 1), (4, 0)] {
        let n = store.starts_after_crashes(at(since)).await;
        assert_eq!(n.expect("counts"), expected, "since {since}");
    }
}

pub(super) async fn counts_name_every_state(store: &dyn Store) {
    registered(store, &["a"]).await;
    store
        .accept(vec![new_event(1, "id:1"), new_event(2, "id:2")])
        .await
        .expect("accepts");
    let matched = Matched {
        n_later: 0,
        event: event_id(1),
        wanted: vec![daemon_event::Need::ChangedFiles],
        triggers: vec![woken("a", 1, at(1))],
    };
    store
        .commit_matches(vec![matched], at(1))
        .await
        .expect("commits");
    let activation = claimed(store, at(2)).await;
    let proposed = daemon_engine::AttemptEnd {
        outputs: vec![planned(&activation.id, 0), planned(&activation.id, 1)],
        ..done(at(3))
    };
    store
        .end_attempt(&activation.id, activation.run_lease, proposed)
        .await
        .expect("ends");
    enqueue(store, woken("a", 2, at(3))).await;
    let expected = Counts {
        events: 2,
        unmatched: 1,
        activations: ActivationState::ALL
            .map(|state| {
                let n = match state {
                    ActivationState::Pending | ActivationState::Delivering => 1,
                    ActivationState::Claimed
                    | ActivationState::Running
                    | ActivationState::Succeeded
                    | ActivationState::Failed
                    | ActivationState::Dead
                    | ActivationState::Cancelled => 0,
                };
                (state, n)
            })
            .to_vec(),
        outputs: OutputState::ALL
            .map(|state| (state, if state == OutputState::Planned { 2 } else { 0 }))
            .to_vec(),
        facts: FactState::ALL
            .map(|state| (state, u64::from(state == FactState::Waiting)))
            .to_vec(),
    };
    assert_eq!(store.counts().await.expect("counts"), expected);
}

/// Returns an event that is known by some keys.
fn keyed(n: u64, keys: &[&str]) -> NewEvent {
    NewEvent {
        identities: keys.iter().map(|key| forever(key)).collect(),
        ..new_event(n, "")
    }
}

/// Stores three events, of which the second is not matched, and ticks at 5 and 15 seconds.
async fn stored_for_a_while(store: &dyn Store) {
    // Events 10 and 11 are received at 10 and 11 seconds, and so on.
    store
        .accept(vec![
            keyed(10, &["id:a", "body:a"]),
            keyed(11, &["id:b"]),
            keyed(20, &["id:c", "body:c"]),
        ])
        .await
        .expect("accepts");
    // Event 11 stays unmatched, and its payload is still needed.
    let matched = [10, 20].map(|n| Matched {
        n_later: 0,
        event: event_id(n),
        wanted: Vec::new(),
        triggers: Vec::new(),
    });
    store
        .commit_matches(matched.to_vec(), at(21))
        .await
        .expect("commits");
    let row = scheduled("a", "* * * * *");
    store
        .register(registration(vec![row], at(0)))
        .await
        .expect("registers");
    let missed = |from, to| TickCommit {
        daemon: daemon("a"),
        coverage: 1,
        from: at(from),
        to: at(to),
        rows: vec![tick(at(to), TickOutcome::MissedWindow)],
        trigger: None,
        cancels: Cancels::Nothing,
        now: at(to),
    };
    store
        .commit_ticks(vec![missed(0, 5), missed(5, 15)])
        .await
        .expect("commits");
}

pub(super) async fn old_payloads_and_identities_are_forgotten(store: &dyn Store) {
    stored_for_a_while(store).await;
    store.retain(at(20), at(20), at(10)).await.expect("forgets");
    let payload = async |n| {
        let stored = store.event(&event_id(n)).await.expect("reads");
        stored.expect("is there").event.payload.to_vec()
    };
    assert_eq!(payload(10).await, b"");
    assert_eq!(
        payload(11).await,
        b"{\"n\":11}",
        "it is still to be matched"
    );
    assert_eq!(payload(20).await, b"{\"n\":20}");
    // A replay of a signed body can come under any id, so that bodies are remembered longer than ids.
    let again = async |n, key: &str| {
        let accepted = store.accept(vec![keyed(n, &[key])]).await.expect("accepts");
        accepted[0].freshness
    };
    assert_eq!(again(30, "id:a").await, Freshness::New);
    assert_eq!(again(31, "id:c").await, Freshness::Duplicate);
    assert_eq!(
        again(32, "body:a").await,
        Freshness::Duplicate,
        "bodies are known as long as ticks"
    );
    let ticks = store.ticks(&first(5)).await.expect("lists").rows;
    let left: Vec<_> = ticks.into_iter().map(|tick| tick.scheduled_at).collect();
    assert_eq!(left, [at(15)]);
}

pub(super) async fn a_probe_answers(store: &dyn Store) {
    // The probe writes, since a full disk still answers reads; it must leave no row.
    store.probe().await.expect("answers");
    store
        .accept(vec![new_event(1, "id:1")])
        .await
        .expect("accepts");
    store.probe().await.expect("answers");
    assert_eq!(store.counts().await.expect("counts").events, 1);
}
