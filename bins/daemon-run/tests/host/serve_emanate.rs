//! Dispatched runs: their records, their limits, how they are stopped, and their parents.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::{World, no_process_of, until};

/// A child that ends when a file appears in its directory.
const WAITS: &str = "cat > /dev/null\necho begun\nwhile [ ! -e go ]; do sleep 0.05; done\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"went\"}'\n";

#[test]
fn two_tasks_make_one_group_of_two_recorded_runs() {
    let (world, host) = World::serving();
    let call = json!({"action": "emanate", "tasks": [
        {"task": "count the notes", "system_prompt": "You count.", "tools": null},
        {"task": "read the notes", "tools": ["file"]},
    ]});
    let reply = shown!(world.tool(&call), {"$?": 0});
    let group = reply["group_id"].as_str().expect("a group");
    assert_eq!(
        json!({"schema_version": 1, "status": "dispatched", "count": 2, "ids": ["em-1", "em-2"],
            "run_ids": reply["run_ids"], "group_id": group, "backend": "sh",
            "limits": {"timeout": 3600}}),
        reply
    );
    for (n, task) in [(0, "count the notes"), (1, "read the notes")] {
        let id = reply["run_ids"][n].as_str().expect("an id");
        assert!(id.starts_with(&format!("em-{}-20", n + 1)), "{id}");
        let run = world.announced(id);
        shows!(run, {
            "id": format!("em-{}", n + 1), "run_id": id, "group_id": group, "task": task, "status": "done",
            "result_preview": "noted",
        });
        assert_eq!(run["events"][0]["event"], "daemon_start");
        for name in [
            "daemon.json",
            ".prompt",
            ".heartbeat",
            ".lock",
            "outputs.jsonl",
            "logs/events.jsonl",
            "session",
            "result.txt",
            ".notified",
        ] {
            assert!(world.file(id, name).exists(), "{name}");
        }
        let prompt = fs::read_to_string(world.file(id, ".prompt")).expect("the prompt");
        assert!(prompt.ends_with(&format!("\n\nTask:\n{task}")), "{prompt}");
        let document = world.document(id);
        assert_eq!(document["call_parameters"]["cwd"], json!(world.desk()));
        assert_eq!(document["parent_pid"], host.pid());
    }
}

#[test]
fn a_text_is_the_task_of_one_run_and_a_misspelt_command_is_none() {
    let (world, _host) = World::serving();
    fs::create_dir_all(world.desk()).expect("a directory");
    let task = "count the notes; then \"read\" them";
    let reply = shown!(world.json(&["-C", "desk", "emanate", task]), {"$?": 0, "status": "dispatched", "count": 1});
    let run = world.announced(reply["run_ids"][0].as_str().expect("an id"));
    shows!(run, {"task": task, "status": "done"});
    let document = world.document(run["run_id"].as_str().expect("an id"));
    assert_eq!(document["call_parameters"]["cwd"], json!(world.desk()));
    let mut piped = world.command(&["-C", "desk", "emanate", "-", "--json"]);
    let mut child = piped
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, b"lst").expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let reply: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    shows!(world.announced(reply["run_ids"][0].as_str().expect("an id")), {"task": "lst"});
    let (code, reply) = world.json(&["emanate", "lst"]);
    assert_eq!(
        (code, &reply["error"]["message"]),
        (64, &json!("`emanate` has no command `lst`"))
    );
    let (code, _) = world.json(&["emanate", "a task", "--call", "call.json"]);
    assert_eq!(code, 64);
    assert_eq!(world.folders().len(), 2);
}

#[test]
fn what_is_above_a_ceiling_is_lowered_and_shown() {
    let world = World::pushed();
    fs::write(world.home.join("key"), "sk-test\n").expect("the key");
    world.configure(
        "[provider.llm]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:9/v1/\"\nkey_file = \"key\"\n",
    );
    let _host = world.serve();
    let call = json!({"action": "emanate", "backend": "llm", "max_turns": 5000, "timeout": 99999,
        "tasks": [{"task": "x"}]});
    let (_, reply) = world.tool(&call);
    assert_eq!(reply["limits"], json!({"max_turns": 1000, "timeout": 3600}));
    let id = reply["run_ids"][0].as_str().expect("an id");
    let document = world.document(id);
    shows!(document, {"max_turns": 1000, "timeout_s": 3600.0, "idle_timeout_s": null});
}

#[test]
fn a_long_prompt_and_one_that_begins_with_dashes_arrive_as_they_are() {
    let world = World::pushed();
    world.script("cat > got\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"x\"}'\n");
    let _host = world.serve();
    let task = format!("--help me\n{}", "é\u{0}\"".repeat(40_000));
    let role = "r".repeat(150_000);
    let call = json!({"action": "emanate", "tasks": [{"task": task, "system_prompt": role}]});
    let reply = shown!(world.tool(&call), {"$?": 0});
    let id = reply["run_ids"][0].as_str().expect("an id");
    let run = world.announced(id);
    let got = fs::read(world.desk().join("got")).expect("the child wrote it");
    assert!(got.len() > 300_000, "{}", got.len());
    assert!(got.ends_with(format!("Task:\n{task}").as_bytes()));
    let hash = daemon_run_folder::sha256(&got);
    assert_eq!(world.document(id)["prompt_sha256"], hash.as_str());
    assert_eq!(run["result_preview"], "x", "one character is a result");
    assert_eq!(world.document(id)["task"], task.as_str());
}

#[test]
fn a_removed_program_fails_its_run_with_its_name() {
    let (world, _host) = World::serving();
    fs::remove_file(world.beside("agent.sh")).expect("it is there");
    let id = &world.dispatch(&["do it"])[0];
    let run = world.announced(id);
    shows!(run, {"status": "failed", "error.type": "spawn"});
    let message = run["error"]["message"].as_str().expect("a message");
    assert!(message.contains("agent.sh"), "{message}");
    assert_eq!(world.events()[0]["status"], "failed");
}

#[test]
fn a_deadline_ends_only_its_batch_and_a_later_reclaim_changes_no_reason() {
    let world = World::pushed();
    world.script(
        "read -r _\nif grep -q quick; then echo '{\"daemon\":\"result\",\"ok\":true,\"text\":\"q\"}'; exit 0; fi\n\
         trap '' TERM\n(setsid sleep 1000 &)\nsleep 1001 & wait; wait; sleep 1002\n",
    );
    let _host = world.serve();
    let begun = Instant::now();
    let quick = world.dispatch_within(&["quick"], 5).remove(0);
    let slow = world.dispatch_within(&["silent"], 5).remove(0);
    let other = world.dispatch(&["goes on"]).remove(0);
    let done = steady(world.announced(&quick));
    until("the deadline has passed", || {
        world.document(&slow)["cli_termination"].is_object()
    });
    // It ignores the first signal, so that there is time to reclaim it.
    shows!(world.json(&["emanate", "reclaim", &slow]), {"$?": 0, "natural_terminal": 1});
    let ended = world.announced(&slow);
    assert!(
        begun.elapsed() < Duration::from_secs(5 + 7 + 3),
        "{:?}",
        begun.elapsed()
    );
    shows!(ended, {"status": "timeout", "error.type": "timeout", "cli_termination.reason": "timeout"});
    no_process_of(&slow);
    assert_eq!(world.check(&other)["status"], "running");
    assert_eq!(
        steady(world.check(&quick)),
        done,
        "its deadline passed without a trace"
    );
    assert_eq!(world.events().len(), 2);
}

/// Takes what changes from check to check out of a reply.
fn steady(mut reply: Value) -> Value {
    reply["heartbeat_age_s"].take();
    // A slow machine is asked more often than a quick one.
    reply["_advisory"].take();
    reply
}

#[test]
fn reclaiming_confirms_deaths_keeps_folders_and_begins_to_count_again() {
    let world = World::pushed();
    world.script(WAITS);
    let _host = world.serve();
    let runs = world.dispatch(&["one", "two", "three"]);
    let other = world.dispatch(&["four"]).remove(0);
    for run in runs.iter().chain([&other]) {
        until("it has begun", || {
            world.check(run)["last_output"].is_string()
        });
    }
    let live = world.check("em-2");
    shows!(live, {"run_id": runs[1], "source": "live", "ambiguous": null});
    let (_, list) = world.json(&["emanate", "list"]);
    shows!(list, {"running": 4, "max_emanations": 100});
    let group = live["group_id"].as_str().expect("a group");
    let reply = shown!(world.json(&["emanate", "reclaim", "--group-id", group]), {"$?": 0});
    assert_eq!(
        reply,
        json!({"schema_version": 1, "status": "reclaimed", "cancelled": 3, "natural_terminal": 0, "pending": 0})
    );
    for run in &runs {
        no_process_of(run);
        let ended = world.announced(run);
        shows!(ended, {"status": "cancelled", "error.type": "reclaim", "error.class": "final"});
    }
    let (_, reply) = world.json(&["emanate", "reclaim"]);
    assert_eq!(reply["cancelled"], 1);
    assert_eq!(world.folders().len(), 4, "folders are kept");
    let again = world.dispatch(&["five"]).remove(0);
    assert!(again.starts_with("em-1-"), "{again}");
    let (_, reply) = world.json(&["emanate", "reclaim", &runs[0]]);
    shows!(reply, {"cancelled": 0, "natural_terminal": 1});
    shows!(world.json(&["emanate", "reclaim", "em-77"]), {"$?": 66, "error.message": "Unknown emanation: em-77"});
}

#[test]
fn each_parent_has_its_own_numbers_and_is_warned_of_repeated_calls() {
    let (world, host) = World::serving();
    let mut rpc = Rpc::initialized(host.socket());
    let cwd = world.repo.display().to_string();
    let mut id = String::new();
    for parent in ["mcp:editor#00000001", "mcp:editor#0000000a"] {
        let call = json!({"action": "emanate", "parent_addr": parent, "cwd": cwd, "tasks": [{"task": "x"}]});
        let mut answer = rpc.call("run/call", &call);
        assert_eq!(answer["result"]["ids"], json!(["em-1"]), "{answer}");
        id = answer["result"]["run_ids"][0]
            .take()
            .as_str()
            .expect("an id")
            .to_owned();
        assert_eq!(world.document(&id)["parent_addr"], parent);
    }
    world.announced(&id);
    drop(rpc);
    let mut rpc = Rpc::initialized(host.socket());
    let check = json!({"action": "check", "id": id, "parent_addr": "mcp:editor#00000001"});
    let mut told = Vec::new();
    for _ in 0..5 {
        let mut answer = rpc.call("run/call", &check);
        told.push(answer["result"]["_advisory"].take());
    }
    assert_eq!(told[..3], [Value::Null, Value::Null, Value::Null]);
    shows!(told, {"3.type": "duplicate_tool_call", "3.severity": "caution", "3.repeat_count": 4, "3.blocked": false});
    assert_eq!(told[4]["severity"], "warning");
    for parent in ["daemon:x", "mcp:editor", "mcp:#00000001", "mcp:editor#1"] {
        let wrong = rpc.call(
            "run/call",
            &json!({"action": "list", "parent_addr": parent}),
        );
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    }
}

#[test]
fn a_run_of_an_activation_is_not_reclaimed() {
    let (world, host) = World::serving();
    let fired = shown!(world.json(&["fire", "pusher"]), {"$?": 0});
    let run = fired["runs"][0]["id"].as_str().expect("an id");
    let activation = fired["activation"]["id"].as_str().expect("an id");
    shows!(world.json(&["emanate", "reclaim", run]), {
        "$?": 64, "error.message": format!("{run} belongs to activation {activation}"),
    });
    let (_, list) = world.json(&["emanate", "list"]);
    shows!(list, {"emanations.0.activation.activation_id": activation});
    drop(host);
}

#[test]
fn a_dispatched_run_can_be_listed_shown_and_cancelled_as_every_other() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    let id = world.dispatch(&["wait"]).remove(0);
    let row = &host.list("runs")[0];
    shows!(row, {"id": id, "state": "running", "activation_id": null});
    let answer = host.ask("POST", &format!("/api/v1/runs/{id}/cancel"), &Value::Null);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.json()["state"], "cancelled");
    let answer = host.ask(
        "POST",
        &format!("/api/v1/runs/{id}/ask"),
        &json!({"message": "why?"}),
    );
    shows!(answer, {"HTTP": 409, "ok": false});
    shows!(host.ask("POST", "/api/v1/runs/em-9/cancel", &Value::Null), {"HTTP": 404});
    assert_eq!(steady(world.check(&id))["status"], "cancelled");
}

#[test]
fn a_stopping_host_cancels_dispatched_runs_with_that_reason() {
    let world = World::pushed();
    world.script(WAITS);
    world.configure("[host]\ndrain = \"6s\"\n");
    let host = world.serve();
    let id = world.dispatch(&["wait"]).remove(0);
    until("it has begun", || {
        world.check(&id)["last_output"].is_string()
    });
    let (code, _) = host.stop();
    assert_eq!(code, Some(0));
    no_process_of(&id);
    let run = world.check(&id);
    shows!(run, {"status": "cancelled", "error.type": "agent_stop", "error.class": "retryable", "notified_seq": 1});
}
