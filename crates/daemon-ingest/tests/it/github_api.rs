//! Webhooks of a GitHub with state, read as events.

use std::sync::{Arc, Mutex};

use daemon_event::{ActorKind, Event, Subject};
use daemon_fakes::{FakeClock, GithubAccountKind, GithubApi, GithubPush, GithubWebhook};
use daemon_ingest::{Github, Headers, Secrets, WebhookSource as _};
use serde_json::{Value, json};

use crate::signing::hex_hmac;
use crate::{at, delivery};

const SECRET: &str = "s3cret";
const REPO: &str = "/repos/acme/pump";

/// Signs a webhook and reads its event.
fn event(webhook: &GithubWebhook) -> Event {
    let body = webhook.body.as_bytes();
    let signature = format!("sha256={}", hex_hmac(SECRET, body));
    let headers = Headers::new([
        ("X-GitHub-Event", &webhook.event),
        ("X-GitHub-Delivery", &webhook.guid),
        ("X-Hub-Signature-256", &signature),
    ]);
    let delivery = delivery(&headers, body, at("2026-11-20T12:00:00Z"));
    let github = Github::new(Secrets::new([SECRET]).unwrap());
    github.verify(&delivery).unwrap();
    let mut events = github.events(&delivery).unwrap();
    assert_eq!(events.len(), 1, "{}", webhook.event);
    events.remove(0)
}

/// Does one thing of each kind as two people and an App, and returns the events.
fn events() -> Vec<Event> {
    let github = GithubApi::start(0, FakeClock::default()).unwrap();
    github.add_repo("acme/pump");
    github.add_account("kit", GithubAccountKind::User);
    github.add_account("helper[bot]", GithubAccountKind::Bot);
    for (branch, digit) in [("main", "a"), ("fix", "b")] {
        github.set_branch("acme/pump", branch, Some(&digit.repeat(40)));
    }
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    github.add_hook("acme/pump", "http://127.0.0.1:1/", move |webhook| {
        log.lock().unwrap().push(webhook.clone());
        200
    });
    let pull = json!({"title": "Tighten", "head": "fix", "base": "main"});
    let acts = [
        ("kit", "POST", "issues", json!({"title": "Drip"})),
        (
            "helper[bot]",
            "POST",
            "issues/1/comments",
            json!({"body": "Seen."}),
        ),
        (
            "kit",
            "POST",
            "issues/1/labels",
            json!({"labels": ["leak"]}),
        ),
        ("kit", "POST", "pulls", pull),
        ("kit", "POST", "issues/2/comments", json!({"body": "Why?"})),
        (
            "helper[bot]",
            "POST",
            "pulls/2/reviews",
            json!({"event": "COMMENT", "body": "Fine."}),
        ),
        (
            "kit",
            "PATCH",
            "git/refs/heads/fix",
            json!({"sha": "c".repeat(40)}),
        ),
        ("kit", "PUT", "pulls/2/merge", Value::Null),
        ("kit", "PATCH", "issues/1", json!({"state": "closed"})),
    ];
    for (login, method, path, body) in acts {
        let (status, answer) = github.act(login, method, &format!("{REPO}/{path}"), &body);
        assert!(status < 300, "{path}: {answer}");
    }
    let push = GithubPush {
        branch: "next".to_owned(),
        after: Some("d".repeat(40)),
        ..GithubPush::default()
    };
    github.pushed("acme/pump", "kit", push);
    let sent = sent.lock().unwrap();
    sent.iter().map(event).collect()
}

#[test]
fn every_webhook_is_an_event_with_subject_and_actor() {
    let read: Vec<String> = events()
        .iter()
        .map(|event| {
            let repo = event.repo.as_ref().unwrap();
            assert_eq!(repo.to_string(), "acme/pump");
            let actor = event.actor.as_ref().unwrap();
            let kind = if actor.kind == ActorKind::Bot {
                "bot"
            } else {
                "person"
            };
            let (action, subject) = (event.action.as_deref(), event.subject.as_ref());
            let subject = subject.map_or("", Subject::as_str);
            format!("{} {} {subject} {kind}", event.kind, action.unwrap_or("-"))
        })
        .collect();
    assert_eq!(
        read,
        [
            "issues opened github:acme/pump#1 person",
            "issue_comment created github:acme/pump#1 bot",
            "label created github:acme/pump person",
            "issues labeled github:acme/pump#1 person",
            "pull_request opened github:acme/pump#2 person",
            "issue_comment created github:acme/pump#2 person",
            "pull_request_review submitted github:acme/pump#2 bot",
            "push - git:acme/pump:refs/heads/fix person",
            "pull_request synchronize github:acme/pump#2 person",
            "pull_request closed github:acme/pump#2 person",
            "issues closed github:acme/pump#1 person",
            "create - git:acme/pump:refs/heads/next person",
            "push - git:acme/pump:refs/heads/next person",
        ]
    );
}
