//! The outbox: every output sent once, and the activation ends with the last.

use daemon_engine::{
    Activation, ActivationState, AttemptEnd, AttemptOutcome, Gate, HostEnd, NewOutput, Output,
    OutputKey, OutputState, RemoteId, Settlement,
};
use daemon_event::ActivationId;
use jiff::Timestamp;

use super::scene::{
    at, claimed, crashed, daemon, done, ending, enqueue, failed, planned, read, registered,
    state_of, woken,
};
use crate::error::StoreError;
use crate::rows::OutputPlace;
use crate::traits::Store;

/// Ends an attempt of daemon `a` with outputs.
async fn delivering(store: &dyn Store, n: u64, ordinals: &[u32]) -> Activation {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", n, at(1))).await;
    let activation = claimed(store, at(2)).await;
    let proposed = AttemptEnd {
        outputs: ordinals
            .iter()
            .map(|ordinal| planned(&activation.id, *ordinal))
            .collect(),
        ..done(at(3))
    };
    store
        .end_attempt(&activation.id, activation.run_lease, proposed)
        .await
        .expect("ends")
        .activation
}

fn key(activation: &Activation, ordinal: u32) -> OutputKey {
    planned(&activation.id, ordinal).key
}

fn confirmed(remote: &str, now: Timestamp) -> Settlement {
    Settlement {
        state: OutputState::Confirmed,
        remote: Some(RemoteId {
            id: remote.to_owned(),
            url: Some(format!("file:///{remote}")),
            revision: None,
        }),
        error: None,
        not_before: None,
        at: now,
    }
}

fn settled(state: OutputState, error: &str, now: Timestamp) -> Settlement {
    Settlement {
        state,
        remote: None,
        error: Some(error.to_owned()),
        not_before: None,
        at: now,
    }
}

async fn settle(store: &dyn Store, key: &OutputKey, settlement: Settlement) -> Output {
    store.settle(key, settlement).await.expect("settles")
}

async fn states(store: &dyn Store, id: &ActivationId) -> Vec<OutputState> {
    let outputs = store.outputs_of(id).await.expect("reads");
    outputs.into_iter().map(|output| output.state).collect()
}

fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>, expected: &str) -> bool {
    matches!(result, Err(StoreError::Conflict { state, .. }) if state == expected)
}

pub(super) async fn an_attempt_with_outputs_delivers(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    let activation = claimed(store, at(2)).await;
    // A refusal is a row like any other output, so that a person sees what the run proposed.
    let refused = NewOutput {
        state: OutputState::Refused,
        error: Some("a protected branch".to_owned()),
        ..planned(&activation.id, 0)
    };
    let sent = planned(&activation.id, 1);
    let proposed = AttemptEnd {
        outputs: vec![sent.clone(), refused.clone()],
        ..done(at(3))
    };
    let ended = store
        .end_attempt(&activation.id, activation.run_lease, proposed)
        .await
        .expect("ends");
    assert_eq!(
        (ended.activation.state, ended.activation.finished_at),
        (ActivationState::Delivering, None)
    );
    let expected = [
        Output::new(refused, &activation, at(3)),
        Output::new(sent, &activation, at(3)),
    ];
    assert_eq!(
        store.outputs_of(&activation.id).await.expect("reads"),
        expected
    );
}

pub(super) async fn only_a_good_end_keeps_outputs(store: &dyn Store) {
    registered(store, &["a"]).await;
    // A failed attempt is repeated and would propose its outputs again.
    for (n, outcome) in [crashed(at(3)).outcome, failed(at(3)).outcome]
        .into_iter()
        .chain([AttemptOutcome::Cancelled {
            reason: "a person".to_owned(),
        }])
        .enumerate()
    {
        let n = u64::try_from(n).expect("small");
        enqueue(store, woken("a", n, at(1))).await;
        let activation = claimed(store, at(2)).await;
        let proposed = AttemptEnd {
            outputs: vec![planned(&activation.id, 0)],
            ..ending(outcome, at(3))
        };
        store
            .end_attempt(&activation.id, activation.run_lease, proposed)
            .await
            .expect("ends");
        assert_eq!(states(store, &activation.id).await, []);
    }
}

pub(super) async fn an_output_is_sent_from_planned_only(store: &dyn Store) {
    let activation = delivering(store, 1, &[0]).await;
    let key = key(&activation, 0);
    store.begin_send(&key).await.expect("begins");
    let sending = &store.outputs_of(&activation.id).await.expect("reads")[0];
    let found = store.output(&sending.key).await.expect("reads");
    assert_eq!(found.as_ref(), Some(sending));
    assert_eq!((sending.state, sending.attempts), (OutputState::Sending, 1));
    // Two senders, or one that lost the answer to its first call: only one of them may reach the surface.
    let again = store.begin_send(&key).await;
    assert!(is_conflict(&again, "sending"), "{again:?}");
    settle(store, &key, confirmed("r-1", at(4))).await;
    let late = store.begin_send(&key).await;
    assert!(is_conflict(&late, "confirmed"), "{late:?}");
    let twice = store.settle(&key, confirmed("r-2", at(5))).await;
    assert!(is_conflict(&twice, "confirmed"), "{twice:?}");
    let unknown = store.begin_send(&planned(&activation.id, 7).key).await;
    assert!(
        matches!(unknown, Err(StoreError::NotFound { .. })),
        "{unknown:?}"
    );
}

pub(super) async fn the_last_settled_output_ends_the_activation(store: &dyn Store) {
    let activation = delivering(store, 1, &[0, 1, 2]).await;
    let keys: Vec<OutputKey> = (0..3).map(|ordinal| key(&activation, ordinal)).collect();
    for key in &keys {
        store.begin_send(key).await.expect("begins");
    }
    let output = settle(store, &keys[0], confirmed("r-1", at(4))).await;
    let sent = planned(&activation.id, 0);
    assert_eq!(
        output,
        Output {
            state: OutputState::Confirmed,
            remote_id: Some("r-1".to_owned()),
            url: Some("file:///r-1".to_owned()),
            attempts: 1,
            delivered_at: Some(at(4)),
            ..Output::new(sent, &activation, at(3))
        }
    );
    let lost = Settlement {
        state: OutputState::Ambiguous,
        not_before: Some(at(30)),
        ..settled(OutputState::Ambiguous, "the reply was lost", at(5))
    };
    let output = settle(store, &keys[1], lost).await;
    assert_eq!(
        (output.state, output.not_before, output.error.as_deref()),
        (OutputState::Ambiguous, at(30), Some("the reply was lost"))
    );
    settle(
        store,
        &keys[2],
        settled(OutputState::Unknown, "unreadable", at(6)),
    )
    .await;
    assert_eq!(
        state_of(store, &activation.id).await,
        ActivationState::Delivering
    );
    settle(store, &keys[1], confirmed("r-2", at(31))).await;
    let ended = read(store, &activation.id).await;
    assert_eq!(
        (ended.state, ended.finished_at),
        (ActivationState::Succeeded, Some(at(31)))
    );
    let state = store.state(&daemon("a"), at(40)).await.expect("reads");
    // Only confirmed outputs count towards the limits of a day.
    assert_eq!(state.outputs_today, 2);
}

pub(super) async fn an_output_that_gave_up_fails_the_activation(store: &dyn Store) {
    let activation = delivering(store, 1, &[0, 1]).await;
    for ordinal in 0..2 {
        store
            .begin_send(&key(&activation, ordinal))
            .await
            .expect("begins");
    }
    settle(
        store,
        &key(&activation, 0),
        settled(OutputState::GaveUp, "403", at(4)),
    )
    .await;
    settle(store, &key(&activation, 1), confirmed("r", at(5))).await;
    let ended = read(store, &activation.id).await;
    assert_eq!(
        (ended.state, ended.reason.as_deref()),
        (
            ActivationState::Failed,
            Some("an output could not be delivered")
        )
    );
    // It counts for the gate: five activations in a row whose outputs no surface accepts need a person.
    let rows = store.daemons().await.expect("reads");
    assert_eq!((rows[0].gate, rows[0].failures), (Gate::Open, 1));
}

pub(super) async fn what_was_being_sent_is_ambiguous_after_a_restart(store: &dyn Store) {
    let activation = delivering(store, 1, &[0, 1]).await;
    store
        .begin_send(&key(&activation, 0))
        .await
        .expect("begins");
    let due = store.due_outputs(at(10), 10).await.expect("reads");
    assert_eq!(due.len(), 1, "what is being sent is not due");
    let begun = store.begin_epoch(HostEnd::Killed, at(10)).await;
    begun.expect("begins");
    assert_eq!(
        states(store, &activation.id).await,
        [OutputState::Ambiguous, OutputState::Planned]
    );
    let due = store.due_outputs(at(10), 10).await.expect("reads");
    let in_doubt: Vec<_> = due.iter().map(|output| output.in_doubt_since).collect();
    assert_eq!(in_doubt, [Some(at(10)), None]);
    // The request may have reached the surface before the crash, so a look-up has to come before another send.
    let not_sent = store.begin_send(&key(&activation, 0)).await;
    assert!(is_conflict(&not_sent, "ambiguous"), "{not_sent:?}");
    let absent = Settlement {
        error: None,
        not_before: Some(at(11)),
        ..settled(OutputState::Planned, "", at(11))
    };
    settle(store, &key(&activation, 0), absent).await;
    store
        .begin_send(&key(&activation, 0))
        .await
        .expect("begins again");
}

pub(super) async fn due_outputs_come_oldest_first(store: &dyn Store) {
    let first = delivering(store, 2, &[1, 0]).await;
    let busy = store.due_outputs(at(2), 10).await.expect("reads");
    assert_eq!(busy, [], "nothing is due before it was made");
    assert_eq!(
        store.next_output_at(at(2)).await.expect("reads"),
        Some(at(3))
    );
    let due = async |seconds, limit| -> Vec<u32> {
        let outputs = store.due_outputs(at(seconds), limit).await.expect("reads");
        outputs.into_iter().map(|output| output.ordinal).collect()
    };
    assert_eq!(due(3, 10).await, [1, 0], "in the order they were proposed");
    assert_eq!(due(3, 1).await, [1]);
    store.begin_send(&key(&first, 1)).await.expect("begins");
    let later = Settlement {
        not_before: Some(at(60)),
        ..settled(OutputState::Planned, "502", at(4))
    };
    settle(store, &key(&first, 1), later).await;
    assert_eq!(due(59, 10).await, [0]);
    assert_eq!(due(60, 10).await, [1, 0]);
    assert_eq!(
        store.next_output_at(at(3)).await.expect("reads"),
        Some(at(60))
    );
    assert_eq!(store.next_output_at(at(60)).await.expect("reads"), None);
}

pub(super) async fn due_outputs_of_one_surface_leave_room_for_others(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    let activation = claimed(store, at(2)).await;
    let on = |ordinal: u32, surface: &str| NewOutput {
        surface: surface.to_owned(),
        ..planned(&activation.id, ordinal)
    };
    let surfaces = ["git", "git", "slack", "git", "slack"];
    let outputs = (0..).zip(surfaces).map(|(n, surface)| on(n, surface));
    let proposed = AttemptEnd {
        outputs: outputs.collect(),
        ..done(at(3))
    };
    let ended = store.end_attempt(&activation.id, activation.run_lease, proposed);
    ended.await.expect("ends");
    let due = async |limit| -> Vec<u32> {
        let outputs = store.due_outputs(at(3), limit).await.expect("reads");
        outputs.into_iter().map(|output| output.ordinal).collect()
    };
    assert_eq!(due(1).await, [0, 2]);
    assert_eq!(due(2).await, [0, 1, 2, 4]);
}

pub(super) async fn an_output_is_found_where_it_is_or_may_be(store: &dyn Store) {
    let activation = delivering(store, 1, &[0, 1]).await;
    let none: [u32; 0] = [];
    let found = async |surface: &str, place: OutputPlace| -> Vec<u32> {
        let outputs = store.outputs_at(surface, &place).await.expect("reads");
        outputs.into_iter().map(|output| output.ordinal).collect()
    };
    let target = || OutputPlace::Target("refs/heads/daemon/0".to_owned());
    let revision = || OutputPlace::Revision("c0ffee-0".to_owned());
    let remote = || OutputPlace::RemoteId("r-1".to_owned());
    assert_eq!(found("git", target()).await, none, "nothing was sent yet");
    assert_eq!(found("git", revision()).await, none);
    store
        .begin_send(&key(&activation, 0))
        .await
        .expect("begins");
    // Between the send and its confirmation a webhook about the output can arrive. It has to be recognised as the daemon's
    // own, or it would wake the daemon again.
    assert_eq!(found("git", target()).await, [0], "it may be there");
    assert_eq!(found("git", revision()).await, [0]);
    assert_eq!(found("git", remote()).await, none);
    settle(store, &key(&activation, 0), confirmed("r-1", at(4))).await;
    for place in [target(), revision(), remote()] {
        assert_eq!(found("git", place.clone()).await, [0], "{place:?}");
        assert_eq!(found("github", place).await, none);
    }
    for other in [
        OutputPlace::Target("refs/heads/daemon/1".to_owned()),
        OutputPlace::Revision("c0ffee".to_owned()),
        OutputPlace::RemoteId("r-2".to_owned()),
    ] {
        assert_eq!(found("git", other).await, none);
    }
    // An edit has the id of what it edits; the origin of an event is the newest of them.
    store
        .begin_send(&key(&activation, 1))
        .await
        .expect("begins");
    settle(store, &key(&activation, 1), confirmed("r-1", at(5))).await;
    assert_eq!(found("git", remote()).await, [1, 0]);
}

pub(super) async fn an_output_is_found_by_the_revision_that_its_surface_returns(store: &dyn Store) {
    let activation = delivering(store, 1, &[0]).await;
    let key = key(&activation, 0);
    let proposed = store.output(&key).await.expect("reads").expect("it is");
    store.begin_send(&key).await.expect("begins");
    let mut made = confirmed("r-1", at(4));
    made.remote.as_mut().expect("it is").revision = Some("check_suite:5".to_owned());
    let stored = settle(store, &key, made).await;
    assert_eq!(stored.revision.as_deref(), Some("check_suite:5"));
    let known = store.output(&key).await.expect("reads");
    assert_eq!(known.as_ref(), Some(&stored));
    for (revision, expected) in [
        (Some("check_suite:5".to_owned()), vec![stored]),
        (proposed.revision, Vec::new()),
    ] {
        let place = OutputPlace::Revision(revision.expect("it has one"));
        let found = store.outputs_at("git", &place).await.expect("reads");
        assert_eq!(found, expected);
    }
}

pub(super) async fn a_cancelled_activation_sends_nothing_more(store: &dyn Store) {
    let activation = delivering(store, 1, &[0, 1]).await;
    store
        .begin_send(&key(&activation, 0))
        .await
        .expect("begins");
    store
        .cancel(&activation.id, "a person", at(5))
        .await
        .expect("cancels");
    assert_eq!(
        states(store, &activation.id).await,
        [OutputState::Sending, OutputState::Refused]
    );
    // The surface refused the send that was under way when the activation was cancelled; it must not be tried again.
    let again = Settlement {
        not_before: Some(at(7)),
        ..settled(OutputState::Planned, "502", at(6))
    };
    let output = settle(store, &key(&activation, 0), again).await;
    assert_eq!(
        (output.state, output.error.as_deref()),
        (OutputState::Refused, Some("the activation was cancelled"))
    );
    let ended = read(store, &activation.id).await;
    assert_eq!(
        (ended.state, ended.finished_at),
        (ActivationState::Cancelled, Some(at(5)))
    );
}

pub(super) async fn a_retry_repeats_no_delivered_output(store: &dyn Store) {
    let activation = delivering(store, 1, &[0, 1]).await;
    for ordinal in 0..2 {
        store
            .begin_send(&key(&activation, ordinal))
            .await
            .expect("begins");
    }
    settle(store, &key(&activation, 0), confirmed("r-1", at(4))).await;
    settle(
        store,
        &key(&activation, 1),
        settled(OutputState::GaveUp, "403", at(5)),
    )
    .await;
    store.retry(&activation.id, at(6)).await.expect("revives");
    // The second attempt proposes the same keys. What was confirmed stays, and only what gave up is replaced.
    let again = claimed(store, at(7)).await;
    let proposed = AttemptEnd {
        outputs: vec![planned(&again.id, 0), planned(&again.id, 1)],
        ..done(at(8))
    };
    store
        .end_attempt(&again.id, again.run_lease, proposed)
        .await
        .expect("ends");
    assert_eq!(
        states(store, &again.id).await,
        [OutputState::Confirmed, OutputState::Planned]
    );
    let replaced = &store.outputs_of(&again.id).await.expect("reads")[1];
    assert_eq!(
        (
            replaced.attempts,
            replaced.created_at,
            replaced.error.clone()
        ),
        (0, at(8), None)
    );
}

pub(super) async fn a_clock_step_back_delays_no_output(store: &dyn Store) {
    // The time of the next try was computed by a clock that was a day ahead.
    let waiting = waiting_until(store, at(90_000)).await;
    store.retract(at(600)).await.expect("retracts");
    assert_eq!(due_at(store, at(600)).await, [waiting]);
}

pub(super) async fn hastened_outputs_are_due_at_once(store: &dyn Store) {
    let waiting = waiting_until(store, at(1_800)).await;
    assert_eq!(due_at(store, at(600)).await, []);
    store.hasten_outputs(at(600)).await.expect("hastens");
    assert_eq!(due_at(store, at(599)).await, []);
    assert_eq!(due_at(store, at(600)).await, [waiting]);
}

/// Makes an output that failed and is tried again at an instant, and another one that is confirmed.
async fn waiting_until(store: &dyn Store, not_before: Timestamp) -> OutputKey {
    let activation = delivering(store, 1, &[0, 1]).await;
    let later = Settlement {
        not_before: Some(not_before),
        ..settled(OutputState::Planned, "502", at(500))
    };
    let confirmed = settled(OutputState::Confirmed, "", at(500));
    for (ordinal, settlement) in [(0, later), (1, confirmed)] {
        let key = key(&activation, ordinal);
        store.settle(&key, settlement).await.expect("settles");
    }
    key(&activation, 0)
}

async fn due_at(store: &dyn Store, now: Timestamp) -> Vec<OutputKey> {
    let due = store.due_outputs(now, 8).await.expect("reads");
    due.into_iter().map(|output| output.key).collect()
}
