//! A host that dies between two steps of a publication: after the next start, the end was announced once.

use serde_json::{Value, json};

use crate::world::{World, until};

#[test]
fn an_end_is_announced_once_after_a_crash_at_every_step() {
    for place in ["E1", "E2", "E3"] {
        let world = World::pushed();
        let first = world.serve();
        let before = world.dispatch(&["before"]).remove(0);
        world.announced(&before);
        drop(first.stop());
        let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", place)]);
        // The host dies while, or after, it answers.
        world.tool(&json!({"tasks": [{"task": "x"}]}));
        assert_eq!(host.wait().0, None, "{place}: it was killed");
        drop(host);
        let run = world
            .folders()
            .into_iter()
            .find(|run| *run != before)
            .expect("a second folder");
        let _host = world.serve();
        let ended = world.announced(&run);
        shows!(ended, {"status": "done", "notified_seq": 2}, "{place}");
        let next = world.dispatch(&["after"]).remove(0);
        world.announced(&next);
        let told: Vec<Value> = world
            .events()
            .iter()
            .map(|event| json!([event["seq"], event["run_id"]]))
            .collect();
        assert_eq!(
            told,
            [json!([1, before]), json!([2, run]), json!([3, next])],
            "{place}"
        );
        // The steps before the crash and those after it publish the same event.
        for event in world.events() {
            let id = event["run_id"].as_str().expect("an id");
            let mark = std::fs::read_to_string(world.file(id, ".notified")).expect("the mark");
            assert_eq!(
                serde_json::from_str::<Value>(&mark).expect("JSON"),
                event,
                "{place}"
            );
            assert_eq!(event["idempotency_key"], format!("daemon-terminal:{id}"));
            assert_eq!(world.document(id)["terminal_notified"], true, "{place}");
        }
    }
}

#[test]
fn an_end_that_left_the_window_does_not_come_back() {
    let (world, host) = World::serving();
    let tasks: Vec<String> = (0..21).map(|n| format!("task {n}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let runs = world.dispatch(&tasks);
    for run in &runs {
        world.announced(run);
    }
    let events = world.events();
    host.kill();
    // As if the last step of the first publication had been lost.
    let first = runs
        .iter()
        .find(|run| world.document(run)["notified_seq"] == 1)
        .expect("one was first");
    let path = world.file(first, "daemon.json");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let text = text.replace(
        "\"terminal_notified\": true",
        "\"terminal_notified\": false",
    );
    std::fs::write(&path, text).expect("it is written");
    let _host = world.serve();
    until("the last step was repeated", || {
        world.document(first)["terminal_notified"] == true
    });
    assert_eq!(world.events(), events);
}

#[test]
fn a_run_whose_changes_were_not_recorded_is_not_done_after_a_crash() {
    for (place, branches) in [("E4", 0), ("E5", 1)] {
        let world = World::pushed();
        let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", place)]);
        let tasks = json!([{"task": "x", "isolation": "own"}]);
        world.tool(&json!({"tasks": tasks, "cwd": world.repo}));
        assert_eq!(host.wait().0, None, "{place}: it was killed");
        drop(host);
        let run = world.folders().remove(0);
        let _host = world.serve();
        let ended = world.announced(&run);
        shows!(ended, {"status": "failed", "error.type": "DaemonOrphaned"}, "{place}");
        // The branch is whole or absent, and the place is gone.
        let found = world.git(&["for-each-ref", "--format=%(refname)", "refs/heads/run"]);
        assert_eq!(found.lines().count(), branches, "{place}");
        for branch in found.lines() {
            let changed = world.git(&["diff", "--name-only", "main", branch]);
            assert_eq!(changed, "NOTE.md\n", "{place}");
        }
        let trees = || std::fs::read_dir(world.home.join("worktrees"));
        until("the place is removed", || {
            trees().expect("a directory").count() == 0
        });
    }
}
