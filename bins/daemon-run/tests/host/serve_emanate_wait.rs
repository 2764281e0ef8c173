//! Calls that wait for the ends of runs.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::rpc::Rpc;
use crate::world::{World, eventually};

/// A child that ends when a file appears in its directory.
const WAITS: &str = "cat > /dev/null\necho begun\nwhile [ ! -e go ]; do sleep 0.05; done\necho '{\"daemon\":\"result\",\"ok\":true,\"text\":\"went\"}'\n";

fn go(world: &World) {
    fs::write(world.desk().join("go"), "").expect("a file");
}

/// Returns the id of the only run, once its program has printed something.
fn only_run(world: &World) -> String {
    let id = eventually("a run is there", || world.folders().pop());
    world.begun(&id);
    id
}

#[test]
fn a_batch_that_waits_returns_its_entries_at_the_end_of_all_runs() {
    let world = World::pushed();
    world.script(WAITS);
    let _host = world.serve();
    fs::create_dir_all(world.desk()).expect("a directory");
    let call = json!({"action": "emanate", "wait": 600, "cwd": "desk",
        "tasks": [{"task": "one"}, {"task": "two"}]});
    fs::write(world.beside("wait.json"), call.to_string()).expect("the call");
    let waiting = world.begin(&["emanate", "--call", "wait.json", "--json"]);
    eventually("two runs are there", || {
        (world.folders().len() == 2).then_some(())
    });
    for id in world.folders() {
        world.begun(&id);
    }
    go(&world);
    let (code, reply) = waiting.json();
    assert_eq!(code, 0, "{reply}");
    shows!(reply, {
        "status": "dispatched", "count": 2,
        "emanations.0.id": "em-1", "emanations.0.status": "done", "emanations.0.result_preview": "went",
        "emanations.1.id": "em-2", "emanations.1.status": "done", "emanations.1.run_id": reply["run_ids"][1],
    });
}

#[test]
fn a_check_waits_for_the_end_or_for_its_time() {
    let world = World::pushed();
    world.script(WAITS);
    let _host = world.serve();
    let id = world.dispatch(&["one"]).remove(0);
    world.begun(&id);
    let begun = Instant::now();
    let early = shown!(world.json(&["emanate", "check", &id, "--wait", "1"]), {"$?": 0});
    assert!(begun.elapsed() >= Duration::from_secs(1));
    shows!(early, {"run_id": id.as_str(), "status": "running"});
    let waiting = world.begin(&["emanate", "check", "em-1", "--wait", "600", "--json"]);
    go(&world);
    let (code, late) = waiting.json();
    assert_eq!(code, 0, "{late}");
    shows!(late, {"run_id": id.as_str(), "status": "done", "result_preview": "went", "source": "history"});
    let begun = Instant::now();
    shows!(shown!(world.json(&["emanate", "check", &id, "--wait", "600"]), {"$?": 0}), {"status": "done"});
    assert!(begun.elapsed() < Duration::from_secs(60), "it has ended");
}

#[test]
fn a_time_to_wait_is_a_number_and_waiting_calls_are_no_repetitions() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    let id = world.dispatch(&["one"]).remove(0);
    let mut rpc = Rpc::initialized(host.socket());
    let mut check = |wait: Value| {
        rpc.call(
            "run/call",
            &json!({"action": "check", "id": id, "wait": wait}),
        )
    };
    for wait in [json!(-1), json!("60"), json!(true)] {
        let refused = check(wait.clone());
        shows!(refused, {
            "error.data.code": "invalid-params", "error.message": "wait must be a number of at least 0",
        }, "{wait}");
    }
    for _ in 0..5 {
        let reply = check(json!(0.01));
        shows!(reply, {"result.status": "running"});
        assert_eq!(reply["result"].get("_advisory"), None, "{reply}");
    }
    go(&world);
    world.announced(&id);
}

#[test]
fn a_time_to_wait_above_an_hour_is_lowered_and_shown() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    fs::create_dir_all(world.desk()).expect("a directory");
    go(&world);
    let mut rpc = Rpc::initialized(host.socket());
    let call = json!({"action": "emanate", "wait": 99_999, "cwd": world.desk(), "timeout": 60, "tasks": [{"task": "one"}]});
    rpc.line(&json!({"jsonrpc": "2.0", "id": 1, "method": "run/call", "params": call}).to_string());
    let reply = rpc.response();
    shows!(reply, {"result.limits": {"timeout": 60, "wait": 3_600}, "result.emanations.0.status": "done"});
    for (asked, shown) in [
        (json!(99_999), json!({"wait": 3_600})),
        (json!(1.5), json!({"wait": 1.5})),
    ] {
        let call = json!({"action": "check", "id": reply["result"]["run_ids"][0], "wait": asked});
        rpc.line(
            &json!({"jsonrpc": "2.0", "id": 2, "method": "run/call", "params": call}).to_string(),
        );
        shows!(rpc.response(), {"id": 2, "result.limits": shown, "result.status": "done"});
    }
}

#[test]
fn a_client_that_stops_waiting_ends_no_run_and_its_other_requests_are_answered() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    let id = world.dispatch(&["one"]).remove(0);
    let mut rpc = Rpc::initialized(host.socket());
    let params = json!({"action": "check", "id": id, "wait": 600});
    for n in 10..16 {
        let request = json!({"jsonrpc": "2.0", "id": n, "method": "run/call", "params": params});
        rpc.line(&request.to_string());
    }
    shows!(rpc.call("ping", &json!({})), {"id": 1});
    shows!(rpc.call("daemon/list", &json!({})), {"id": 1});
    for n in 10..15 {
        let cancel = json!({"jsonrpc": "2.0", "method": "cancel", "params": {"request_id": n}});
        rpc.line(&cancel.to_string());
        shows!(rpc.answer(), {"id": n, "error.data.code": "cancelled"});
    }
    // A client that sends nothing more gets the state at once.
    rpc.close_writing();
    shows!(rpc.answer(), {"id": 15, "result.status": "running"});
    go(&world);
    shows!(world.announced(&id), {"status": "done"});
}

#[test]
fn a_stop_of_the_host_answers_those_who_wait() {
    let world = World::pushed();
    world.script(WAITS);
    let host = world.serve();
    let id = world.dispatch(&["one"]).remove(0);
    world.begun(&id);
    let mut rpc = Rpc::initialized(host.socket());
    let params = json!({"action": "check", "id": id, "wait": 600});
    let request = json!({"jsonrpc": "2.0", "id": 2, "method": "run/call", "params": params});
    rpc.line(&request.to_string());
    shows!(rpc.call("ping", &json!({})), {"id": 1});
    host.signal(rustix::process::Signal::TERM);
    go(&world);
    let reply = rpc.response();
    shows!(reply, {"id": 2, "result.status": "done"});
}

#[test]
fn a_client_of_mcp_that_asks_for_progress_gets_it_while_it_waits() {
    let world = World::pushed();
    world.script(WAITS);
    let _host = world.serve();
    fs::create_dir_all(world.desk()).expect("a directory");
    let mut command = world.command(&["mcp"]);
    command.current_dir(world.desk());
    let mut client = Client::over(&mut command, "editor");
    let arguments = json!({"action": "emanate", "wait": 600, "tasks": [{"task": "one"}]});
    let params =
        json!({"name": "daemon", "arguments": arguments, "_meta": {"progressToken": "p1"}});
    client.begin("tools/call", &params);
    let progress = client.read();
    shows!(progress, {"method": "notifications/progress", "params.progressToken": "p1", "params.progress": 1.0});
    let id = only_run(&world);
    go(&world);
    let answer = client.answer();
    shows!(answer, {
        "result.structuredContent.emanations.0.run_id": id.as_str(),
        "result.structuredContent.emanations.0.status": "done",
    });
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_client_of_mcp_that_knows_tasks_waits_for_runs_in_a_task() {
    let world = World::pushed();
    world.script(WAITS);
    let _host = world.serve();
    fs::create_dir_all(world.desk()).expect("a directory");
    let mut command = world.command(&["mcp"]);
    command.current_dir(world.desk());
    let mut client = Client::over(&mut command, "editor");
    let knows = json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let begin = |client: &mut Client, arguments: &Value| {
        let params = json!({"name": "daemon", "arguments": arguments, "_meta": knows});
        let begun = client.ask("tools/call", &params);
        shows!(begun, {"result.resultType": "task", "result.status": "working"});
        json!({"taskId": begun["result"]["taskId"], "_meta": knows})
    };
    let emanate = json!({"action": "emanate", "wait": 600, "tasks": [{"task": "one"}]});
    let batch = begin(&mut client, &emanate);
    let id = only_run(&world);
    // A client that gives a task up ends no run.
    let check = begin(
        &mut client,
        &json!({"action": "check", "id": id, "wait": 600}),
    );
    shows!(client.ask("tasks/cancel", &check), {"result.resultType": "complete"});
    eventually("the task was cancelled", || {
        let state = client.ask("tasks/get", &check);
        (state["result"]["status"] == "cancelled").then_some(())
    });
    shows!(client.ask("tasks/get", &batch), {"result.status": "working"});
    go(&world);
    let ended = eventually("the task has ended", || {
        let state = client.ask("tasks/get", &batch)["result"].take();
        (state["status"] == "completed").then_some(state)
    });
    shows!(ended, {
        "result.structuredContent.emanations.0.run_id": id.as_str(),
        "result.structuredContent.emanations.0.status": "done",
    });
    assert_eq!(client.end(), Some(0));
}
