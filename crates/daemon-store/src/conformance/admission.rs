//! Admission: one activation per daemon and trigger key.

use daemon_engine::{
    Activation, ActivationState, Admission, Chain, ChainEnd, Joining, MAX_PENDING_PER_DAEMON,
    MAX_PER_ROOT, NewTrigger, Notice, QueueLimit, ROOT_PERIOD, RunLease,
};
use daemon_event::{ActivationId, TriggerKey};

use super::scene::{
    activation_id, asked, at, claim, claimed, daemon, enqueue, event_id, new_event, read,
    registered, subject, woken,
};
use crate::rows::{EventTrigger, Matched};
use crate::traits::Store;

pub(super) async fn a_trigger_makes_one_activation(store: &dyn Store) {
    let new = NewTrigger {
        not_before: at(60),
        ..woken("a", 1, at(1))
    };
    enqueue(store, new.clone()).await;
    // The whole row, because a column that a store forgets to write is lost at the next start.
    assert_eq!(
        read(store, &activation_id(1)).await,
        Activation {
            id: activation_id(1),
            daemon: daemon("a"),
            rev: "rev-1".to_owned(),
            subject: subject("github:o/r#1"),
            triggers: vec![new.trigger],
            chain: Chain::begin(activation_id(1)),
            state: ActivationState::Pending,
            reason: Some("settle".to_owned()),
            attempts: 0,
            blame: daemon_engine::Blame::default(),
            run_lease: RunLease(0),
            owner: None,
            lease_until: None,
            not_before: at(60),
            created_at: at(1),
            started_at: None,
            finished_at: None,
            tokens: None,
            cost_usd: None,
            summary: None,
        }
    );
}

pub(super) async fn the_same_trigger_names_the_same_activation(store: &dyn Store) {
    registered(store, &["a"]).await;
    let again = |n| NewTrigger {
        activation_id: activation_id(n),
        ..asked("a", 1, at(1))
    };
    enqueue(store, again(1)).await;
    // A sender repeats a request whose answer it did not receive; the repetition has to name the first activation.
    let known = Admission::Duplicate(activation_id(1));
    assert_eq!(store.enqueue(again(2)).await.expect("admits"), known);
    let key = again(1).trigger.key;
    let found = async |id: &str| store.triggered(&daemon(id), &key).await.expect("reads");
    assert_eq!(
        (found("a").await, found("b").await, found("never").await),
        (Some(activation_id(1)), None, None),
        "it can be asked for"
    );
    let activation = claimed(store, at(2)).await;
    assert_eq!(
        store.enqueue(again(3)).await.expect("admits"),
        known,
        "also while it is leased"
    );
    let end = super::scene::done(at(3));
    store
        .end_attempt(&activation.id, activation.run_lease, end)
        .await
        .expect("ends");
    assert_eq!(
        store.enqueue(again(4)).await.expect("admits"),
        known,
        "and after its end"
    );
    assert_eq!(read(store, &activation_id(1)).await.triggers.len(), 1);
    // The key is unique for a daemon: one event may wake several.
    let elsewhere = NewTrigger {
        daemon: daemon("b"),
        ..again(5)
    };
    enqueue(store, elsewhere).await;
}

pub(super) async fn triggers_of_one_subject_join_what_is_pending(store: &dyn Store) {
    let about = |n, text: &str| NewTrigger {
        subject: subject(text),
        ..woken("a", n, at(1))
    };
    enqueue(store, about(1, "x")).await;
    enqueue(store, about(2, "y")).await;
    // Coalescing: many events about one pull request need one run, which sees all of them.
    assert_eq!(
        store.enqueue(about(3, "x")).await.expect("admits"),
        Admission::Joined(activation_id(1))
    );
    enqueue(
        store,
        NewTrigger {
            daemon: daemon("b"),
            ..about(4, "x")
        },
    )
    .await;
    // Triggers without a subject share one: none. A store that compares with `=` in SQL misses this, because NULL equals
    // nothing.
    enqueue(store, asked("a", 5, at(1))).await;
    assert_eq!(
        store.enqueue(asked("a", 6, at(1))).await.expect("admits"),
        Admission::Joined(activation_id(5)),
        "triggers without a subject join each other"
    );
    let keys: Vec<TriggerKey> = read(store, &activation_id(1))
        .await
        .triggers
        .into_iter()
        .map(|trigger| trigger.key)
        .collect();
    assert_eq!(
        keys,
        [
            TriggerKey::Event(event_id(1)),
            TriggerKey::Event(event_id(3))
        ]
    );
    assert_eq!(
        store.enqueue(about(3, "x")).await.expect("admits"),
        Admission::Duplicate(activation_id(1)),
        "a joined trigger is known as well"
    );
}

pub(super) async fn a_leased_activation_is_not_joined(store: &dyn Store) {
    registered(store, &["a"]).await;
    let about = |n| NewTrigger {
        subject: subject("x"),
        ..woken("a", n, at(1))
    };
    enqueue(store, about(1)).await;
    claimed(store, at(2)).await;
    // The run has its context already, so that a trigger that joined it would never be seen.
    enqueue(store, about(2)).await;
    assert_eq!(
        store.enqueue(about(3)).await.expect("admits"),
        Admission::Joined(activation_id(2))
    );
    assert_eq!(
        store.claim(&claim(at(3))).await.expect("claims"),
        None,
        "the waiting one runs after the leased one"
    );
}

pub(super) async fn a_separate_trigger_joins_nothing(store: &dyn Store) {
    enqueue(store, asked("a", 1, at(1))).await;
    // The policy `buffer_all` asks for one activation per tick.
    let separate = NewTrigger {
        joining: Joining::Separate,
        ..asked("a", 2, at(1))
    };
    enqueue(store, separate).await;
    assert_eq!(
        store.enqueue(asked("a", 3, at(1))).await.expect("admits"),
        Admission::Joined(activation_id(1)),
        "the oldest is joined"
    );
}

pub(super) async fn a_full_queue_refuses_and_records(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    store
        .accept(vec![new_event(1, "id:1")])
        .await
        .expect("accepts");
    let triggers = (0..MAX_PENDING_PER_DAEMON + 1)
        .map(|n| NewTrigger {
            subject: subject(&format!("s-{n}")),
            ..asked("a", n, at(1))
        })
        .chain([woken("a", 1, at(1)), woken("b", 2000, at(1))])
        .collect();
    let matched = Matched {
        n_later: 0,
        event: event_id(1),
        wanted: Vec::new(),
        triggers,
    };
    let admissions = store
        .commit_matches(vec![matched], at(1))
        .await
        .expect("commits");
    let full = Admission::Refused(QueueLimit::Daemon);
    let n_enqueued = admissions
        .iter()
        .filter(|admission| matches!(admission, Admission::Enqueued(_)))
        .count();
    assert_eq!(
        n_enqueued, 1_001,
        "a thousand of one daemon, one of the other"
    );
    assert_eq!(
        admissions[admissions.len() - 3..],
        [full.clone(), full, Admission::Enqueued(activation_id(2000))]
    );
    let stored = store.event(&event_id(1)).await.expect("reads");
    // Recorded as refused: nothing that woke a daemon may disappear without a trace.
    let refused = EventTrigger {
        daemon: daemon("a"),
        conditions: vec![0],
        activation: None,
    };
    assert_eq!(stored.expect("is there").triggers, [refused]);
    let activation = claimed(store, at(2)).await;
    assert_eq!(activation.daemon, daemon("a"));
    // A refusal must not use up the unique key, or the trigger could never be tried again.
    let again = NewTrigger {
        activation_id: activation_id(3000),
        ..woken("a", 1, at(3))
    };
    assert_eq!(
        store.enqueue(again).await.expect("admits"),
        Admission::Enqueued(activation_id(3000)),
        "what was refused may be asked again once there is room"
    );
}

/// Returns a trigger that an output in the chain of `root` causes.
fn linked(root: &ActivationId, n: u64, depth: u32, seconds: i64) -> NewTrigger {
    let chain = Chain {
        root: root.clone(),
        depth: depth - 1,
    };
    NewTrigger {
        link: Some(chain.link(3)),
        ..woken("b", n, at(seconds))
    }
}

/// Makes a root with as many activations as it may have; all but the root are of depth 3.
async fn full_root(store: &dyn Store) -> ActivationId {
    registered(store, &["a", "b"]).await;
    let root = enqueue(store, woken("a", 1, at(1))).await;
    // The root counts too, so that one less is linked to it.
    for n in 2..=MAX_PER_ROOT {
        enqueue(store, linked(&root, n, 3, 2)).await;
    }
    root
}

pub(super) async fn a_chain_ends_as_a_cancelled_activation(store: &dyn Store) {
    let root = full_root(store).await;
    let read_chain = |depth| Chain {
        root: root.clone(),
        depth,
    };
    assert_eq!(read(store, &activation_id(2)).await.chain, read_chain(3));
    let ended = |n, end, notice| Admission::Ended(activation_id(n), end, notice);
    let too_deep = ChainEnd::Depth { found: 4, limit: 3 };
    assert_eq!(
        store
            .enqueue(linked(&root, 11, 1, 3))
            .await
            .expect("admits"),
        // Only the first end of a root is announced: a loop would otherwise write a warning for each of its rounds.
        ended(11, ChainEnd::Root, Notice::Due)
    );
    assert_eq!(
        store
            .enqueue(linked(&root, 12, 4, 4))
            .await
            .expect("admits"),
        ended(12, too_deep, Notice::Given)
    );
    assert_eq!(
        store
            .enqueue(linked(&root, 12, 4, 4))
            .await
            .expect("admits"),
        Admission::Duplicate(activation_id(12)),
        "the trigger of an ended chain is known"
    );
    // An ended chain is a row, so that a person can see what was stopped and retry it.
    let stopped = read(store, &activation_id(12)).await;
    assert_eq!(
        (
            stopped.state,
            stopped.reason.as_deref(),
            stopped.finished_at,
            stopped.chain
        ),
        (
            ActivationState::Cancelled,
            Some("chain: 4 deep, at most 3"),
            Some(at(4)),
            read_chain(4)
        )
    );
}

pub(super) async fn a_chain_is_shortened_forgotten_and_begun_again(store: &dyn Store) {
    let root = full_root(store).await;
    store
        .enqueue(linked(&root, 11, 1, 3))
        .await
        .expect("admits");
    store
        .enqueue(linked(&root, 12, 4, 4))
        .await
        .expect("admits");
    // With the shortest of its chains the depth is the distance to a root, and every path still ends.
    let joins = NewTrigger {
        subject: subject("github:o/r#2"),
        ..linked(&root, 13, 1, 5)
    };
    assert_eq!(
        store.enqueue(joins).await.expect("admits"),
        Admission::Joined(activation_id(2))
    );
    let shortest = Chain {
        root: root.clone(),
        depth: 1,
    };
    assert_eq!(
        read(store, &activation_id(2)).await.chain,
        shortest,
        "the shortest of its chains counts"
    );
    // The count of a root is a rate: an activation an hour later is not a loop.
    let later = at(3) + ROOT_PERIOD;
    let after_the_period = NewTrigger {
        trigger: daemon_engine::Trigger {
            recorded_at: later,
            ..linked(&root, 14, 1, 3).trigger
        },
        ..linked(&root, 14, 1, 3)
    };
    enqueue(store, after_the_period).await;
    let revived = store
        .retry(&activation_id(12), later)
        .await
        .expect("revives");
    assert_eq!(revived.chain, Chain::begin(activation_id(12)));
    assert_eq!(
        read(store, &activation_id(12)).await.chain,
        Chain::begin(activation_id(12)),
        "a person begins a chain"
    );
}
