//! The requests of each verb, and what its response means for the output.

use daemon_engine::{Found, RemoteId, Surface as _, SurfaceErrorKind};
use daemon_surface::{AppCredentials, Credentials, GithubSurface, ServiceApi};
use serde_json::{Value, json};

use super::fake_api::{FakeApi, Reply, api_of, ok, status};
use super::outbox::{HostClock, Planned, planned};

const APP_KEY: &str = include_str!("app_key.pem");
const TAIL: &str = "\n\n<!-- daemon:librarian act:00000000000G40R40M30E20918 out:KEY -->\n<sub>Written by the daemon `librarian`, activation `00000000000G40R40M30E20918`.</sub>";

fn surface(fake: &FakeApi) -> GithubSurface {
    GithubSurface::new(api_of(&fake.base), Vec::new())
}

/// Returns the surface of an App whose installation is known.
fn app_surface(fake: &FakeApi) -> GithubSurface {
    let app = AppCredentials::new(7, APP_KEY.parse().unwrap(), Some(31), |_| ());
    let base = fake.base.parse().unwrap();
    let clock = HostClock::new().wall();
    let api = ServiceApi::new(base, Credentials::App(app), clock).unwrap();
    GithubSurface::new(api, Vec::new())
}

fn remote(id: &str) -> RemoteId {
    RemoteId {
        id: id.to_owned(),
        url: Some("https://g/x".to_owned()),
        revision: None,
    }
}

fn reply(body: Value) -> Reply {
    ok(body.to_string())
}

/// Delivers a line and compares the requests that write, with `TAIL` for marker and footer.
async fn check(line: &str, replies: Vec<Reply>, id: &str, expected: &[(&str, Value)]) {
    let fake = FakeApi::start(replies).await;
    let output = planned(1, line, Planned::default());
    let delivered = surface(&fake).deliver(&output).await;
    assert_eq!(delivered, Ok(remote(id)), "{line}");
    assert_eq!(
        writes(fake, output.key.as_str(), output.activation.as_str()),
        lines(expected),
        "{line}"
    );
}

fn writes(fake: FakeApi, key: &str, activation: &str) -> Vec<(String, Value)> {
    let writes = fake.writes();
    let pair = |line: &String| {
        let (target, body) = line.split_at(line.find('{').unwrap_or(line.len()));
        let body = if body.is_empty() { "null" } else { body };
        let body = body
            .replace(key, "KEY")
            .replace(activation, "00000000000G40R40M30E20918");
        (
            target.trim().to_owned(),
            serde_json::from_str(&body).unwrap(),
        )
    };
    writes.iter().map(pair).collect()
}

fn lines(expected: &[(&str, Value)]) -> Vec<(String, Value)> {
    let pair = |(target, body): &(&str, Value)| ((*target).to_owned(), body.clone());
    expected.iter().map(pair).collect()
}

fn marker() -> &'static str {
    TAIL.split("\n<sub>").next().unwrap()
}

#[tokio::test]
async fn a_review_has_a_marker_on_each_of_its_comments() {
    check(
        r#"{"v":1,"verb":"review","target":"github:o/r#2","event":"request_changes","body":"One remark.","comments":[{"path":"a.rs","line":7,"start_line":5,"body":"Never read."}]}"#,
        vec![reply(json!({"id": 5, "html_url": "https://g/x"}))],
        "review:5",
        &[(
            "POST /repos/o/r/pulls/2/reviews",
            json!({
                "body": format!("One remark.{TAIL}"),
                "event": "REQUEST_CHANGES",
                "comments": [{
                    "path": "a.rs", "body": format!("Never read.{}", marker()), "line": 7,
                    "side": "RIGHT", "start_line": 5, "start_side": "RIGHT",
                }],
            }),
        )],
    )
    .await;
}

#[tokio::test]
async fn a_comment_on_lines_is_about_the_head_of_the_pull_request() {
    check(
        r#"{"v":1,"verb":"review_comment","target":"github:o/r#2","path":"a.rs","line":7,"start_line":7,"side":"LEFT","body":"Why?"}"#,
        vec![
            reply(json!({"number": 2, "head": {"sha": "abc"}})),
            reply(json!({"id": 6, "html_url": "https://g/x"})),
        ],
        "review_comment:6",
        &[(
            "POST /repos/o/r/pulls/2/comments",
            json!({"path": "a.rs", "body": format!("Why?{TAIL}"), "line": 7, "side": "LEFT", "commit_id": "abc"}),
        )],
    )
    .await;
}

fn issue(labels: &[&str], assignees: &[&str]) -> Reply {
    let labels: Vec<Value> = labels.iter().map(|name| json!({"name": name})).collect();
    let assignees: Vec<Value> = assignees
        .iter()
        .map(|login| json!({"login": login}))
        .collect();
    reply(json!({"number": 1, "html_url": "https://g/x", "labels": labels, "assignees": assignees}))
}

#[tokio::test]
async fn labels_are_a_set() {
    let line = r#"{"v":1,"verb":"label","target":"github:o/r#1","add":["Docs","bug"],"remove":["old/1","absent"]}"#;
    check(
        line,
        vec![issue(&["docs", "old/1"], &[]), ok("[]"), status(404, "")],
        "labels:1",
        &[
            (
                "POST /repos/o/r/issues/1/labels",
                json!({"labels": ["bug"]}),
            ),
            ("DELETE /repos/o/r/issues/1/labels/old%2F1", json!({})),
        ],
    )
    .await;
    check(line, vec![issue(&["docs", "bug"], &[])], "labels:1", &[]).await;
    for (labels, expected) in [
        (vec!["docs", "BUG"], Found::At(remote("labels:1"))),
        (vec!["docs", "bug", "old/1"], Found::Absent),
        (vec!["docs"], Found::Absent),
    ] {
        let fake = FakeApi::start(vec![issue(&labels, &[])]).await;
        let output = planned(1, line, Planned::default());
        assert_eq!(
            surface(&fake).find(&output).await,
            Ok(expected),
            "{labels:?}"
        );
    }
}

#[tokio::test]
async fn people_are_added_removed_and_asked_for_reviews() {
    let line = r#"{"v":1,"verb":"assign","target":"github:o/r#1","add":["Ann"],"remove":["bob","eve"],"reviewers":["cem","o/core","dan"]}"#;
    let requested =
        || reply(json!({"requested_reviewers": [{"login": "Dan"}], "requested_teams": []}));
    check(
        line,
        vec![
            issue(&[], &["bob"]),
            requested(),
            issue(&[], &[]),
            issue(&[], &["ann"]),
            ok("{}"),
        ],
        "assignees:1",
        &[
            (
                "DELETE /repos/o/r/issues/1/assignees",
                json!({"assignees": ["bob"]}),
            ),
            (
                "POST /repos/o/r/issues/1/assignees",
                json!({"assignees": ["Ann"]}),
            ),
            (
                "POST /repos/o/r/pulls/1/requested_reviewers",
                json!({"reviewers": ["cem"], "team_reviewers": ["core"]}),
            ),
        ],
    )
    .await;
    let fake = FakeApi::start(vec![issue(&[], &[]), requested(), issue(&[], &[])]).await;
    let output = planned(1, line, Planned::default());
    let error = surface(&fake).deliver(&output).await.unwrap_err();
    let why = "GitHub: `Ann` cannot be assigned";
    assert_eq!(
        (error.kind, error.message.as_str()),
        (SurfaceErrorKind::Refused, why)
    );
}

const CHECK: &str = r#"{"v":1,"verb":"check_run","target":"github:o/r@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","name":"links","conclusion":"failure","title":"Broken","summary":"See.","annotations":ROWS}"#;

/// Returns a proposal of a check with this many annotations.
fn check_run(n: u64) -> String {
    let row = |line| json!({"path": "a.md", "line": line, "level": "failure", "message": "404"});
    let rows: Vec<Value> = (1..=n).map(row).collect();
    CHECK.replace("ROWS", &Value::from(rows).to_string())
}

fn minted() -> Reply {
    reply(json!({"token": "ghs_x", "expires_at": "2026-01-01T01:00:00Z"}))
}

#[tokio::test]
async fn a_check_run_continues_with_the_annotations_that_it_does_not_have() {
    let output = planned(1, &check_run(120), Planned::default());
    let own = |n: usize| json!({"id": 9, "html_url": "https://g/x", "external_id": output.key.as_str(), "app": {"id": 7}, "output": {"annotations_count": n}});
    let list = |rows: Value| reply(json!({"total_count": 1, "check_runs": rows}));
    let sent = |fake: FakeApi| {
        let count = |(target, body): (String, Value)| {
            let rows = body["output"]["annotations"].as_array().map_or(0, Vec::len);
            (target, rows)
        };
        let writes = writes(fake, output.key.as_str(), output.activation.as_str()).into_iter();
        writes
            .filter(|(target, _)| target.contains("check-runs"))
            .map(count)
            .collect::<Vec<_>>()
    };
    let (post, patch) = (
        "POST /repos/o/r/check-runs".to_owned(),
        "PATCH /repos/o/r/check-runs/9".to_owned(),
    );
    // Another App's run with the same name and id is not ours.
    let mut other = own(120);
    other["app"]["id"] = 8.into();
    let replies = vec![
        minted(),
        list(json!([other])),
        reply(own(50)),
        reply(own(100)),
        reply(own(120)),
    ];
    let fake = FakeApi::start(replies).await;
    assert_eq!(
        app_surface(&fake).deliver(&output).await,
        Ok(remote("check_run:9"))
    );
    assert_eq!(
        sent(fake),
        [(post, 50), (patch.clone(), 50), (patch.clone(), 20)]
    );
    let fake = FakeApi::start(vec![minted(), list(json!([own(100)])), reply(own(120))]).await;
    assert_eq!(
        app_surface(&fake).deliver(&output).await,
        Ok(remote("check_run:9"))
    );
    assert_eq!(sent(fake), [(patch, 20)]);
    for (n, expected) in [
        (120, Found::At(remote("check_run:9"))),
        (100, Found::Absent),
    ] {
        let fake = FakeApi::start(vec![minted(), list(json!([own(n)]))]).await;
        assert_eq!(app_surface(&fake).find(&output).await, Ok(expected));
    }
}

#[tokio::test]
async fn a_check_run_needs_an_app() {
    let fake = FakeApi::start(Vec::new()).await;
    let output = planned(1, &check_run(0), Planned::default());
    let error = surface(&fake).deliver(&output).await.unwrap_err();
    let why = "GitHub: a check run needs a GitHub App: set `surfaces.github.app_id`";
    assert_eq!(
        (error.kind, error.message.as_str()),
        (SurfaceErrorKind::Refused, why)
    );
}

#[tokio::test]
async fn a_retry_is_found_by_who_started_the_newest_attempt_and_when() {
    let line = r#"{"v":1,"verb":"retry_check","target":"github:o/r","run":77}"#;
    let run = |login: &str, attempt: u64, started: &str| {
        reply(
            json!({"id": 77, "html_url": "https://g/x", "run_attempt": attempt, "run_started_at": started, "triggering_actor": {"login": login}}),
        )
    };
    let (before, after) = ("2025-12-31T23:00:00Z", "2026-01-01T00:00:09Z");
    check(
        line,
        vec![run("ann", 1, before), Reply::Says(201, "", "{}".to_owned())],
        "workflow_run:77",
        &[(
            "POST /repos/o/r/actions/runs/77/rerun-failed-jobs",
            json!({}),
        )],
    )
    .await;
    for (login, attempt, started, expected) in [
        ("bot", 2, after, Found::At(remote("workflow_run:77"))),
        ("bot", 2, before, Found::Absent),
        ("bot", 1, after, Found::Absent),
        ("ann", 2, after, Found::Absent),
    ] {
        let fake = FakeApi::start(vec![
            reply(json!({"login": "Bot"})),
            run(login, attempt, started),
        ])
        .await;
        let output = planned(1, line, Planned::default());
        assert_eq!(
            surface(&fake).find(&output).await,
            Ok(expected),
            "{login} {attempt} {started}"
        );
    }
}

#[tokio::test]
async fn a_redirect_of_a_moved_repository_repeats_the_request() {
    let moved = status(307, "Location: /v3/repositories/1/issues/1/comments\r\n");
    let made = Reply::Says(
        201,
        "",
        json!({"id": 5, "html_url": "https://g/x"}).to_string(),
    );
    let line = r#"{"v":1,"verb":"comment","target":"github:o/r#1","body":"x"}"#;
    let body = json!({"body": format!("x{TAIL}")});
    let expected = [
        ("POST /repos/o/r/issues/1/comments", body.clone()),
        ("POST /repositories/1/issues/1/comments", body),
    ];
    check(line, vec![moved, made], "comment:5", &expected).await;
}

#[tokio::test]
async fn a_body_is_cut_so_that_marker_and_footer_fit() {
    let line = format!(
        r#"{{"v":1,"verb":"comment","target":"github:o/r#1","body":"{}"}}"#,
        "é".repeat(65_536)
    );
    let made = Reply::Says(
        201,
        "",
        json!({"id": 5, "html_url": "https://g/x"}).to_string(),
    );
    let fake = FakeApi::start(vec![made]).await;
    let output = planned(1, &line, Planned::default());
    surface(&fake).deliver(&output).await.unwrap();
    let (_, body) = writes(fake, "\u{0}", "\u{0}").remove(0);
    let body = body["body"].as_str().unwrap();
    assert_eq!(body.chars().count(), 65_536 - 300);
    assert!(
        body.contains("é…\n\n<!-- daemon:librarian") && body.ends_with("</sub>"),
        "{}",
        &body[130_000..]
    );
}

#[tokio::test]
async fn a_new_body_keeps_the_marker_of_an_own_pull_request_only() {
    let line = r#"{"v":1,"verb":"edit_pull_request","target":"github:o/r#2","body":"More."}"#;
    let tail = "\n\n<!-- daemon:librarian act:a out:b -->\n<sub>Written.</sub>";
    let cases = [
        ("Bot", format!("More.{tail}")),
        ("ann", format!("More.{TAIL}")),
    ];
    for (author, body) in cases {
        let pull = json!({
            "number": 2, "html_url": "https://g/x", "title": "x", "body": format!("Old.{tail}"),
            "user": {"login": author}, "head": {"sha": "abc"},
        });
        check(
            line,
            vec![reply(pull), reply(json!({"login": "bot"})), ok("{}")],
            "pull_request:2",
            &[("PATCH /repos/o/r/pulls/2", json!({"body": body}))],
        )
        .await;
    }
}

#[tokio::test]
async fn what_contains_a_check_or_a_comment_on_lines_is_returned_with_it() {
    let made = |id: &str, revision: &str| RemoteId {
        revision: Some(revision.to_owned()),
        ..remote(id)
    };
    let line = r#"{"v":1,"verb":"retry_check","target":"github:o/r","run":77}"#;
    let run = || reply(json!({"id": 77, "html_url": "https://g/x", "check_suite_id": 5}));
    let fake = FakeApi::start(vec![run(), Reply::Says(201, "", "{}".to_owned())]).await;
    let output = planned(1, line, Planned::default());
    let delivered = surface(&fake).deliver(&output).await;
    assert_eq!(delivered, Ok(made("workflow_run:77", "check_suite:5")));

    let suite = json!({"id": 9, "html_url": "https://g/x", "check_suite": {"id": 6}});
    let none = reply(json!({"total_count": 0, "check_runs": []}));
    let fake = FakeApi::start(vec![minted(), none, reply(suite)]).await;
    let output = planned(1, &check_run(0), Planned::default());
    let delivered = app_surface(&fake).deliver(&output).await;
    assert_eq!(delivered, Ok(made("check_run:9", "check_suite:6")));

    let line = r#"{"v":1,"verb":"review_comment","target":"github:o/r#1","path":"a.md","line":3,"body":"x"}"#;
    let pull = reply(json!({"number": 1, "head": {"sha": "a"}}));
    let comment = reply(json!({"id": 8, "html_url": "https://g/x", "pull_request_review_id": 4}));
    let fake = FakeApi::start(vec![pull, comment]).await;
    let output = planned(1, line, Planned::default());
    let delivered = surface(&fake).deliver(&output).await;
    assert_eq!(delivered, Ok(made("review_comment:8", "review:4")));
}
