use daemon_event::{Enrichment, Event, EventId, Source, read};
use daemon_store::memory::MemoryStore;
use daemon_store::{Events as _, Matching, NewEvent};
use jiff::Timestamp;
use serde_json::json;

use super::Renames;

fn push(repo: &str, id: u64) -> NewEvent {
    let body = json!({
        "ref": "refs/heads/main", "before": "a", "after": "b",
        "repository": {"full_name": repo, "id": id},
    });
    let payload = body.to_string().into_bytes();
    let reading = read(Source::Github, "push", &payload, &Enrichment::default()).unwrap();
    let event = Event {
        id: EventId::new(1, [1; 10]),
        source: Source::Github,
        kind: "push".to_owned(),
        action: None,
        subject: reading.subject,
        actor: None,
        repo: reading.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::UNIX_EPOCH,
        delivery: "d".parse().unwrap(),
        facts: reading.facts,
        payload: payload.into(),
    };
    daemon_api::intake::new_event(event, Matching::Due)
}

/// Returns the repository that a webhook is stored with, after what is to be stored was.
async fn stored(renames: &Renames, store: &MemoryStore, repo: &str, id: u64) -> String {
    let is_watched = |name: &str| ["o/r", "o/s"].contains(&name);
    let mut events = [push(repo, id)];
    let at = Timestamp::UNIX_EPOCH;
    let bookmarks = renames
        .resolve(store, &is_watched, (&mut events, at))
        .await
        .unwrap();
    store.accept_marked(bookmarks, Vec::new()).await.unwrap();
    let [new] = events;
    let happening = &new.happenings[0].key;
    let repo = new.event.repo.unwrap();
    assert!(happening.contains(&repo.folded()), "{happening}");
    repo.to_string()
}

#[tokio::test]
async fn a_webhook_meets_the_repository_whose_id_it_showed_before() {
    let store = MemoryStore::new();
    let one = Renames::default();
    // Before the id is known, another name is another repository.
    assert_eq!(stored(&one, &store, "o/new", 7).await, "o/new");
    assert_eq!(stored(&one, &store, "O/R", 7).await, "O/R");
    assert_eq!(stored(&one, &store, "o/new", 7).await, "O/R");
    assert_eq!(stored(&one, &store, "o/new", 8).await, "o/new");
    assert_eq!(stored(&one, &store, "o/s", 9).await, "o/s");
    // Another host knows it, too.
    let two = Renames::default();
    assert_eq!(stored(&two, &store, "new/owner", 7).await, "O/R");
    assert_eq!(stored(&two, &store, "new/owner", 9).await, "o/s");
    assert_eq!(stored(&two, &store, "x/y", 1).await, "x/y");
}
