//! Events: stored once, matched once.

use daemon_engine::{ActivationState, Admission};
use daemon_event::{Actor, ActorKind, EventId};

use super::scene::{
    activation_id, at, claim, daemon, enqueue, event, event_id, first, forever, new_event,
    registered, repo, within, woken,
};
use crate::error::StoreError;
use crate::rows::{
    Accepted, Bookmark, EventRow, EventTrigger, Freshness, Identity, Matched, Matching, NewEvent,
    RefCursor,
};
use crate::traits::Store;

pub(super) fn new(n: u64) -> Accepted {
    Accepted {
        id: event_id(n),
        freshness: Freshness::New,
    }
}

pub(super) fn duplicate_of(n: u64) -> Accepted {
    Accepted {
        id: event_id(n),
        freshness: Freshness::Duplicate,
    }
}

pub(super) fn report_to(n: u64) -> Accepted {
    Accepted {
        id: event_id(n),
        freshness: Freshness::Report,
    }
}

pub(super) async fn accept(store: &dyn Store, events: Vec<NewEvent>) -> Vec<Accepted> {
    store.accept(events).await.expect("accepts")
}

pub(super) async fn row_of(store: &dyn Store, id: &EventId) -> EventRow {
    store
        .event(id)
        .await
        .expect("reads")
        .expect("the event is there")
}

pub(super) async fn an_event_is_stored_as_it_came(store: &dyn Store) {
    let mut given = event(7, at(7));
    given.actor = Some(Actor {
        name: "octocat".to_owned(),
        kind: ActorKind::Bot,
    });
    given.action = None;
    given.time = at(-5);
    // Bytes that are no text: the signature covers the body as received, and so must the stored one.
    given.payload = vec![0, 159, 146, 150, b'\n'].into();
    let accepted = accept(
        store,
        vec![NewEvent {
            event: given.clone(),
            identities: vec![forever("id:github:7")],
            happenings: Vec::new(),
            counterparts: Vec::new(),
            matching: Matching::Done,
        }],
    )
    .await;
    assert_eq!(accepted, [new(7)]);
    assert_eq!(
        row_of(store, &event_id(7)).await,
        EventRow {
            seq: 1,
            event: given,
            later_reports: Vec::new(),
            duplicates: 0,
            matching: Matching::Done,
            triggers: Vec::new(),
            wanted: Vec::new(),
        }
    );
    assert_eq!(store.event(&event_id(8)).await.expect("reads"), None);
}

pub(super) async fn a_second_delivery_is_a_duplicate_by_any_identity(store: &dyn Store) {
    let with = |n, keys: &[&str]| NewEvent {
        identities: keys.iter().map(|key| forever(key)).collect(),
        ..new_event(n, "")
    };
    assert_eq!(
        accept(store, vec![with(1, &["id:1", "body:x"])]).await,
        [new(1)]
    );
    assert_eq!(
        accept(store, vec![with(2, &["id:1", "body:y"])]).await,
        [duplicate_of(1)]
    );
    assert_eq!(
        accept(store, vec![with(3, &["id:3", "body:x"])]).await,
        [duplicate_of(1)]
    );
    assert_eq!(
        accept(store, vec![with(4, &["id:4", "body:z"])]).await,
        [new(4)]
    );
    assert_eq!(row_of(store, &event_id(1)).await.duplicates, 2);
    // Duplicates take no number, so that numbers have no gaps.
    assert_eq!(row_of(store, &event_id(4)).await.seq, 2);
    assert_eq!(store.event(&event_id(2)).await.expect("reads"), None);
}

pub(super) async fn a_duplicate_stores_none_of_its_identities(store: &dyn Store) {
    accept(store, vec![new_event(1, "body:x")]).await;
    let again = NewEvent {
        identities: vec![forever("id:2"), forever("body:x")],
        ..new_event(2, "")
    };
    // An attacker who replays a body under chosen delivery ids would otherwise block those ids for real deliveries.
    assert_eq!(accept(store, vec![again]).await, [duplicate_of(1)]);
    assert_eq!(accept(store, vec![new_event(3, "id:2")]).await, [new(3)]);
}

pub(super) async fn two_of_one_call_may_be_duplicates(store: &dyn Store) {
    // One transaction stores a batch; a store that looks for duplicates before it inserts any misses these.
    let accepted = accept(
        store,
        vec![
            new_event(1, "id:a"),
            new_event(2, "id:a"),
            new_event(3, "id:b"),
        ],
    )
    .await;
    assert_eq!(accepted, [new(1), duplicate_of(1), new(3)]);
    assert_eq!(row_of(store, &event_id(1)).await.duplicates, 1);
    assert_eq!(row_of(store, &event_id(3)).await.seq, 2);
}

pub(super) async fn an_identity_counts_only_within_its_time(store: &dyn Store) {
    let moved = |n: u64, seconds| NewEvent {
        event: event(n, at(seconds)),
        identities: vec![within("move:o/r:refs/heads/main:a:b", 3600)],
        happenings: Vec::new(),
        counterparts: Vec::new(),
        matching: Matching::Due,
    };
    assert_eq!(accept(store, vec![moved(1, 0)]).await, [new(1)]);
    assert_eq!(accept(store, vec![moved(2, 3600)]).await, [duplicate_of(1)]);
    // A branch may make the same move again, after a force push back.
    assert_eq!(accept(store, vec![moved(3, 3601)]).await, [new(3)]);
    assert_eq!(
        accept(store, vec![moved(4, 7000)]).await,
        [duplicate_of(3)],
        "the time counts from when the key was stored anew"
    );
    assert_eq!(
        accept(store, vec![moved(5, 3500)]).await,
        [duplicate_of(3)],
        "a clock that stepped back does not make it new"
    );
}

pub(super) async fn moves_and_cursors_are_stored_together(store: &dyn Store) {
    let cursor = |name: &str, commit: Option<&str>, moves| RefCursor {
        name: name.to_owned(),
        commit: commit.map(str::to_owned),
        moves,
    };
    assert_eq!(store.ref_cursors(&repo()).await.expect("reads"), []);
    let baseline = vec![
        cursor("refs/tags/v1", Some("aa"), 0),
        cursor("refs/heads/main", Some("aa"), 0),
    ];
    let accepted = store
        .accept_moves(&repo(), baseline, Vec::new())
        .await
        .expect("accepts");
    assert_eq!(accepted, []);
    // A crash between the two would lose the move, or report it again.
    let moved = vec![
        cursor("refs/heads/main", Some("bb"), 1),
        cursor("refs/tags/v1", None, 1),
    ];
    let accepted = store
        .accept_moves(&repo(), moved, vec![new_event(1, "id:git:main:1")])
        .await
        .expect("accepts");
    assert_eq!(accepted, [new(1)]);
    assert_eq!(
        store.ref_cursors(&repo()).await.expect("reads"),
        [
            cursor("refs/heads/main", Some("bb"), 1),
            cursor("refs/tags/v1", None, 1)
        ]
    );
    let other = "o/other".parse().expect("a valid name");
    assert_eq!(store.ref_cursors(&other).await.expect("reads"), []);
}

pub(super) async fn unmatched_events_come_oldest_first(store: &dyn Store) {
    let done = NewEvent {
        matching: Matching::Done,
        ..new_event(2, "id:2")
    };
    accept(
        store,
        vec![
            new_event(3, "id:3"),
            done,
            new_event(1, "id:1"),
            new_event(4, "id:4"),
        ],
    )
    .await;
    let ids = |rows: Vec<EventRow>| -> Vec<(u64, EventId)> {
        rows.into_iter()
            .map(|row| (row.seq, row.event.id))
            .collect()
    };
    assert_eq!(
        ids(store.unmatched(0, 2).await.expect("reads")),
        [(1, event_id(3)), (3, event_id(1))]
    );
    let matched = Matched {
        n_later: 0,
        event: event_id(3),
        wanted: Vec::new(),
        triggers: Vec::new(),
    };
    store
        .commit_matches(vec![matched], at(9))
        .await
        .expect("commits");
    assert_eq!(
        ids(store.unmatched(0, 10).await.expect("reads")),
        [(3, event_id(1)), (4, event_id(4))]
    );
    assert_eq!(
        // The second page starts after a number, because events that wait for their repository stay at the front of the
        // queue.
        ids(store.unmatched(3, 10).await.expect("reads")),
        [(4, event_id(4))]
    );
}

pub(super) async fn what_is_admitted_is_leased_in_the_same_transaction(store: &dyn Store) {
    registered(store, &["a"]).await;
    accept(
        store,
        vec![
            new_event(1, "id:1"),
            new_event(2, "id:2"),
            new_event(3, "id:3"),
        ],
    )
    .await;
    let matched = |n, triggers| Matched {
        n_later: 0,
        event: event_id(n),
        wanted: Vec::new(),
        triggers,
    };
    let wakes = |n, activation| {
        let trigger = daemon_engine::NewTrigger {
            activation_id: activation_id(activation),
            ..woken("a", n, at(5))
        };
        matched(n, vec![trigger])
    };
    // What waited before does not start because of an event that wakes nothing: the host asked for that already.
    let waiting = enqueue(store, woken("a", 90, at(1))).await;
    let none = store
        .match_and_claim(&claim(at(4)), vec![matched(1, Vec::new())])
        .await;
    assert_eq!(none.expect("commits"), (Vec::new(), None));
    let (admissions, claimed) = store
        .match_and_claim(&claim(at(5)), vec![wakes(2, 11)])
        .await
        .expect("commits");
    let claimed = claimed.expect("one is ready");
    assert_eq!(admissions.len(), 1);
    assert_eq!(claimed.id, waiting, "the oldest first");
    assert_eq!(claimed.state, ActivationState::Claimed);
    // An error takes back the lease with the matches.
    let failed = store
        .match_and_claim(&claim(at(6)), vec![wakes(3, 31), matched(9, Vec::new())])
        .await;
    assert!(
        matches!(failed, Err(StoreError::NotFound { .. })),
        "{failed:?}"
    );
    let stored = row_of(store, &event_id(3)).await;
    assert_eq!(stored.matching, Matching::Due);
}

pub(super) async fn an_event_is_matched_once(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    accept(store, vec![new_event(1, "id:1"), new_event(2, "id:2")]).await;
    let wakes = |event, ids: &[(&str, u64)]| Matched {
        n_later: 0,
        event: event_id(event),
        wanted: Vec::new(),
        triggers: ids
            .iter()
            .map(|(id, n)| daemon_engine::NewTrigger {
                activation_id: activation_id(*n),
                ..woken(id, event, at(5))
            })
            .collect(),
    };
    // A matcher that crashed after its commit, or a second host, commits the same event again.
    let admissions = store
        .commit_matches(vec![wakes(1, &[("a", 11), ("b", 12)])], at(5))
        .await
        .expect("commits");
    assert_eq!(
        admissions,
        [
            Admission::Enqueued(activation_id(11)),
            Admission::Enqueued(activation_id(12))
        ]
    );
    let admissions = store
        .commit_matches(
            vec![wakes(1, &[("a", 21), ("b", 22)]), wakes(2, &[("b", 23)])],
            at(6),
        )
        .await
        .expect("commits");
    assert_eq!(
        admissions,
        [Admission::Enqueued(activation_id(23))],
        "the first event is passed over"
    );
    let stored = row_of(store, &event_id(1)).await;
    assert_eq!(stored.matching, Matching::Done);
    let reached = |id: &str, n| EventTrigger {
        daemon: daemon(id),
        conditions: vec![0],
        activation: Some(activation_id(n)),
    };
    assert_eq!(stored.triggers, [reached("a", 11), reached("b", 12)]);
    let page = store.activations(&first(10)).await.expect("lists");
    assert_eq!(page.rows.len(), 3);
}

pub(super) async fn matches_of_an_unknown_event_write_nothing(store: &dyn Store) {
    registered(store, &["a"]).await;
    accept(store, vec![new_event(1, "id:1")]).await;
    let matched = |n| Matched {
        n_later: 0,
        event: event_id(n),
        wanted: Vec::new(),
        triggers: vec![woken("a", n, at(5))],
    };
    let error = store
        .commit_matches(vec![matched(1), matched(9)], at(5))
        .await
        .expect_err("event 9 is not stored");
    assert!(
        matches!(&error, StoreError::NotFound { what: "event", id } if *id == event_id(9).to_string()),
        "{error:?}"
    );
    // Half of a batch would leave events marked as matched without their activations.
    assert_eq!(store.unmatched(0, 5).await.expect("reads").len(), 1);
    assert_eq!(store.activations(&first(10)).await.expect("lists").rows, []);
}

pub(super) async fn events_and_bookmarks_are_stored_together(store: &dyn Store) {
    let mark = |name: &str, text: &str| Bookmark {
        name: name.to_owned(),
        text: text.to_owned(),
        at: at(3),
    };
    assert_eq!(store.bookmarks("").await.expect("reads"), []);
    let first = vec![
        mark("pulls/o/r", "1"),
        mark("pulls/O/R", "2"),
        mark("pulls_x", "3"),
    ];
    let accepted = store.accept_marked(first, vec![new_event(1, "a")]).await;
    assert_eq!(accepted.expect("accepts")[0].freshness, Freshness::New);
    let again = vec![mark("pulls/o/r", "4")];
    let accepted = store.accept_marked(again, vec![new_event(2, "a")]).await;
    assert_eq!(
        accepted.expect("accepts")[0].freshness,
        Freshness::Duplicate
    );
    let expected = [mark("pulls/O/R", "2"), mark("pulls/o/r", "4")];
    assert_eq!(store.bookmarks("pulls/").await.expect("reads"), expected);
    assert_eq!(store.bookmarks("").await.expect("reads").len(), 3);
}

pub(super) async fn a_counterpart_makes_a_duplicate_and_is_not_stored(store: &dyn Store) {
    let with = |n: u64, key: &str, counterparts: Vec<Identity>| NewEvent {
        counterparts,
        ..new_event(n, key)
    };
    let freshness = |accepted: Result<Vec<Accepted>, _>| accepted.expect("accepts")[0].freshness;
    let alone = with(1, "a", vec![forever("b")]);
    assert_eq!(freshness(store.accept(vec![alone]).await), Freshness::New);
    // Only the identity `a` is stored, so another event may have the same counterpart.
    let other = with(2, "c", vec![forever("b"), within("a", 0)]);
    assert_eq!(freshness(store.accept(vec![other]).await), Freshness::New);
    let same = with(3, "d", vec![forever("a")]);
    assert_eq!(store.known(&same).await.expect("reads"), Some(event_id(1)));
    assert_eq!(
        freshness(store.accept(vec![same]).await),
        Freshness::Duplicate
    );
}
