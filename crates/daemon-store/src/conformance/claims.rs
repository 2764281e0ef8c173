//! Claims: who runs next, and under which lease.

use std::collections::BTreeSet;

use daemon_engine::{
    ActivationState, AttemptEnd, Gate, HostEpoch, NewTrigger, OutputState, RunLease, Settlement,
};
use daemon_event::ActivationId;

use super::scene::{
    HOST, activation_id, asked, at, claim, claimed, daemon, done, enqueue, planned, registered,
    registration, row, subject, woken,
};
use crate::rows::{ClaimRequest, DaemonRow, Rates, Validity};
use crate::traits::Store;

async fn next(store: &dyn Store, request: &ClaimRequest) -> Option<ActivationId> {
    store
        .claim(request)
        .await
        .expect("claims")
        .map(|activation| activation.id)
}

pub(super) async fn a_claim_leases_and_fences(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    let pending = super::scene::read(store, &activation_id(1)).await;
    let activation = claimed(store, at(2)).await;
    assert_eq!(
        activation,
        daemon_engine::Activation {
            state: ActivationState::Claimed,
            reason: None,
            attempts: 1,
            run_lease: RunLease(1),
            owner: Some(HOST),
            lease_until: Some(at(62)),
            ..pending
        }
    );
    assert_eq!(
        super::scene::read(store, &activation_id(1)).await,
        activation
    );
    // The same request again finds nothing: a lost answer leaves a lease that expires, not a second run.
    assert_eq!(next(store, &claim(at(2))).await, None);
}

pub(super) async fn persons_come_first_then_daemons_in_turn(store: &dyn Store) {
    registered(store, &["a", "b", "c"]).await;
    for n in 1..=3 {
        enqueue(store, woken("a", n, at(1))).await;
    }
    enqueue(store, woken("b", 4, at(2))).await;
    enqueue(store, woken("b", 5, at(2))).await;
    enqueue(store, woken("c", 6, at(3))).await;
    // A person waits for the answer, events do not. Turns keep a busy daemon from starving the others.
    enqueue(store, asked("c", 7, at(4))).await;
    let mut order = Vec::new();
    for second in 10..17 {
        let activation = claimed(store, at(second)).await;
        store
            .end_attempt(&activation.id, activation.run_lease, done(at(second)))
            .await
            .expect("ends");
        order.push(activation.id);
    }
    // The person's, then a and b which never had a turn, then c, then around again.
    let expected = [7, 1, 4, 6, 2, 5, 3].map(activation_id);
    assert_eq!(order, expected);
}

pub(super) async fn a_daemon_gets_its_oldest_first(store: &dyn Store) {
    registered(store, &["a"]).await;
    // In the order of arrival and not of ids: ids of one instant are random.
    for n in [3, 1, 2] {
        enqueue(store, woken("a", n, at(1))).await;
    }
    let request = ClaimRequest {
        daemon_slots: 4,
        rates: Default::default(),
        day_usd: None,
        ..claim(at(5))
    };
    let mut order = Vec::new();
    while let Some(id) = next(store, &request).await {
        order.push(id);
    }
    assert_eq!(order, [3, 1, 2].map(activation_id));
}

pub(super) async fn slots_limit_claims(store: &dyn Store) {
    registered(store, &["a", "b", "c"]).await;
    for (n, id) in [(1, "a"), (2, "a"), (3, "b"), (4, "c")] {
        enqueue(store, woken(id, n, at(1))).await;
    }
    let request = ClaimRequest {
        host_slots: 2,
        ..claim(at(5))
    };
    assert_eq!(next(store, &request).await, Some(activation_id(1)));
    assert_eq!(
        next(store, &request).await,
        Some(activation_id(3)),
        "the daemon's only slot is taken"
    );
    assert_eq!(next(store, &request).await, None, "the host's are");
    // The limits are arguments of each claim, because a reload of the configuration changes them.
    let wider = ClaimRequest {
        host_slots: 4,
        daemon_slots: 2,
        rates: Default::default(),
        day_usd: None,
        ..claim(at(5))
    };
    assert_eq!(next(store, &wider).await, Some(activation_id(4)));
    assert_eq!(next(store, &wider).await, Some(activation_id(2)));
    assert_eq!(next(store, &wider).await, None);
}

pub(super) async fn outputs_that_wait_block_a_subject_and_no_slot(store: &dyn Store) {
    registered(store, &["a"]).await;
    let about = |name: &str, n| NewTrigger {
        subject: subject(name),
        ..woken("a", n, at(1))
    };
    enqueue(store, about("x", 1)).await;
    let first = claimed(store, at(2)).await;
    let output = planned(&first.id, 0);
    let key = output.key.clone();
    let end = AttemptEnd {
        outputs: vec![output],
        ..done(at(3))
    };
    store
        .end_attempt(&first.id, first.run_lease, end)
        .await
        .expect("ends");
    enqueue(store, about("x", 2)).await;
    enqueue(store, about("y", 3)).await;
    // An output may wait a day for a server that does not respond; with the slot, all work would wait for it.
    let one_slot = ClaimRequest {
        host_slots: 1,
        daemon_slots: 1,
        ..claim(at(6))
    };
    assert_eq!(next(store, &one_slot).await, Some(activation_id(3)));
    let wide = ClaimRequest {
        host_slots: 4,
        daemon_slots: 4,
        ..claim(at(6))
    };
    assert_eq!(
        next(store, &wide).await,
        None,
        "the next run about the subject has to see what the first delivers"
    );
    let refused = Settlement {
        state: OutputState::Refused,
        remote: None,
        error: Some("no permission".to_owned()),
        not_before: None,
        at: at(7),
    };
    store.settle(&key, refused).await.expect("settles");
    assert_eq!(next(store, &wide).await, Some(activation_id(2)));
}

pub(super) async fn one_subject_runs_one_at_a_time(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    let about = |id: &str, n| NewTrigger {
        subject: subject("x"),
        ..woken(id, n, at(1))
    };
    let request = ClaimRequest {
        daemon_slots: 4,
        rates: Default::default(),
        day_usd: None,
        ..claim(at(5))
    };
    enqueue(store, about("a", 1)).await;
    let first = claimed(store, at(4)).await;
    enqueue(store, about("a", 2)).await;
    enqueue(store, woken("a", 3, at(1))).await;
    // The slot is one of daemon and subject: two runs of one daemon about one pull request would both change it.
    enqueue(store, about("b", 4)).await;
    assert_eq!(
        next(store, &request).await,
        Some(activation_id(3)),
        "the daemon may work on another subject"
    );
    assert_eq!(
        next(store, &request).await,
        Some(activation_id(4)),
        "another daemon may work on the subject"
    );
    assert_eq!(next(store, &request).await, None);
    store
        .end_attempt(&first.id, first.run_lease, done(at(6)))
        .await
        .expect("ends");
    assert_eq!(next(store, &request).await, Some(activation_id(2)));
}

pub(super) async fn gates_and_validity_stop_claims(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    // A trigger may come before the registration of its daemon; it waits without being claimed.
    enqueue(store, woken("stranger", 2, at(1))).await;
    // The host's gate and the daemon's are independent; opening one must not release what the other holds.
    for gate in [Gate::Held, Gate::Tripped] {
        store.set_gate(&daemon("a"), gate).await.expect("sets");
        assert_eq!(next(store, &claim(at(2))).await, None, "{gate:?}");
        store
            .set_gate(&daemon("a"), Gate::Open)
            .await
            .expect("sets");
        store.set_host_gate(gate).await.expect("sets");
        assert_eq!(next(store, &claim(at(2))).await, None, "host {gate:?}");
        store.set_host_gate(Gate::Open).await.expect("sets");
    }
    let invalid = DaemonRow {
        validity: Validity::Invalid,
        ..row("a")
    };
    store
        .register(registration(vec![invalid.clone()], at(3)))
        .await
        .expect("registers");
    enqueue(store, woken("a", 3, at(4))).await;
    assert_eq!(next(store, &claim(at(4))).await, None, "invalid");
    store
        .register(registration(vec![row("a")], at(5)))
        .await
        .expect("registers");
    assert_eq!(
        next(store, &claim(at(6))).await,
        Some(activation_id(3)),
        "mended; what waited before was cancelled"
    );
    assert_eq!(next(store, &claim(at(6))).await, None, "not registered");
}

pub(super) async fn nothing_is_claimed_before_its_time(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    for (id, n, seconds) in [("a", 1, 60), ("b", 2, 30)] {
        let later = NewTrigger {
            not_before: at(seconds),
            ..woken(id, n, at(1))
        };
        enqueue(store, later).await;
    }
    let next_at = async |seconds| store.next_claim_at(at(seconds)).await.expect("reads");
    assert_eq!(next(store, &claim(at(29))).await, None);
    assert_eq!(next_at(29).await, Some(at(30)));
    // Strictly later than now: the instant itself is claimable, and a timer for it would fire without pause.
    assert_eq!(next_at(30).await, Some(at(60)));
    assert_eq!(next_at(60).await, None);
    assert_eq!(next(store, &claim(at(30))).await, Some(activation_id(2)));
    assert_eq!(next(store, &claim(at(30))).await, None);
    assert_eq!(next(store, &claim(at(60))).await, Some(activation_id(1)));
}

pub(super) async fn one_activation_is_claimed_by_id(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    enqueue(store, woken("a", 2, at(1))).await;
    enqueue(store, woken("b", 3, at(1))).await;
    let one = async |n, request: &ClaimRequest| {
        store
            .claim_one(&activation_id(n), request)
            .await
            .expect("claims")
            .map(|activation| activation.id)
    };
    assert_eq!(one(9, &claim(at(2))).await, None, "unknown");
    assert_eq!(one(2, &claim(at(0))).await, None, "before its time");
    assert_eq!(one(2, &claim(at(2))).await, Some(activation_id(2)));
    assert_eq!(one(2, &claim(at(2))).await, None, "leased");
    // A person who names an activation takes a slot like any claim, and so cannot exceed the limits.
    assert_eq!(one(1, &claim(at(2))).await, None, "no slot of the daemon");
    store
        .set_gate(&daemon("b"), Gate::Held)
        .await
        .expect("holds");
    assert_eq!(one(3, &claim(at(2))).await, None, "held");
}

pub(super) async fn a_claim_takes_the_registered_revision(store: &dyn Store) {
    registered(store, &["a"]).await;
    enqueue(store, woken("a", 1, at(1))).await;
    // The run works by the text of now: the daemon file was edited while the activation waited.
    let edited = DaemonRow {
        rev: "rev-2".to_owned(),
        ..row("a")
    };
    store
        .register(registration(vec![edited], at(2)))
        .await
        .expect("registers");
    let request = ClaimRequest {
        owner: HostEpoch(7),
        ..claim(at(3))
    };
    let activation = store
        .claim(&request)
        .await
        .expect("claims")
        .expect("is ready");
    assert_eq!(
        (activation.rev.as_str(), activation.owner),
        ("rev-2", Some(HostEpoch(7)))
    );
}

pub(super) async fn the_rate_of_a_subject_holds_events_about_it_back(store: &dyn Store) {
    registered(store, &["a"]).await;
    let about = |n, about: Option<&str>| NewTrigger {
        subject: about.and_then(subject),
        ..asked("a", n, at(1))
    };
    let request = ClaimRequest {
        rates: Rates {
            subject: Some(1),
            ..Rates::default()
        },
        ..claim(at(10))
    };
    for (n, what) in [(1, Some("x")), (2, None)] {
        enqueue(store, about(n, what)).await;
        let begun = store.claim(&request).await.expect("claims").expect("ready");
        let run = super::scene::run(&format!("r-{n}"), &begun, at(11));
        store
            .start_run(&begun.id, begun.run_lease, run, at(11))
            .await
            .expect("starts");
        store
            .end_attempt(&begun.id, begun.run_lease, done(at(12)))
            .await
            .expect("ends");
    }
    enqueue(store, about(3, Some("x"))).await;
    enqueue(store, about(4, None)).await;
    enqueue(store, about(5, Some("y"))).await;
    let request = ClaimRequest {
        now: at(20),
        daemon_slots: 9,
        ..request
    };
    // Asked by id as well, because the two queries of a store could differ.
    let by_id = store.claim_one(&activation_id(3), &request).await;
    assert_eq!(by_id.expect("claims"), None);
    assert_eq!(next(store, &request).await, Some(activation_id(4)));
    assert_eq!(next(store, &request).await, Some(activation_id(5)));
    assert_eq!(next(store, &request).await, None, "it waits");
    let later = ClaimRequest {
        now: at(12) + jiff::SignedDuration::from_hours(1),
        ..request
    };
    assert_eq!(next(store, &later).await, Some(activation_id(3)));
}

pub(super) async fn rates_and_spending_hold_claims_back(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    for n in 1..=3 {
        enqueue(store, woken("a", n, at(1))).await;
    }
    enqueue(store, woken("b", 4, at(2))).await;
    let begun = claimed(store, at(10)).await;
    let run = super::scene::run("r-1", &begun, at(11));
    store
        .start_run(&begun.id, begun.run_lease, run, at(11))
        .await
        .expect("starts");
    // The day's budget counts what ended; what runs is limited by reservations of model calls.
    let end = AttemptEnd {
        cost_usd: Some(2.0),
        ..done(at(12))
    };
    store
        .end_attempt(&begun.id, begun.run_lease, end)
        .await
        .expect("ends");
    let held = |rates: Rates, day_usd: Option<f64>| ClaimRequest {
        rates,
        day_usd,
        ..claim(at(20))
    };
    let none = Rates::default();
    let host = Rates {
        host: Some(1),
        ..none
    };
    assert_eq!(next(store, &held(host, None)).await, None);
    assert_eq!(next(store, &held(none, Some(2.0))).await, None);
    let some = [2, 4, 9].map(activation_id);
    let over = async |rates| {
        let over = store.over_rate(&some, rates, at(20)).await;
        over.expect("reads")
    };
    let (both, first) = ([2, 4].map(activation_id), [activation_id(2)]);
    assert_eq!(over(host).await, both.into());
    assert_eq!(over(none).await, BTreeSet::new());
    let daemon = Rates {
        daemon: Some(1),
        ..none
    };
    assert_eq!(over(daemon).await, first.into());
    let other = next(store, &held(daemon, Some(2.5))).await;
    assert_eq!(other, Some(activation_id(4)));
    assert_eq!(next(store, &held(daemon, None)).await, None);
    let later = ClaimRequest {
        rates: host,
        day_usd: Some(2.0),
        ..claim(at(20) + jiff::SignedDuration::from_hours(25))
    };
    assert!(next(store, &later).await.is_some());
}
