//! Ends as they were: after a result, by a stop of the host, and within the limits that hold.

use std::fs::{self, File};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::world::{World, eventually, processes_with, until};

/// Prints usage and a result, then stays until it is allowed to go.
const STAYS: &str = include_str!("programs/emanate-ends-stays.sh");

/// A stand-in for `claude`: it prints its session and ends at once; resumed, it hangs if the message requests that.
const AGENT: &str = r#"message=$(cat)
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
case "$* $message" in *--resume*hang) sleep 1000;; esac
printf '{"type":"result","subtype":"success","is_error":false,"result":"caf\351"}\n'
"#;

fn agents(script: &str) -> World {
    World::of_claude(script, "[host]\ndrain = \"1s\"\n")
}

/// Returns the first follow-up of a run: its state, and the type and class of its error.
fn reply(world: &World, id: &str) -> Value {
    let reply = world.document(id)["followups"][0].take();
    json!([
        reply["state"],
        reply["error"]["type"],
        reply["error"]["class"]
    ])
}

#[test]
fn a_deadline_after_the_result_leaves_the_run_done_and_its_usage_counted() {
    let world = World::pushed();
    world.script(STAYS);
    let _host = world.serve();
    let run = world.dispatch_within(&["x"], 5).remove(0);
    eventually("its deadline has passed", || {
        let shown = world.check(&run);
        let is_late = shown["elapsed_s"].as_f64()? > 6.0;
        (is_late || shown["status"] != "running").then_some(())
    });
    fs::write(world.desk().join("go"), "").expect("a file");
    world.announced(&run);
    let document = world.document(&run);
    shows!(document, {"state": "done", "result_preview": "fixed", "cli_tokens.input": 5, "cli_termination": null});
}

#[test]
fn a_follow_up_that_the_host_stops_is_cancelled_and_announced() {
    let world = agents(AGENT);
    let host = world.serve();
    let run = world.dispatch(&["begin"]).remove(0);
    world.announced(&run);
    // A byte that is not UTF-8 does not make a result unreadable.
    let text = fs::read_to_string(world.file(&run, "result.txt")).expect("the result");
    assert_eq!(text, "caf\\xe9");
    let (_, sent) = world.json(&["ask", &run, "hang"]);
    assert_eq!(sent["status"], "sent", "{sent}");
    until("it is resumed", || {
        !processes_with(&format!("DAEMON_RUN_ID={run}")).is_empty()
    });
    host.stop();
    assert_eq!(
        reply(&world, &run),
        json!(["cancelled", "agent_stop", "retryable"])
    );
    let events = world.events();
    let told = events.last().expect("two events");
    shows!(told, {"idempotency_key": format!("daemon-followup:{run}:1"), "status": "follow-up failed"});
}

#[test]
fn a_reclaimed_run_takes_no_message() {
    let script = AGENT.replace("case", "[ -e go ] || sleep 1000\ncase");
    let world = agents(&script);
    let _host = world.serve();
    let run = world.dispatch(&["begin"]).remove(0);
    until("the session is known", || {
        world.document(&run)["claude_session_id"].is_string()
    });
    shows!(world.json(&["emanate", "reclaim", &run]), {"$?": 0, "cancelled": 1});
    world.announced(&run);
    fs::write(world.desk().join("go"), "").expect("a file");
    shows!(world.json(&["ask", &run, "still there?"]), {
        "$?": 64, "error.code": "reclaimed", "error.message": "reclaimed",
    });
    assert_eq!(world.document(&run)["followups"], json!([]));
}

#[test]
fn an_accepted_message_outlives_its_host() {
    let script = AGENT.replace("case", "[ -e go ] || sleep 1000\ncase");
    let world = agents(&script);
    let host = world.serve();
    let run = world.dispatch(&["begin"]).remove(0);
    until("the session is known", || {
        world.document(&run)["claude_session_id"].is_string()
    });
    let (_, sent) = world.json(&["ask", &run, "so?"]);
    shows!(sent, {"status": "sent", "queued": true});
    host.kill();
    let _host = world.serve();
    world.announced(&run);
    assert_eq!(world.replied(&run, 1)["status"], "follow-up failed");
    assert_eq!(
        reply(&world, &run),
        json!(["failed", "DaemonOrphaned", "retryable"])
    );
}

#[test]
fn an_answer_that_cannot_be_written_is_kept_until_it_can() {
    let world = agents(AGENT);
    let _host = world.serve();
    let run = world.dispatch(&["begin"]).remove(0);
    world.announced(&run);
    let place = world.file(&run, "followup-1.txt");
    // A directory in its place cannot be replaced by a file.
    fs::create_dir(&place).expect("a directory");
    let (_, sent) = world.json(&["ask", &run, "so?"]);
    assert_eq!(sent["status"], "sent", "{sent}");
    until("the log names the file", || {
        world.log().contains("followup-1.txt")
    });
    fs::remove_dir(&place).expect("it is empty");
    let announced = world.replied(&run, 1);
    shows!(announced, {"status": "follow-up completed", "result_path": place});
    assert_eq!(fs::read_to_string(&place).expect("the reply"), "caf\\xe9");
}

#[test]
fn an_answer_whose_folder_is_deleted_is_announced_with_its_text() {
    let script = AGENT.replace("sleep 1000", "while [ ! -e go ]; do sleep 0.02; done");
    let world = agents(&script);
    let _host = world.serve();
    let run = world.dispatch(&["begin"]).remove(0);
    world.announced(&run);
    let (_, sent) = world.json(&["ask", &run, "hang"]);
    assert_eq!(sent["status"], "sent", "{sent}");
    until("it is resumed", || {
        !processes_with(&format!("DAEMON_RUN_ID={run}")).is_empty()
    });
    // The host writes into the folder meanwhile: deleted in place, it could gain a file before the directory is removed.
    let moved = world.desk().join("deleted");
    fs::rename(world.file(&run, ""), &moved).expect("a move");
    fs::remove_dir_all(&moved).expect("a removal");
    fs::write(world.desk().join("go"), "").expect("a file");
    let announced = world.replied(&run, 1);
    shows!(announced, {"status": "follow-up completed", "result_path": null});
    let body = announced["body"].as_str().expect("a body");
    assert!(body.ends_with("Preview:\ncaf\\xe9"), "{body}");
}

#[test]
fn a_run_that_is_reclaimed_while_it_is_asked_takes_no_message() {
    let world = agents(AGENT);
    let _host = world.serve();
    let run = world.dispatch(&["begin"]).remove(0);
    world.announced(&run);
    // Only the owner of the lock writes the folder. The host has read the run and waits for the lock.
    let path = world.file(&run, ".lock");
    let lock = File::open(&path).expect("the lock");
    flock(&lock, FlockOperation::LockExclusive).expect("the run has ended");
    let opened = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("a watch");
    inotify::add_watch(&opened, &path, WatchFlags::OPEN).expect("a watch");
    let asking = world.begin(&["ask", "--json", &run, "still there?"]);
    let mut event = [0; 1024];
    eventually("the host waits for the lock", || {
        rustix::io::read(&opened, &mut event).ok()
    });
    let mut document = world.document(&run);
    document["state"] = json!("cancelled");
    document["error"] = json!({"type": "reclaim", "message": "reclaimed", "class": "final"});
    let new = world.file(&run, "daemon.tmp");
    fs::write(&new, document.to_string()).expect("a file");
    fs::rename(&new, world.file(&run, "daemon.json")).expect("a file");
    drop(lock);
    shows!(asking.json(), {"$?": 64, "error.code": "reclaimed"});
    shows!(world.document(&run), {"state": "cancelled", "followups": []});
}

#[test]
fn only_limits_that_hold_are_shown() {
    let shown = |world: &World, run: &str| {
        let document = world.document(run);
        json!([
            document["max_turns"],
            document["budget"],
            document["timeout_s"]
        ])
    };
    let world = agents(AGENT);
    let _host = world.serve();
    let (_, reply) = world.tool(&json!({"max_turns": 7, "tasks": [{"task": "x"}]}));
    assert_eq!(reply["limits"], json!({"timeout": 3600}));
    let run = reply["run_ids"][0].as_str().expect("an id");
    // `claude` keeps its budget itself, and has no number of turns.
    assert_eq!(shown(&world, run), json!([null, {"usd": 1.0}, 3600.0]));
    world.announced(run);

    let world = World::pushed();
    world.script(
        r#"task=$(tail -n 1)
echo '{"daemon":"usage","input":1,"cost_usd":0.6}'
[ "$task" = cheap ] || echo '{"daemon":"usage","input":1,"cost_usd":0.6}'
echo begun
while [ ! -e go ]; do sleep 0.02; done
"#,
    );
    let _host = world.serve();
    let runs = world.dispatch(&["cheap", "dear"]);
    world.announced(&runs[1]);
    let document = world.document(&runs[1]);
    shows!(document, {"state": "failed", "error.type": "budget", "error.class": "final"});
    until("its price is known", || {
        shown(&world, &runs[0]) == json!([null, {"usd": 1.0}, 3600.0])
    });
    fs::write(world.desk().join("go"), "").expect("a file");
    world.announced(&runs[0]);
    world.script("cat > /dev/null\necho 'no word of its price'\n");
    let run = world.dispatch(&["x"]).remove(0);
    world.announced(&run);
    assert_eq!(shown(&world, &run), json!([null, {}, 3600.0]));
}

#[test]
fn a_run_whose_folder_is_deleted_ends_and_is_announced() {
    let world = World::pushed();
    world.script("cat > /dev/null\necho up\nwhile [ ! -e go ]; do sleep 0.02; done\n");
    let _host = world.serve();
    let runs = world.dispatch(&["a", "b"]);
    for run in &runs {
        world.begun(run);
        fs::remove_dir_all(world.file(run, "")).expect("the folder goes");
    }
    // It can still be ended by its id, and the other one ends by itself.
    shows!(world.json(&["emanate", "reclaim", &runs[0]]), {"$?": 0, "cancelled": 1});
    fs::write(world.desk().join("go"), "").expect("a file");
    until("nothing runs", || {
        let (_, list) = world.json(&["emanate", "list"]);
        list["running"] == 0
    });
    let told = eventually("both were announced", || {
        Some(world.events()).filter(|events| events.len() == 2)
    });
    let mut told: Vec<Value> = told
        .iter()
        .map(|event| json!([event["run_id"], event["status"]]))
        .collect();
    told.sort_by_key(Value::to_string);
    assert_eq!(
        told,
        [json!([runs[0], "cancelled"]), json!([runs[1], "done"])]
    );
    assert!(world.folders().is_empty(), "{:?}", world.folders());
}

#[test]
fn a_run_whose_folder_is_deleted_after_its_host_died_is_not_listed_as_running() {
    let world = World::pushed();
    world.script("cat > /dev/null\necho up\nexec sleep 1000\n");
    let host = world.serve();
    let runs = world.dispatch(&["a", "b"]);
    for run in &runs {
        until("it is up", || {
            world.document(run)["last_output"].is_string()
        });
    }
    host.kill();
    fs::remove_dir_all(world.file(&runs[0], "")).expect("the folder goes");
    let host = world.serve();
    world.announced(&runs[1]);
    let states = || -> Vec<Value> {
        let rows = host.list("runs").into_iter();
        let states =
            rows.map(|run| json!([run["id"], run["state"], run["finished_at"] != Value::Null]));
        let mut states: Vec<Value> = states.collect();
        states.sort_by_key(Value::to_string);
        states
    };
    until("nothing runs", || {
        states().iter().all(|run| run[1] != "running")
    });
    assert_eq!(
        states(),
        [
            json!([runs[0], "unknown", true]),
            json!([runs[1], "failed", true])
        ]
    );
    assert_eq!(host.get("runs?state=running")["runs"], json!([]));
}

#[test]
fn orphans_are_announced_oldest_first() {
    let world = World::pushed();
    world.script("cat > /dev/null\necho up\nexec sleep 1000\n");
    let host = world.serve();
    let mut runs = Vec::new();
    for task in ["a", "b", "c"] {
        let run = world.dispatch(&[task]).remove(0);
        world.begun(&run);
        runs.push(run);
    }
    host.kill();
    let _host = world.serve();
    for run in &runs {
        world.announced(run);
    }
    let announced: Vec<Value> = world
        .events()
        .iter()
        .map(|event| json!([event["seq"], event["run_id"]]))
        .collect();
    let expected: Vec<Value> = (1..)
        .zip(&runs)
        .map(|(seq, run)| json!([seq, run]))
        .collect();
    assert_eq!(announced, expected);
}
