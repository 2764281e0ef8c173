use daemon_event::{Enrichment, Event, EventId, Source, read};
use daemon_store::memory::MemoryStore;
use daemon_store::{Events as _, Freshness, Matching, NewEvent};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::new_event;
use super::reconciled;

/// The sender of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Teller {
    Webhook,
    Comparison,
}
use Teller::{Comparison, Webhook};

fn new(n: u8, from: Teller, (kind, body): (&str, &Value), minute: i64) -> NewEvent {
    let payload = body.to_string().into_bytes();
    // Only Linear's kinds begin with a capital letter.
    let source = match kind.starts_with(char::is_uppercase) {
        true => Source::Linear,
        false => Source::Github,
    };
    let reading = read(source, kind, &payload, &Enrichment::default()).expect("a body");
    let at = Timestamp::from_second(1_800_000_000 + 60 * minute).expect("a time");
    let event = Event {
        id: EventId::new(1, [n; 10]),
        source,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: reading.time.unwrap_or(at),
        received_at: at,
        delivery: format!("{from:?}-{n}").parse().expect("an id"),
        facts: reading.facts,
        payload: payload.into(),
    };
    match from {
        Webhook => new_event(event, Matching::Due),
        Comparison => reconciled(event, SignedDuration::from_mins(5)),
    }
}

fn push(before: char, after: char, more: &str) -> (&'static str, Value) {
    let id = |c: char| c.to_string().repeat(40);
    let body = json!({
        "ref": "refs/heads/main", "before": id(before), "after": id(after), "more": more,
        "repository": {"full_name": "O/r"},
    });
    ("push", body)
}

fn pull(action: &str, head: &str, closed_at: Option<&str>) -> (&'static str, Value) {
    let body = json!({
        "action": action, "number": 7, "repository": {"full_name": "o/R"},
        "pull_request": {"number": 7, "head": {"sha": head}, "closed_at": closed_at, "by": head},
    });
    ("pull_request", body)
}

/// Stores events and returns for each whether it was new.
async fn stored(sent: &[(Teller, (&str, Value), i64)]) -> Vec<bool> {
    let store = MemoryStore::new();
    let mut acc = Vec::new();
    for (n, (from, (kind, body), minute)) in (0..).zip(sent) {
        let accepted = store
            .accept(vec![new(n, *from, (*kind, body), *minute)])
            .await;
        acc.push(accepted.expect("stores")[0].freshness == Freshness::New);
    }
    acc
}

#[tokio::test]
async fn a_change_is_one_event_in_either_order() {
    for change in [
        push('a', 'b', ""),
        pull("opened", "x", None),
        pull("synchronize", "x", None),
        pull("closed", "x", Some("2026-11-23T10:00:00Z")),
        (
            "create",
            json!({"ref": "x", "ref_type": "branch", "repository": {"full_name": "o/r"}}),
        ),
        (
            "delete",
            json!({"ref": "x", "ref_type": "tag", "repository": {"full_name": "o/r"}}),
        ),
    ] {
        let (kind, mut body) = change.clone();
        body["made"] = json!(true);
        for (first, second) in [
            (Webhook, Comparison),
            (Comparison, Webhook),
            (Comparison, Comparison),
        ] {
            let sent = [
                (first, change.clone(), 0),
                (second, (kind, body.clone()), 4),
            ];
            assert_eq!(stored(&sent).await, [true, false], "{first:?} {change:?}");
        }
    }
}

#[tokio::test]
async fn a_move_over_several_webhooks_is_known_from_the_last_of_them() {
    let sent = [
        (Webhook, push('a', 'b', ""), 0),
        (Webhook, push('b', 'c', ""), 1),
        (Comparison, push('a', 'c', ""), 4),
    ];
    assert_eq!(stored(&sent).await, [true, true, false]);
    let sent = [
        (Comparison, push('a', 'c', ""), 0),
        (Webhook, push('b', 'c', "late"), 1),
    ];
    assert_eq!(stored(&sent).await, [true, false]);
}

#[tokio::test]
async fn what_happens_again_is_another_event() {
    // The move was reported an hour ago, undone, and made again without a webhook.
    let sent = [
        (Webhook, push('a', 'b', ""), 0),
        (Webhook, push('b', 'a', ""), 30),
        (Comparison, push('a', 'b', ""), 61),
        (Webhook, push('b', 'a', "again"), 120),
        (Webhook, push('a', 'b', "again"), 125),
    ];
    assert_eq!(stored(&sent).await, [true; 5]);
    // A pull request that is closed, opened and closed again; webhooks of one commit on two branches.
    let sent = [
        (Webhook, pull("closed", "x", Some("1")), 0),
        (Comparison, pull("closed", "x", Some("2")), 1),
        (Webhook, pull("closed", "x", Some("3")), 2),
        (Webhook, pull("synchronize", "y", None), 3),
        (Webhook, pull("synchronize", "z", None), 4),
    ];
    assert_eq!(stored(&sent).await, [true; 5]);
}

#[tokio::test]
async fn a_webhook_that_is_sent_again_hours_later_is_known_by_the_time_of_its_push() {
    for (kind, mut body) in [push('a', 'b', ""), pull("synchronize", "x", None)] {
        let made = body.clone();
        // Another delivery of the push that a comparison saw as the end of several.
        body["before"] = json!("c".repeat(40));
        let seconds = |minute: i64| 1_800_000_000 + 60 * minute;
        let text = |minute: i64| {
            let at = Timestamp::from_second(seconds(minute)).expect("a time");
            json!(at.to_string())
        };
        let mut at = |minute: i64| {
            body["repository"]["pushed_at"] = match kind {
                "push" => json!(seconds(minute)),
                _ => text(minute),
            };
            (kind, body.clone())
        };
        let sent = [
            (Comparison, (kind, made), 10),
            (Webhook, at(3), 130),
            // The same move again, after the comparison.
            (Webhook, at(200), 201),
        ];
        assert_eq!(stored(&sent).await, [true, false, true], "{kind}");
    }
}

/// An update of an issue of Linear, with its later and former values, at a minute.
fn update(minute: i64, later: &Value, former: &Value) -> (&'static str, Value) {
    let at = Timestamp::from_second(1_800_000_000 + 60 * minute).expect("a time");
    let mut data = json!({"id": "i-1", "identifier": "ENG-1"});
    let (Value::Object(data_of), Value::Object(later)) = (&mut data, later) else {
        panic!("objects");
    };
    data_of.extend(later.clone());
    let body = json!({
        "action": "update", "type": "Issue", "createdAt": at.to_string(), "data": data,
        "updatedFrom": former, "minute": minute,
    });
    ("Issue", body)
}

#[tokio::test]
async fn updates_of_linear_are_one_by_attribute_value_and_time() {
    let done = json!({"stateId": "s-2", "labelIds": ["a", "b"], "priority": 1});
    let webhook = update(
        0,
        &done,
        &json!({"stateId": "s-1", "priority": 0, "updatedAt": "x"}),
    );
    let state = update(1, &done, &json!({"stateId": "s-1"}));
    let priority = update(1, &json!({"priority": 1.0}), &json!({"priority": 0}));
    let other = update(1, &json!({"stateId": "s-3"}), &json!({"stateId": "s-1"}));
    // The webhook reports both attributes; the comparison finds it in two events, and a third state that no webhook brought.
    let sent = [
        (Webhook, webhook.clone(), 0),
        (Comparison, state.clone(), 4),
        (Comparison, priority.clone(), 4),
        (Comparison, other, 4),
    ];
    assert_eq!(stored(&sent).await, [true, false, false, true]);
    // A webhook that Linear repeats after six hours is a duplicate; the same change after an hour is another one.
    let again = update(60, &done, &json!({"stateId": "s-1"}));
    let sent = [
        (Comparison, state, 4),
        (Comparison, priority, 4),
        (Webhook, again, 61),
        (Webhook, webhook, 360),
    ];
    assert_eq!(stored(&sent).await, [true, true, true, false]);
    // Labels are a set.
    let labels = |ids: &Value| update(0, &json!({"labelIds": ids}), &json!({"labelIds": ["a"]}));
    let sent = [
        (Webhook, labels(&json!(["a", "b"])), 0),
        (Comparison, labels(&json!(["b", "a"])), 4),
        (Comparison, labels(&json!(["b"])), 4),
    ];
    assert_eq!(stored(&sent).await, [true, false, true]);
}

#[tokio::test]
async fn issues_and_comments_of_linear_are_created_once() {
    for kind in ["Issue", "Comment"] {
        let body =
            |by: &str| json!({"action": "create", "type": kind, "data": {"id": "x-1"}, "by": by});
        for (first, second) in [(Webhook, Comparison), (Comparison, Webhook)] {
            let sent = [
                (first, (kind, body("one")), 0),
                (second, (kind, body("two")), 400),
            ];
            assert_eq!(stored(&sent).await, [true, false], "{kind} {first:?}");
        }
    }
}
