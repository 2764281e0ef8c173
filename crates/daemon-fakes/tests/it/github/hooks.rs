//! Webhooks and their deliveries.

use std::sync::{Arc, Mutex};

use daemon_fakes::{GithubPush, GithubWebhook, GithubWorkflowRun};
use serde_json::{Value, json};

use crate::kit::{Github, REPO, TOKEN, sha};

const ISSUES: &str = "/repos/acme/site/issues";

/// Collects the webhooks of the repository; the receiver answers with these statuses in turn, then with 200.
fn with_hook(statuses: &[u16]) -> (Github, Arc<Mutex<Vec<GithubWebhook>>>) {
    let github = Github::start();
    let (sent, answers) = (
        Arc::new(Mutex::new(Vec::new())),
        Mutex::new(statuses.to_vec()),
    );
    let log = Arc::clone(&sent);
    github
        .api
        .add_hook(REPO, "http://127.0.0.1:1/hooks/github", move |webhook| {
            log.lock().unwrap().push(webhook.clone());
            let mut answers = answers.lock().unwrap();
            if answers.is_empty() {
                200
            } else {
                answers.remove(0)
            }
        });
    (github, sent)
}

fn actions(sent: &Mutex<Vec<GithubWebhook>>) -> Vec<(String, Value)> {
    let sent = sent.lock().unwrap();
    let action = |webhook: &GithubWebhook| {
        let body: Value = serde_json::from_str(&webhook.body).unwrap();
        assert_eq!(body["repository"]["full_name"], REPO);
        (webhook.event.clone(), body["action"].clone())
    };
    sent.iter().map(action).collect()
}

#[test]
fn every_change_sends_its_event() {
    let (github, sent) = with_hook(&[]);
    github.issue();
    github.post(&format!("{ISSUES}/1/comments"), &json!({"body": "Seen."}));
    github.post(&format!("{ISSUES}/1/labels"), &json!({"labels": ["docs"]}));
    github.patch(&format!("{ISSUES}/1"), &json!({"state": "closed"}));
    github.pull();
    github.post(
        "/repos/acme/site/pulls/2/reviews",
        &json!({"event": "COMMENT", "body": "x"}),
    );
    github.post(
        "/repos/acme/site/git/refs",
        &json!({"ref": "refs/heads/new", "sha": sha('c')}),
    );
    github.patch(
        "/repos/acme/site/git/refs/heads/fix",
        &json!({"sha": sha('d')}),
    );
    github.call_as(
        TOKEN,
        "DELETE",
        "/repos/acme/site/git/refs/heads/new",
        &Value::Null,
    );
    github.call_as(TOKEN, "PUT", "/repos/acme/site/pulls/2/merge", &Value::Null);
    let expected = [
        ("issues", json!("opened")),
        ("issue_comment", json!("created")),
        ("label", json!("created")),
        ("issues", json!("labeled")),
        ("issues", json!("closed")),
        ("pull_request", json!("opened")),
        ("pull_request_review", json!("submitted")),
        ("create", Value::Null),
        ("push", Value::Null),
        ("push", Value::Null),
        ("pull_request", json!("synchronize")),
        ("push", Value::Null),
        ("delete", Value::Null),
        ("pull_request", json!("closed")),
    ];
    assert_eq!(
        actions(&sent),
        expected.map(|(event, action)| (event.to_owned(), action))
    );
}

#[test]
fn what_follows_from_a_request_has_events_of_its_own() {
    let (github, sent) = with_hook(&[]);
    let issue = json!({"title": "A question", "labels": ["docs"], "assignees": ["acme"]});
    assert_eq!(github.post(ISSUES, &issue).status, 201);
    github.api.add_workflow_run(
        REPO,
        GithubWorkflowRun {
            id: 7,
            conclusion: Some("failure".to_owned()),
            attempt: 1,
            jobs: vec![70],
            ..GithubWorkflowRun::default()
        },
    );
    let again = "/repos/acme/site/actions/runs/7/rerun-failed-jobs";
    assert_eq!(github.post(again, &Value::Null).status, 201);
    github.api.end_workflow_run(REPO, "alice", 7, "success");
    let expected = [
        ("label", "created"),
        ("issues", "opened"),
        ("issues", "labeled"),
        ("issues", "assigned"),
        ("workflow_job", "queued"),
        ("check_run", "created"),
        ("workflow_run", "requested"),
        ("check_run", "completed"),
        ("workflow_job", "completed"),
        ("check_suite", "completed"),
        ("workflow_run", "completed"),
    ];
    assert_eq!(
        actions(&sent),
        expected.map(|(event, action)| (event.to_owned(), json!(action)))
    );
    name_their_run(&sent.lock().unwrap());
}

/// Checks that check and job name the run, and that check and run name the suite.
fn name_their_run(sent: &[GithubWebhook]) {
    let body = |at: usize| -> Value { serde_json::from_str(&sent[at].body).unwrap() };
    let (check, job, suite, run) = (body(7), body(8), body(9), body(10));
    let suite = &suite["check_suite"]["id"];
    assert!(
        check["check_run"]["details_url"]
            .as_str()
            .unwrap()
            .ends_with("/actions/runs/7/job/70")
    );
    assert_eq!(
        json!([
            job["workflow_job"]["run_id"],
            job["workflow_job"]["run_attempt"],
            run["workflow_run"]["run_attempt"]
        ]),
        json!([7, 2, 2])
    );
    assert_eq!(
        [
            &check["check_run"]["check_suite"]["id"],
            &run["workflow_run"]["check_suite_id"]
        ],
        [suite; 2]
    );
}

#[test]
fn a_push_outside_sends_what_the_service_would() {
    let (github, sent) = with_hook(&[]);
    let commits = vec![json!({"id": sha('e'), "message": "m", "added": ["a.md"]})];
    let push = GithubPush {
        branch: "new".to_owned(),
        before: None,
        after: Some(sha('e')),
        commits: commits.clone(),
    };
    github.api.pushed(REPO, "alice", push);
    assert_eq!(actions(&sent).len(), 2);
    let push: Value = serde_json::from_str(&sent.lock().unwrap()[1].body).unwrap();
    assert_eq!(
        json!([
            push["ref"],
            push["before"],
            push["after"],
            push["created"],
            push["commits"],
            push["sender"]["login"]
        ]),
        json!(["refs/heads/new", sha('0'), sha('e'), true, commits, "alice"])
    );
}

#[test]
fn a_refused_request_sends_nothing() {
    let (github, sent) = with_hook(&[]);
    github.post(ISSUES, &json!({}));
    github.post(&format!("{ISSUES}/9/comments"), &json!({"body": "x"}));
    assert_eq!(actions(&sent), []);
}

#[test]
fn deliveries_are_listed_newest_first_by_cursor_and_sent_again() {
    let (github, sent) = with_hook(&[503, 200, 0]);
    for _ in 0..3 {
        github.issue();
    }
    let hooks = github.get("/repos/acme/site/hooks").json();
    assert_eq!(hooks[0]["config"]["url"], "http://127.0.0.1:1/hooks/github");
    let path = format!("/repos/acme/site/hooks/{}/deliveries", hooks[0]["id"]);
    let first = github.get(&format!("{path}?per_page=2"));
    let statuses = |list: &Value| -> Vec<u64> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|it| it["status_code"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(statuses(&first.json()), [0, 200]);
    let link = first.header("Link").unwrap();
    let next = link
        .strip_prefix('<')
        .unwrap()
        .split_once(">; rel=\"next\"")
        .unwrap()
        .0;
    let next = next.strip_prefix(&github.api.server().base_url()).unwrap();
    let rest = github.get(next);
    assert_eq!(
        (statuses(&rest.json()), rest.header("Link")),
        (vec![503], None)
    );
    let failed = &rest.json()[0];
    let detail = github.get(&format!("{path}/{}", failed["id"])).json();
    assert_eq!(detail["request"]["payload"]["action"], "opened");
    assert_eq!(
        detail["request"]["headers"]["X-GitHub-Delivery"],
        failed["guid"]
    );
    let again = github.post(&format!("{path}/{}/attempts", failed["id"]), &Value::Null);
    assert_eq!(again.status, 202);
    {
        let sent = sent.lock().unwrap();
        assert_eq!(sent[3], sent[0]);
    }
    let newest = github.get(&format!("{path}?per_page=1")).json();
    assert_eq!(
        json!([
            newest[0]["guid"],
            newest[0]["redelivery"],
            newest[0]["status_code"]
        ]),
        json!([failed["guid"], true, 200])
    );
    assert_eq!(
        github
            .post(&format!("{path}/1/attempts"), &Value::Null)
            .status,
        404
    );
}
