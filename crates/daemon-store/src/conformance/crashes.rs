//! What a host that died left leased.

use daemon_engine::{
    Activation, ActivationState, AttemptEnd, Blame, Gate, HostEnd, HostEpoch, RunLease,
};

use super::attempts::{begun, check_fenced, conduct, running};
use super::scene::{
    HOST, activation_id, at, claim, done, enqueue, planned, read, registered, run, woken,
};
use crate::rows::{ClaimRequest, Reclaimed};
use crate::traits::Store;

pub(super) async fn an_earlier_epoch_is_reclaimed(store: &dyn Store) {
    let activation = running(store).await;
    // The own epoch is alive, so that a sweep must not take back what this host runs.
    assert_eq!(store.reclaimable(HOST, at(4)).await.expect("reads"), []);
    let running = read(store, &activation.id).await;
    let next_epoch = HostEpoch(2);
    assert_eq!(
        store.reclaimable(next_epoch, at(4)).await.expect("reads"),
        std::slice::from_ref(&running)
    );
    assert_eq!(
        store.reclaim(next_epoch, at(4)).await.expect("reclaims"),
        [Reclaimed {
            id: activation.id.clone(),
            lease: RunLease(1),
            state: ActivationState::Pending,
        }]
    );
    assert_eq!(
        read(store, &activation.id).await,
        Activation {
            state: ActivationState::Pending,
            reason: Some("slot".to_owned()),
            attempts: 0,
            owner: None,
            lease_until: None,
            not_before: at(4),
            ..running
        }
    );
    // Whether the run finished its work before the crash is not known; `failed` would be a guess.
    let abandoned = store.run("r-1").await.expect("reads").expect("is there");
    assert_eq!(
        (abandoned.state.as_str(), abandoned.finished_at),
        ("unknown", Some(at(4)))
    );
    check_fenced(store, &activation).await;
    assert_eq!(
        store.reclaim(next_epoch, at(5)).await.expect("reclaims"),
        []
    );
}

pub(super) async fn an_expired_lease_is_reclaimed(store: &dyn Store) {
    let activation = begun(store).await;
    // Up to the last second the holder may still write.
    assert_eq!(store.reclaim(HOST, at(61)).await.expect("reclaims"), []);
    let reclaimed = store.reclaim(HOST, at(62)).await.expect("reclaims");
    assert_eq!(reclaimed.len(), 1);
    check_fenced(store, &activation).await;
}

/// Begins a host after one that ended as given, and takes back what that left.
async fn restart(store: &dyn Store, end: HostEnd, second: i64) -> Vec<Reclaimed> {
    let epoch = store.begin_epoch(end, at(second)).await.expect("begins");
    store.reclaim(epoch, at(second)).await.expect("reclaims")
}

/// Leases the next activation to the newest host and starts its run.
async fn begun_again(store: &dyn Store, second: i64) -> Activation {
    // A lease of an older epoch would be taken back at once.
    let owner = store.epoch().await.expect("reads");
    let request = ClaimRequest {
        owner,
        ..claim(at(second))
    };
    let claimed = store.claim(&request).await.expect("claims");
    let claimed = claimed.expect("one is ready");
    let run = run(&format!("r-{second}"), &claimed, at(second));
    store
        .start_run(&claimed.id, claimed.run_lease, run, at(second))
        .await
        .expect("starts");
    claimed
}

pub(super) async fn three_faults_of_the_host_are_poison_and_trip_nothing(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(0))).await;
    restart(store, HostEnd::Stopped, 1).await;
    // However often it is killed, that says nothing about what it ran.
    for second in 2..12 {
        begun_again(store, second).await;
        let end = if second < 9 {
            HostEnd::Killed
        } else {
            HostEnd::Aborted
        };
        let states: Vec<ActivationState> = restart(store, end, second)
            .await
            .iter()
            .map(|one| one.state)
            .collect();
        let expected = if second < 11 {
            ActivationState::Pending
        } else {
            ActivationState::Dead
        };
        assert_eq!(states, [expected], "crash {second}");
    }
    let dead = read(store, &activation_id(1)).await;
    let blame = Blame {
        alone: 3,
        in_row: 3,
    };
    assert_eq!(
        (dead.blame, dead.attempts, dead.reason.as_deref()),
        (blame, 3, Some("poison: 3 host crashes while it ran"))
    );
    assert_eq!(dead.finished_at, Some(at(11)));
    // A crash of the host may have another cause, so that it does not count against the daemon.
    assert_eq!(conduct(store).await, (Gate::Open, 0));
    let revived = store.retry(&dead.id, at(12)).await.expect("it revives");
    assert_eq!(revived.blame, Blame::default());
}

pub(super) async fn a_crash_while_it_delivers_ends_the_row_of_crashes(store: &dyn Store) {
    registered(store, &["a"]).await;
    let id = enqueue(store, woken("a", 1, at(0))).await;
    restart(store, HostEnd::Stopped, 1).await;
    begun_again(store, 2).await;
    restart(store, HostEnd::Aborted, 3).await;
    let again = begun_again(store, 4).await;
    let end = AttemptEnd {
        outputs: vec![planned(&id, 0)],
        ..done(at(5))
    };
    store
        .end_attempt(&id, again.run_lease, end)
        .await
        .expect("ends");
    // Its run has ended, so that this crash has another reason.
    restart(store, HostEnd::Aborted, 6).await;
    let blame = Blame {
        alone: 1,
        in_row: 0,
    };
    assert_eq!(read(store, &id).await.blame, blame);
}

pub(super) async fn one_suspect_runs_at_a_time(store: &dyn Store) {
    registered(store, &["a", "b", "c"]).await;
    enqueue(store, woken("a", 1, at(0))).await;
    enqueue(store, woken("b", 2, at(0))).await;
    restart(store, HostEnd::Stopped, 1).await;
    begun_again(store, 2).await;
    begun_again(store, 2).await;
    restart(store, HostEnd::Aborted, 3).await;
    enqueue(store, woken("c", 3, at(3))).await;
    // Both were present in the crash. Started together again, both would be present in the next one, and neither could be
    // cleared.
    let first = begun_again(store, 4).await;
    let innocent = begun_again(store, 5).await;
    assert!(first.blame.is_suspect() && !innocent.blame.is_suspect());
    let request = claim(at(6));
    assert_eq!(store.claim(&request).await.expect("claims"), None);
    let other = activation_id(if first.id == activation_id(1) { 2 } else { 1 });
    let asked = store.claim_one(&other, &request).await.expect("claims");
    assert_eq!(asked, None);
    store
        .end_attempt(&first.id, first.run_lease, done(at(7)))
        .await
        .expect("ends");
    let second = begun_again(store, 8).await;
    assert_eq!(second.id, other);
    // The crash that follows had nothing of the one that ended, and clears none of those that were.
    restart(store, HostEnd::Aborted, 9).await;
    let left = read(store, &other).await;
    let in_both = Blame {
        alone: 0,
        in_row: 2,
    };
    assert_eq!(left.blame, in_both);
}
