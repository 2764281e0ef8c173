//! Notices: each end is announced once, to present listeners and to later readers.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::rpc::Rpc;
use crate::world::World;

/// Ends as its task is named, or stays.
const ENDS: &str = r#"read -r x; prompt=$(cat)
case "$prompt" in
*good*) echo '{"daemon":"result","ok":true,"text":"g"}';;
*bad*) echo '{"daemon":"result","ok":false,"text":"could not"}';;
*) echo begun; sleep 1000;;
esac
"#;

/// A task, its deadline in seconds, the status of its end, the last lines of its notice, its text, and the priority.
const ENDINGS: [(&str, u64, &str, &str, &str, &str); 4] = [
    ("good", 3600, "done", "\nPreview:\ng", "g", "normal"),
    (
        "bad",
        3600,
        "failed",
        "\nError: provider: could not",
        "could not",
        "high",
    ),
    (
        "stopped",
        3600,
        "cancelled",
        "\nError: reclaim: sh CLI terminated by the host (reclaim, SIGTERM, code -15)",
        "begun",
        "high",
    ),
    (
        "late",
        5,
        "timeout",
        "\nError: timeout: sh CLI terminated by the host (timeout, SIGTERM, code -15)",
        "begun",
        "high",
    ),
];

/// Returns the event that a run's folder records as published.
fn mark(world: &World, run: &str) -> Value {
    let mark = fs::read_to_string(world.file(run, ".notified")).expect("the mark");
    serde_json::from_str(&mark).expect("it is JSON")
}

/// Returns the event of a run that has ended, whose body ends with the given lines.
fn announcement(world: &World, seq: u64, ended: &Value, end: &str) -> Value {
    let [run, status, task] = ["run_id", "status", "task"].map(|name| ended.text(name));
    let directory = world.file(&run, "");
    let directory = directory.display().to_string();
    let directory = directory.trim_end_matches('/');
    let body = format!(
        "Daemon {run} {status}.\nInspect with daemon(action=\"check\", id=\"{run}\").\nTask: {task}\n\
         Run directory: {directory}\nResult file: {directory}/result.txt{end}"
    );
    json!({
        "seq": seq, "event_id": format!("evt_{seq}"), "source": "daemon", "ref_id": run, "run_id": run,
        "group_id": ended["group_id"], "parent": format!("cli:{}", rustix::process::geteuid().as_raw()),
        "status": status, "result_path": format!("{directory}/result.txt"), "at": ended["finished_at"],
        "body": body, "idempotency_key": format!("daemon-terminal:{run}"),
    })
}

#[test]
fn every_end_is_announced_once_with_all_that_a_caller_needs() {
    let world = World::pushed();
    world.script(ENDS);
    let host = world.serve();
    let mut listening = Rpc::initialized(host.socket());
    for (seq, (task, timeout, status, end, text, priority)) in (1_u64..).zip(ENDINGS) {
        let run = world.dispatch_within(&[task], timeout).remove(0);
        if task == "stopped" {
            world.begun(&run);
            shows!(world.json(&["emanate", "reclaim", &run]), {"cancelled": 1});
        }
        let ended = world.announced(&run);
        let mut told = listening.answer();
        assert_eq!(told["method"], "run/event");
        let event = told["params"].take();
        assert_eq!(world.events().last(), Some(&event));
        shows!(ended, {"status": status, "task": task, "run_id": run});
        assert_eq!(event, announcement(&world, seq, &ended, end));
        assert_eq!(mark(&world, &run), event);
        let result = fs::read_to_string(world.file(&run, "result.txt")).expect("the text");
        assert_eq!(result, text);
        shows!(world.document(&run), {"terminal_notified": true, "notified_seq": seq});
        assert_eq!(world.notices()["priority"], priority);
    }
    let events = world.events();
    let notices = world.notices();
    assert_eq!(
        notices,
        json!({"header": "4 daemon notices, 3 not done", "icon": "alert", "priority": "high",
            "published_at": notices["published_at"], "data": {"first_seq": 1, "last_seq": 4, "events": events}})
    );
    shows!(events, {"*.seq": [1, 2, 3, 4]});
}

#[test]
fn twenty_five_ends_leave_twenty_five_marks_and_the_newest_twenty_in_the_window() {
    let (world, _host) = World::serving();
    let tasks: Vec<String> = (0..25).map(|n| format!("task {n}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let runs = world.dispatch(&tasks);
    let mut marks = Vec::new();
    for run in &runs {
        let ended = world.announced(run);
        let mark = mark(&world, run);
        shows!(mark, {"run_id": run, "seq": &ended["notified_seq"]});
        marks.push(mark);
    }
    marks.sort_by_key(|mark| mark["seq"].as_u64());
    let seqs: Vec<&Value> = marks.iter().map(|mark| &mark["seq"]).collect();
    assert_eq!(json!(seqs), json!((1..=25).collect::<Vec<u64>>()));
    let notices = world.notices();
    shows!(notices, {"data.first_seq": 6, "data.last_seq": 25});
    assert_eq!(world.events(), marks[5..]);
    // A reader that missed the window finds the rest in the list: all of it and no more.
    for after in [0, 5, 20, 25] {
        let (_, list) = world.json(&[
            "emanate",
            "list",
            "--after-seq",
            &after.to_string(),
            "--last",
            "100",
        ]);
        let listed = list["emanations"].as_array().expect("a list").iter();
        let mut listed: Vec<&Value> = listed.map(|run| &run["run_id"]).collect();
        listed.sort_by_key(ToString::to_string);
        let mut expected: Vec<&Value> = marks[after..].iter().map(|mark| &mark["run_id"]).collect();
        expected.sort_by_key(ToString::to_string);
        assert_eq!(listed, expected, "after {after}");
    }
}
