//! What programs read and print: whole prompts, strange lines, floods, and the last words of a failure.

use std::fs;

use serde_json::{Value, json};

use crate::serve_emanate_agents::world as agents;
use crate::world::{World, no_process_of};

/// Does what its task is named after.
const SCRIPT: &str = include_str!("programs/emanate-output-script.sh");

fn texts(world: &World, id: &str) -> Vec<String> {
    let rows = world.logged(id).into_iter();
    let outputs = rows.filter(|row| row["event"] == "cli_output");
    outputs
        .map(|mut row| row["text"].take().as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn strange_lines_are_recorded_within_bounds_and_the_run_survives_them() {
    let world = World::pushed();
    world.script(SCRIPT);
    let host = world.serve();
    let runs = world.dispatch(&["strange", "flood", "asks", "complains", "silent"]);
    for id in &runs {
        world.announced(id);
        no_process_of(id);
    }
    let [strange, flood, asks, complains, silent] = runs.as_slice() else {
        panic!("five runs: {runs:?}");
    };
    told_strange(&world, strange);
    told_flood(&world, flood);
    assert_eq!(texts(&world, asks), ["end of file"]);
    assert_eq!(world.document(asks)["state"], "done");

    // Of the last twenty lines the last 500 characters, and nothing else.
    let complaint: String = (91..=100).fold(String::new(), |acc, n| format!("{acc}line {n:03}\n"));
    let complaint = complaint + &"é".repeat(480);
    let last: Vec<char> = complaint.chars().rev().take(500).collect();
    let last: String = last.into_iter().rev().collect();
    let document = world.document(complains);
    shows!(document, {"error": {"type": "exit", "message": last, "class": "final"}});
    shows!(document, {
        "state": "failed", "exit": {"code": 1, "signal": null}, "result_preview": null,
        "result_path": world.file(complains, "result.txt"),
    });
    let text = fs::read_to_string(world.file(complains, "result.txt")).expect("it is kept");
    assert_eq!(text, "said");
    shows!(world.document(silent), {"error": {"type": "exit", "message": "exit code 3", "class": "final"}});
    drop(host);
}

fn told_strange(world: &World, id: &str) {
    const MARK: &str = "...[truncated]";
    let output = |text: &str| json!({"event": "cli_output", "stream": "stdout", "text": text});
    let long = format!("{}{MARK}", "x".repeat(4_000 - MARK.len()));
    let mut cut = output(&long);
    cut["truncated"] = json!(true);
    let expected = [
        json!({"event": "daemon_start"}),
        output("Welcome to the program!"),
        output("[1,2]"),
        output("bad \\xff\\xfe bytes"),
        cut,
        json!({"event": "provider_terminal", "outcome": "done"}),
        json!({"event": "daemon_done"}),
    ];
    assert_eq!(world.logged(id), expected);
    let document = world.document(id);
    shows!(document, {
        "state": "done", "result_preview": "survived", "last_output": "x".repeat(1_000),
        "dropped": {"lines": 0, "bytes": 5_000_000 - (64 << 10)},
    });
}

fn told_flood(world: &World, id: &str) {
    let document = world.document(id);
    let last: Vec<String> = (111..=130).map(|n: u32| n.to_string()).collect();
    shows!(document, {"state": "failed", "error": {"type": "exit", "message": last.join("\n"), "class": "final"}});
    let size = |name: &str| fs::metadata(world.file(id, name)).map_or(0, |file| file.len() >> 20);
    let sizes = [
        "logs/events.jsonl",
        "logs/output.1.jsonl",
        "logs/output.2.jsonl",
    ]
    .map(size);
    assert!(
        sizes[0] == 8 && sizes[1..].iter().all(|size| *size <= 4),
        "{sizes:?}"
    );
    assert_eq!(document["last_output"], "130");
}

#[test]
fn a_long_prompt_that_begins_with_dashes_reaches_every_agent_and_is_in_no_argument() {
    let world =
        agents("cat > \"got-$DAEMON_RUN_ID\"\nprintf '%s\\n' \"$@\" > \"args-$DAEMON_RUN_ID\"\n");
    let _host = world.serve();
    let task = format!("--version marker\n{}", "é\u{0}\"\\".repeat(50_000));
    assert_eq!(task.len(), 250_017);
    let role = format!("--help\n{}", "r".repeat(70_000));
    for backend in ["claude", "codex", "opencode"] {
        let call = json!({"action": "emanate", "backend": backend, "tasks": [{"task": task, "system_prompt": role}]});
        let reply = shown!(world.tool(&call), {"$?": 0});
        let id = reply["run_ids"][0].as_str().expect("an id");
        world.announced(id);
        let got = fs::read(world.desk().join(format!("got-{id}"))).expect("the child wrote it");
        assert!(got.len() > 300_000, "{}", got.len());
        let text = String::from_utf8(got.clone()).expect("it is text");
        assert!(text.ends_with(&format!("\nTask:\n{task}")), "{backend}");
        assert!(text.contains(&format!("\n{role}\n")), "{backend}");
        let args =
            fs::read_to_string(world.desk().join(format!("args-{id}"))).expect("its arguments");
        assert!(
            !args.contains("marker") && args.len() < 4_096,
            "{backend}: {args}"
        );
        let document = world.document(id);
        shows!(document, {"prompt_sha256": daemon_run_folder::sha256(&got).as_str()});
        assert_eq!(
            fs::read(world.file(id, ".prompt")).expect("it is kept"),
            got
        );
        assert_eq!(document["task"], task.as_str());
        assert!(
            !document["backend_argv"].to_string().contains("marker"),
            "{backend}"
        );
    }
}

/// Returns the zombie children of a process.
fn zombies(parent: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc is there").flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let of_parent = stats.filter(|stat| {
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.starts_with(&format!("Z {parent} "))
    });
    of_parent.collect()
}

#[test]
fn a_missing_program_fails_its_run_by_name_and_leaves_no_zombie() {
    let world = World::pushed();
    world.watch_with(
        "[provider]\ndefault = \"builtin\"\n\n[provider.codex]\n\
         command = \"/nowhere/codex\"\n\n[provider.mine]\ncommand = \"not-installed\"\n",
    );
    let host = world.serve();
    // The first has no section, and the search path of a test contains no agent.
    for (n, (backend, program)) in [
        ("claude-p", "claude"),
        ("codex", "/nowhere/codex"),
        ("mine", "not-installed"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = world.dispatch_to(backend, &["do it"]).remove(0);
        world.announced(&id);
        let document = world.document(&id);
        let message = document["error"]["message"].as_str().expect("a message");
        assert!(
            message.contains(&format!("cannot run `{program}`")),
            "{message}"
        );
        shows!(document, {
            "state": "failed", "error.type": "spawn", "error.class": "final", "child": null, "exit": null,
        });
        let names: Vec<Value> = world
            .logged(&id)
            .iter_mut()
            .map(|row| row["event"].take())
            .collect();
        assert_eq!(
            json!(names),
            json!(["daemon_start", "provider_terminal", "daemon_error"])
        );
        let events = world.events();
        assert_eq!(
            json!([events.len(), events[n]["run_id"], events[n]["status"]]),
            json!([n + 1, id, "failed"])
        );
        let body = events[n]["body"].as_str().expect("a body");
        assert!(body.contains(program), "{body}");
    }
    crate::world::until("nothing of the host's is left uncollected", || {
        zombies(host.pid()).is_empty()
    });
}
