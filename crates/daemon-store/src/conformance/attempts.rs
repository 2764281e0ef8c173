//! Attempts: leases, ends, retries, crashes and what a daemon remembers.

use daemon_engine::{
    Activation, ActivationState, AttemptEnd, AttemptOutcome, Gate, Missing, RunLease, StateChange,
    TRIP_AFTER,
};
use daemon_event::ActivationId;
use jiff::SignedDuration;

use super::scene::{
    activation_id, at, claim, claimed, crashed, daemon, done, ending, enqueue, fail_one, failed,
    planned, read, registered, registration, row, run, state_of, woken,
};
use crate::error::StoreError;
use crate::rows::{DaemonRow, Ended};
use crate::traits::Store;

/// Makes the one activation of daemon `a`, claims it and starts its run `r-1`.
pub(super) async fn running(store: &dyn Store) -> Activation {
    let activation = begun(store).await;
    store
        .start_run(
            &activation.id,
            activation.run_lease,
            run("r-1", &activation, at(3)),
            at(3),
        )
        .await
        .expect("starts");
    activation
}

/// Registers daemon `a`, wakes it once and claims it.
pub(super) async fn begun(store: &dyn Store) -> Activation {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    claimed(store, at(2)).await
}

pub(super) async fn end(store: &dyn Store, activation: &Activation, end: AttemptEnd) -> Ended {
    store
        .end_attempt(&activation.id, activation.run_lease, end)
        .await
        .expect("ends")
}

fn is_lost<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::LeaseLost))
}

/// Checks that nothing can be written under a lease.
pub(super) async fn check_fenced(store: &dyn Store, stale: &Activation) {
    // Every kind of write is tried. A host that was stopped for a minute continues with any of them.
    let before = read(store, &stale.id).await;
    let (id, lease) = (&stale.id, stale.run_lease);
    let row = run("late", stale, at(50));
    let started = store.start_run(id, lease, row.clone(), at(50)).await;
    assert!(is_lost(&started), "{started:?}");
    let put = store.put_run(row, Some(lease)).await;
    assert!(is_lost(&put), "{put:?}");
    // A renewal reports the loss instead of failing: one call renews the leases of many runs.
    let renewed = store.renew(vec![(id.clone(), lease)], at(999)).await;
    assert_eq!(renewed.expect("renews"), std::slice::from_ref(id));
    let mut late = done(at(50));
    late.outputs = vec![planned(id, 9)];
    late.state = vec![StateChange::Remove {
        key: "k".to_owned(),
    }];
    let ended = store.end_attempt(id, lease, late).await;
    assert!(is_lost(&ended), "{ended:?}");
    // Nothing of the refused calls may be left: the attempt that holds the lease works with these rows.
    assert_eq!(read(store, id).await, before);
    assert_eq!(store.run("late").await.expect("reads"), None);
    let outputs = store.outputs_of(id).await.expect("reads");
    assert!(outputs.iter().all(|output| output.ordinal != 9));
}

pub(super) async fn every_write_needs_the_lease(store: &dyn Store) {
    let first = begun(store).await;
    // A lease of the future is as wrong as one of the past.
    let stranger = Activation {
        run_lease: RunLease(2),
        ..first.clone()
    };
    check_fenced(store, &stranger).await;
    end(store, &first, crashed(at(3))).await;
    check_fenced(store, &first).await;
    let second = claimed(store, at(3600)).await;
    assert_eq!(second.run_lease, RunLease(2));
    check_fenced(store, &first).await;
    end(store, &second, done(at(3601))).await;
    check_fenced(store, &second).await;
    // A run of an activation cannot be stored like a one-off run, which has no lease.
    let unleased = store.put_run(run("r", &second, at(3602)), None).await;
    assert!(is_lost(&unleased), "{unleased:?}");
    let unknown = store
        .end_attempt(&activation_id(9), RunLease(1), done(at(3)))
        .await;
    assert!(is_lost(&unknown), "{unknown:?}");
}

pub(super) async fn leases_are_renewed_or_reported_lost(store: &dyn Store) {
    let activation = begun(store).await;
    let lost = store
        .renew(
            vec![
                (activation.id.clone(), activation.run_lease),
                (activation_id(9), RunLease(1)),
            ],
            at(100),
        )
        .await
        .expect("renews");
    assert_eq!(lost, [activation_id(9)]);
    assert_eq!(
        read(store, &activation.id).await,
        Activation {
            lease_until: Some(at(100)),
            ..activation
        }
    );
}

pub(super) async fn a_retryable_failure_waits_and_is_tried_again(store: &dyn Store) {
    let activation = begun(store).await;
    let ended = end(store, &activation, crashed(at(10))).await.activation;
    assert_eq!(
        ended,
        Activation {
            state: ActivationState::Pending,
            reason: Some("backoff: it crashed".to_owned()),
            owner: None,
            lease_until: None,
            not_before: at(20),
            tokens: Some(100),
            cost_usd: Some(0.25),
            summary: Some("looked".to_owned()),
            ..activation
        }
    );
    assert_eq!(store.claim(&claim(at(19))).await.expect("claims"), None);
    // The lease number rises with each claim, also where the attempts are not counted: it is the fence.
    let again = claimed(store, at(20)).await;
    assert_eq!((again.attempts, again.run_lease), (2, RunLease(2)));
}

pub(super) async fn attempts_run_out(store: &dyn Store) {
    let mut activation = begun(store).await;
    for attempt in 1..=5 {
        assert_eq!(activation.attempts, attempt);
        let now = at(i64::from(attempt) * 10_000);
        let ended = end(store, &activation, crashed(now)).await.activation;
        if attempt < 5 {
            assert_eq!(ended.state, ActivationState::Pending);
            // An hour is longer than the longest backoff of 30 minutes.
            activation = claimed(store, now + SignedDuration::from_hours(1)).await;
        } else {
            assert_eq!(
                (ended.state, ended.reason.as_deref(), ended.finished_at),
                (
                    ActivationState::Dead,
                    Some("it crashed; 5 attempts"),
                    Some(now)
                )
            );
        }
    }
}

pub(super) async fn a_stopping_host_gives_the_attempt_back(store: &dyn Store) {
    let activation = begun(store).await;
    let stopping = ending(AttemptOutcome::HostStopping, at(5));
    let ended = end(store, &activation, stopping).await.activation;
    assert_eq!(
        (ended.state, ended.attempts, ended.not_before),
        (ActivationState::Pending, 0, at(5))
    );
    // Not counted, since five restarts of a host must not make an activation dead. The lease rises all the same.
    let again = claimed(store, at(5)).await;
    assert_eq!((again.attempts, again.run_lease), (1, RunLease(2)));
}

pub(super) async fn what_is_missing_waits_uncounted_until_it_is_there(store: &dyn Store) {
    let mut activation = begun(store).await;
    let missing = AttemptOutcome::Missing {
        what: Missing::Commit,
        detail: "`c0ffee` is not in `o/r`".to_owned(),
    };
    let ended = end(store, &activation, ending(missing.clone(), at(5))).await;
    let waiting = ended.activation;
    assert_eq!(
        (waiting.state, waiting.attempts),
        (ActivationState::Pending, 0)
    );
    assert_eq!(
        waiting.reason.as_deref(),
        Some("commit: `c0ffee` is not in `o/r`")
    );
    assert_eq!(waiting.not_before, at(6));
    let ids = [activation_id(99), activation.id.clone()];
    assert_eq!(unfinished_among(store, &ids).await, ids[1..]);
    // The commit may have been fetched; waiting for the rest of the backoff would only lose time.
    store.hasten(&ids, at(5)).await.expect("hastens");
    // Given up, it counts for no gate, however often.
    for _ in 0..=TRIP_AFTER {
        activation = claimed(store, at(5)).await;
        let late = ending(missing.clone(), at(5) + SignedDuration::from_hours(25));
        let ended = end(store, &activation, late).await;
        assert_eq!(ended.activation.state, ActivationState::Failed);
        assert_eq!(ended.gate, Gate::Open);
        assert_eq!(unfinished_among(store, &ids).await, Vec::new());
        store.retry(&activation.id, at(5)).await.expect("revives");
    }
    assert_eq!(conduct(store).await, (Gate::Open, 0));
}

async fn unfinished_among(store: &dyn Store, ids: &[ActivationId]) -> Vec<ActivationId> {
    let found = store.unfinished_among(ids).await.expect("reads");
    found.into_iter().collect()
}

pub(super) async fn usage_adds_up_over_attempts(store: &dyn Store) {
    let first = begun(store).await;
    end(store, &first, crashed(at(3))).await;
    let second = claimed(store, at(3600)).await;
    let untold = AttemptEnd {
        tokens: None,
        cost_usd: Some(0.5),
        summary: None,
        ..done(at(3601))
    };
    // Each attempt was paid for, also one that failed. A missing count must not erase the known one.
    let ended = end(store, &second, untold).await.activation;
    assert_eq!(
        (ended.tokens, ended.cost_usd, ended.summary.as_deref()),
        (Some(100), Some(0.75), Some("looked"))
    );
}

pub(super) async fn conduct(store: &dyn Store) -> (Gate, u32) {
    let rows = store.daemons().await.expect("reads");
    let row = rows.first().expect("one is registered");
    (row.gate, row.failures)
}

pub(super) async fn five_failures_trip_the_gate(store: &dyn Store) {
    registered(store, &["a"]).await;
    for n in 1..=4 {
        assert_eq!(fail_one(store, "a", n, at(1)).await, Gate::Open);
    }
    assert_eq!(conduct(store).await, (Gate::Open, 4));
    assert_eq!(fail_one(store, "a", 5, at(1)).await, Gate::Tripped);
    assert_eq!(conduct(store).await, (Gate::Tripped, 5));
    // Triggers are still recorded while a gate is tripped; only claims stop.
    enqueue(store, woken("a", 6, at(2))).await;
    assert_eq!(store.claim(&claim(at(3))).await.expect("claims"), None);
}

pub(super) async fn success_forgets_failures(store: &dyn Store) {
    registered(store, &["a"]).await;
    for n in 1..=4 {
        fail_one(store, "a", n, at(1)).await;
    }
    enqueue(store, woken("a", 5, at(1))).await;
    let cancelled = claimed(store, at(1)).await;
    // A person who stops a run says nothing about whether the daemon works.
    let stopped = AttemptOutcome::Cancelled {
        reason: "a person".to_owned(),
    };
    end(store, &cancelled, ending(stopped, at(1))).await;
    assert_eq!(conduct(store).await, (Gate::Open, 4), "stopping is neither");
    enqueue(store, woken("a", 6, at(1))).await;
    let activation = claimed(store, at(1)).await;
    end(store, &activation, done(at(1))).await;
    assert_eq!(conduct(store).await, (Gate::Open, 0));
}

pub(super) async fn a_new_revision_or_a_person_opens_a_tripped_gate(store: &dyn Store) {
    registered(store, &["a"]).await;
    for n in 1..=5 {
        fail_one(store, "a", n, at(1)).await;
    }
    store
        .register(registration(vec![row("a")], at(2)))
        .await
        .expect("registers");
    assert_eq!(
        conduct(store).await,
        (Gate::Tripped, 5),
        "the same revision opens nothing"
    );
    // An edit is taken for a repair. The same text again is not one, or each restart would open the gate.
    let edited = DaemonRow {
        rev: "rev-2".to_owned(),
        ..row("a")
    };
    store
        .register(registration(vec![edited], at(3)))
        .await
        .expect("registers");
    assert_eq!(conduct(store).await, (Gate::Open, 0));
    for n in 6..=10 {
        fail_one(store, "a", n, at(4)).await;
    }
    assert_eq!(conduct(store).await, (Gate::Tripped, 5));
    store
        .set_gate(&daemon("a"), Gate::Open)
        .await
        .expect("opens");
    assert_eq!(conduct(store).await, (Gate::Open, 0));
}

pub(super) async fn what_waits_too_long_expires(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(0))).await;
    enqueue(store, woken("a", 2, at(1))).await;
    let day = 24 * 3600;
    assert_eq!(store.expire(at(day - 1)).await.expect("expires"), 0);
    assert_eq!(store.expire(at(day)).await.expect("expires"), 1);
    let expired = read(store, &activation_id(1)).await;
    assert_eq!(
        (expired.state, expired.reason.as_deref()),
        (ActivationState::Cancelled, Some("expired"))
    );
    assert_eq!(
        state_of(store, &activation_id(2)).await,
        ActivationState::Pending
    );
    store
        // The age counts from `not_before`: an activation that a person revived after two days would otherwise expire in the
        // next sweep.
        .retry(&activation_id(1), at(day))
        .await
        .expect("revives");
    assert_eq!(
        store.expire(at(day + 2)).await.expect("expires"),
        1,
        "what a person revived waits anew, the other one expires"
    );
    assert_eq!(
        state_of(store, &activation_id(1)).await,
        ActivationState::Pending
    );
}

pub(super) async fn a_cancelled_attempt_writes_nothing(store: &dyn Store) {
    let activation = running(store).await;
    let ended = store
        .cancel(&activation.id, "a person", at(4))
        .await
        .expect("cancels");
    assert_eq!(
        (
            ended.activation.state,
            ended.activation.reason.as_deref(),
            ended.activation.owner
        ),
        (ActivationState::Cancelled, Some("a person"), None)
    );
    // The process may not be dead yet, but its run must not be listed as running under a cancelled activation.
    let stopped = store.run("r-1").await.expect("reads").expect("is there");
    assert_eq!(
        (stopped.state.as_str(), stopped.finished_at),
        ("cancelled", Some(at(4)))
    );
    check_fenced(store, &activation).await;
    let again = store
        .cancel(&activation.id, "again", at(5))
        .await
        .expect_err("it has ended");
    assert!(
        matches!(&again, StoreError::Conflict { state, .. } if state == "cancelled"),
        "{again:?}"
    );
    let unknown = store
        .cancel(&activation_id(9), "x", at(5))
        .await
        .expect_err("it is not there");
    assert!(
        matches!(unknown, StoreError::NotFound { .. }),
        "{unknown:?}"
    );
}

pub(super) async fn only_what_ended_badly_is_retried(store: &dyn Store) {
    let activation = begun(store).await;
    let refused = |error: &StoreError, expected: &str| {
        assert!(
            matches!(error, StoreError::Conflict { state, .. } if state == expected),
            "{error:?}"
        );
    };
    let error = store
        .retry(&activation.id, at(3))
        .await
        .expect_err("it is leased");
    refused(&error, "claimed");
    end(store, &activation, failed(at(4))).await;
    let revived = store.retry(&activation.id, at(5)).await.expect("revives");
    assert_eq!(
        (
            revived.state,
            revived.attempts,
            revived.not_before,
            revived.finished_at
        ),
        (ActivationState::Pending, 0, at(5), None)
    );
    // A retry keeps the lease number rising, so that an attempt from before the retry stays fenced off.
    let again = claimed(store, at(5)).await;
    assert_eq!(
        (again.id.clone(), again.run_lease),
        (activation.id, RunLease(2))
    );
    end(store, &again, done(at(6))).await;
    let error = store
        .retry(&again.id, at(7))
        .await
        .expect_err("it succeeded");
    refused(&error, "succeeded");
    let unknown = store
        .retry(&activation_id(9), at(7))
        .await
        .expect_err("it is not there");
    assert!(
        matches!(unknown, StoreError::NotFound { .. }),
        "{unknown:?}"
    );
}
