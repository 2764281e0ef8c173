//! Coding agents as dispatched runs: a stand-in plays transcripts, and the run folder records them.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{World, eventually};

/// Plays the file of its directory that its task names, and exits with the code in it.
const PLAYS: &str = "name=$(tail -n 1)\ncat \"$name.out\"\n[ -e \"$name.err\" ] && cat \"$name.err\" >&2\n\
                     exit \"$(cat \"$name.exit\" 2>/dev/null || echo 0)\"\n";

/// Makes a world in which each agent is the same stand-in.
pub(crate) fn world(script: &str) -> World {
    let world = World::pushed();
    world.script(script);
    let program = world.beside("agent.sh").display().to_string();
    let agents = ["claude", "codex", "opencode"];
    let agents = agents.map(|name| format!("[provider.{name}]\ncommand = {program:?}\n"));
    world.watch_with(&format!(
        "[provider]\ndefault = \"claude\"\n\n{}",
        agents.join("\n")
    ));
    fs::create_dir_all(world.desk()).expect("a directory");
    world.unconfined();
    world
}

impl World {
    /// Dispatches runs by one provider, and returns their ids.
    pub(crate) fn dispatch_to(&self, backend: &str, tasks: &[&str]) -> Vec<String> {
        let tasks: Vec<Value> = tasks.iter().map(|task| json!({"task": task})).collect();
        let call = json!({"action": "emanate", "backend": backend, "tasks": tasks});
        let reply = shown!(self.tool(&call), {"$?": 0});
        let ids = reply["run_ids"].as_array().expect("a list").iter();
        ids.map(|id| id.as_str().expect("an id").to_owned())
            .collect()
    }
}

/// What agents print, and what their runs come to: the state, the error, the session, `[input, cached, output, calls]`, and
/// the text; and the event log between its first line and the mark of the provider's end.
const PRINTED: &str = include_str!("programs/agents-print.json");

#[test]
fn what_an_agent_prints_is_in_its_folder_and_in_its_notice() {
    let world = world(PLAYS);
    let printed: Vec<Value> = serde_json::from_str(PRINTED).expect("it is JSON");
    for one in &printed {
        let place = world.desk().join(one.text("name"));
        let lines = one["prints"].as_array().expect("a list").iter();
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(place.with_extension("out"), lines).expect("a file");
        fs::write(place.with_extension("exit"), one["exit"].to_string()).expect("a file");
    }
    let _host = world.serve();
    for backend in ["claude", "codex", "opencode"] {
        let of_backend = printed.iter().filter(|one| one["backend"] == backend);
        let of_backend: Vec<&Value> = of_backend.collect();
        let tasks: Vec<String> = of_backend.iter().map(|one| one.text("name")).collect();
        let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
        assert_eq!(tasks.len(), 3, "{backend}");
        for (id, one) in world.dispatch_to(backend, &tasks).iter().zip(of_backend) {
            world.announced(id);
            check_folder(&world, id, one);
            check_notice(&world, id, &one.text("name"));
        }
    }
    // The usage that a program reports is in no ledger.
    assert!(!world.home.join("logs/token_ledger.jsonl").exists());
}

/// Compares the folder of a run with what its program printed.
fn check_folder(world: &World, id: &str, one: &Value) {
    let name = one.text("name");
    let document = world.document(id);
    let text = fs::read_to_string(world.file(id, "result.txt")).ok();
    let used = ["input", "cached", "output", "calls"].map(|key| &document["cli_tokens"][key]);
    let session = &document[format!("{}_session_id", one.text("backend"))];
    let ends = json!([document["state"], document["error"], session, used, text]);
    assert_eq!(ends, one["ends"], "{name}");
    let uses_tools = one["prints"].to_string().contains("tool_use\"");
    shows!(document, {
        "current_tool": null, "tool_call_count": usize::from(uses_tools), "child": null,
        "exit": {"code": 0, "signal": null}, "tokens": {"input": 0, "output": 0, "thinking": 0, "cached": 0},
    }, "{name}");
    let logged = world.logged(id);
    assert_eq!(logged[0], json!({"event": "daemon_start"}), "{name}");
    let end = logged
        .iter()
        .position(|row| row["event"] == "provider_terminal");
    let end = end.expect("it ended");
    assert_eq!(json!(logged[1..end]), one["logs"], "{name}");
    let (last, outcome) = match document["state"].as_str() {
        Some("done") => (
            vec!["provider_terminal", "cli_usage", "daemon_done"],
            "done",
        ),
        _ => (vec!["provider_terminal", "daemon_error"], "failed"),
    };
    shows!(logged[end..].to_vec(), {"*.event": last, "0.outcome": outcome}, "{name}");
    let ledger = world.file(id, "logs/token_ledger.jsonl");
    assert!(!ledger.exists(), "{name}");
}

/// Compares the one notice of a run's end with its document.
fn check_notice(world: &World, id: &str, name: &str) {
    let document = world.document(id);
    let mut events = world.events();
    events.retain(|event| event["run_id"] == id);
    shows!(events, {"#": 1, "0.status": document["state"]}, "{name} is announced once");
    if let Some(message) = document["error"]["message"].as_str() {
        let line = format!("\nError: {}: {message}", document.text("error.type"));
        let body = events.text("0.body");
        assert!(body.contains(&line), "{name}: {body}");
    }
}

/// Says its session, and nothing more until it may; then text, a tool and its result, each when it may.
const IN_STEPS: &str = include_str!("programs/emanate-agents-in-steps.sh");

#[test]
fn a_session_is_on_disk_before_any_text_and_a_tool_while_it_is_used() {
    let world = world(IN_STEPS);
    let _host = world.serve();
    let id = world.dispatch_to("claude", &["go"]).remove(0);
    let shows = |what: &str, wanted: [Value; 4]| {
        let seen = eventually(what, || {
            let document = world.document(&id);
            let seen = [
                "claude_session_id",
                "last_output",
                "current_tool",
                "tool_call_count",
            ];
            let seen = seen.map(|name| document[name].clone());
            (seen == wanted).then_some(document)
        });
        let allow = |name: &str| fs::write(world.desk().join(name), "").expect("a file");
        (seen, allow)
    };
    let (seen, allow) = shows(
        "the session is kept",
        [json!("s1"), json!(null), json!(null), json!(0)],
    );
    assert_eq!(world.logged(&id), [json!({"event": "daemon_start"})]);
    let child = &seen["child"];
    assert_eq!(
        json!([child["pid"], seen["state"], seen["exit"]]),
        json!([child["pgid"], "running", null])
    );
    allow("say");
    let used = [json!("s1"), json!("Reading."), json!("Read"), json!(1)];
    let (_, allow) = shows("the tool is in use", used);
    allow("read");
    let (_, allow) = shows(
        "it is no more",
        [json!("s1"), json!("Reading."), json!(null), json!(1)],
    );
    allow("end");
    assert_eq!(world.announced(&id)["status"], "done");
}
