//! Deadlines and reclaims: which runs they end, which continue, and how each is counted.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, no_process_of, processes_with, until};

/// Ends at once, at a word, at the first signal or at none, as its task says.
const SCRIPT: &str = include_str!("programs/emanate-deadlines-script.sh");

/// Takes what a run came to, without what differs from day to day.
fn came_to(world: &World, id: &str) -> Value {
    let document = world.document(id);
    let files = ["daemon.json", ".prompt", "logs/events.jsonl", ".notified"];
    let kept = files
        .iter()
        .filter(|name| world.file(id, name).is_file())
        .count();
    json!([
        document["state"],
        document["error"]["type"],
        document["error"]["class"],
        document["cli_termination"]["reason"],
        document["exit"],
        document["child"],
        kept,
    ])
}

fn seconds(world: &World, id: &str) -> f64 {
    world.document(id)["elapsed_s"].as_f64().expect("a number")
}

#[test]
fn one_batch_times_out_at_its_deadline_and_the_others_run_on() {
    let world = World::pushed();
    world.script(SCRIPT);
    let _host = world.serve();
    // Side by side, so that the shortest possible deadline is waited for once.
    let late = world.dispatch_within(&["silent", "stubborn"], 5);
    let quick = world.dispatch_within(&["quick"], 5).remove(0);
    let other = world.dispatch(&["other"]).remove(0);
    world.announced(&quick);
    let done = fs::read(world.file(&quick, "daemon.json")).expect("it exists");
    let signals = [(15, "SIGTERM"), (9, "SIGTERM, then SIGKILL")];
    for (id, (signal, sent)) in late.iter().zip(signals) {
        world.announced(id);
        let ended = json!(["timeout", "timeout", "retryable", "timeout", {"code": null, "signal": signal}, null, 4]);
        assert_eq!(came_to(&world, id), ended);
        shows!(world.document(id), {
            "error.message": format!("sh CLI terminated by the host (timeout, {sent}, code -{signal})"),
        });
        shows!(world.logged(id), {
            "*.event": ["daemon_start", "daemon_cli_terminate", "provider_terminal", "daemon_timeout"],
        });
        let took = seconds(&world, id);
        assert!((5.0..5.0 + 7.0).contains(&took), "{took} s");
        no_process_of(id);
    }
    // The deadline of the quick run has passed too, and changed nothing.
    let after = fs::read(world.file(&quick, "daemon.json")).expect("it exists");
    assert_eq!(after, done);
    let ended = json!(["done", null, null, null, {"code": 0, "signal": null}, null, 4]);
    assert_eq!(came_to(&world, &quick), ended);
    assert_eq!(world.document(&other)["state"], "running");
    fs::write(world.desk().join("go-other"), "").expect("a file");
    world.announced(&other);
    assert_eq!(came_to(&world, &other), ended);
    assert_eq!(world.document(&other)["result_preview"], "went");
    let mut told: Vec<Value> = world
        .events()
        .iter()
        .map(|event| event.field("(run_id,status)"))
        .collect();
    told.sort_by_key(Value::to_string);
    let ends = [
        (&late[0], "timeout"),
        (&late[1], "timeout"),
        (&quick, "done"),
        (&other, "done"),
    ];
    let mut expected = ends.map(|(run, status)| json!([run, status]));
    expected.sort_by_key(Value::to_string);
    assert_eq!(told, expected, "each is announced once");
}

#[test]
fn a_reclaim_cancels_keeps_every_folder_counts_right_and_gives_the_first_name_again() {
    let world = World::pushed();
    world.script(SCRIPT);
    let _host = world.serve();
    let ended = world.dispatch(&["quick"]).remove(0);
    let runs = world.dispatch(&["a", "b", "stubborn"]);
    assert!(runs[2].starts_with("em-4-"), "{runs:?}");
    world.announced(&ended);
    for id in &runs[..2] {
        world.begun(id);
    }
    let marker = |id: &str| format!("DAEMON_RUN_ID={id}");
    until("the stubborn ones are up", || {
        processes_with(&marker(&runs[2])).len() >= 3
    });
    let before = fs::read(world.file(&ended, "daemon.json")).expect("it is there");
    let three = json!({"schema_version": 1, "status": "reclaimed", "cancelled": 3, "natural_terminal": 0, "pending": 0});
    assert_eq!(world.json(&["emanate", "reclaim"]), (0, three));
    // The reply came after their deaths and their ends.
    for (id, signal) in runs.iter().zip([15, 15, 9]) {
        no_process_of(id);
        shows!(world.document(id), {"state": "cancelled", "exit.signal": signal});
    }
    for (id, signal) in runs.iter().zip([15, 15, 9]) {
        world.announced(id);
        assert_eq!(
            came_to(&world, id),
            json!(["cancelled", "reclaim", "final", "reclaim", {"code": null, "signal": signal}, null, 4])
        );
        let last = world.logged(id).pop().expect("a line");
        assert_eq!(last, json!({"event": "daemon_cancelled"}));
    }
    assert_eq!(
        fs::read(world.file(&ended, "daemon.json")).expect("it is there"),
        before
    );
    assert_eq!(world.folders().len(), 4);
    let (code, reply) = world.json(&["emanate", "reclaim"]);
    let nothing = json!({"schema_version": 1, "status": "reclaimed", "cancelled": 0, "natural_terminal": 0, "pending": 0});
    assert_eq!((code, reply), (0, nothing));
    let again = world.dispatch(&["quick", "quick"]);
    assert!(
        again[0].starts_with("em-1-") && again[1].starts_with("em-2-"),
        "{again:?}"
    );
    let (_, list) = world.json(&["emanate", "list"]);
    assert_eq!(list["total_before_filter"], 6);
    let known = [&runs[..], &[ended], &again[..]].concat();
    let mut listed: Vec<String> = world.folders();
    let mut known: Vec<String> = known;
    listed.sort();
    known.sort();
    assert_eq!(listed, known);
}
