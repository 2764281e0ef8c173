use daemon_event::{Enrichment, Event, EventId, Source, read};
use daemon_store::Matching;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::new_event;

fn happened(source: Source, kind: &str, body: &Value) -> Vec<String> {
    let payload = body.to_string().into_bytes();
    let reading = read(source, kind, &payload, &Enrichment::default()).expect("a valid body");
    let event = Event {
        id: EventId::new(1, [0; 10]),
        source,
        kind: kind.to_owned(),
        action: reading.action,
        subject: reading.subject,
        actor: reading.actor,
        repo: reading.repo,
        time: Timestamp::UNIX_EPOCH,
        received_at: Timestamp::UNIX_EPOCH,
        delivery: "d-1".parse().expect("a valid id"),
        facts: reading.facts,
        payload: payload.into(),
    };
    let new = new_event(event, Matching::Due);
    let keys = new.happenings.into_iter().map(|one| one.key);
    // These have their own tests.
    keys.filter(|key| !key.starts_with("told:")).collect()
}

fn of_ref(more: Value) -> Value {
    let mut body = json!({"repository": {"full_name": "O/r", "default_branch": "main"}});
    let object = body.as_object_mut().expect("an object");
    object.extend(more.as_object().expect("an object").clone());
    body
}

#[test]
fn every_source_has_the_same_keys_for_a_change_of_a_ref() {
    let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
    let full = |before: &str, after: &str| {
        of_ref(json!({
            "ref": "refs/heads/x", "ref_type": "branch", "before": before, "after": after,
            "created": before == zero, "deleted": after == zero,
        }))
    };
    let short = |ref_type| of_ref(json!({"ref": "x", "ref_type": ref_type}));
    let moved = |before: &str, after: &str| format!("move:o/r:refs/heads/x:{before}:{after}");
    let born = "born:o/r:refs/heads/x".to_owned();
    let gone = "gone:o/r:refs/heads/x".to_owned();
    for source in [Source::Git, Source::Github] {
        assert_eq!(
            happened(source, "push", &full(&one, &two)),
            [moved(&one, &two)]
        );
        assert_eq!(
            happened(source, "push", &full(&zero, &two)),
            [moved(&zero, &two), born.clone()]
        );
        assert_eq!(
            happened(source, "push", &full(&one, &zero)),
            [moved(&one, &zero), gone.clone()]
        );
    }
    assert_eq!(
        happened(Source::Git, "create", &full(&zero, &two)),
        [moved(&zero, &two), born.clone()]
    );
    assert_eq!(
        happened(Source::Git, "delete", &full(&one, &zero)),
        [moved(&one, &zero), gone.clone()]
    );
    assert_eq!(happened(Source::Github, "create", &short("branch")), [born]);
    assert_eq!(happened(Source::Github, "delete", &short("branch")), [gone]);
    assert_eq!(
        happened(Source::Github, "create", &short("tag")),
        ["born:o/r:refs/tags/x"]
    );
}

#[test]
fn only_a_merge_of_a_pull_request_has_a_key_its_branch_and_commit() {
    let merge = of_ref(json!({"ref": "refs/heads/main", "after": "a1", "before": "a0"}));
    let named_merge = "merge:o/r:refs/heads/main:a1";
    assert_eq!(happened(Source::Git, "merge", &merge), [named_merge]);
    let elsewhere = of_ref(json!({"ref": "refs/heads/v2", "after": "a1", "before": "a0"}));
    assert_eq!(
        happened(Source::Git, "merge", &elsewhere),
        ["merge:o/r:refs/heads/v2:a1"]
    );
    let request = |action: &str, merged: bool| {
        of_ref(json!({
            "action": action, "number": 7,
            "pull_request": {"number": 7, "merged": merged, "merge_commit_sha": "a1", "base": {"ref": "main"}},
        }))
    };
    let named = |action, merged| happened(Source::Github, "pull_request", &request(action, merged));
    assert_eq!(named("closed", true), [named_merge]);
    for (action, merged) in [("closed", false), ("opened", false), ("labeled", true)] {
        assert_eq!(named(action, merged), [""; 0], "{action}");
    }
}
