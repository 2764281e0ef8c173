//! The three complete examples of the format wake on what they say.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::World;

/// Lays out the examples as a repository of their own.
fn examples() -> World {
    let world = World::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/daemons");
    for id in ["pr-helper", "librarian", "bug-triage"] {
        let path = format!(".agents/daemons/{id}/DAEMON.md");
        let text = std::fs::read_to_string(fixtures.join(&path)).expect("the example is there");
        world.write(&path, &text);
    }
    world.commit("Add the examples");
    world
}

fn github(kind: &str, body: Value) -> Value {
    let mut body = body;
    body["repository"] = json!({"full_name": "acme/lamp", "default_branch": "main"});
    body["sender"] = json!({"login": "ada", "type": "User"});
    json!({"id": format!("{kind}-{}", body["action"]), "source": "github", "event": kind, "headers": {}, "enrichment": {}, "body": body})
}

fn pull_request(action: &str, merged: bool, base: &str) -> Value {
    let pull_request = json!({"number": 7, "state": if merged { "closed" } else { "open" }, "title": "Add a wick", "draft": false,
        "merged": merged, "user": {"login": "ada", "type": "User"},
        "head": {"ref": "wick"},
        "base": {"ref": base, "sha": "2222222222222222222222222222222222222222"}});
    github(
        "pull_request",
        json!({"action": action, "number": 7, "pull_request": pull_request}),
    )
}

fn check_run(pull_requests: Value) -> Value {
    let check = json!({"name": "unit", "status": "completed", "conclusion": "success",
        "head_sha": "1111111111111111111111111111111111111111", "pull_requests": pull_requests});
    github(
        "check_run",
        json!({"action": "completed", "check_run": check}),
    )
}

fn push(branch: &str) -> Value {
    let commit = json!({"id": "3333333333333333333333333333333333333333", "message": "Trim", "added": [], "removed": [],
        "modified": ["src/wick.rs"], "author": {"name": "Ada", "username": "ada"}});
    github(
        "push",
        json!({"ref": format!("refs/heads/{branch}"), "before": "1111111111111111111111111111111111111111",
        "after": "3333333333333333333333333333333333333333", "created": false, "deleted": false, "forced": false,
        "commits": [commit], "head_commit": commit, "pusher": {"name": "ada"}}),
    )
}

fn linear(action: &str, labels: &Value, updated_from: &Value) -> Value {
    let ids: Vec<Value> = labels
        .as_array()
        .into_iter()
        .flatten()
        .map(|label| label["id"].clone())
        .collect();
    let data = json!({"id": "i-1", "identifier": "LMP-1", "number": 1, "title": "It flickers",
        "labelIds": ids, "labels": labels,
        "team": {"id": "t", "key": "LMP", "name": "Lamp"}, "state": {"id": "s", "name": "Todo", "type": "unstarted"}});
    let mut body = json!({"action": action, "type": "Issue", "createdAt": "2026-11-20T10:00:00.000Z", "data": data,
        "actor": {"id": "u", "name": "Ada", "type": "user"}, "webhookTimestamp": 1_795_000_000_000_u64});
    if !updated_from.is_null() {
        body["updatedFrom"] = updated_from.clone();
    }
    json!({"id": format!("linear-{action}-{}", labels), "source": "linear", "event": "Issue", "headers": {}, "enrichment": {}, "body": body})
}

#[test]
fn the_examples_are_clean() {
    let ran = examples().run(&["lint", "--json"]);
    let object = ran.json();
    assert_eq!(
        (ran.code, &object["ok"], &object["summary"]["daemons"]),
        (0, &json!(true), &json!(3))
    );
    assert_eq!(object["summary"]["errors"], 0);
    assert_eq!(object["summary"]["warnings"], 0);
}

#[test]
fn the_examples_wake_on_what_they_say_and_on_nothing_beside_it() {
    let world = examples();
    let bug = json!([{"id": "l-bug", "name": "bug"}]);
    let other = json!([{"id": "l-docs", "name": "docs"}]);
    let one = json!([{"number": 7, "head": {"ref": "wick"}, "base": {"ref": "main"}}]);
    let was_unlabelled = json!({"labelIds": []});
    let table: [(&str, Value, &[&str]); 12] = [
        (
            "opened",
            pull_request("opened", false, "main"),
            &["pr-helper"],
        ),
        (
            "synchronized",
            pull_request("synchronize", false, "main"),
            &["pr-helper"],
        ),
        ("labelled", pull_request("labeled", false, "main"), &[]),
        (
            "merged",
            pull_request("closed", true, "main"),
            &["librarian"],
        ),
        (
            "merged elsewhere",
            pull_request("closed", true, "release"),
            &[],
        ),
        (
            "closed unmerged",
            pull_request("closed", false, "main"),
            &[],
        ),
        ("a check of a pull request", check_run(one), &["pr-helper"]),
        ("pushed to master", push("master"), &["pr-helper"]),
        ("pushed elsewhere", push("main"), &[]),
        (
            "bug created",
            linear("create", &bug, &Value::Null),
            &["bug-triage"],
        ),
        (
            "bug label added",
            linear("update", &bug, &was_unlabelled),
            &["bug-triage"],
        ),
        (
            "other label added",
            linear("update", &other, &was_unlabelled),
            &[],
        ),
    ];
    for (name, envelope, expected) in table {
        let ran = world.run_with_input(
            &["explain", "--json", "--event", "-"],
            &envelope.to_string(),
        );
        let object = ran.json();
        let daemons = object["daemons"].as_array().unwrap().iter();
        let mut woken: Vec<&str> = daemons
            .filter(|daemon| daemon["wakes"] == true)
            .filter_map(|daemon| daemon["daemon_id"].as_str())
            .collect();
        woken.sort_unstable();
        assert_eq!((ran.code, woken.as_slice()), (0, expected), "{name}");
    }
}

#[test]
fn the_examples_are_fired_by_an_event_of_theirs_and_the_librarian_by_its_hour() {
    let world = examples();
    let bug = json!([{"id": "l-bug", "name": "bug"}]);
    for (id, envelope) in [
        ("pr-helper", pull_request("opened", false, "main")),
        ("librarian", pull_request("closed", true, "main")),
        ("bug-triage", linear("create", &bug, &Value::Null)),
    ] {
        let ran = world.run_with_input(
            &["fire", id, "--json", "--event", "-"],
            &envelope.to_string(),
        );
        let activation = ran.json()["activation"].clone();
        assert_eq!(
            (
                ran.code,
                &activation["daemon_id"],
                &activation["state"],
                &activation["trigger"]["conditions"]
            ),
            (0, &json!(id), &json!("succeeded"), &json!([0]))
        );
    }
    let ran = world.run(&[
        "fire",
        "librarian",
        "--tick",
        "2026-11-21T09:00:00Z",
        "--json",
    ]);
    assert_eq!(
        (ran.code, &ran.json()["activation"]["trigger"]["kind"]),
        (0, &json!("tick"))
    );
}
