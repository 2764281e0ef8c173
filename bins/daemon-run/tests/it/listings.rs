//! The listings, and what shows one thing.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::world::{TIDY, World};

/// A world in which two daemons ran: `tidy` by an event and by a tick, `other` by a person.
fn lived() -> World {
    let world = World::of_daemon(TIDY);
    world.write(
        ".agents/daemons/other/DAEMON.md",
        &TIDY.replace("id: tidy", "id: other"),
    );
    world.write(".agents/daemons/tidy/scripts/check.sh", "#!/bin/sh\n");
    world.commit("Add another");
    assert_eq!(world.run_opened(&["fire", "tidy", "-q"]).code, 0);
    assert_eq!(
        world
            .run(&["fire", "tidy", "-q", "--tick", "2026-11-20T14:30:00Z"])
            .code,
        0
    );
    assert_eq!(world.run(&["fire", "other", "-q"]).code, 0);
    world
}

/// The names of an object's fields, sorted.
fn names(object: &Value) -> Vec<&str> {
    let fields = object.as_object().expect("an object").keys();
    let mut names: Vec<&str> = fields.map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn every_listing_is_an_envelope_of_its_objects() {
    let world = lived();
    let table: [(&str, &str, usize, &[&str]); 6] = [
        (
            "list",
            "daemons",
            2,
            &[
                "diagnostics",
                "gate",
                "id",
                "last_activation",
                "modes",
                "next_tick",
                "path",
                "purpose",
                "repo",
                "rev",
                "valid",
            ],
        ),
        (
            "activations",
            "activations",
            3,
            &[
                "attempts",
                "cost_usd",
                "created_at",
                "daemon_id",
                "finished_at",
                "id",
                "outputs",
                "reason",
                "repo",
                "reported",
                "rev",
                "run_lease",
                "started_at",
                "state",
                "tokens",
                "trigger",
            ],
        ),
        (
            "runs",
            "runs",
            3,
            &[
                "activation_id",
                "attempt",
                "cost_usd",
                "current_tool",
                "daemon_id",
                "elapsed_s",
                "error",
                "finished_at",
                "folder",
                "id",
                "last_output_at",
                "provider",
                "reported",
                "result_path",
                "result_preview",
                "started_at",
                "state",
                "tokens",
                "tool_call_count",
                "turn",
            ],
        ),
        (
            "events",
            "events",
            1,
            &[
                "action",
                "actor",
                "delivery_id",
                "duplicates",
                "id",
                "kind",
                "received_at",
                "repo",
                "source",
                "subject",
                "time",
                "verdicts",
            ],
        ),
        (
            "ticks",
            "ticks",
            1,
            &[
                "activation_id",
                "count",
                "daemon_id",
                "first",
                "outcome",
                "recorded_at",
                "repo",
                "scheduled_at",
            ],
        ),
        ("outputs", "outputs", 0, &[]),
    ];
    for (command, plural, n, fields) in table {
        let ran = world.run(&[command, "--json"]);
        let object = ran.json();
        let mut envelope = vec![plural, "next", "schema_version"];
        if command == "list" {
            envelope.extend(["pause", "unread"]);
        }
        assert_eq!(
            (ran.code, names(&object)),
            (0, sorted(&envelope)),
            "{command}"
        );
        assert_eq!(object["next"], Value::Null);
        let rows = object[plural].as_array().unwrap();
        assert_eq!(rows.len(), n, "{command}");
        for row in rows {
            assert_eq!(names(row), fields, "{command}");
        }
        let text = world.run(&[command]);
        assert_eq!(
            (text.code, text.output.lines().count()),
            (0, if n == 0 { 0 } else { n + 1 }),
            "{command}"
        );
    }
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

#[test]
fn a_daemon_is_listed_with_its_next_tick_and_newest_activation() {
    let world = lived();
    let object = world.run(&["list", "--daemon", "tidy", "--json"]).masked();
    let daemon = &object["daemons"][0];
    let mut bare = daemon.clone();
    bare["last_activation"] = Value::Null;
    assert_eq!(
        bare,
        json!({"id": "tidy", "repo": "lamp", "path": ".agents/daemons/tidy/DAEMON.md", "rev": "[SHA256]",
            "purpose": "Keeps the docs in order.", "modes": ["watch", "schedule"], "valid": true, "gate": "open",
            "next_tick": "[TIME]", "last_activation": null, "diagnostics": daemon["diagnostics"]})
    );
    assert_eq!(daemon["last_activation"]["trigger"]["kind"], "tick");
}

#[test]
fn pages_follow_each_other_without_a_gap() {
    let world = lived();
    for (command, plural) in [
        ("activations", "activations"),
        ("runs", "runs"),
        ("list", "daemons"),
        ("events", "events"),
    ] {
        let all = world.run(&[command, "--json"]).json()[plural]
            .as_array()
            .unwrap()
            .clone();
        let mut seen = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut arguments = vec![command, "--json", "--limit", "1"];
            if let Some(cursor) = &after {
                arguments.extend(["--after", cursor]);
            }
            let page = world.run(&arguments).json();
            seen.extend(page[plural].as_array().unwrap().clone());
            match page["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, all, "{command}");
    }
    let note = world.run(&["activations", "--limit", "1"]).notes;
    assert!(note.starts_with("more: --after "), "{note}");
}

#[test]
fn filters_restrict_and_senseless_ones_are_usage_errors() {
    let world = lived();
    let count = |arguments: &[&str]| {
        let ran = world.run(&[&["activations", "--json"], arguments].concat());
        (ran.code, ran.json()["activations"].as_array().map(Vec::len))
    };
    assert_eq!(count(&["--daemon", "tidy"]), (0, Some(2)));
    assert_eq!(count(&["--daemon", "nobody"]), (0, Some(0)));
    assert_eq!(count(&["--repo", "lamp"]), (0, Some(3)));
    assert_eq!(count(&["--repo", "."]), (0, Some(3)));
    assert_eq!(count(&["--repo", "other/lamp"]), (0, Some(0)));
    assert_eq!(count(&["--state", "succeeded"]), (0, Some(3)));
    assert_eq!(count(&["--state", "failed"]), (0, Some(0)));
    assert_eq!(count(&["--since", "1h"]), (0, Some(3)));
    assert_eq!(count(&["--until", "2026-01-01T00:00:00Z"]), (0, Some(0)));
    for arguments in [
        &["activations", "--state", "asleep"][..],
        &["activations", "--after", "forged"],
        &["activations", "--since", "lately"],
        &["activations", "--until", "2026-13-01T00:00:00Z"],
        &["activations", "--limit", "0"],
        &["activations", "--limit", "501"],
        &["activations", "--limit", "-1"],
        &["list", "--state", "asleep"],
        &["runs", "--state", "asleep"],
        &["events", "--limit", "1000000000"],
    ] {
        let ran = world.run(&[arguments, &["--json"]].concat());
        assert_eq!(ran.failure().0, 64, "{arguments:?}");
    }
}

#[test]
fn a_followed_listing_prints_one_object_a_line() {
    let world = lived();
    let mut child = world
        .command(&["activations", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let rows: Vec<Value> = lines
        .take(3)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let interrupt = ["-INT", &child.id().to_string()];
    let sent = Command::new("kill").args(interrupt).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let triggers: Vec<&str> = rows
        .iter()
        .map(|row| {
            assert_eq!(row["schema_version"], 1);
            row["trigger"]["kind"].as_str().unwrap()
        })
        .collect();
    assert_eq!(triggers, ["event", "tick", "person"], "oldest first");
}

#[test]
fn one_daemon_is_shown_with_its_readings_and_support_tree() {
    let world = lived();
    let ran = world.run(&["show", "tidy", "--json"]);
    let object = ran.json();
    assert_eq!(
        (ran.code, names(&object)),
        (0, vec!["conditions", "daemon", "schema_version", "support"])
    );
    assert_eq!(
        object["support"],
        json!([{"path": "scripts/check.sh", "bytes": 10, "executable": false}])
    );
    assert_eq!(
        (
            &object["conditions"][0]["index"],
            &object["conditions"][0]["status"],
            object["conditions"].as_array().map(Vec::len)
        ),
        (&json!(0), &json!("mapped"), Some(1))
    );
    assert_eq!(
        object["daemon"],
        world.run(&["list", "--daemon", "tidy", "--json"]).json()["daemons"][0]
    );
    let by_directory = world.run(&["show", "tidy", "--repo", ".", "--json"]);
    assert_eq!(by_directory.json(), object);
    assert_eq!(
        world.run(&["show", "nobody", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
}

#[test]
fn one_run_is_shown_with_its_timeline_and_files() {
    let world = lived();
    let runs = world.run(&["runs", "--json"]).json();
    let id = runs["runs"][0]["id"].as_str().unwrap();
    let ran = world.run(&["run", id, "--json"]);
    let object = ran.json();
    assert_eq!((ran.code, &object["run"]), (0, &runs["runs"][0]));
    let files = object["files"].as_array().unwrap();
    assert!(
        files.contains(&json!("result.txt")) && files.contains(&json!("daemon.json")),
        "{files:?}"
    );
    let timeline = object["timeline"].as_array().unwrap();
    let kinds: Vec<&str> = timeline
        .iter()
        .map(|line| line["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        (kinds.first(), kinds.last()),
        (Some(&"daemon_start"), Some(&"daemon_done"))
    );

    let logs = world.run(&["logs", id, "--json"]);
    let lines: Vec<Value> = logs
        .output
        .lines()
        .map(|line| {
            assert!(line.starts_with("{\"schema_version\":1,"), "{line}");
            let mut object: Value = serde_json::from_str(line).unwrap();
            object.as_object_mut().unwrap().remove("schema_version");
            object
        })
        .collect();
    assert_eq!((logs.code, &lines), (0, timeline));
    let followed = world.run(&["logs", "-f", id]);
    assert_eq!(
        (followed.code, followed.output.lines().count()),
        (0, timeline.len()),
        "it has ended"
    );
    for arguments in [
        ["run", "em-1-nobody"],
        ["logs", "em-1-nobody"],
        ["run", "../home"],
    ] {
        let ran = world.run(&[&arguments[..], &["--json"]].concat());
        assert_eq!(
            ran.failure(),
            (66, "unknown-run".to_owned()),
            "{arguments:?}"
        );
    }
}

#[test]
fn one_event_is_shown_with_everybodys_verdict_and_explained_by_its_id() {
    let world = lived();
    let events = world.run(&["events", "--json"]).json();
    let event = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["source"] == "github")
        .unwrap();
    let id = event["id"].as_str().unwrap();
    let ran = world.run(&["events", "show", id, "--json"]);
    let object = ran.json();
    let activation = &event["verdicts"][0]["activation_id"];
    assert_eq!(
        (ran.code, &object["verdicts"], &object["payload"]["number"]),
        (
            0,
            &json!([{"daemon_id": "tidy", "condition": 0, "wakes": true, "activation_id": activation}]),
            &json!(7)
        )
    );
    assert!(activation.is_string());
    let explained = world
        .run(&["explain", "tidy", "--event", id, "--json"])
        .json();
    assert_eq!(explained["daemons"][0]["wakes"], true);
    let absent = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    assert_eq!(
        world.run(&["events", "show", absent, "--json"]).failure(),
        (66, "unknown-event".to_owned())
    );
    assert_eq!(
        world.run(&["events", "show", "%00", "--json"]).failure(),
        (66, "unknown-event".to_owned())
    );
    assert_eq!(
        world
            .run(&["explain", "tidy", "--event", absent, "--json"])
            .failure(),
        (66, "unknown-event".to_owned())
    );
}

#[test]
fn an_invalid_file_is_listed_with_why_and_does_not_disturb_the_others() {
    let world = lived();
    world.write(
        ".agents/daemons/other/DAEMON.md",
        &TIDY
            .replace("id: tidy", "id: other")
            .replace("purpose:", "purpos:"),
    );
    world.commit("Break one");
    assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    assert_eq!(
        world.run(&["fire", "other", "--json"]).failure(),
        (65, "invalid-daemon".to_owned())
    );
    let object = world.run(&["list", "--json"]).json();
    let valid: Vec<(&str, bool)> = object["daemons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|daemon| {
            (
                daemon["id"].as_str().unwrap(),
                daemon["valid"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(valid, [("other", false), ("tidy", true)]);
    let diagnostic = object["daemons"][0]["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .find(|found| found["severity"] == "error")
        .unwrap();
    assert_eq!(diagnostic["code"], "D120");
    let text = world.run(&["list"]);
    assert!(text.notes.contains("error[D120]"), "{}", text.notes);
    let doctor = world.run(&["doctor", "--json"]);
    let check = doctor.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "daemon lamp:other")
        .cloned()
        .unwrap();
    assert_eq!((doctor.code, &check["status"]), (1, &json!("fail")));
    assert!(
        check["detail"].as_str().unwrap().contains("D120"),
        "{check}"
    );
    world.write(
        ".agents/daemons/other/DAEMON.md",
        &TIDY.replace("id: tidy", "id: other"),
    );
    world.commit("Mend it");
    assert_eq!(world.run(&["fire", "other", "-q"]).code, 0);
}

#[test]
fn without_a_store_there_is_nothing_to_list() {
    let world = World::of_daemon(TIDY);
    for command in ["activations", "runs", "events", "ticks", "outputs"] {
        assert_eq!(
            world.run(&[command, "--json"]).failure(),
            (69, "no-home".to_owned()),
            "{command}"
        );
    }
    assert!(!world.home().exists(), "looking makes no home");
}
