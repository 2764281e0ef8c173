//! Agents of conversations that dispatch one-off runs and read the roster.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};

use daemon_fakes::{ModelApi, Reply};
use serde_json::{Value, json};

use crate::conversing::{add_agent, api, call, history, of, world};
use crate::rpc::Rpc;
use crate::world::Host;

/// Sends a message, and returns the outputs of the tools of its turn, each with whether it is an error.
fn outputs(host: &Host, params: &Value) -> Vec<(Value, bool)> {
    let n_before = call(host, "conversation/history", &json!({}));
    let n_before = n_before["result"]["lines"].as_array().map_or(0, Vec::len);
    let mut rpc = Rpc::initialized(host.socket());
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/send", "params": of(params)});
    rpc.line(&request.to_string());
    let said = rpc.response();
    shows!(said, {"result.outcome": "done"});
    let lines = history(host).split_off(n_before);
    let tools = lines.into_iter().filter(|line| line["type"] == "tool");
    let outputs = tools.map(|line| {
        let text = line["output"].as_str().expect("a text");
        let output = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        (output, line["is_error"] == true)
    });
    outputs.collect()
}

fn daemon(call: &Value) -> Reply {
    Reply::call("daemon", call.clone())
}

fn emanate(task: &Value) -> Reply {
    daemon(&json!({"action": "emanate", "wait": 120, "tasks": [task]}))
}

#[test]
fn an_agent_dispatches_runs_and_reaches_its_own_only() {
    let script = Arc::new(Mutex::new(VecDeque::from([Reply::text("Not for agents.")])));
    let replies = Arc::clone(&script);
    let next = move |_: &_| {
        let next = replies.lock().expect("no holder panics").pop_front();
        next.unwrap_or_else(|| Reply::error(500, "the script is over"))
    };
    let api = ModelApi::scripted(next).expect("a port");
    let world = world(&api, "");
    let host = world.serve();
    let theirs = world.dispatch(&["a secret of the owner"]).remove(0);
    world.announced(&theirs);
    script.lock().expect("no holder panics").extend([
        emanate(&json!({"task": "Count."})),
        // The run's own reply: the turn waits for it.
        Reply::text("Counted: 3."),
        // The turn itself has the first number.
        daemon(&json!({"action": "check", "id": "em-2"})),
        daemon(&json!({"action": "list"})),
        daemon(&json!({"action": "check", "id": theirs})),
        daemon(&json!({"action": "ask", "id": theirs, "message": "Well?"})),
        daemon(&json!({"action": "reclaim", "id": theirs})),
        Reply::text("Done."),
    ]);
    let outputs = outputs(&host, &json!({"content": "Have it counted."}));
    let [dispatched, checked, listed, refused @ ..] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    shows!(dispatched.0, {
        "status": "dispatched", "emanations.0.status": "done", "emanations.0.result_preview": "Counted: 3.",
        "emanations.0.parent_addr": "agent:scout",
    });
    shows!(checked.0, {"status": "done", "parent_addr": "agent:scout"});
    shows!(listed.0, {"showing": 1, "emanations.0.parent_addr": "agent:scout"});
    assert!(!listed.0.to_string().contains("a secret of the owner"));
    let none = (json!(format!("error: no run of yours `{theirs}`")), true);
    assert_eq!(refused, [none.clone(), none.clone(), none]);
    // The run of the owner is as it was.
    shows!(world.check(&theirs), {"status": "done"});
}

#[test]
fn a_run_of_an_agent_reaches_no_directory_outside_of_its_conversation_and_no_other_parent() {
    let api = api([
        emanate(&json!({"task": "Read.", "cwd": "/etc"})),
        emanate(&json!({"task": "Read.", "cwd": "../.."})),
        emanate(&json!({"task": "Read.", "skills": ["/etc"]})),
        daemon(&json!({"action": "emanate", "parent_addr": "cli:0", "tasks": [{"task": "Read."}]})),
        emanate(&json!({"task": "Read.", "mcp": []})),
        Reply::text("Done."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    let outputs = outputs(&host, &json!({"content": "Go out."}));
    assert_eq!(outputs.len(), 5);
    assert!(outputs.iter().all(|(_, is_error)| *is_error), "{outputs:?}");
    assert_eq!(outputs[0].0, json!("error: an agent may not name `/etc`"));
    assert_eq!(world.folders(), Vec::<String>::new());
}

#[test]
fn a_run_of_an_agent_works_in_the_directory_of_its_conversation() {
    let api = api([
        Reply::call(
            "daemon",
            json!({"action": "emanate", "wait": 120, "tasks": [{"task": "a"}, {"task": "b", "cwd": "sub"}]}),
        ),
        Reply::text("Run."),
        Reply::text("Run."),
        Reply::text("Done."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    let desk = world.desk();
    fs::create_dir_all(desk.join("sub")).expect("a directory");
    let outputs = outputs(&host, &json!({"content": "Go.", "cwd": desk}));
    let directories = |n: usize| outputs[0].0["emanations"][n]["call_parameters"]["cwd"].clone();
    let expected = [desk.clone(), desk.join("sub")].map(|path| json!(path));
    let found = [directories(0), directories(1)].map(|path| {
        let path = path.as_str().expect("a path").trim_end_matches('/');
        json!(path)
    });
    assert_eq!(found, expected);
}

#[test]
fn the_scope_of_an_agent_decides_whether_it_has_runs_and_the_roster() {
    let api = api([
        Reply::call("recall_roster", json!({})),
        Reply::text("Seen."),
        Reply::text("Nothing."),
    ]);
    let world = world(&api, "");
    add_agent(
        &world,
        "description: Finds things.\ntools: [recall_roster, list]\n",
    );
    let host = world.serve();
    let outputs = outputs(&host, &json!({"content": "Who is alive?"}));
    let rows = outputs[0].0["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["kind"] == "host"), "{rows:?}");
    let offered = || {
        let last = api.received().pop().expect("it was called");
        let tools = last.body["tools"].as_array().cloned().unwrap_or_default();
        let names = tools.iter().map(|tool| tool["function"]["name"].clone());
        names.collect::<Vec<_>>()
    };
    let (has, has_not) = (json!("recall_roster"), json!("daemon"));
    assert!(
        offered().contains(&has) && !offered().contains(&has_not),
        "{:?}",
        offered()
    );
}
