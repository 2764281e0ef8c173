//! Wanted facts: due until they are found, and the event matched again by each.

use daemon_engine::{
    Admission, Fact, FactError, FactErrorKind, FactOrigin, FactState, NewTrigger, WantedFact,
};
use daemon_event::{Enrichment, EventFacts, EventId, Field, Need};
use jiff::Timestamp;

use super::scene::{activation_id, at, event_id, first, forever, new_event, registered, woken};
use crate::error::StoreError;
use crate::rows::{EventRow, FoundFact, Matched, Matching, NewEvent, TriedFact};
use crate::traits::Store;

/// Stores an event that was matched at `at(n)` and wants facts.
async fn wanting(store: &dyn Store, n: u64, wanted: &[Need]) {
    let new = new_event(n, &format!("id:{n}"));
    let now = new.event.received_at;
    store.accept(vec![new]).await.expect("accepts");
    let matched = Matched {
        n_later: 0,
        event: event_id(n),
        triggers: Vec::new(),
        wanted: wanted.to_vec(),
    };
    let admitted = store.commit_matches(vec![matched], now).await;
    assert_eq!(admitted.expect("commits"), []);
}

async fn row(store: &dyn Store, n: u64) -> EventRow {
    let found = store.event(&event_id(n)).await.expect("reads");
    found.expect("the event is there")
}

async fn due(store: &dyn Store, now: Timestamp) -> Vec<EventId> {
    let due = store.due_facts(now, 10).await.expect("reads");
    due.into_iter().map(|row| row.event.id).collect()
}

fn failed(n: u64, fact: &WantedFact, kind: FactErrorKind, now: Timestamp) -> TriedFact {
    let error = FactError::new(kind, "no answer");
    TriedFact {
        event: event_id(n),
        fact: fact.after_try(Err(&error), now),
        found: None,
    }
}

fn found(n: u64, fact: &WantedFact, triggers: Vec<NewTrigger>, wanted: &[Need]) -> TriedFact {
    let told = Fact {
        found: Enrichment::default(),
        origin: FactOrigin::Api,
        note: Some("cut".to_owned()),
    };
    TriedFact {
        event: event_id(n),
        fact: fact.after_try(Ok(&told), at(9)),
        found: Some(FoundFact {
            facts: files(),
            triggers,
            wanted: wanted.to_vec(),
        }),
    }
}

fn files() -> EventFacts {
    let mut facts = EventFacts::default();
    facts.set_texts(Field::ChangedFiles, ["docs/a.md", "src/\u{1F41E}.rs"]);
    facts
}

pub(super) async fn what_is_wanted_is_due_at_once_the_longest_overdue_first(store: &dyn Store) {
    assert_eq!(store.next_fact_at().await.expect("reads"), None);
    wanting(store, 2, &[Need::PullRequests, Need::ChangedFiles]).await;
    wanting(store, 1, &[Need::ChannelName]).await;
    wanting(store, 3, &[]).await;
    assert_eq!(store.next_fact_at().await.expect("reads"), Some(at(1)));
    assert_eq!(due(store, at(0)).await, []);
    assert_eq!(due(store, at(1)).await, [event_id(1)]);
    assert_eq!(due(store, at(2)).await, [event_id(1), event_id(2)]);
    let one = store.due_facts(at(2), 1).await.expect("reads");
    assert_eq!(one, [row(store, 1).await]);
    assert_eq!(
        row(store, 2).await.wanted,
        [
            WantedFact::new(Need::ChangedFiles, at(2)),
            WantedFact::new(Need::PullRequests, at(2)),
        ],
        "by name"
    );
}

pub(super) async fn a_failed_try_waits_for_its_time_and_a_final_one_for_nothing(store: &dyn Store) {
    wanting(store, 1, &[Need::ChangedFiles]).await;
    let fact = WantedFact::new(Need::ChangedFiles, at(1));
    let tried = failed(1, &fact, FactErrorKind::Retryable, at(1));
    let waits = tried.fact.clone();
    let admitted = store.settle_fact(tried, at(1)).await;
    assert_eq!(admitted.expect("settles"), []);
    assert_eq!(row(store, 1).await.wanted, std::slice::from_ref(&waits));
    assert_eq!(store.next_fact_at().await.expect("reads"), Some(at(6)));
    assert_eq!(due(store, at(5)).await, []);
    assert_eq!(due(store, at(6)).await, [event_id(1)]);
    let counts = store.counts().await.expect("counts").facts;
    let count = |waiting, gave_up| {
        vec![
            (FactState::Waiting, waiting),
            (FactState::Known, 0),
            (FactState::GaveUp, gave_up),
        ]
    };
    assert_eq!(counts, count(1, 0));

    // A 404 is the same in a day; asking again would use up the limit of the API.
    let tried = failed(1, &waits, FactErrorKind::Final, at(6));
    let over = tried.fact.clone();
    assert_eq!(over.state, FactState::GaveUp);
    store.settle_fact(tried, at(6)).await.expect("settles");
    assert_eq!(row(store, 1).await.wanted, [over]);
    assert_eq!(store.next_fact_at().await.expect("reads"), None);
    assert_eq!(due(store, at(100_000)).await, []);
    let counts = store.counts().await.expect("counts").facts;
    assert_eq!(counts, count(0, 1));
}

pub(super) async fn a_found_fact_wakes_once_and_is_stored_with_the_event(store: &dyn Store) {
    registered(store, &["a"]).await;
    wanting(store, 1, &[Need::PullRequests]).await;
    let fact = WantedFact::new(Need::PullRequests, at(1));
    let wakes = |n| {
        vec![NewTrigger {
            activation_id: activation_id(n),
            ..woken("a", 1, at(9))
        }]
    };
    let needs = [Need::PullRequests, Need::ChangedFiles];
    let first_time = found(1, &fact, wakes(11), &needs);
    let known = first_time.fact.clone();
    let admitted = store.settle_fact(first_time, at(9)).await;
    assert_eq!(
        admitted.expect("settles"),
        [Admission::Enqueued(activation_id(11))]
    );
    let stored = row(store, 1).await;
    assert_eq!(stored.event.facts, files());
    assert_eq!(
        stored.wanted,
        [WantedFact::new(Need::ChangedFiles, at(9)), known],
        "what it needs beyond is wanted, what was wanted is not wanted again"
    );
    assert_eq!(stored.triggers.len(), 1);

    // The host may die after the commit and fetch the fact again; the second answer must not wake.
    let again = store
        .settle_fact(found(1, &fact, wakes(12), &[]), at(10))
        .await;
    assert_eq!(again.expect("passes over"), []);
    let late = failed(1, &fact, FactErrorKind::Final, at(10));
    assert_eq!(
        store.settle_fact(late, at(10)).await.expect("passes over"),
        []
    );
    assert_eq!(row(store, 1).await, stored);
    let all = store.activations(&first(10)).await.expect("lists").rows;
    assert_eq!(all.len(), 1);
}

pub(super) async fn a_found_fact_keeps_what_a_report_said_meanwhile(store: &dyn Store) {
    let happened = || vec![forever("merge:o/r:a")];
    let first = NewEvent {
        happenings: happened(),
        ..new_event(1, "id:1")
    };
    store.accept(vec![first]).await.expect("accepts");
    let matched = Matched {
        n_later: 0,
        event: event_id(1),
        triggers: Vec::new(),
        wanted: vec![Need::ChangedFiles],
    };
    let admitted = store.commit_matches(vec![matched], at(1)).await;
    assert_eq!(admitted.expect("commits"), []);
    let mut report = NewEvent {
        happenings: happened(),
        ..new_event(2, "id:2")
    };
    report.event.kind = "another".to_owned();
    report.event.facts = EventFacts::default();
    report.event.facts.set_text(Field::Title, "as reported");
    store.accept(vec![report]).await.expect("accepts");
    let fact = WantedFact::new(Need::ChangedFiles, at(1));
    // Fetching took time, in which a webhook reported the same event: writing back the facts as they were read would drop
    // its report.
    let tried = found(1, &fact, Vec::new(), &[]);
    let admitted = store.settle_fact(tried, at(9)).await;
    assert_eq!(admitted.expect("settles"), []);
    let mut both = files();
    both.set_text(Field::Title, "as reported");
    let stored = row(store, 1).await;
    assert_eq!((stored.event.facts, stored.matching), (both, Matching::Due));
}

pub(super) async fn only_a_wanted_fact_is_settled(store: &dyn Store) {
    wanting(store, 1, &[Need::PullRequests]).await;
    let fact = WantedFact::new(Need::ChangedFiles, at(1));
    // An event that never wanted the fact, and one that does not exist.
    for n in [1, 7] {
        let refused = store
            .settle_fact(found(n, &fact, Vec::new(), &[]), at(9))
            .await;
        assert!(
            matches!(&refused, Err(StoreError::NotFound { what: "wanted fact", id }) if *id == event_id(n).to_string()),
            "{refused:?}"
        );
    }
    assert_ne!(row(store, 1).await.event.facts, files());
}

pub(super) async fn payloads_are_kept_while_a_fact_is_wanted(store: &dyn Store) {
    wanting(store, 1, &[Need::PullRequests]).await;
    // The fact will match the event again, which reads its payload.
    store.retain(at(50), at(50), at(50)).await.expect("forgets");
    let kept = row(store, 1).await;
    assert_eq!(
        (&*kept.event.payload, kept.wanted.len()),
        (&b"{\"n\":1}"[..], 1)
    );
    let fact = WantedFact::new(Need::PullRequests, at(1));
    let over = failed(1, &fact, FactErrorKind::Final, at(9));
    store.settle_fact(over, at(9)).await.expect("settles");
    store.retain(at(50), at(50), at(50)).await.expect("forgets");
    let left = row(store, 1).await;
    assert_eq!((&*left.event.payload, left.wanted), (&b""[..], Vec::new()));
    let counts = store.counts().await.expect("counts").facts;
    assert!(counts.iter().all(|(_, n)| *n == 0), "{counts:?}");
}
