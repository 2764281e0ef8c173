//! Tokens, repositories and branches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use daemon_fakes::{FakeClock, GithubAccountKind};
use serde_json::{Value, json};

use crate::kit::{AGENT, Github, TOKEN, send, sha};

#[test]
fn a_token_is_the_account_it_was_made_for() {
    let github = Github::start();
    let user = github.get("/user").json();
    assert_eq!(
        json!([user["login"], user["type"]]),
        json!(["alice", "User"])
    );
}

#[test]
fn a_request_without_a_known_token_or_right_is_refused() {
    let github = Github::start();
    let address = github.api.server().address();
    let without = send(address, &["GET /user HTTP/1.1", AGENT], "");
    assert_eq!(
        (without.status, &without.json()["message"]),
        (401, &json!("Requires authentication"))
    );
    let comments = "/repos/acme/site/issues/1/comments";
    github.issue();
    let rows = [
        ("ghp_unknown", "GET", comments, 401, "Bad credentials"),
        ("ghp_reader", "GET", comments, 200, ""),
        (
            "ghp_reader",
            "POST",
            comments,
            403,
            "Resource not accessible by personal access token",
        ),
        (TOKEN, "GET", "/repos/acme/other", 404, "Not Found"),
        (TOKEN, "GET", "/repos/acme/site/nothing", 404, "Not Found"),
    ];
    for (token, method, path, status, message) in rows {
        let answer = github.call_as(token, method, path, &json!({"body": "x"}));
        let said = answer.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(
            (answer.status, said.as_str()),
            (status, message),
            "{token} {method} {path}"
        );
    }
    assert_eq!(github.api.comments("acme/site"), []);
}

#[test]
fn every_response_counts_the_requests_of_the_hour() {
    let github = Github::start();
    let remaining = |path| {
        github
            .get(path)
            .header("X-RateLimit-Remaining")
            .map(str::to_owned)
    };
    assert_eq!(remaining("/user"), Some("4999".to_owned()));
    assert_eq!(remaining("/nothing"), Some("4998".to_owned()));
}

#[test]
fn repositories_are_found_in_any_case_and_show_their_default_branch() {
    let github = Github::start();
    let repo = github.get("/repos/ACME/Site").json();
    assert_eq!(
        json!([
            repo["full_name"],
            repo["default_branch"],
            repo["owner"]["type"],
            repo["permissions"]["push"]
        ]),
        json!(["acme/site", "main", "Organization", true])
    );
}

#[test]
fn a_branch_is_found_by_its_name_with_slashes_in_both_forms() {
    let github = Github::start();
    github
        .api
        .set_branch("acme/site", "daemon/docs/1", Some(&sha('c')));
    for path in ["daemon/docs/1", "daemon%2Fdocs%2F1"] {
        let found = github
            .get(&format!("/repos/acme/site/git/ref/heads/{path}"))
            .json();
        assert_eq!(
            found["object"],
            json!({
                "type": "commit", "sha": sha('c'),
                "url": format!("{}/repos/acme/site/git/commits/{}", github.api.server().base_url(), sha('c')),
            })
        );
        assert_eq!(found["ref"], "refs/heads/daemon/docs/1");
        let branch = github
            .get(&format!("/repos/acme/site/branches/{path}"))
            .json();
        assert_eq!(branch["commit"]["sha"], sha('c'));
    }
    github.api.protect_branch("acme/site", "main");
    let protected = |branch| {
        github
            .get(&format!("/repos/acme/site/branches/{branch}"))
            .json()["protected"]
            .clone()
    };
    assert_eq!(
        (protected("main"), protected("fix")),
        (json!(true), json!(false))
    );
    let missing = github.get("/repos/acme/site/branches/gone");
    assert_eq!(
        (missing.status, &missing.json()["message"]),
        (404, &json!("Branch not found"))
    );
    assert_eq!(
        github.get("/repos/acme/site/git/ref/heads/gone").status,
        404
    );
}

#[test]
fn branches_can_be_read_from_elsewhere() {
    let github = Github::start();
    let read = |branch: &str| (branch == "main").then(|| sha('d'));
    github.api.read_branches("acme/site", read);
    let main = github.get("/repos/acme/site/branches/main").json();
    assert_eq!(main["commit"]["sha"], sha('d'));
    assert_eq!(github.get("/repos/acme/site/branches/fix").status, 404);
}

#[test]
fn an_account_acts_without_a_token() {
    let github = Github::start();
    github
        .api
        .add_account("helper[bot]", GithubAccountKind::Bot);
    let path = "/repos/acme/site/issues";
    let (status, issue) = github
        .api
        .act("helper[bot]", "POST", path, &json!({"title": "Found"}));
    assert_eq!(status, 201);
    assert_eq!(issue["user"]["type"], "Bot");
    let (status, _) = github.api.act("alice", "DELETE", path, &Value::Null);
    assert_eq!(status, 404);
}

#[test]
fn a_request_without_the_name_of_its_program_is_refused() {
    let github = Github::start();
    let head = ["GET /user HTTP/1.1", "Authorization: Bearer ghp_alice"];
    let refused = send(github.api.server().address(), &head, "");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("User-Agent"), "{}", refused.body);
}

#[test]
fn requests_over_the_hourly_limit_are_refused_until_the_hour_ends() {
    let now = Arc::new(AtomicU64::new(1_767_225_600));
    let read = Arc::clone(&now);
    let clock = FakeClock::new(move || Duration::from_secs(read.load(Ordering::Relaxed)));
    let github = Github::start_at(clock);
    github.api.set_hourly_limit(2);
    let statuses: Vec<u16> = (0..3).map(|_| github.get("/user").status).collect();
    assert_eq!(statuses, [200, 200, 403]);
    let refused = github.get("/user");
    assert_eq!(
        refused.json()["message"],
        "API rate limit exceeded for user ID 1."
    );
    assert_eq!(
        [
            refused.header("X-RateLimit-Remaining"),
            refused.header("X-RateLimit-Reset")
        ],
        [Some("0"), Some("1767229200")]
    );
    now.fetch_add(3600, Ordering::Relaxed);
    assert_eq!(github.get("/user").status, 200);
}

#[test]
fn what_the_client_has_is_not_sent_again() {
    let github = Github::start();
    let first = github.get("/user");
    let tag = format!("If-None-Match: {}", first.header("ETag").unwrap());
    let head = [
        "GET /user HTTP/1.1",
        AGENT,
        "Authorization: Bearer ghp_alice",
        &tag,
    ];
    let again = send(github.api.server().address(), &head, "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let head = [
        "GET /repos/acme/site HTTP/1.1",
        AGENT,
        "Authorization: Bearer ghp_alice",
        &tag,
    ];
    assert_eq!(send(github.api.server().address(), &head, "").status, 200);
}
