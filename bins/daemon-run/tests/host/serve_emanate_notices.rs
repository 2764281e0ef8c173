//! Notices: each end is announced once, to present listeners and to later readers.

use std::fs;

use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::{World, until};

#[test]
fn every_end_is_told_once_with_all_that_a_caller_needs() {
    let world = World::pushed();
    world.script(
        "read -r x; prompt=$(cat)\ncase \"$prompt\" in\n\
         *good*) echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"g\"}';;\n\
         *bad*) echo '{\"daemon\":\"result\",\"ok\":false,\"text\":\"could not\"}';;\n\
         *) echo begun; sleep 1000;;\nesac\n",
    );
    let host = world.serve();
    let mut listening = Rpc::initialized(host.socket());
    let ends = |task: &str, timeout: u64| {
        let run = world.dispatch_within(&[task], timeout).remove(0);
        if task == "stopped" {
            until("it has begun", || {
                world.check(&run)["last_output"].is_string()
            });
            let (_, reply) = world.json(&["emanate", "reclaim", &run]);
            assert_eq!(reply["cancelled"], 1);
        }
        run
    };
    let rows = [
        ("good", 3600, "done", None),
        ("bad", 3600, "failed", Some("provider: could not")),
        (
            "stopped",
            3600,
            "cancelled",
            Some("reclaim: sh CLI terminated by the host (reclaim, SIGTERM, code -15)"),
        ),
        (
            "late",
            5,
            "timeout",
            Some("timeout: sh CLI terminated by the host (timeout, SIGTERM, code -15)"),
        ),
    ];
    for (n, (task, timeout, status, error)) in rows.iter().enumerate() {
        let run = ends(task, *timeout);
        let ended = world.announced(&run);
        let seq = n as u64 + 1;
        let mut told = listening.answer();
        assert_eq!(told["method"], "run/event");
        let event = told["params"].take();
        assert_eq!(world.events().last(), Some(&event));
        let directory = world.home.join("daemons").join(&run).display().to_string();
        let mut body = format!(
            "Daemon {run} {status}.\nInspect with daemon(action=\"check\", id=\"{run}\").\nTask: {task}\n\
             Run directory: {directory}\nResult file: {directory}/result.txt"
        );
        match error {
            None => body.push_str("\nPreview:\ng"),
            Some(error) => body.extend(["\nError: ", error]),
        }
        assert_eq!(
            event,
            json!({
                "seq": seq, "event_id": format!("evt_{seq}"), "source": "daemon", "ref_id": run, "run_id": run,
                "group_id": ended["group_id"], "parent": format!("cli:{}", rustix::process::geteuid().as_raw()),
                "status": status, "result_path": format!("{directory}/result.txt"), "at": ended["finished_at"],
                "body": body, "idempotency_key": format!("daemon-terminal:{run}"),
            })
        );
        let mark = fs::read_to_string(world.file(&run, ".notified")).expect("the mark");
        assert_eq!(serde_json::from_str::<Value>(&mark).expect("JSON"), event);
        let text = fs::read_to_string(format!("{directory}/result.txt")).expect("the text");
        let told = ["g", "could not", "begun", "begun"];
        assert_eq!(text, told[n]);
        let document = world.document(&run);
        shows!(document, {"terminal_notified": true, "notified_seq": seq});
        let priority = if n == 0 { "normal" } else { "high" };
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
        let mark = fs::read_to_string(world.file(run, ".notified")).expect("the mark");
        let mark: Value = serde_json::from_str(&mark).expect("JSON");
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
