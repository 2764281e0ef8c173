//! Notices: each end is told once, to whoever listens and to whoever comes later.

use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::{World, eventually};

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
            eventually("it has begun", || {
                world.check(&run)["last_output"].is_string().then_some(())
            });
            let (_, reply) = world.json(&["emanate", "reclaim", &run]);
            assert_eq!(reply["cancelled"], 1);
        }
        run
    };
    let rows = [
        ("good", 3600, "done", Value::Null),
        ("bad", 3600, "failed", json!("provider: could not")),
        ("stopped", 3600, "cancelled", json!("reclaim: ")),
        ("late", 5, "timeout", json!("timeout: ")),
    ];
    for (n, (task, timeout, status, error)) in rows.iter().enumerate() {
        let run = ends(task, *timeout);
        let ended = world.announced(&run);
        let seq = n as u64 + 1;
        let mut told = listening.answer();
        assert_eq!(told["method"], "run/event");
        let event = told["params"].take();
        assert_eq!(world.events().last(), Some(&event));
        let directory = world.home.join("daemons").join(&run);
        let body = event["body"].as_str().expect("a body").to_owned();
        assert_eq!(
            event,
            json!({
                "seq": seq, "event_id": format!("evt_{seq}"), "source": "daemon", "ref_id": run, "run_id": run,
                "group_id": ended["group_id"], "parent": world.document(&run)["parent_addr"], "status": status,
                "result_path": world.document(&run)["result_path"], "at": ended["finished_at"], "body": body,
                "idempotency_key": format!("daemon-terminal:{run}"),
            })
        );
        let expected = format!(
            "Daemon {run} {status}.\nInspect with daemon(action=\"check\", id=\"{run}\").\nTask: {task}\nRun directory: {}\n",
            directory.display()
        );
        assert!(body.starts_with(&expected), "{body}");
        match error.as_str() {
            None => assert!(
                body.ends_with(&format!(
                    "Result file: {}/result.txt\nPreview:\ng",
                    directory.display()
                )),
                "{body}"
            ),
            Some(error) => assert!(body.contains(&format!("\nError: {error}")), "{body}"),
        }
        let document = world.document(&run);
        assert_eq!(
            (&document["terminal_notified"], &document["notified_seq"]),
            (&json!(true), &json!(seq))
        );
        let priority = if n == 0 { "normal" } else { "high" };
        assert_eq!(world.notices()["priority"], priority);
    }
    assert_eq!(world.events().len(), 4);
}

#[test]
fn twenty_five_ends_leave_twenty_five_marks_and_the_newest_twenty_in_the_window() {
    let world = World::pushed();
    let _host = world.serve();
    let tasks: Vec<String> = (0..25).map(|n| format!("task {n}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let runs = world.dispatch(&tasks);
    for run in &runs {
        world.announced(run);
        assert!(world.file(run, ".notified").is_file());
    }
    let notices = world.notices();
    assert_eq!(
        (&notices["data"]["first_seq"], &notices["data"]["last_seq"]),
        (&json!(6), &json!(25))
    );
    assert_eq!(world.events().len(), 20);
    let (_, list) = world.json(&["emanate", "list", "--after-seq", "0"]);
    assert_eq!(list["total_matches"], 25);
    let (_, list) = world.json(&["emanate", "list", "--after-seq", "20"]);
    assert_eq!(list["total_matches"], 5);
}
