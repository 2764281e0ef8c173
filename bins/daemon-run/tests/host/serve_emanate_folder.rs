//! The folder of a dispatched run: whole, private, and ended in an order that survives a crash at any step.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::serve_emanate_agents::world as agents;
use crate::world::{Host, World, eventually, until};

/// Lists what is below a directory with its mode.
fn listing(root: &Path, directory: &Path, acc: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("it can be read").flatten() {
        let mode = entry.metadata().expect("it is there").permissions().mode() & 0o7777;
        let path = entry.path();
        let name = path
            .strip_prefix(root)
            .expect("it is below")
            .display()
            .to_string();
        acc.push(format!("{mode:o} {name}"));
        if path.is_dir() {
            listing(root, &path, acc);
        }
    }
}

fn files(world: &World, id: &str) -> Vec<String> {
    let folder = world.file(id, "");
    let mode = fs::metadata(&folder)
        .expect("it is there")
        .permissions()
        .mode()
        & 0o7777;
    let mut acc = vec![format!("{mode:o} .")];
    listing(&folder, &folder, &mut acc);
    acc.sort();
    acc
}

/// The events of the log of such a run.
const LOGGED: [&str; 5] = [
    "daemon_start",
    "cli_output",
    "provider_terminal",
    "cli_usage",
    "daemon_done",
];

/// Keeps what it got, waits, then works as `claude` does.
const WORKS: &str = include_str!("programs/emanate-folder-works.sh");

fn call(world: &World) -> Value {
    let skill = world.desk().join("review");
    fs::create_dir_all(&skill).expect("a directory");
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: review\ndescription: Reviews.\n---\nBody.\n",
    )
    .expect("a skill");
    json!({"action": "emanate", "backend": "claude-p", "max_turns": 7, "timeout": 60, "tasks": [{
        "task": "repair\nlinks", "system_prompt": "You repair.", "tools": ["file"], "skills": ["review"],
        "mcp": [{"name": "docs", "command": "docs", "args": ["--token", "argument-secret"], "env": {"KEY": "value-secret"}}],
        "backend_options": {"effort": "high", "api_key": "option-secret"}, "preset": "ignored",
    }]})
}

/// Returns the whole document of a run that is running, with what no two runs share from the document itself.
fn running(world: &World, host: &Host, reply: &Value, document: &Value) -> Value {
    let child = &document["child"];
    let mut begun = json!({
        "data_version": 1, "handle": "em-1", "run_id": reply["run_ids"][0], "group_id": reply["group_id"],
        "parent_addr": format!("cli:{}", rustix::process::geteuid().as_raw()),
        "parent_pid": host.pid(), "parent_start": document["parent_start"],
        "child": {"pid": child["pid"], "start": child["start"], "pgid": child["pid"]},
        "task": "repair\nlinks", "tools": ["file"],
        "call_parameters": {
            "task": "repair\nlinks", "tools": ["file"], "skills": ["review"],
            "mcp": [{"name": "docs", "command": "docs", "args": ["--token", "<redacted>"], "env": {"KEY": "<redacted>"}}],
            "system_prompt": "You repair.", "cwd": world.desk(),
            "backend_options": {"effort": "high", "api_key": "<redacted>"},
        },
        "backend": "claude", "model": "claude", "preset_name": null, "preset_provider": null, "preset_model": null,
        "max_turns": null, "timeout_s": 60.0, "idle_timeout_s": null, "budget": {"usd": 1.0, "reserved_usd": 1.0}, "permissions": "propose",
        "sandbox": {"level": 1, "detail": document["sandbox"]["detail"]},
    });
    let rest = json!({
        "prompt_sha256": document["prompt_sha256"], "state": "running", "started_at": document["started_at"],
        "finished_at": null, "elapsed_s": document["elapsed_s"], "turn": 0, "current_tool": null, "tool_call_count": 0,
        "tokens": {"input": 0, "output": 0, "thinking": 0, "cached": 0},
        "cli_tokens": {"input": 0, "output": 0, "thinking": 0, "cached": 0, "calls": 0},
        "last_output": null, "last_output_at": null, "dropped": {"lines": 0, "bytes": 0},
        "result_preview": null, "result_path": null, "error": null,
        "backend_options": {"effort": "high", "api_key": "<redacted>"}, "backend_argv": document["backend_argv"],
        "exit": null, "followups": [], "terminal_notified": false, "notified_seq": null,
    });
    let members = begun.as_object_mut().expect("an object");
    members.extend(rest.as_object().cloned().unwrap_or_default());
    begun
}

/// Checks that neither the arguments nor the prompt in the folder contain a secret.
fn check_command(world: &World, id: &str, document: &Value) {
    let argv = document["backend_argv"].as_array().expect("a list");
    assert_eq!(argv[0], json!(world.beside("agent.sh")));
    assert!(
        argv.contains(&json!("--effort=high")) && argv.contains(&json!("--api-key=<redacted>")),
        "{argv:?}"
    );
    let kept = fs::read_to_string(world.file(id, ".prompt")).expect("it is kept");
    for part in [
        "You repair.",
        "## Parent-selected skills",
        "## Parent-provided MCP registrations",
        "<redacted>",
    ] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
    assert!(
        !kept.contains("secret") && kept.ends_with("\nTask:\nrepair\nlinks"),
        "{kept}"
    );
}

/// Compares the document of a run that has ended with that of the running one.
fn check_ended(world: &World, id: &str, begun: Value) {
    let mut document = world.document(id);
    let mut expected = begun;
    for name in ["finished_at", "elapsed_s", "last_output_at"] {
        expected[name] = document[name].take();
        document[name] = expected[name].clone();
    }
    for (name, value) in [
        ("child", json!(null)),
        (
            "cli_tokens",
            json!({"input": 9, "output": 2, "thinking": 0, "cached": 0, "calls": 1}),
        ),
        ("last_output", json!("Reading.")),
        ("result_preview", json!("x")),
        ("result_path", json!(world.file(id, "result.txt"))),
        ("state", json!("done")),
        ("claude_session_id", json!("s1")),
        ("exit", json!({"code": 0, "signal": null})),
        ("terminal_notified", json!(true)),
        ("notified_seq", json!(1)),
    ] {
        expected[name] = value;
    }
    assert_eq!(document, expected);
    for name in ["started_at", "finished_at", "last_output_at"] {
        let text = document[name].as_str().expect("a time");
        let is_digit_or = |(byte, form): (u8, u8)| {
            if form == b'0' {
                byte.is_ascii_digit()
            } else {
                byte == form
            }
        };
        assert!(
            text.len() == 20 && text.bytes().zip(*b"0000-00-00T00:00:00Z").all(is_digit_or),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_dispatched_run_is_recorded_completely_and_readable_by_its_owner_only() {
    let world = agents(WORKS);
    let host = world.serve();
    let reply = shown!(world.tool(&call(&world)), {"$?": 0});
    let id = reply.text("run_ids.0");
    until("it runs", || world.desk().join("got").exists());
    let document = eventually("its process is known", || {
        Some(world.document(&id)).filter(|document| document["child"].is_object())
    });
    let mut during = files(&world, &id);
    // It is there and gone between two looks.
    during.retain(|name| !name.ends_with(".tmp"));
    assert_eq!(
        during,
        [
            "600 .heartbeat",
            "600 .lock",
            "600 .prompt",
            "600 daemon.json",
            "600 logs/events.jsonl",
            "600 outputs.jsonl",
            "600 private/mcp.json",
            "700 .",
            "700 history",
            "700 logs",
            "700 private",
            "700 session",
            "700 session/tmp",
        ]
    );
    let child = &document["child"];
    assert!(Path::new(&format!("/proc/{}", child["pid"])).exists());
    let prompt = fs::read(world.desk().join("got")).expect("what it got");
    shows!(document, {"prompt_sha256": daemon_run_folder::sha256(&prompt).as_str()});
    let begun = running(&world, &host, &reply, &document);
    assert_eq!(document, begun);
    let text = fs::read_to_string(world.file(&id, "daemon.json")).expect("it is there");
    let keys = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  \""));
        lines
            .map(|line| line.split('"').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(
        keys(&text),
        keys(&format!("{begun:#}")),
        "in this order, indented by two"
    );
    check_command(&world, &id, &document);

    fs::write(world.desk().join("go"), "").expect("a file");
    world.announced(&id);
    let ended = files(&world, &id);
    let made: Vec<&String> = ended.iter().filter(|name| !during.contains(name)).collect();
    assert_eq!(made, ["600 .notified", "600 result.txt"]);
    let gone: Vec<&String> = during.iter().filter(|name| !ended.contains(name)).collect();
    assert_eq!(gone, ["600 private/mcp.json", "700 private"]);
    check_ended(&world, &id, begun);
}

/// Watches what changes below a home, in the order in which it changes.
struct Watch {
    queue: OwnedFd,
    places: Vec<(i32, PathBuf)>,
}

impl Watch {
    fn over(places: &[PathBuf]) -> Self {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("a queue");
        let flags = WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::MODIFY;
        let places = places.iter().map(|place| {
            let watch = inotify::add_watch(&queue, place, flags).expect("it can be watched");
            (watch, place.clone())
        });
        Self {
            places: places.collect(),
            queue,
        }
    }

    /// Returns the names of what changed, each once for all changes that follow each other.
    fn changed(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut names: Vec<String> = Vec::new();
        while let Ok(event) = reader.next() {
            let name = event
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let place = self.places.iter().find(|(watch, _)| *watch == event.wd());
            let place = place.map(|(_, place)| {
                place
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned()
            });
            let name = name.or(place).unwrap_or_default();
            let is_whole = !name.ends_with(".tmp") && !name.starts_with(".heartbeat");
            if is_whole && names.last() != Some(&name) {
                names.push(name);
            }
        }
        names
    }
}

#[test]
fn a_session_precedes_text_and_the_steps_of_an_end_follow_each_other() {
    let world = agents(WORKS);
    let _host = world.serve();
    // The directory of notices is there from the first notice on.
    fs::write(world.desk().join("go"), "").expect("a file");
    let first = world.dispatch_to("claude", &["first"]).remove(0);
    world.announced(&first);
    fs::remove_file(world.desk().join("go")).expect("it is there");
    let id = world.dispatch_to("claude", &["watched"]).remove(0);
    until("its process is known", || {
        world.document(&id)["child"].is_object()
    });
    let watch = Watch::over(&[
        world.file(&id, ""),
        world.file(&id, "logs/events.jsonl"),
        world.home.join(".notification"),
    ]);
    fs::write(world.desk().join("go"), "").expect("a file");
    world.announced(&id);
    eventually("its last step is taken", || {
        world.document(&id)["terminal_notified"]
            .as_bool()
            .filter(|told| *told)
    });
    let changed = watch.changed();
    let at = |name: &str| {
        let found = changed.iter().position(|changed| changed == name);
        found.unwrap_or_else(|| panic!("{name} did not change: {changed:?}"))
    };
    assert!(
        at("daemon.json") < at("events.jsonl"),
        "the session first: {changed:?}"
    );
    let end: Vec<&str> = changed[at("result.txt")..]
        .iter()
        .map(String::as_str)
        .collect();
    // A busy machine may show progress between the two lines of the log.
    let steps: Vec<&str> = match end.as_slice() {
        [result, log, "daemon.json", "events.jsonl", rest @ ..] => {
            [&[*result, *log], rest].concat()
        }
        end => end.to_vec(),
    };
    let expected = [
        "result.txt",
        "events.jsonl",
        "daemon.json",
        ".notified",
        "system.json",
        "daemon.json",
    ];
    assert_eq!(steps, expected, "{changed:?}");
    shows!(world.logged(&id), {"*.event": LOGGED});
}

#[test]
fn an_end_that_cannot_be_written_is_retried_and_announced_after_that() {
    let world = agents(WORKS);
    let _host = world.serve();
    let id = world.dispatch_to("claude", &["go on"]).remove(0);
    until("its process is known", || {
        world.document(&id)["child"].is_object()
    });
    let (result, blocked) = (
        world.file(&id, "result.txt"),
        world.file(&id, "result.txt/x"),
    );
    // A directory that is not empty cannot be replaced by a file.
    fs::create_dir_all(&blocked).expect("a directory");
    fs::write(world.desk().join("go"), "").expect("a file");
    until("the host has complained", || {
        world
            .log()
            .contains("the end of a run could not be recorded")
    });
    assert_eq!(world.document(&id)["state"], "running");
    assert_eq!(world.events(), Vec::<Value>::new());
    fs::remove_dir_all(&result).expect("it is there");
    let run = world.announced(&id);
    shows!(run, {"status": "done", "result_preview": "x"});
    assert_eq!(fs::read_to_string(result).expect("it is kept"), "x");
    shows!(world.logged(&id), {"*.event": LOGGED});
}

#[test]
fn a_folder_that_cannot_be_made_refuses_the_batch_and_leaves_nothing() {
    let world = agents(WORKS);
    let _host = world.serve();
    let runs = world.home.join("daemons");
    fs::remove_dir_all(&runs).unwrap_or_default();
    fs::write(&runs, "in the way").expect("a file");
    let (code, reply) = world.tool(&json!({"action": "emanate", "tasks": [{"task": "x"}]}));
    let message = reply["error"]["message"].as_str().expect("a message");
    assert!(
        code == 73 && message.starts_with("Failed to create daemon folder: "),
        "{code}: {message}"
    );
    fs::remove_file(&runs).expect("it is there");
    assert!(!world.desk().join("got").exists(), "no process was started");
}
