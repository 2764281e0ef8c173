//! Apps: JSON web tokens, installation tokens, and check runs, which only Apps create.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use daemon_fakes::{FakeClock, GithubWorkflowRun};
use serde_json::{Value, json};

use crate::kit::{Answer, Github, REPO, TOKEN, sha};

const NOW: u64 = 1_767_225_600;
const CHECKS: &str = "/repos/acme/site/check-runs";

/// Encodes base64 of the alphabet for URLs, without padding.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut acc = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | usize::from(*chunk.get(at).unwrap_or(&0))
        });
        for at in 0..=chunk.len() {
            acc.push(char::from(ALPHABET[bits >> (18 - 6 * at) & 63]));
        }
    }
    acc
}

fn token(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| base64url(value.to_string().as_bytes());
    format!(
        "{}.{}.{}",
        part(header),
        part(claims),
        base64url(signature.as_bytes())
    )
}

fn valid() -> String {
    token(
        &json!({"alg": "RS256"}),
        &json!({"iss": "7", "iat": NOW, "exp": NOW + 600}),
        "signed",
    )
}

/// A GitHub with the App 7, an installation, and a clock that stays where it is put.
fn with_app() -> (Github, u64, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(NOW));
    let read = Arc::clone(&now);
    let github = Github::start_at(FakeClock::new(move || {
        Duration::from_secs(read.load(Ordering::Relaxed))
    }));
    github.api.set_app(7, "my-app", |signed, signature| {
        signed.contains(&b'.') && signature == b"signed"
    });
    github.api.add_repo("acme/other");
    let installation = github.api.add_installation(&[REPO]);
    (github, installation, now)
}

fn installation_token(github: &Github, id: u64) -> String {
    let answer = github.call_as(
        &valid(),
        "POST",
        &format!("/app/installations/{id}/access_tokens"),
        &json!({}),
    );
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_json_web_token_is_checked() {
    let (github, _, _) = with_app();
    let app = github.call_as(&valid(), "GET", "/app", &Value::Null).json();
    assert_eq!(json!([app["id"], app["slug"]]), json!([7, "my-app"]));
    let (alg, claims) = (
        json!({"alg": "RS256"}),
        |iss, iat, exp| json!({"iss": iss, "iat": iat, "exp": exp}),
    );
    let undecodable = "A JSON web token could not be decoded";
    let rows = [
        ("ghp_alice".to_owned(), undecodable),
        ("a.b".to_owned(), undecodable),
        (
            token(
                &json!({"alg": "HS256"}),
                &claims(7, NOW, NOW + 60),
                "signed",
            ),
            undecodable,
        ),
        (
            token(&alg, &claims(7, NOW, NOW + 60), "forged"),
            undecodable,
        ),
        (
            token(&alg, &claims(8, NOW, NOW + 60), "signed"),
            "'Issuer' claim ('iss') must be an Integer",
        ),
        (
            token(&alg, &claims(7, NOW, NOW + 601), "signed"),
            "'Expiration time' claim ('exp') is too far in the future",
        ),
        (
            token(&alg, &claims(7, NOW, NOW), "signed"),
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ),
        (
            token(&alg, &claims(7, NOW + 61, NOW + 90), "signed"),
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ),
    ];
    for (token, message) in rows {
        let answer = github.call_as(&token, "GET", "/app", &Value::Null);
        assert_eq!(
            (answer.status, answer.json()["message"].as_str()),
            (401, Some(message))
        );
    }
    assert_eq!(
        github
            .call_as(&valid(), "GET", "/repos/acme/site", &Value::Null)
            .status,
        401
    );
}

#[test]
fn an_installation_token_acts_as_the_app_until_it_expires() {
    let (github, id, now) = with_app();
    let found = github
        .call_as(
            &valid(),
            "GET",
            "/repos/acme/site/installation",
            &Value::Null,
        )
        .json();
    assert_eq!(json!([found["id"], found["app_id"]]), json!([id, 7]));
    assert_eq!(
        github
            .call_as(
                &valid(),
                "GET",
                "/repos/acme/other/installation",
                &Value::Null
            )
            .status,
        404
    );
    let token = installation_token(&github, id);
    let issue = github
        .call_as(
            &token,
            "POST",
            "/repos/acme/site/issues",
            &json!({"title": "Found"}),
        )
        .json();
    assert_eq!(
        json!([issue["user"]["login"], issue["user"]["type"]]),
        json!(["my-app[bot]", "Bot"])
    );
    let user = github.call_as(&token, "GET", "/user", &Value::Null);
    assert_eq!(
        (user.status, &user.json()["message"]),
        (403, &json!("Resource not accessible by integration"))
    );
    assert_eq!(
        github
            .call_as(&token, "GET", "/repos/acme/other", &Value::Null)
            .status,
        404
    );
    now.fetch_add(3600, Ordering::Relaxed);
    assert_eq!(
        github
            .call_as(&token, "GET", "/repos/acme/site", &Value::Null)
            .status,
        401
    );
}

#[test]
fn an_installation_token_can_be_limited_to_repositories() {
    let (github, id, _) = with_app();
    let path = format!("/app/installations/{id}/access_tokens");
    let ask = |repositories: Value| {
        github
            .call_as(
                &valid(),
                "POST",
                &path,
                &json!({"repositories": repositories}),
            )
            .status
    };
    assert_eq!((ask(json!(["site"])), ask(json!(["other"]))), (201, 422));
    assert_eq!(
        github
            .call_as(
                &valid(),
                "POST",
                "/app/installations/1/access_tokens",
                &json!({})
            )
            .status,
        404
    );
}

#[test]
fn check_runs_are_created_and_changed_by_apps_only() {
    let (github, id, _) = with_app();
    let app = installation_token(&github, id);
    let body = json!({"name": "docs", "head_sha": sha('b'), "conclusion": "neutral", "output": {"title": "t", "summary": "s"}});
    let refused = github.post(CHECKS, &body);
    assert_eq!(
        (refused.status, &refused.json()["message"]),
        (403, &json!("You must authenticate via a GitHub App."))
    );
    let created = github.call_as(&app, "POST", CHECKS, &body);
    assert_eq!(created.status, 201, "{}", created.body);
    let created = created.json();
    assert_eq!(
        json!([
            created["status"],
            created["conclusion"],
            created["app"]["slug"],
            created["output"]["title"]
        ]),
        json!(["completed", "neutral", "my-app", "t"])
    );
    let path = format!("{CHECKS}/{}", created["id"]);
    let annotations = |n: usize| -> Value {
        let one = json!({"path": "a.md", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"});
        json!({"output": {"title": "t", "summary": "s", "annotations": vec![one; n]}})
    };
    let patch = |body: &Value| -> Answer { github.call_as(&app, "PATCH", &path, body) };
    assert_eq!(patch(&annotations(51)).status, 422);
    patch(&annotations(50));
    assert_eq!(
        patch(&annotations(3)).json()["output"]["annotations_count"],
        53
    );
    let listed = github
        .get(&format!("{path}/annotations?per_page=100"))
        .json();
    assert_eq!(listed.as_array().unwrap().len(), 53);
    for reference in ["fix", &sha('b')] {
        let listed = github
            .get(&format!(
                "/repos/acme/site/commits/{reference}/check-runs?check_name=docs"
            ))
            .json();
        assert_eq!(
            json!([listed["total_count"], listed["check_runs"][0]["id"]]),
            json!([1, created["id"]])
        );
    }
    assert_eq!(
        github
            .get("/repos/acme/site/commits/main/check-runs")
            .json()["total_count"],
        0
    );
}

#[test]
fn a_check_run_that_cannot_be_is_refused() {
    let (github, id, _) = with_app();
    let app = installation_token(&github, id);
    let output = |output: Value| json!({"name": "docs", "head_sha": sha('b'), "output": output});
    let rows = [
        json!({"head_sha": sha('b')}),
        json!({"name": "docs"}),
        json!({"name": "docs", "head_sha": "main"}),
        json!({"name": "docs", "head_sha": sha('b'), "conclusion": "fine"}),
        json!({"name": "docs", "head_sha": sha('b'), "status": "completed"}),
        output(json!({"title": "t"})),
        output(json!({"summary": "s"})),
        output(json!({"title": "t", "summary": "s", "annotations": [{"path": "a"}]})),
    ];
    for body in rows {
        assert_eq!(
            github.call_as(&app, "POST", CHECKS, &body).status,
            422,
            "{body}"
        );
    }
    assert_eq!(github.api.check_runs(REPO), []);
}

#[test]
fn completed_runs_of_workflows_are_started_again() {
    let github = Github::start();
    let run = |id, conclusion: Option<&str>| GithubWorkflowRun {
        id,
        conclusion: conclusion.map(str::to_owned),
        attempt: 1,
        jobs: vec![id * 10],
        ..GithubWorkflowRun::default()
    };
    github.api.add_workflow_run(REPO, run(1, Some("failure")));
    github.api.add_workflow_run(REPO, run(2, Some("failure")));
    let actions = "/repos/acme/site/actions";
    let rerun = |path: &str| {
        github
            .post(&format!("{actions}/{path}"), &Value::Null)
            .status
    };
    assert_eq!(rerun("runs/1/rerun-failed-jobs"), 201);
    assert_eq!(rerun("runs/1/rerun-failed-jobs"), 403);
    assert_eq!(rerun("jobs/20/rerun"), 201);
    assert_eq!(rerun("runs/3/rerun-failed-jobs"), 404);
    let found = github.get(&format!("{actions}/runs/2")).json();
    assert_eq!(
        json!([found["run_attempt"], found["status"], found["conclusion"]]),
        json!([2, "queued", null])
    );
    assert_eq!(
        github
            .call_as(TOKEN, "GET", &format!("{actions}/runs"), &Value::Null)
            .json()["total_count"],
        2
    );
}
