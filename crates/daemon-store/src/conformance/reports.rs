//! Reports of one change by several sources, and the branches of pull requests.

use daemon_engine::Admission;
use daemon_event::{Event, EventFacts, EventId, Field, FieldValue, Source};

use super::events::{accept, duplicate_of, new, report_to, row_of};
use super::scene::{
    activation_id, at, event, event_id, forever, new_event, registered, within, woken,
};
use crate::rows::{EventRow, Matched, Matching, NewEvent};
use crate::traits::Store;

/// Returns an event of a source and a kind, with an id of its own and the keys of the reported change.
pub(super) fn report_of(n: u64, (source, kind): (Source, &str), happened: &str) -> NewEvent {
    let mut event = event(n, at(i64::try_from(n).expect("small")));
    event.source = source;
    kind.clone_into(&mut event.kind);
    event.facts = EventFacts::default();
    event.facts.set_text(Field::Name, kind);
    event.facts.set(Field::Number, FieldValue::Number(n));
    NewEvent {
        event,
        happenings: vec![within(happened, 3600)],
        ..new_event(n, &format!("id:{n}"))
    }
}

pub(super) const MERGED: (Source, &str) = (Source::Git, "merge");

pub(super) const CLOSED: (Source, &str) = (Source::Github, "pull_request");

pub(super) async fn one_happening_is_one_event_in_either_order(store: &dyn Store) {
    // git and the webhook race each other; which is first must not decide what wakes.
    for (first, second, n) in [(MERGED, CLOSED, 10), (CLOSED, MERGED, 20)] {
        let happened = format!("merge:o/r:{n}");
        let given = [
            report_of(n, first, &happened),
            report_of(n + 1, second, &happened),
            report_of(n + 2, second, &format!("{happened}:other")),
        ];
        let accepted = accept(store, given.to_vec()).await;
        assert_eq!(accepted, [new(n), report_to(n), new(n + 2)]);
        let row = row_of(store, &event_id(n)).await;
        assert_eq!((row.duplicates, row.matching), (1, Matching::Due));
        assert_eq!(
            row.event, given[0].event,
            "it knows all that the other says"
        );
        let later_reports = Event {
            id: event_id(n),
            ..given[1].event.clone()
        };
        assert_eq!(row.later_reports, [later_reports]);
        let again = NewEvent {
            happenings: Vec::new(),
            ..report_of(n + 1, second, "")
        };
        assert_eq!(
            accept(store, vec![again]).await,
            [duplicate_of(n)],
            "the second is known by its own id"
        );
        assert_eq!(row_of(store, &event_id(n)).await.later_reports.len(), 1);
        assert_eq!(
            accept(store, vec![report_of(n + 3, first, &happened)]).await,
            [new(n + 3)],
            "a source that reports it twice reports two"
        );
        assert_eq!(
            accept(store, vec![report_of(n + 4, second, &happened)]).await,
            [report_to(n + 3)],
            "and what comes next is of the second"
        );
        let late = NewEvent {
            event: Event {
                received_at: at(9999),
                ..report_of(n + 5, (Source::Github, "push"), "").event
            },
            ..report_of(n + 5, (Source::Github, "push"), &happened)
        };
        assert_eq!(accept(store, vec![late]).await, [new(n + 5)]);
    }
}

pub(super) async fn a_move_that_is_made_again_later_is_one_event_again(store: &dyn Store) {
    let moved = |n: u64, source: Source, seconds| {
        let mut new = report_of(n, (source, "push"), "move:o/r:refs/heads/main:a:b");
        new.event.received_at = at(seconds);
        if source == Source::Github {
            let twice = within("github-push-move:o/r:refs/heads/main:a:b", 3600);
            new.identities.push(twice);
        }
        new
    };
    // Keys of moves expire after an hour, so that the second move is an event of its own, with both of its reports.
    let moves = vec![
        moved(1, Source::Github, 0),
        moved(2, Source::Git, 4000),
        moved(3, Source::Github, 4001),
        moved(4, Source::Github, 4002),
    ];
    let ids: Vec<EventId> = accept(store, moves)
        .await
        .into_iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(
        ids,
        [event_id(1), event_id(2), event_id(2), event_id(2)],
        "two webhooks report the second move, which git reported first"
    );
}

pub(super) async fn what_would_be_a_duplicate_is_known(store: &dyn Store) {
    let merge = report_of(1, MERGED, "merge:o/r:1");
    accept(store, vec![merge.clone()]).await;
    let known = async |new: NewEvent| store.known(&new).await.expect("reads");
    assert_eq!(known(merge.clone()).await, Some(event_id(1)));
    assert_eq!(
        known(report_of(2, CLOSED, "merge:o/r:1")).await,
        Some(event_id(1)),
        "a report of what happened is"
    );
    assert_eq!(
        known(report_of(3, MERGED, "merge:o/r:1")).await,
        None,
        "a source that reports it twice reports two"
    );
    assert_eq!(known(report_of(4, CLOSED, "merge:o/r:4")).await, None);
    let row = row_of(store, &event_id(1)).await;
    // `fire` asks this before it refuses a request, and asking must not change the row.
    assert_eq!((row.duplicates, row.later_reports), (0, Vec::new()));
}

pub(super) async fn the_branch_of_a_pull_request_outlives_payloads(store: &dyn Store) {
    let about = |n: u64, kind: &str, subject: &str, head: &str| {
        let mut new = new_event(n, "");
        new.identities = vec![forever(&format!("id:{n}"))];
        new.event.kind = kind.to_owned();
        new.event.subject = Some(subject.parse().expect("a subject"));
        new.event.facts = EventFacts::default();
        new.event.facts.set_text(Field::Head, head);
        new
    };
    // The head of a fork is never a daemon's, although its branch may have the name of one.
    let mut of_a_fork = about(5, "pull_request", "github:o/r#8", "other");
    of_a_fork
        .event
        .facts
        .set(Field::Fork, FieldValue::Flag(true));
    let events = vec![
        about(1, "pull_request", "github:o/r#7", "first"),
        about(2, "pull_request", "github:o/r#8", "other"),
        about(3, "pull_request_review", "github:o/r#7", "second"),
        about(4, "issue_comment", "github:o/r#7", "third"),
        of_a_fork,
    ];
    accept(store, events).await;
    let head = async |subject: &str| {
        let subject = subject.parse().expect("a subject");
        store.head_of(&subject).await.expect("reads")
    };
    assert_eq!(head("github:o/r#7").await.as_deref(), Some("second"));
    assert_eq!(head("github:o/r#8").await, None, "it is of a fork");
    assert_eq!(head("github:o/r#9").await, None, "no event described it");
    let matched = [1, 2, 3, 4, 5].map(|n| Matched {
        n_later: 0,
        event: event_id(n),
        wanted: Vec::new(),
        triggers: Vec::new(),
    });
    let matched = store.commit_matches(matched.to_vec(), at(5)).await;
    matched.expect("commits");
    store.retain(at(9), at(0), at(0)).await.expect("retains");
    assert_eq!(
        head("github:o/r#7").await.as_deref(),
        Some("second"),
        "it outlives the payload"
    );
}

pub(super) async fn a_report_names_the_branch_of_a_pull_request(store: &dyn Store) {
    // The branch must be kept from a later report as well: git knows no pull request.
    let mut closed = report_of(2, CLOSED, "merge:o/r:1");
    closed.event.subject = Some("github:o/r#7".parse().expect("a subject"));
    closed.event.facts.set_text(Field::Head, "topic");
    accept(store, vec![report_of(1, MERGED, "merge:o/r:1"), closed]).await;
    let subject = "github:o/r#7".parse().expect("a subject");
    let head = store.head_of(&subject).await.expect("reads");
    assert_eq!(head.as_deref(), Some("topic"));
}

/// Returns the kind, title and label of each report of an event.
fn titles(row: &EventRow) -> Vec<String> {
    let reports = row.reports().into_iter();
    reports
        .map(|report| {
            let text = |field| report.facts.text(field).unwrap_or_default();
            let (title, label) = (text(Field::Title), text(Field::Labels));
            format!("{}: {title}, {label}", report.kind)
        })
        .collect()
}

pub(super) async fn facts_of_all_reports_are_kept_and_matched(store: &dyn Store) {
    registered(store, &["a", "b"]).await;
    let mut first = report_of(1, MERGED, "merge:o/r:1");
    first.event.facts.set_text(Field::Title, "as git says");
    let mut second = report_of(2, CLOSED, "merge:o/r:1");
    second.event.facts.set_text(Field::Title, "as GitHub says");
    second.event.facts.set_texts(Field::Labels, ["docs"]);
    accept(store, vec![first]).await;
    let wakes = |id: &str, n| Matched {
        n_later: 0,
        event: event_id(1),
        wanted: Vec::new(),
        triggers: vec![daemon_engine::NewTrigger {
            activation_id: activation_id(n),
            ..woken(id, 1, at(5))
        }],
    };
    let admitted = store.commit_matches(vec![wakes("a", 11)], at(5)).await;
    assert_eq!(
        admitted.expect("commits"),
        [Admission::Enqueued(activation_id(11))]
    );
    accept(store, vec![second]).await;
    let due = store.unmatched(0, 5).await.expect("reads");
    assert_eq!(due.len(), 1, "it is to be matched once more");
    assert_eq!(
        titles(&due[0]),
        [
            "pull_request: as GitHub says, docs",
            "merge: as git says, docs"
        ]
    );
    let stale = store.commit_matches(vec![wakes("b", 31)], at(6)).await;
    assert_eq!(
        stale.expect("commits"),
        [],
        "what was matched before the second report came stays to be matched"
    );
    let mut both = Matched {
        n_later: 1,
        ..wakes("a", 21)
    };
    both.triggers.extend(wakes("b", 22).triggers);
    let admitted = store.commit_matches(vec![both], at(6)).await;
    assert_eq!(
        admitted.expect("commits"),
        [
            Admission::Duplicate(activation_id(11)),
            Admission::Enqueued(activation_id(22))
        ],
        "one activation for each daemon"
    );
    assert_eq!(store.unmatched(0, 5).await.expect("reads"), []);
    store.retain(at(9), at(0), at(0)).await.expect("retains");
    assert_eq!(row_of(store, &event_id(1)).await.later_reports, []);
}
