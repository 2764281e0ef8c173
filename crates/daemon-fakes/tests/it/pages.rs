//! The pages of the services.

use std::net::SocketAddr;

use daemon_fakes::{
    FakeClock, GithubFile, GithubWorkflowRun, LinearApi, SlackApi, SlackChannel, SlackUser,
};
use serde_json::{Value, json};

use crate::kit::{AGENT, Answer, Github, REPO, send};

const HOSTILE: &str = "<img src=x onerror=alert(1)>";

fn page(address: SocketAddr, path: &str) -> Answer {
    send(address, &[&format!("GET {path} HTTP/1.1"), AGENT], "")
}

/// Checks that a page has these parts and nothing that an author wrote as an element.
fn check(address: SocketAddr, path: &str, parts: &[&str]) {
    let answer = page(address, path);
    assert_eq!(answer.status, 200, "{path}");
    assert_eq!(
        answer.header("Content-Type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(
        answer.header("Content-Security-Policy"),
        Some("default-src 'none'; style-src 'unsafe-inline'")
    );
    assert!(!answer.body.contains("<img"), "{path}: {}", answer.body);
    for part in parts {
        assert!(
            answer.body.contains(part),
            "{part} in {path}: {}",
            answer.body
        );
    }
}

/// A pull request with a comment and a review, and an issue, with markup in everything that an author writes. Returns the URL of
/// the comment too.
fn with_hostile_content() -> (Github, String) {
    let github = Github::start();
    github.api.read_files(REPO, |_, _| {
        vec![GithubFile {
            path: format!("a{HOSTILE}.md"),
            status: "modified".to_owned(),
            patch: format!("@@ -1 +1,2 @@\n one\n+{HOSTILE}"),
        }]
    });
    github.pull();
    github.api.act(
        "bob",
        "POST",
        "/repos/acme/site/issues",
        &json!({"title": HOSTILE, "body": HOSTILE, "labels": [HOSTILE]}),
    );
    let comment = format!("**Seen** {HOSTILE}<!-- daemon:docs act:1 out:2 -->");
    let created = github
        .post(
            "/repos/acme/site/issues/1/comments",
            &json!({"body": comment}),
        )
        .json();
    let review = json!({"event": "REQUEST_CHANGES", "body": "Please.", "comments": [{"path": format!("a{HOSTILE}.md"), "line": 2, "body": HOSTILE}]});
    let (status, _) = github
        .api
        .act("bob", "POST", "/repos/acme/site/pulls/1/reviews", &review);
    assert_eq!(status, 200);
    (github, created["html_url"].as_str().unwrap().to_owned())
}

#[test]
fn pages_of_github_show_issues_and_pull_requests() {
    let (github, url) = with_hostile_content();
    let address = github.api.server().address();
    let own = url.strip_prefix(&github.api.server().base_url()).unwrap();
    let path = own.split('#').next().unwrap();
    assert_eq!(path, "/acme/site/pull/1");
    let anchor = format!("<a id={}>", own.split('#').nth(1).unwrap());
    check(
        address,
        path,
        &[
            "Repair the link <small>#1</small>",
            ">Open<",
            "wants to merge <code>fix</code> into <code>main</code>",
            "<b>Seen</b>",
            &anchor,
            "changes requested",
            "Files changed",
            "<ins>+&lt;img",
            "line 2",
        ],
    );
    assert!(!page(address, path).body.contains("act:1"));
    check(
        address,
        "/acme/site/issues/2",
        &["&lt;img src=x", ">Open<", "bob"],
    );
    check(
        address,
        "/acme/site",
        &["Pull requests", "/acme/site/issues/2"],
    );
    check(address, "/", &["<a href=\"/acme/site\">"]);
    github
        .api
        .act("alice", "PUT", "/repos/acme/site/pulls/1/merge", &json!({}));
    check(address, path, &[">Merged<"]);
}

#[test]
fn pages_of_github_show_runs() {
    let github = Github::start();
    github.api.set_app(7, "my-app", |_, _| true);
    github.api.add_workflow_run(
        REPO,
        GithubWorkflowRun {
            id: 3,
            name: HOSTILE.to_owned(),
            attempt: 2,
            ..GithubWorkflowRun::default()
        },
    );
    let address = github.api.server().address();
    check(
        address,
        "/acme/site/actions/runs/3",
        &["&lt;img", "attempt 2", ">queued<"],
    );
    let annotation = json!({"path": HOSTILE, "start_line": 4, "end_line": 4, "annotation_level": "notice", "message": HOSTILE});
    let run = json!({"name": HOSTILE, "head_sha": "b".repeat(40), "conclusion": "neutral",
        "output": {"title": "Two links", "summary": HOSTILE, "annotations": [annotation]}});
    let created = as_app(&github, "POST", "/repos/acme/site/check-runs", &run);
    assert_eq!(created.status, 201, "{}", created.body);
    let url = created.json()["html_url"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&github.api.server().base_url()).unwrap();
    check(
        address,
        path,
        &["Two links", ">neutral<", "&gt;:4</b> notice"],
    );
    github.pull();
    check(address, "/acme/site/pull/1", &["Checks", path]);
}

/// Sends a request with a token of an installation of the App.
fn as_app(github: &Github, method: &str, path: &str, body: &Value) -> Answer {
    let installation = github.api.add_installation(&[REPO]);
    // `{"alg":"RS256"}` and `{"iss":7,"iat":1767225600,"exp":1767226100}`; the first clock begins at that time.
    let token =
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOjcsImlhdCI6MTc2NzIyNTYwMCwiZXhwIjoxNzY3MjI2MTAwfQ.c2lnbmVk";
    let path_of_token = format!("/app/installations/{installation}/access_tokens");
    let answer = github.call_as(token, "POST", &path_of_token, &json!({}));
    let token = answer.json()["token"].as_str().unwrap().to_owned();
    github.call_as(&token, method, path, body)
}

#[test]
fn a_request_with_a_token_gets_json_and_an_unknown_page_no_secret() {
    let github = Github::start();
    github.issue();
    assert_eq!(github.get("/acme/site/issues/1").status, 404);
    assert!(github.get("/acme/site/issues/1").json()["message"].is_string());
    for path in [
        "/acme/site/issues/9",
        "/acme/other",
        "/acme/site/issues/x",
        "/a/b/c/d/e",
    ] {
        assert_eq!(
            page(github.api.server().address(), path).status,
            401,
            "{path}"
        );
    }
}

#[test]
fn pages_of_linear_show_issues_with_their_comments() {
    let api = LinearApi::start(0, "ENG", FakeClock::default()).unwrap();
    let helper = api.add_app(&format!("Helper{HOSTILE}"), "t");
    api.add_issue(
        &helper,
        &format!("Broken{HOSTILE}"),
        &format!("See `a`{HOSTILE}"),
    );
    let query = json!({"query": "mutation($b: String!) { commentCreate(input: {issueId: \"ENG-1\", body: $b}) { comment { url } } }", "variables": {"b": HOSTILE}});
    let head = ["POST /graphql HTTP/1.1", "Authorization: Bearer t"];
    let created = send(api.server().address(), &head, &query.to_string()).json();
    let url = created["data"]["commentCreate"]["comment"]["url"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = url
        .strip_prefix(&api.server().base_url())
        .unwrap()
        .split('#')
        .next()
        .unwrap();
    assert_eq!(path, "/linear/ENG-1");
    check(
        api.server().address(),
        path,
        &[
            "Broken&lt;img",
            ">Todo<",
            "No priority",
            "Helper&lt;img",
            "<code>a</code>",
            "Activity",
        ],
    );
    check(api.server().address(), "/linear", &["/linear/ENG-1"]);
    assert_eq!(page(api.server().address(), "/linear/ENG-2").status, 404);
}

#[test]
fn pages_of_slack_show_channels_with_their_threads() {
    let api = SlackApi::start(0, FakeClock::default()).unwrap();
    api.add_user(SlackUser {
        id: "U1".to_owned(),
        name: format!("helper{HOSTILE}"),
        bot: Some("B1".to_owned()),
    });
    api.add_token("t", "U1");
    api.set_channel(SlackChannel {
        id: "C1".to_owned(),
        name: format!("general{HOSTILE}"),
        is_member: true,
        is_archived: false,
    });
    let first = api.post("C1", "U1", HOSTILE);
    let blocks = json!([{"type": "section", "text": {"type": "mrkdwn", "text": "In blocks"}}, {"type": "context", "elements": [{"type": "mrkdwn", "text": HOSTILE}]}]);
    let body = json!({"channel": "C1", "thread_ts": first, "text": "fallback", "blocks": blocks});
    let head = [
        "POST /api/chat.postMessage HTTP/1.1",
        "Authorization: Bearer t",
        "Content-Type: application/json",
    ];
    assert_eq!(
        send(api.server().address(), &head, &body.to_string()).json()["ok"],
        true
    );
    check(
        api.server().address(),
        "/slack/C1",
        &[
            "# general&lt;img",
            "<div class=thread>",
            "In blocks",
            "helper&lt;img",
        ],
    );
    assert!(
        !page(api.server().address(), "/slack/C1")
            .body
            .contains("fallback")
    );
    check(api.server().address(), "/slack", &["/slack/C1"]);
    assert_eq!(page(api.server().address(), "/slack/C2").status, 404);
}
