//! Deliveries whose headers, times, sizes, paths or JSON no source sends. More on signatures is in `serve_signatures`, on framing
//! in `serve_hooks` and `serve_intake`.

use serde_json::json;

use crate::bad_delivery_kit::{Scene, checked, now};
use crate::http::{Answer, github, hmac_hex, pull_request_opened, signature};
use crate::world::SECRET;

#[test]
fn slack_times_that_are_not_whole_seconds_of_the_last_five_minutes() {
    let scene = Scene::new();
    let body =
        json!({"type": "event_callback", "event_id": "Ev1", "event": {"type": "app_mention"}})
            .to_string();
    let now = now();
    let times = [
        String::new(),
        "0".to_owned(),
        format!("-{now}"),
        format!("{now}.5"),
        format!("{now}000"),
        format!("+{now}"),
        format!("{now} 0"),
        (now - 301).to_string(),
        (now + 311).to_string(),
        "now".to_owned(),
    ];
    let refused: Vec<Answer> = times.iter().map(|sent| scene.slack(sent, &body)).collect();
    let signature = format!("v0={}", hmac_hex(SECRET, format!("v0::{body}").as_bytes()));
    let absent = scene.raw("slack", &[("X-Slack-Signature", &signature)], &body);
    for (answer, sent) in refused.iter().zip(&times) {
        assert_eq!(
            (answer.status, &answer.body),
            (401, &absent.body),
            "{sent:?}"
        );
    }
    scene.ends_with(&[]);
}

#[test]
fn linear_times_that_are_not_milliseconds_of_the_last_minute() {
    let scene = Scene::new();
    let now = now();
    let times = [
        "0".to_owned(),
        "null".to_owned(),
        format!("\"{now}000\""),
        now.to_string(),
        format!("{now}000.5"),
        format!("-{now}000"),
        format!("{}000", now - 61),
        format!("{}000", now + 71),
        "1e400".to_owned(),
        "[]".to_owned(),
    ];
    let body = |time: &str| {
        format!(
            "{{\"action\":\"create\",\"type\":\"Issue\",\"data\":{{\"id\":\"a\"}},\"webhookTimestamp\":{time}}}"
        )
    };
    let absent = scene.linear("{\"action\":\"create\",\"type\":\"Issue\",\"data\":{\"id\":\"a\"}}");
    assert_eq!(absent.status, 401);
    for time in &times {
        let answer = scene.linear(&body(time));
        assert_eq!((answer.status, &answer.body), (401, &absent.body), "{time}");
    }
    scene.ends_with(&[]);
}

#[test]
fn a_thousand_values_of_one_header() {
    let scene = Scene::new();
    let body = pull_request_opened(7).to_string();
    let right = signature(SECRET, body.as_bytes());
    for (n, status) in [(1, 401), (90, 401), (1_000, 431)] {
        let mut headers = github("pull_request", "d-1", &right).to_vec();
        headers.extend(vec![("X-Hub-Signature-256", right.as_str()); n]);
        let answer = scene.host.post("/webhooks/github", &headers, &body);
        assert_eq!(answer.status, status, "{n}: {answer:?}");
    }
    scene.ends_with(&[]);
}

#[test]
fn bodies_over_the_cap_of_their_source_or_encoded() {
    let scene = Scene::new();
    let large = " ".repeat((1 << 20) + 1);
    let now = now().to_string();
    for answer in [
        scene.linear(&large),
        scene.slack(&now, &large),
        scene.sentry("issue", &large),
    ] {
        checked(answer, 413, "payload too large");
    }
    let bearer = format!("Bearer {}", scene.host.token());
    let events = scene
        .host
        .post("/events", &[("Authorization", bearer.as_str())], &large);
    checked(events, 413, "payload too large");
    for source in ["github", "linear", "slack", "sentry"] {
        let answer = scene.raw(source, &[("Content-Encoding", "gzip")], "{}");
        checked(answer, 415, "content encoding");
    }
    scene.ends_with(&[]);
}

#[test]
fn other_methods() {
    let scene = Scene::new();
    for path in [
        "/webhooks/github",
        "/webhooks/linear",
        "/webhooks/slack",
        "/webhooks/sentry",
        "/events",
    ] {
        for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            let answer = scene.host.open(method, path, &[]);
            assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
        }
    }
    scene.ends_with(&[]);
}

#[test]
fn paths_that_lead_elsewhere() {
    let scene = Scene::new();
    let body = pull_request_opened(7).to_string();
    let right = signature(SECRET, body.as_bytes());
    let headers = github("pull_request", "d-1", &right);
    let long = format!("/webhooks/{}", "g".repeat(16_384));
    for path in [
        "//webhooks/github",
        "/webhooks//github",
        "/webhooks/github/",
        "/webhooks/%2e%2e/events",
        "/webhooks/../webhooks/github",
        "/webhooks/git",
        "/webhooks/GitHub",
        "/webhooks/github%00",
        &long,
    ] {
        let answer = scene.host.post(path, &headers, &body);
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    scene.ends_with(&[]);
}

#[test]
fn json_that_parsers_read_differently() {
    let scene = Scene::new();
    let good = pull_request_opened(7).to_string();
    let rest = good.strip_prefix('{').expect("an object");
    for (body, status) in [
        (format!("{{\"x\":\"\\ud800\",{rest}"), 200),
        (format!("{{\"x\":1e400,\"x\":2,{rest}"), 200),
        (
            format!(
                "{{\"x\":{}1{},{rest}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            ),
            400,
        ),
        (format!("[{good}]"), 400),
        (format!("{good}{good}"), 400),
        (format!("{good}\0"), 400),
        (format!("\u{feff}{good}"), 400),
        (good[..good.len() - 1].to_owned(), 400),
    ] {
        let shown: String = body.chars().take(60).collect();
        let answer = scene.host.hook_bytes(
            "pull_request",
            &format!("d-{}", body.len()),
            body.as_bytes(),
        );
        assert_eq!(answer.status, status, "{shown}: {answer:?}");
    }
    // Both are about one pull request, and may be one activation.
    let events = scene.host.list("events");
    assert_eq!(events.len(), 2, "{events:#?}");
    for event in events {
        shows!(event, {"subject": "github:o/r#7", "actor": "ann"});
    }
}
