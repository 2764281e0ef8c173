//! MCP servers given with a task: the run gets their tools, and its program can read nothing that they were given.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::bridge::serve_sums;
use crate::fields::Shown as _;
use crate::leaks::{Search, walk};
use crate::serve_sandbox::levels;
use crate::world::{Host, World, executable, no_process_of};

/// One for each field that can hold a secret.
const CANARIES: [&str; 5] = [
    "canary-environment-of-desk",
    "canary-argument-of-desk",
    "canary-user-of-hub",
    "canary-query-of-hub",
    "canary-header-of-hub",
];
/// A server of one tool that encodes what it was given.
const SERVER: &str = include_str!("programs/task-server.sh");
/// A program that uses its servers, and looks for what they were given.
const AGENT: &str = include_str!("programs/task-server-agent.sh");
// Each kind of program, and what it executes to report success.
const CLAUDE: [&str; 2] = [
    "claude",
    r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{}}'"#,
];
const CODEX: [&str; 2] = [
    "codex",
    r#"echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done."}}'; echo '{"type":"turn.completed","usage":{}}'"#,
];
const OPENCODE: [&str; 2] = [
    "opencode",
    r#"echo '{"type":"text","sessionID":"s","part":{"messageID":"m","text":"Done."}}'; echo '{"type":"step_finish","sessionID":"s","part":{"id":"p","reason":"stop"}}'"#,
];
const COMMAND: [&str; 2] = ["mine", "echo Done."];

/// A world whose provider is a stand-in for an agent that executes `uses`.
fn with_agent(agent: &str, end: &str, uses: &str, more: &str) -> World {
    let world = World::pushed();
    world.script(&format!("{AGENT}\n{uses}\ncat \"$here/seen\"\n{end}\n"));
    let program = world.beside("agent.sh").display().to_string();
    world.configure(&format!(
        "[provider.{agent}]\ncommand = {program:?}\nenv = [\"RUN_KEY\"]\n{more}\n"
    ));
    executable(&world.beside("server.sh"), SERVER);
    world
}

fn serving(world: &World) -> Host {
    fs::create_dir_all(world.desk()).expect("a directory");
    world.serve_with(&[], &[("RUN_KEY", "key-of-the-run")])
}

fn desk(world: &World) -> Value {
    json!({"name": "desk", "command": world.beside("server.sh"), "args": ["--token", CANARIES[1]], "env": {
        "DESK_KEY": CANARIES[0], "TRIED_FILE": world.home.join("token"), "TRIED_DIRECTORY": world.beside("")}})
}

/// Dispatches a task with servers that must succeed, and returns its id.
fn done(world: &World, agent: &str, servers: &[Value]) -> String {
    let task = json!({"task": "Ring.", "mcp": servers});
    done_as(world, agent, &task)
}

fn done_as(world: &World, agent: &str, task: &Value) -> String {
    let call = json!({"action": "emanate", "backend": agent, "tasks": [task]});
    let id = shown!(world.tool(&call), {"$?": 0}).text("run_ids.0");
    let checked = world.announced(&id);
    let trouble = fs::read_to_string(world.desk().join("trouble")).unwrap_or_default();
    shows!(checked, {"status": "done"}, "{agent}: {trouble}");
    no_process_of(&id);
    id
}

/// What the server answers in a working directory.
fn rung_in(directory: &Path, reached: &str) -> Value {
    let given = format!("{} --token {}", CANARIES[0], CANARIES[1]);
    let encoded: String = given
        .chars()
        .map(|c| match c {
            'z' => 'a',
            'a'..='z' => char::from(c as u8 + 1),
            other => other,
        })
        .collect();
    let directory = directory.display();
    let text = format!("{encoded} with <redacted> in {directory} reached:{reached}");
    json!({"content": [{"type": "text", "text": text}], "isError": false})
}

fn rung(world: &World, reached: &str) -> Value {
    let desk = world.desk().canonicalize().expect("it exists");
    rung_in(&desk, reached)
}

fn answers(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.desk().join("answers")).expect("it asked");
    let lines = text.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).expect("it is JSON");
        answer["result"].clone()
    });
    lines.collect()
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().expect("a list").iter();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

/// Asserts that neither the program nor a record of the host has a secret.
fn keeps_secrets(world: &World, context: &str) {
    let search = Search::of(&CANARIES);
    let seen = fs::read_to_string(world.desk().join("seen")).expect("it looked");
    assert_eq!(search.leaks(&seen), [""; 0], "{context}: {seen}");
    assert!(seen.contains("--run"), "{context} looked at {seen}");
    let marker = "DAEMON_RUN_TOKEN\":\"";
    let token = seen.split_once(marker).map(|(_, rest)| &rest[..64]);
    for found in walk(&world.home, &["session"]) {
        assert_eq!(
            search.leaks(&found.text),
            [""; 0],
            "{context}: {}",
            found.path
        );
        let has_token = token.is_some_and(|token| found.text.contains(token));
        assert!(!has_token, "{context}: {} has the token", found.path);
    }
}

/// A program uses a server that is a program and one over HTTP, and looks for what both were given.
fn uses_and_finds_nothing([agent, end]: [&str; 2]) {
    let address = serve_sums([
        "post /mcp?key=canary-query-of-hub",
        "x-key: canary-header-of-hub",
    ]);
    let url = format!("http://{}@{address}/mcp?key={}", CANARIES[2], CANARIES[3]);
    let hub = json!({"name": "hub", "type": "http", "url": url, "headers": {"X-Key": CANARIES[4]}});
    // At level 2 a run can list the processes of the machine with their arguments.
    let listed = match levels().contains(&3) {
        true => "LISTED=$LOOKED",
        false => "",
    };
    let uses = format!("LOOKED=$(echo /proc/[0-9]*)\n{listed}\nuse desk state_get\nuse hub sum");
    let world = with_agent(agent, end, &uses, &format!("egress = [\"{address}\"]"));
    let host = serving(&world);
    let id = done(&world, agent, &[desk(&world), hub]);
    host.stop();
    keeps_secrets(&world, agent);
    assert!(!world.file(&id, "private").exists());
    let answers = answers(&world);
    let [desk_tools, rang, hub_tools, summed] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(names(desk_tools), ["state_get", "ring.bell", "hang"]);
    assert_eq!(*rang, rung(&world, ""));
    assert_eq!(names(hub_tools), ["sum"]);
    assert_eq!(summed["content"][0]["text"], "7", "{summed}");
}

#[test]
fn claude_uses_the_servers_of_its_task_and_finds_nothing_that_they_were_given() {
    uses_and_finds_nothing(CLAUDE);
}

#[test]
fn codex_uses_the_servers_of_its_task_and_finds_nothing_that_they_were_given() {
    uses_and_finds_nothing(CODEX);
}

#[test]
fn opencode_uses_the_servers_of_its_task_and_finds_nothing_that_they_were_given() {
    uses_and_finds_nothing(OPENCODE);
}

#[test]
fn a_command_uses_the_servers_of_its_task_and_finds_nothing_that_they_were_given() {
    uses_and_finds_nothing(COMMAND);
}

#[test]
fn a_server_of_a_task_reaches_what_its_run_does_at_every_level() {
    let [agent, end] = CLAUDE;
    for level in std::iter::once(1).chain(levels()) {
        // Level 1 hides no file of the user.
        let looked = match level {
            1 => "",
            _ => "LOOKED=$(echo /proc/[0-9]*)",
        };
        let uses = format!("{looked}\nuse desk ring.bell");
        let world = with_agent(agent, end, &uses, "");
        world.at_level(level);
        let host = serving(&world);
        done(&world, agent, &[desk(&world)]);
        // Without a sandbox it reaches all that its user does.
        let reached = if level == 1 { " read wrote" } else { "" };
        assert_eq!(answers(&world)[1], rung(&world, reached), "level {level}");
        host.stop();
        keeps_secrets(&world, &format!("level {level}"));
    }
}

#[test]
fn servers_that_cannot_be_used_are_reported_and_the_run_goes_on() {
    let [agent, end] = CLAUDE;
    let world = with_agent(agent, end, "use broken x\nuse gone x\nuse hub x", "");
    let host = serving(&world);
    // Served, but outside of the hosts that the run may reach.
    let address = match levels().as_slice() {
        [] => "127.0.0.1:1".to_owned(),
        _ => serve_sums(["post", ""]).to_string(),
    };
    executable(
        &world.beside("broken.sh"),
        "#!/bin/sh\necho \"no desk for $DESK_KEY\" >&2\nexit 3\n",
    );
    let servers = [
        json!({"name": "broken", "command": world.beside("broken.sh"), "env": {"DESK_KEY": CANARIES[0]}}),
        json!({"name": "gone", "command": "no-such-server"}),
        json!({"name": "hub", "type": "http", "url": format!("http://{address}/mcp")}),
    ];
    let id = done(&world, agent, &servers);
    let broken = "the server `broken` cannot be used: the handshake failed: no desk for <redacted>";
    let gone =
        "the server `gone` cannot be used: no executable file `no-such-server` in the search path";
    let hub = "the server `hub` cannot be used: the handshake failed: ";
    let limits: Vec<(String, String)> = world
        .logged(&id)
        .into_iter()
        .filter(|event| event["event"] == "limit")
        .map(|event| (event.text("name"), event.text("detail")))
        .collect();
    assert_eq!(limits.len(), 3, "{limits:?}");
    let problems = [("broken", broken), ("gone", gone), ("hub", hub)];
    for (listed, (name, begin)) in answers(&world).iter().step_by(2).zip(problems) {
        let has_begin = |(of, detail): &(String, String)| {
            *of == format!("mcp.{name}") && detail.starts_with(begin)
        };
        assert!(limits.iter().any(has_begin), "{name}: {limits:?}");
        assert_eq!(names(listed), [""; 0], "{name}: {listed}");
    }
    host.stop();
}

#[test]
fn a_call_that_the_program_gave_up_delays_no_other_call_of_the_server() {
    let [agent, end] = CLAUDE;
    for level in std::iter::once(1).chain(levels()) {
        let uses = "give_up desk hang ring.bell; touch \"$here/seen\"";
        let world = with_agent(agent, end, uses, "");
        world.at_level(level);
        let host = serving(&world);
        done(&world, agent, &[desk(&world)]);
        host.stop();
    }
}

#[test]
fn a_server_of_a_task_works_in_the_work_tree_of_its_run() {
    let [agent, end] = CLAUDE;
    // In the work tree its files would become a branch.
    let world = with_agent(agent, end, "here=$HOME\nuse desk ring.bell", "");
    let host = serving(&world);
    let task =
        json!({"task": "Ring.", "mcp": [desk(&world)], "cwd": world.repo, "isolation": "own"});
    let id = done_as(&world, agent, &task);
    host.stop();
    let text = fs::read_to_string(world.file(&id, "session/answers")).expect("it asked");
    let rung: Value = serde_json::from_str(text.lines().last().expect("it asked")).expect("JSON");
    let root = world.home.join("worktrees").join(&id);
    let directory = rung["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    let directory = directory
        .split(' ')
        .find(|word| Path::new(word).starts_with(&root));
    let directory = Path::new(directory.expect("it works there"));
    assert_eq!(rung["result"], rung_in(directory, ""));
}
