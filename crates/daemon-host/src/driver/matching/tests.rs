use daemon_event::{Enrichment, Source};
use daemon_store::{Accepted, Events as _, Matching};
use serde_json::{Value, json};

use super::{Passed, match_waiting};
use crate::driver::RepoState;
use crate::driver::facts::tests::Rig;
use crate::fire::FiredEvent;
use crate::random;

/// Stores a report as a source sends it.
async fn report(rig: &Rig, (source, kind): (Source, &str), body: &Value) -> Vec<Accepted> {
    let fired = FiredEvent {
        source,
        kind: kind.to_owned(),
        body: body.to_string().into_bytes(),
        delivery: None,
        enrichment: Enrichment::default(),
    };
    let event = fired.event(random::now()).unwrap();
    let new = crate::intake::new_event(event, Matching::Due);
    let accepted = rig.store.accept(vec![new]).await.unwrap();
    rig.inner.events_accepted(&accepted);
    accepted
}

#[tokio::test]
async fn an_event_due_again_is_matched_while_another_repository_is_unread() {
    let daemons = [
        ("labelled", "when a pull request labeled docs is merged"),
        ("merged", "when a pull request is merged"),
    ];
    let rig = Rig::new(&daemons, Vec::new());
    let mut unread = RepoState::default();
    unread.never_read_since = Some(random::now());
    let other = "o/unread".parse().unwrap();
    rig.inner.state().repos.insert(other, unread);
    let mut passed = Passed::default();
    let repository = json!({"full_name": "o/r", "default_branch": "main"});
    let merge = json!({
        "ref": "refs/heads/main", "ref_type": "branch", "before": "a0", "after": "a1",
        "repository": repository, "sender": {"login": "kit"},
    });
    let first = report(&rig, (Source::Git, "merge"), &merge).await;
    match_waiting(&rig.inner, &mut passed).await.unwrap();
    assert_eq!(rig.woken(&first[0].id).await, ["merged"]);

    let closed = json!({
        "action": "closed", "number": 7, "repository": repository, "sender": {"login": "kit"},
        "pull_request": {
            "number": 7, "merged": true, "merge_commit_sha": "a1", "draft": false,
            "user": {"login": "kit"}, "labels": [{"name": "docs"}],
        },
    });
    let second = report(&rig, (Source::Github, "pull_request"), &closed).await;
    assert_eq!(second[0].id, first[0].id);
    match_waiting(&rig.inner, &mut passed).await.unwrap();
    assert_eq!(rig.woken(&first[0].id).await, ["merged", "labelled"]);
}
