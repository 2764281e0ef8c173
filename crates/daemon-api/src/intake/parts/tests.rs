use daemon_event::{Enrichment, Event, EventId, Source, read};
use daemon_store::memory::MemoryStore;
use daemon_store::{Events as _, Freshness, Matching, Query};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::new_event;
use super::reported_in_parts;

/// The beginning of the test, in Unix time.
const START: i64 = 1_800_000_000;

/// A push of commits, each named by a character: from the first to the last.
struct Sent {
    source: Source,
    commits: &'static str,
    is_forced: bool,
    /// When it was pushed and when it is received, in seconds after the start.
    at: (i64, i64),
}

fn git(commits: &'static str, received: i64) -> Sent {
    Sent {
        source: Source::Git,
        commits,
        is_forced: false,
        at: (0, received),
    }
}

fn webhook(commits: &'static str, at: (i64, i64)) -> Sent {
    Sent {
        source: Source::Github,
        ..Sent {
            at,
            ..git(commits, 0)
        }
    }
}

fn forced(sent: Sent) -> Sent {
    Sent {
        is_forced: true,
        ..sent
    }
}

fn event(n: u8, sent: &Sent) -> Event {
    let id = |c: char| c.to_string().repeat(40);
    let ids: Vec<String> = sent.commits.chars().map(id).collect();
    let (before, commits) = ids.split_first().expect("a commit");
    let commits: Vec<Value> = commits.iter().map(|id| json!({"id": id})).collect();
    let mut body = json!({
        "ref": "refs/heads/main", "before": before, "after": ids.last(), "forced": sent.is_forced,
        "commits": commits, "n": n, "repository": {"full_name": "o/r"},
    });
    if sent.source == Source::Github {
        body["repository"]["pushed_at"] = json!(START + sent.at.0);
    }
    let payload = body.to_string().into_bytes();
    let reading = read(sent.source, "push", &payload, &Enrichment::default()).expect("a body");
    Event {
        id: EventId::new(1, [n; 10]),
        source: sent.source,
        kind: "push".to_owned(),
        action: None,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::from_second(START + sent.at.1).expect("a time"),
        delivery: format!("d-{n}").parse().expect("an id"),
        facts: reading.facts,
        payload: payload.into(),
    }
}

/// Stores events in this order, and returns for each whether it is new, another report, or a duplicate.
async fn stored(all: &[Sent]) -> Vec<Freshness> {
    let store = MemoryStore::new();
    let mut acc = Vec::new();
    for (n, sent) in (0..).zip(all) {
        let query = Query {
            limit: 500,
            ..Query::default()
        };
        let mut recent = Vec::new();
        for row in store.events(&query).await.expect("reads").rows {
            let row = store.event(&row.event.id).await.expect("reads");
            recent.push(row.expect("it is stored").event);
        }
        let mut new = new_event(event(n, sent), Matching::Due);
        reported_in_parts(&mut new, &recent);
        let accepted = store.accept(vec![new]).await;
        acc.push(accepted.expect("stores")[0].freshness);
    }
    acc
}

#[tokio::test]
async fn a_move_that_webhooks_report_in_parts_is_no_event_of_its_own() {
    use Freshness::{Duplicate, New};
    let parts = || [webhook("ab", (0, 1)), webhook("bcd", (5, 6))];
    let [first, second] = parts();
    let whole = git("abcd", 20);
    assert_eq!(stored(&[first, second, whole]).await, [New, New, Duplicate]);
    // They come late, in either order.
    let [first, second] = parts();
    assert_eq!(
        stored(&[git("abcd", 6), second, first]).await,
        [New, Duplicate, Duplicate]
    );
    // One part is missing, so that nothing else has its files.
    let [_, second] = parts();
    assert_eq!(stored(&[second, git("abcd", 20)]).await, [New, New]);
    // The same move is one event with two reports.
    let both = stored(&[webhook("ab", (0, 1)), git("ab", 20)]).await;
    assert_eq!(both[0], New);
    assert!(!matches!(both[1], New | Duplicate), "{both:?}");
}

#[tokio::test]
async fn what_is_pushed_after_a_move_is_another_event() {
    use Freshness::New;
    for later in [
        // Back to a commit that the move passed, and on from there.
        forced(webhook("db", (100, 101))),
        webhook("be", (100, 101)),
        webhook("de", (100, 101)),
    ] {
        let commits = later.commits;
        assert_eq!(
            stored(&[git("abcd", 6), later]).await,
            [New; 2],
            "{commits}"
        );
    }
    // The branch goes back and forth between polls.
    let sent = [
        webhook("ab", (0, 1)),
        forced(webhook("ba", (2, 3))),
        webhook("ac", (4, 5)),
        git("acd", 20),
    ];
    assert_eq!(stored(&sent).await, [New; 4]);
}
