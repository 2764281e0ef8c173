//! Webhooks of Linear, Slack and Sentry: let in by their own signatures, stored once.

use serde_json::{Value, json};

use crate::http::{Answer, hmac_hex};
use crate::world::{Host, World, watch};

/// One secret for every source; a file of it is the world's.
const SECRET: &str = crate::world::SECRET;

fn world() -> World {
    let wakes = watch(&[
        "when a Linear issue is created",
        "when a Slack message is posted",
        "when a Sentry issue is created",
    ]);
    let world = World::new(&[("listener", &wakes)]);
    world.configure(
        "[sources.linear]\nsecret_file = \"hook-secret\"\n[sources.slack]\nsecret_file = \"hook-secret\"\n\
         [sources.sentry]\nsecret_file = \"hook-secret\"\n",
    );
    world
}

pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

pub(crate) fn linear_issue(sent: i64) -> Value {
    json!({"action": "create", "type": "Issue", "createdAt": "2026-11-20T12:00:00.000Z", "organizationId": "o1",
        "data": {"id": "a1", "identifier": "ENG-1", "title": "A lamp flickers", "number": 1, "team": {"key": "ENG"}},
        "actor": {"id": "u1", "name": "Ann", "type": "user"}, "webhookTimestamp": sent * 1000, "webhookId": "w1"})
}

/// Sends a webhook of Linear.
pub(crate) fn linear(host: &Host, delivery: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let signature = hmac_hex(SECRET, body.as_bytes());
    let headers = [
        ("Content-Type", "application/json"),
        ("Linear-Event", "Issue"),
        ("Linear-Delivery", delivery),
        ("Linear-Signature", signature.as_str()),
    ];
    host.post("/webhooks/linear", &headers, &body)
}

/// Sends a webhook of Slack that was signed at a time.
pub(crate) fn slack_at(host: &Host, sent: i64, body: &Value) -> Answer {
    let body = body.to_string();
    let sent = sent.to_string();
    let signature = format!(
        "v0={}",
        hmac_hex(SECRET, format!("v0:{sent}:{body}").as_bytes())
    );
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Slack-Request-Timestamp", sent.as_str()),
        ("X-Slack-Signature", signature.as_str()),
    ];
    host.post("/webhooks/slack", &headers, &body)
}

pub(crate) fn slack_message(id: &str) -> Value {
    json!({"token": "a verification token", "team_id": "T1", "api_app_id": "A1", "type": "event_callback", "event_id": id,
        "event_time": now(), "event": {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1",
            "text": "hello", "ts": "1795176000.000100"}})
}

pub(crate) fn sentry(host: &Host, delivery: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let signature = hmac_hex(SECRET, body.as_bytes());
    let headers = [
        ("Content-Type", "application/json"),
        ("Sentry-Hook-Resource", "issue"),
        ("Request-ID", delivery),
        ("Sentry-Hook-Signature", signature.as_str()),
    ];
    host.post("/webhooks/sentry", &headers, &body)
}

pub(crate) fn sentry_issue() -> Value {
    json!({"action": "created", "installation": {"uuid": "a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},
        "data": {"issue": {"id": "1170820242", "title": "ReferenceError: wick is not defined", "level": "error",
            "project": {"id": "1", "slug": "lamp", "name": "lamp"}}},
        "actor": {"type": "application", "id": "sentry", "name": "Sentry"}})
}

fn told(answer: &Answer) -> (u16, Value) {
    (answer.status, answer.json()["duplicate"].clone())
}

#[test]
fn each_source_is_let_in_by_its_own_signature_and_wakes_once() {
    let world = world();
    let host = world.serve();
    let issue = linear_issue(now());
    let message = slack_message("Ev1");
    let rows = [
        (linear(&host, "l-1", &issue), linear(&host, "l-1", &issue)),
        (
            slack_at(&host, now(), &message),
            slack_at(&host, now(), &message),
        ),
        (
            sentry(&host, "s-1", &sentry_issue()),
            sentry(&host, "s-1", &sentry_issue()),
        ),
    ];
    for (first, again) in &rows {
        assert_eq!(told(first), (200, json!(false)), "{first:?}");
        assert_eq!(told(again), (200, json!(true)), "{again:?}");
    }
    let activations = host.settled(3);
    let mut conditions: Vec<&Value> = activations
        .iter()
        .map(|activation| &activation["trigger"]["conditions"])
        .collect();
    conditions.sort_by_key(ToString::to_string);
    assert_eq!(conditions, [&json!([0]), &json!([1]), &json!([2])]);
    let mut events: Vec<(Value, Value)> = host
        .list("events")
        .into_iter()
        .filter(|event| event["source"] != "git")
        .map(|event| (event["source"].clone(), event["duplicates"].clone()))
        .collect();
    events.sort_by_key(|(source, _)| source.to_string());
    assert_eq!(
        events,
        [
            (json!("linear"), json!(1)),
            (json!("sentry"), json!(1)),
            (json!("slack"), json!(1))
        ]
    );
}

#[test]
fn a_signature_of_another_source_or_time_is_refused_with_one_body() {
    let world = world();
    let host = world.serve();
    let body = sentry_issue().to_string();
    let hex = hmac_hex(SECRET, body.as_bytes());
    let github = format!("sha256={hex}");
    let send = |source: &str, name: &'static str, value: &str| {
        let headers = [("Content-Type", "application/json"), (name, value)];
        host.post(&format!("/webhooks/{source}"), &headers, &body)
    };
    let refused = [
        send("sentry", "Sentry-Hook-Signature", &github),
        send("sentry", "Linear-Signature", &hex),
        send(
            "sentry",
            "Sentry-Hook-Signature",
            &hmac_hex("other", body.as_bytes()),
        ),
        send("linear", "Linear-Signature", &hex),
        send("slack", "X-Slack-Signature", &format!("v0={hex}")),
        linear(&host, "l-1", &linear_issue(now() - 90)),
        linear(&host, "l-1", &linear_issue(now() + 90)),
        slack_at(&host, now() - 400, &slack_message("Ev1")),
        slack_at(&host, now() + 400, &slack_message("Ev1")),
    ];
    for (index, answer) in refused.iter().enumerate() {
        assert_eq!(
            (answer.status, &answer.body),
            (401, &refused[0].body),
            "{index}"
        );
    }
    assert_eq!(host.open("POST", "/webhooks/git", &[]).status, 404);
    assert_eq!(host.list("events"), Vec::<Value>::new());
}

#[test]
fn a_source_that_is_not_configured_answers_like_a_wrong_signature() {
    let world = world();
    world.configure("");
    let host = world.serve();
    let bodies = [
        linear(&host, "l-1", &linear_issue(now())),
        slack_at(&host, now(), &slack_message("Ev1")),
        sentry(&host, "s-1", &sentry_issue()),
        host.post("/webhooks/github", &[], "{}"),
    ];
    for answer in &bodies {
        assert_eq!((answer.status, &answer.body), (401, &bodies[3].body));
    }
}

#[test]
fn a_challenge_of_slack_is_echoed_once_it_is_known_to_be_slacks() {
    let world = world();
    let host = world.serve();
    let challenge =
        |text: &str| json!({"type": "url_verification", "token": "t", "challenge": text});
    let answer = slack_at(&host, now(), &challenge("3eZbrw1a_B-10"));
    assert_eq!(
        (
            answer.status,
            answer.body.as_str(),
            answer.header("content-type")
        ),
        (200, "3eZbrw1a_B-10", Some("text/plain; charset=utf-8"))
    );
    for (sent, text, status) in [
        (now(), "<script>", 400),
        (now(), "", 400),
        (now(), &*"x".repeat(257), 400),
        (now() - 400, "3eZbrw1a_B-10", 401),
    ] {
        shows!(slack_at(&host, sent, &challenge(text)), {"HTTP": status}, "{text}");
    }
    assert_eq!(host.list("events"), Vec::<Value>::new());
}

#[test]
fn late_retries_of_linear_are_admitted_where_that_is_configured() {
    let world = world();
    world.configure("[sources.linear]\nsecret_file = \"hook-secret\"\naccept_late = \"6h\"\n");
    let host = world.serve();
    let late = linear_issue(now() - 5 * 3600);
    assert_eq!(told(&linear(&host, "l-1", &late)), (200, json!(false)));
    assert_eq!(told(&linear(&host, "l-1", &late)), (200, json!(true)));
    shows!(linear(&host, "l-2", &linear_issue(now() - 7 * 3600)), {"HTTP": 401});
    host.kill();
    world.configure("[sources.linear]\nsecret_file = \"hook-secret\"\naccept_late = \"31d\"\n");
    let output = world.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
}

#[test]
fn every_configured_source_is_examined() {
    let world = world();
    let host = world.serve();
    let doctor = host.get("doctor");
    let mut names: Vec<(&str, &str)> = doctor["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|check| check["detail"] == "a webhook secret is set")
        .map(|check| {
            (
                check["name"].as_str().expect("a name"),
                check["status"].as_str().expect("a word"),
            )
        })
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            ("github", "ok"),
            ("linear", "ok"),
            ("sentry", "ok"),
            ("slack", "ok")
        ]
    );
}
