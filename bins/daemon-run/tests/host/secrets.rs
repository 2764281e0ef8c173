//! Secrets of a run's MCP servers and options are in no file, log or response, however a program prints them.

use std::fs;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::leaks::{Found, Search, encodings, escaped, walk};
use crate::world::{Host, World};

/// One for each field that can hold a secret; some need escapes in JSON or in an address.
const CANARIES: [&str; 8] = [
    "canary-env/\"quoted\"+1",
    "canary-argument-2",
    "canary-assigned-3",
    "canary-header/4+\"x\"",
    "canary-user-5",
    "canary-password-6",
    "canary-query-7",
    "canary-option-8",
];

/// Prints everything it was given and what it found in other ways, in every form, where a program prints, and keeps what it was given.
const LEAKS: &str = include_str!("programs/secrets-leaks.sh");
/// The start of each agent's transcript, and a result that contains every secret.
const AGENTS: [(&str, &str, &str); 3] = [
    (
        "claude",
        r#"begin() { echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'; }"#,
        r#"printf '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Read","input":{"k":"%s"}}]}}\n' "$told"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","usage":{}}\n' "$told""#,
    ),
    (
        "codex",
        r#"begin() { echo '{"type":"thread.started","thread_id":"t-1"}'; }"#,
        r#"printf '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"%s"}}\n' "$told"
echo '{"type":"turn.completed","usage":{}}'"#,
    ),
    (
        "opencode",
        r#"begin() { echo '{"type":"step_start","sessionID":"ses_1","part":{}}'; }"#,
        r#"printf '{"type":"text","sessionID":"ses_1","part":{"messageID":"m","text":"%s"}}\n' "$told"
echo '{"type":"step_finish","sessionID":"ses_1","part":{"id":"p","reason":"stop"}}'"#,
    ),
];

fn registrations() -> Value {
    let url = format!(
        "http://{}:{}@127.0.0.1:1/mcp?key={}",
        CANARIES[4], CANARIES[5], CANARIES[6]
    );
    json!([
        {"name": "local", "command": "server", "args": ["--token", CANARIES[1], format!("--api-key={}", CANARIES[2])],
         "env": {"MODE": CANARIES[0]}},
        {"name": "remote", "type": "http", "url": url, "headers": {"X-Key": CANARIES[3]}},
    ])
}

/// Serves a provider that is a stand-in for an agent, whose script is given.
fn serving(agent: &str, script: &str) -> (World, Host) {
    let world = World::pushed();
    world.script(script);
    let program = world.beside("agent.sh").display().to_string();
    world.configure(&format!("[provider.{agent}]\ncommand = {program:?}\n"));
    world.unconfined();
    let host = world.serve();
    fs::create_dir_all(world.desk()).expect("a directory");
    (world, host)
}

/// Writes lines into a file that the agent reads.
fn give(world: &World, name: &str, lines: &[String]) {
    fs::write(world.desk().join(name), lines.join("\n") + "\n").expect("a file");
}

/// Dispatches a task that must succeed, and returns its id, the reply and what `check` shows.
fn done(world: &World, agent: &str, task: &Value) -> (String, Value, Value) {
    let call = json!({"action": "emanate", "backend": agent, "tasks": [task]});
    let reply = shown!(world.tool(&call), {"$?": 0});
    let id = reply.text("run_ids.0");
    let checked = world.announced(&id);
    shows!(checked, {"status": "done"}, "{agent}");
    (id, reply, checked)
}

#[test]
fn secrets_that_a_program_prints_occur_in_no_form_in_what_is_stored_or_sent() {
    for (agent, begin, end) in AGENTS {
        let (world, host) = serving(agent, &format!("{begin}\n{LEAKS}\n{end}\n"));
        give(&world, "canaries", &CANARIES.map(str::to_owned));
        give(&world, "escaped", &CANARIES.map(escaped));
        let options = json!({"some-token": CANARIES[7]});
        let task = json!({"task": "Leak.", "mcp": registrations(), "backend_options": options});
        let (id, reply, checked) = done(&world, agent, &task);

        // The option is its own; what the servers are given it has to find in another way.
        let seen = fs::read_to_string(world.desk().join("seen")).expect("the program ran");
        let given: Vec<&str> = CANARIES
            .into_iter()
            .filter(|canary| seen.contains(canary) || seen.contains(&escaped(canary)))
            .collect();
        assert_eq!(given, [CANARIES[7]], "{agent}: {seen}");
        let (_, listed) = world.json(&["emanate", "list"]);
        let (_, shown) = world.json(&["run", &id]);
        host.stop();
        let search = Search::of(&CANARIES);
        let sent = [reply, checked, listed, shown].map(|object| object.to_string());
        for text in sent.into_iter().chain([world.log()]) {
            assert_eq!(search.leaks(&text), [""; 0], "{agent}: {text}");
        }
        for Found { path, text, mode } in &walk(&world.home, &["session"]) {
            assert_eq!(search.leaks(text), [""; 0], "{agent}: {path}: {text}");
            let is_of_run = path.contains(&id);
            assert!(!is_of_run || mode & 0o077 == 0, "{path} has mode {mode:o}");
        }
        let prompt = fs::read_to_string(world.file(&id, ".prompt")).expect("it exists");
        for words in [
            "## Parent-provided MCP registrations",
            "MODE: \"<redacted>\"",
        ] {
            assert!(prompt.contains(words), "{prompt}");
        }
        let result = fs::read_to_string(world.file(&id, "result.txt")).expect("it exists");
        assert!(result.contains("<redacted>"), "{result}");
        assert!(!world.file(&id, "private").exists());
    }
}

#[test]
fn an_undeclared_token_is_taken_out_of_base64() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    // In either alphabet, at each of the three alignments.
    let written: Vec<String> = encodings(&format!(":{token}"))
        .into_iter()
        .rev()
        .take(6)
        .collect();
    let (agent, begin, end) = AGENTS[0];
    let print =
        "cat > /dev/null\nbegin\ncat written; cat written >&2\ntold=$(tr '\\n' ' ' < written)";
    let (world, host) = serving(agent, &format!("{begin}\n{print}\n{end}\n"));
    give(&world, "written", &written);
    let (id, _, _) = done(&world, agent, &json!({"task": "Leak."}));
    host.stop();
    let search = Search::of(&[token]);
    let mut told = walk(&world.home, &["session"]);
    told.retain(|found| !search.leaks(&found.text).is_empty());
    let told: Vec<String> = told.into_iter().map(|found| found.path).collect();
    assert_eq!(told, Vec::<String>::new());
    let result = fs::read_to_string(world.file(&id, "result.txt")).expect("it is there");
    assert_eq!(result.matches("<redacted>").count(), 6, "{result}");
}
