//! Explaining and replaying through a host, and keys that make a request happen once.

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::http::{Answer, pull_request_opened};
use crate::world::{Host, World, daemon_file, watch};

fn world() -> World {
    World::new(&[
        ("opener", &watch(&["when a pull request is opened"])),
        ("drafter", &watch(&["when a draft pull request is opened"])),
    ])
}

fn post(host: &Host, path: &str, key: Option<&str>, body: &str) -> Answer {
    let bearer = format!("Bearer {}", host.token());
    let mut headers = vec![("Authorization", bearer.as_str())];
    headers.extend(key.map(|key| ("Idempotency-Key", key)));
    host.post(&format!("/api/v1/{path}"), &headers, body)
}

/// Asks a host for an explanation.
fn explain(host: &Host, body: &Value) -> Answer {
    post(host, "explain", None, &body.to_string())
}

/// A host that received one pull request, and the event's id.
fn told(world: &World) -> (Host, String) {
    let host = world.serve();
    let answer = host.hook("pull_request", "d-1", &pull_request_opened(7));
    let id = answer.text("event_ids.0");
    host.settled(1);
    (host, id)
}

#[test]
fn a_host_explains_what_it_registered() {
    let world = world();
    let (host, id) = told(&world);
    let all = json!({"id": "opener", "event": id, "all_daemons": true});
    let answer = explain(&host, &all);
    assert_eq!(answer.status, 202, "{answer:?}");
    let object = answer.json();
    shows!(object, {
        "daemons.*.(daemon_id,wakes)": [["drafter", false], ["opener", true]],
        "daemons.0.conditions.0.nearest": [0], "event.delivery_id": "d-1",
    });
    let why = ["daemons.0.why", "daemons.1.why"].map(|path| object.text(path));
    let why = why
        .each_ref()
        .map(|why| why.split(" (").next().unwrap_or_default());
    assert_eq!(why, ["watch[0] asks `draft is true`", "watch[0] is met"]);
    let body = json!({"id": "drafter", "event": {"source": "github", "kind": "pull_request", "payload": pull_request_opened(8)}});
    shows!(explain(&host, &body), {"daemons.#": 1, "event.subject": "github:o/r#8"});
    // What the command says of the working tree, the host says of the same files.
    let repo = world.repo.display().to_string();
    let (_, said) = world.json(&["explain", "--event", &id, "-C", &repo]);
    shows!(said, {
        "event": object["event"], "daemons.0.conditions": object["daemons"][0]["conditions"],
    });
    let mut elsewhere = body;
    elsewhere["event"]["payload"]["repository"]["full_name"] = json!("o/x");
    shows!(explain(&host, &elsewhere), {"daemons.0.why": "the event is of `o/x`, the daemon of `o/r`"});
    let answer = explain(
        &host,
        &json!({"condition": "when a pull request is opened", "event": id}),
    );
    let n_versions = answer.body.matches("schema_version").count();
    assert_eq!(n_versions, 1, "{answer:?}");
    shows!(answer, {"status": "mapped", "wakes": true});
    assert_eq!(
        host.list("activations").len(),
        1,
        "an explanation wakes no daemon"
    );
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let world = world();
    let (host, _) = told(&world);
    for (body, status) in [
        (json!({"id": "nobody"}), 404),
        (json!({"event": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}), 404),
        (json!({"event": 1}), 400),
        (json!({"id": "opener", "condition": "x"}), 400),
        (json!({"all_daemons": "perhaps"}), 400),
        (json!({"surprise": 1}), 400),
        (
            json!({"event": {"source": "github", "kind": "issues", "payload": {}}}),
            400,
        ),
    ] {
        let answer = explain(&host, &body);
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    }
    assert_eq!(host.list("activations").len(), 1);
}

#[test]
fn an_explanation_has_why_a_daemon_with_a_met_condition_was_not_woken() {
    let world = world();
    let (host, id) = told(&world);
    world.write_daemon(
        "late",
        &daemon_file("late", &watch(&["when a pull request is opened"])),
    );
    host.registered(&world.commit("Add another"));
    assert_eq!(post(&host, "daemons/opener/hold", None, "").status, 202);
    let why = |event: Value| {
        let body = json!({"event": event}).to_string();
        let object = post(&host, "explain", None, &body).json();
        let daemons = object["daemons"].as_array().expect("a list").clone();
        let told = daemons.iter().filter(|daemon| daemon["wakes"] == true);
        told.map(|daemon| (daemon["daemon_id"].clone(), daemon["why"].clone()))
            .collect::<Vec<_>>()
    };
    let held = (
        json!("opener"),
        json!("watch[0] is met; it is held: nothing starts"),
    );
    assert_eq!(
        why(json!(id)),
        [
            (
                json!("late"),
                json!("watch[0] is met; it was registered after the event came")
            ),
            held.clone()
        ]
    );
    let payload =
        json!({"source": "github", "kind": "pull_request", "payload": pull_request_opened(9)});
    assert_eq!(
        why(payload),
        [(json!("late"), json!("watch[0] is met")), held]
    );
}

#[test]
fn a_replay_through_the_host_wakes_only_as_a_new_delivery() {
    let world = world();
    let (host, id) = told(&world);
    let path = format!("events/{id}/replay");
    let n_told = || {
        let events = host.list("events").into_iter();
        events.filter(|event| event["source"] == "github").count()
    };
    let same = post(&host, &path, None, "");
    shows!(same, {"HTTP": 202, "duplicate": true, "id": id});
    let dry = post(&host, &path, None, "{\"as_new\":true,\"dry_run\":true}").json();
    shows!(dry, {"duplicate": false, "dry_run": true, "verdicts.0.daemon_id": "opener", "verdicts.0.wakes": true});
    assert_eq!(n_told(), 1);
    shows!(world.json(&["events", "replay", &id, "--as-new"]), {"$?": 0, "events.0.duplicate": false});
    assert_eq!(host.settled(2).len(), 2);
    assert_eq!(post(&host, "events/nobody/replay", None, "").status, 404);
    shows!(host.open("POST", &format!("/api/v1/{path}"), &[]), {"HTTP": 401});
}

#[test]
fn what_was_recorded_here_wakes_a_host_elsewhere() {
    let world = world();
    let (host, _) = told(&world);
    let kept = world.beside("kept").display().to_string();
    assert_eq!(world.json(&["events", "record", "--out", &kept]).0, 0);
    drop(host);
    let elsewhere = self::world();
    let host = elsewhere.serve();
    let file = format!("{kept}/d-1.json");
    let (code, replayed) = elsewhere.json(&["events", "replay", &file, &file]);
    let told: Vec<(&Value, &Value)> = replayed["events"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| (&event["delivery_id"], &event["duplicate"]))
        .collect();
    assert_eq!(
        (code, told),
        (
            0,
            vec![
                (&json!("d-1"), &json!(false)),
                (&json!("d-1"), &json!(true))
            ]
        )
    );
    assert_eq!(host.settled(1).len(), 1);
    // The sender's own delivery is then the same one.
    let late = host.hook("pull_request", "d-1", &pull_request_opened(7));
    assert_eq!(late.json()["duplicate"], true);
}

#[test]
fn a_key_does_one_request_once_and_no_other() {
    let world = world();
    let (host, id) = told(&world);
    let path = format!("events/{id}/replay");
    let first = post(&host, &path, Some("k-1"), "{\"as_new\":true}");
    let again = post(&host, &path, Some("k-1"), "{\"as_new\":true}");
    assert_eq!((first.status, &first.body), (202, &again.body), "{again:?}");
    assert_eq!(host.settled(2).len(), 2);
    for (path, body) in [
        (path.as_str(), "{\"as_new\":false}"),
        (path.as_str(), ""),
        ("daemons/opener/fire", "{\"as_new\":true}"),
        ("hold", "{\"as_new\":true}"),
    ] {
        let other = post(&host, path, Some("k-1"), body);
        shows!(other, {"HTTP": 409, "error.code": "idempotency-key-reused"}, "{path} {body}");
    }
    assert_eq!(
        post(&host, "daemons/opener/fire", Some("k-2"), "").status,
        202
    );
    let tick = "{\"tick\":\"2026-11-20T12:00:00Z\"}";
    assert_eq!(
        post(&host, "daemons/opener/fire", Some("k-2"), tick).status,
        409
    );
    assert_eq!(
        post(&host, "daemons/drafter/fire", Some("k-2"), "").status,
        409
    );
    let activations = host.settled(3);
    assert_eq!(activations.len(), 3);
    // A request that was refused may be made again with its key.
    let missing = post(&host, "daemons/nobody/hold", Some("k-3"), "");
    assert_eq!(
        (
            missing.status,
            post(&host, "daemons/nobody/hold", Some("k-3"), "").status
        ),
        (404, 404)
    );
    assert_eq!(post(&host, "go", Some(&"k".repeat(257)), "").status, 400);
    assert_eq!(post(&host, "go", Some(""), "").status, 400);
    // After a restart the store still knows the delivery that a key made.
    host.kill();
    let host = world.serve();
    let late = post(&host, &path, Some("k-1"), "{\"as_new\":true}").json();
    shows!(late, {"duplicate": true, "id": &first.json()["id"]});
}
