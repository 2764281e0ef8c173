//! Refusals of `emanate` over the control socket; `transcripts/refusals.md` has those of the command.

use std::fs;

use serde_json::{Value, json};

use crate::rpc::Rpc;
use crate::world::World;

/// Makes a world with a stand-in for `claude` and a skill that has no front matter.
fn world() -> World {
    let world = World::pushed();
    let program = world.beside("agent.sh").display().to_string();
    world.configure(&format!("[provider.claude]\ncommand = {program:?}\n"));
    let skill = world.desk().join("open");
    fs::create_dir_all(&skill).expect("a directory");
    fs::write(skill.join("SKILL.md"), "no front matter").expect("a skill");
    world
}

/// Calls `emanate`, and returns the message of its refusal.
fn refusal(rpc: &mut Rpc, world: &World, mut call: Value) -> String {
    call["action"] = json!("emanate");
    call["cwd"] = json!(world.desk());
    let mut answer = rpc.call("run/call", &call);
    assert_eq!(answer["error"]["code"], -32602, "{call}: {answer}");
    let message = answer["error"]["message"].take();
    message.as_str().expect("a message").to_owned()
}

#[test]
fn every_fault_of_a_batch_is_named_at_once_even_with_an_unknown_provider() {
    let world = world();
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let tasks = json!([
        {"task": " "},
        {"task": "x", "tools": ["daemon"], "skills": ["gone"], "mcp": [{"name": "a"}], "backend_options": {"cwd": "/"}},
        {"task": "fine"},
        {"task": "x", "skills": ["open", "gone"]},
    ]);
    let faults = "tasks[1]: Unknown tools for emanation: daemon; tasks[1].backend_options.cwd: reserved; \
                  tasks[1].skills[0]: not found; tasks[1].mcp[0]: command missing; \
                  tasks[3].skills[0]: invalid front matter; tasks[3].skills[1]: not found";
    let call = json!({"backend": "claude", "max_turns": 0, "timeout": 1, "tasks": tasks});
    let first = "max_turns must be an integer of at least 1; timeout must be a number of at least 5; tasks[0]: task is required";
    assert_eq!(
        refusal(&mut rpc, &world, call),
        format!("{first}; {faults}")
    );
    let call = json!({"backend": "gemini", "tasks": tasks});
    assert_eq!(
        refusal(&mut rpc, &world, call),
        format!("tasks[0]: task is required; Unknown backend: gemini; {faults}")
    );
    assert_eq!(world.folders(), Vec::<String>::new());
    assert_eq!(world.notices(), Value::Null);
}
