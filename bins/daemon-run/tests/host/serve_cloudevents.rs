//! CloudEvents on `/events`: who may send them, what they wake, and what is refused.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::http::{self, Answer, pull_request_opened};
use crate::world::{Host, World, watch};

/// The token of the sender `ci`.
const CI: &str = "ci-token-0123456789-0123456789-01";
const STRUCTURED: (&str, &str) = ("Content-Type", "application/cloudevents+json");
const BATCH: (&str, &str) = ("Content-Type", "application/cloudevents-batch+json");
const REFUSED: &str = "{\"schema_version\":1,\"ok\":false,\"error\":{\"code\":\"unauthorized\",\"message\":\"the delivery is not authentic\",\"help\":null}}\n";

fn world() -> World {
    let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
    fs::write(world.home.join("senders"), format!("ci:{CI}\n")).expect("the tokens");
    world.configure("[sources.cloudevents]\ntoken_file = \"senders\"\n");
    world
}

fn send(host: &Host, token: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let all = [&[("Authorization", bearer.as_str())], headers].concat();
    host.post("/events", &all, body)
}

fn opened(id: &str, number: u32) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "https://ci.example/é", "type": "github.pull_request.opened",
        "data": pull_request_opened(number)})
}

fn unmapped(id: &str) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "/build", "type": "com.example.build.done", "subject": "7",
        "data": {"ok": true}})
}

/// Returns the events that were sent, the newest first.
fn sent(host: &Host) -> Vec<Value> {
    let mut events = host.list("events");
    events.retain(|event| event["source"] != "git");
    events
}

#[test]
fn one_event_wakes_once_in_whatever_mode_and_from_whomever_it_comes_again() {
    let world = world();
    let host = world.serve();
    let first = send(&host, CI, &[STRUCTURED], &opened("b 1", 7).to_string());
    let id = first.text("event_ids.0");
    shows!(first, {"HTTP": 200, "schema_version": 1, "duplicate": false});
    let data = pull_request_opened(7).to_string();
    let binary = [
        ("Content-Type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", "b%201"),
        ("ce-source", "https://ci.example/%c3%a9"),
        ("ce-type", "github.pull_request.opened"),
    ];
    let batch = json!([opened("b 1", 9), opened("b 1", 10)]).to_string();
    for again in [
        send(&host, CI, &binary, &data),
        send(
            &host,
            host.token(),
            &[STRUCTURED],
            &opened("b 1", 8).to_string(),
        ),
        send(&host, CI, &[BATCH], &batch),
    ] {
        shows!(again, {"HTTP": 200, "event_ids.0": &id, "duplicate": true});
    }
    let activations = host.settled(1);
    shows!(activations, {"#": 1, "0.state": "succeeded", "0.trigger.event_ids": [&id]});
    let delivery = "cloudevents:ci https://ci.example/é b 1";
    shows!(sent(&host), {"#": 1, "0.source": "github", "0.kind": "pull_request", "0.action": "opened",
        "0.subject": "github:o/r#7", "0.delivery_id": delivery, "0.duplicates": 4});
    // Who looks at it sees by whose token it came.
    let text = |args: &[&str]| String::from_utf8(world.run(args).stdout).expect("it is text");
    let shown = text(&["events", "show", &id]);
    assert!(shown.contains(delivery), "{shown}");
    let explained = text(&["explain", "pr-helper", "--event", &id, "--repo", "repo"]);
    let line = "pr-helper  wakes on github pull_request.opened by ann, sent by ci\n";
    assert!(explained.starts_with(line), "{explained}");
}

#[test]
fn an_event_of_another_type_is_stored_recorded_and_replayed_and_wakes_nothing() {
    let world = world();
    let host = world.serve();
    let answer = send(
        &host,
        host.token(),
        &[STRUCTURED],
        &unmapped("1").to_string(),
    );
    let id = answer.text("event_ids.0");
    assert_eq!(host.settled(0), Vec::<Value>::new());
    shows!(sent(&host), {"#": 1, "0.source": "cloudevents", "0.kind": "unmapped", "0.action": null,
        "0.subject": "cloudevents:/build#7", "0.delivery_id": "cloudevents:host /build 1"});
    shows!(host.get(&format!("events/{id}")), {"payload": unmapped("1"), "verdicts.0.wakes": false});
    let recorded = world.json(&[
        "events",
        "record",
        "--out",
        "kept",
        "--source",
        "cloudevents",
    ]);
    shows!(recorded, {"$?": 0, "events.#": 1, "events.0.source": "cloudevents", "events.0.kind": "unmapped"});
    let file = format!("kept/{}", recorded.text("events.0.file"));
    let replayed = world.json(&["events", "replay", &file]);
    shows!(replayed, {"$?": 0, "events.0.duplicate": true, "events.0.id": &id});
    let condition = "when a pull request is opened";
    let explained = world.json(&["explain", "--condition", condition, "--event", &file]);
    shows!(explained, {"$?": 0, "status": "mapped", "wakes": false});
    host.kill();
    let host = world.serve();
    shows!(sent(&host), {"#": 1, "0.id": &id});
}

#[test]
fn a_batch_is_stored_as_a_whole_or_not_at_all() {
    let world = world();
    let host = world.serve();
    let good: Vec<Value> = (0..100).map(|n| unmapped(&n.to_string())).collect();
    let mut spoilt = good.clone();
    spoilt[57]["specversion"] = "0.3".into();
    let refused = send(&host, CI, &[BATCH], &json!(spoilt).to_string());
    shows!(refused, {"HTTP": 400, "error.code": "invalid-event",
        "error.message": "event 57 of the batch: `specversion`: it is not `1.0`"});
    let more = [&good[..], &[unmapped("100")]].concat();
    shows!(send(&host, CI, &[BATCH], &json!(more).to_string()), {"HTTP": 400, "error.code": "invalid-event"});
    assert_eq!(sent(&host), Vec::<Value>::new());
    let stored = send(&host, CI, &[BATCH], &json!(good).to_string());
    shows!(stored, {"HTTP": 200, "event_ids.#": 100, "duplicate": false});
    let partly = json!([unmapped("99"), unmapped("100")]).to_string();
    shows!(send(&host, CI, &[BATCH], &partly), {"HTTP": 200, "event_ids.#": 2, "duplicate": false});
    let ids: Vec<Value> = sent(&host)
        .iter()
        .rev()
        .map(|event| event["id"].clone())
        .collect();
    assert_eq!(ids.len(), 101);
    assert_eq!(
        json!(ids[..100]),
        stored.json()["event_ids"],
        "in the order of the batch"
    );
}

#[test]
fn a_sender_without_a_token_gets_one_body_before_its_own_is_read() {
    let world = world();
    let host = world.serve();
    let body = unmapped("1").to_string();
    let bearer = |token: &str| ("Authorization", format!("Bearer {token}"));
    let rows = [
        vec![],
        vec![bearer("")],
        vec![bearer(&CI[1..])],
        vec![bearer(&host.token()[..63])],
        vec![bearer(&host.token().to_uppercase())],
        vec![bearer(CI), bearer(CI)],
        vec![bearer(CI), bearer(host.token())],
        vec![("Authorization", CI.to_owned())],
        vec![("Authorization", format!("Basic {CI}"))],
        vec![("Cookie", format!("daemon_session={}", host.token()))],
    ];
    for row in &rows {
        let mut headers = vec![STRUCTURED];
        headers.extend(row.iter().map(|(name, value)| (*name, value.as_str())));
        let answer = host.post("/events", &headers, &body);
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (401, REFUSED),
            "{row:?}"
        );
    }
    let in_query = host.post(&format!("/events?token={CI}"), &[STRUCTURED], &body);
    assert_eq!((in_query.status, in_query.body.as_str()), (401, REFUSED));
    // The body is only announced.
    let address = host.address();
    let head = format!("POST /events HTTP/1.1\r\nHost: {address}\r\nContent-Length: 1000\r\n\r\n");
    assert_eq!(http::raw(address, head.as_bytes()).status, 401);
    // The page of the same path is what it was.
    assert_eq!(host.open("GET", "/events", &[]).status, 401);
    assert_eq!(host.open("PUT", "/events", &[]).status, 405);
    assert_eq!(host.open("POST", "/webhooks/cloudevents", &[]).status, 404);
    assert_eq!(sent(&host), Vec::<Value>::new());
}

/// A media type, a body, the status and the message.
type Row = ((&'static str, &'static str), String, u16, &'static str);

fn without(name: &str) -> String {
    let mut event = unmapped("1");
    let members = event.as_object_mut().expect("an object");
    members.shift_remove(name);
    event.to_string()
}

fn replaced(name: &str, value: Value) -> String {
    let mut event = unmapped("1");
    event[name] = value;
    event.to_string()
}

fn defects() -> Vec<Row> {
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let deep = replaced("data", serde_json::from_str("[]").expect("a list")).replace("[]", &deep);
    let large = format!("{{\"id\":\"{}\"}}", "x".repeat(10_000_000));
    let mut mismatched = opened("1", 7);
    mismatched["type"] = "github.pull_request.closed".into();
    let structured = |body: String, message| (STRUCTURED, body, 400, message);
    let zoneless = replaced("time", "2026-11-20T12:00:00".into());
    vec![
        structured(without("id"), "`id`: it is missing"),
        structured(without("source"), "`source`: it is missing"),
        structured(without("type"), "`type`: it is missing"),
        structured(without("specversion"), "`specversion`: it is missing"),
        structured(
            replaced("specversion", "0.3".into()),
            "`specversion`: it is not `1.0`",
        ),
        structured(
            replaced("id", "a\u{0}".into()),
            "`id`: it contains a control character",
        ),
        structured(
            zoneless,
            "`time`: it is not a time of RFC 3339 with an offset",
        ),
        structured(
            replaced("data_base64", "e30=".into()),
            "`data_base64`: the event has `data` too",
        ),
        structured(
            mismatched.to_string(),
            "`type`: the data has another action",
        ),
        structured(deep, "the body is nested deeper than 128 levels"),
        structured(
            "{\"id\":".to_owned(),
            "the body is not the announced event: the body is not one JSON object: line 1, column 6",
        ),
        (STRUCTURED, large, 413, "payload too large"),
        (
            ("Content-Type", "application/json"),
            "{}".to_owned(),
            400,
            "`specversion`: it is missing",
        ),
        (
            ("Content-Type", "application/cloudevents+avro"),
            String::new(),
            415,
            "the body has the media type `application/cloudevents+avro`",
        ),
    ]
}

#[test]
fn requests_that_are_no_events_are_refused_with_their_place() {
    let world = world();
    let host = world.serve();
    for (media, body, status, message) in defects() {
        let shown = &body[..body.len().min(90)];
        let answer = send(&host, CI, &[media], &body);
        shows!(answer, {"HTTP": status, "error.message": message}, "{shown}");
    }
    let encoded = [STRUCTURED, ("Content-Encoding", "gzip")];
    shows!(send(&host, CI, &encoded, &unmapped("1").to_string()), {"HTTP": 415});
    assert_eq!(sent(&host), Vec::<Value>::new());
    // Other senders and daemons are not affected.
    let hook = host.hook("pull_request", "d-1", &pull_request_opened(7));
    assert_eq!(hook.status, 200);
    shows!(host.settled(1), {"#": 1, "0.state": "succeeded"});
}

#[test]
fn tokens_are_checked_at_the_start_shown_by_doctor_and_replaced_by_a_reload() {
    let world = world();
    let host = world.serve();
    let (_, check) = world.examined("cloudevents");
    shows!(check, {"status": "ok", "detail": "1 tokens of senders"});
    let other = CI.replace("ci-", "cd-");
    fs::write(world.home.join("senders"), format!("cd:{other}\n")).expect("the tokens");
    assert_eq!(world.json(&["reload"]).0, 0);
    let body = unmapped("1").to_string();
    shows!(send(&host, CI, &[STRUCTURED], &body), {"HTTP": 401});
    shows!(send(&host, &other, &[STRUCTURED], &body), {"HTTP": 200});
    shows!(send(&host, host.token(), &[STRUCTURED], &body), {"HTTP": 200, "duplicate": true});
    shows!(sent(&host), {"0.delivery_id": "cloudevents:cd /build 1"});
    fs::write(world.home.join("senders"), "cd:too-short-to-be-a-token\n").expect("the tokens");
    let refused = shown!(world.json(&["reload"]), {"$?": 78, "error.code": "source-token"});
    let message = refused.text("error.message");
    assert!(
        message.ends_with("line 1: the token has 23 bytes, at least 32 are needed"),
        "{message}"
    );
    assert!(!message.contains("too-short"), "{message}");
    let (_, check) = world.examined("cloudevents");
    shows!(check, {"status": "fail"});
    shows!(send(&host, &other, &[STRUCTURED], &body), {"HTTP": 200, "duplicate": true});
    host.kill();
    assert_eq!(world.refusal("source-token"), message);
    let log = world.log();
    assert!(
        !log.contains(CI) && !log.contains(&other) && !log.contains("too-short"),
        "{log}"
    );
}

#[test]
fn a_slow_sender_gets_408_and_an_unwatched_repository_is_named_by_doctor() {
    let world = world();
    let host = world.serve();
    let address = host.address();
    let token = host.token();
    let head = format!(
        "POST /events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n\r\n{{"
    );
    let slow = std::thread::scope(|scope| {
        let slow = scope.spawn(|| http::raw(address, head.as_bytes()).status);
        let zero = "0".repeat(40);
        for (n, name) in ["Some/Body", "some/body", "x\u{202e}/y", "O/R"]
            .iter()
            .enumerate()
        {
            let after = (n + 1).to_string().repeat(40);
            let answer = host.hook("push", &format!("d-{n}"), &http::push(name, &zero, &after));
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        slow.join().expect("it is answered")
    });
    assert_eq!(slow, 408);
    assert_eq!(host.settled(0), Vec::<Value>::new());
    let (_, check) = world.examined("unwatched");
    let events = sent(&host);
    let last = |subject: &str| {
        let named = events.iter().find(|event| event["subject"] == subject);
        named.expect("it is stored").text("received_at")
    };
    let (body, other) = (
        "git:some/body:refs/heads/main",
        "git:x\u{202e}/y:refs/heads/main",
    );
    let detail = format!(
        "webhooks of repositories that are not watched, among the newest 4 events: `some/body` 2, the last at {}; \
         `x\\u{{202e}}/y` 1, the last at {}",
        last(body),
        last(other)
    );
    shows!(check, {"status": "warn", "detail": detail});
}
