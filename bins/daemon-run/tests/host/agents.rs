//! Coding agents: a stand-in is configured, examined and does the work of an activation.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::fields::Shown as _;
use crate::world::{World, document, json_lines, kept};

/// What `claude --help` lists, as far as it is used here.
const HELP: &str = "if [ \"$1\" = --help ]; then echo '--print --output-format --verbose --name --session-id --resume \
    --setting-sources --strict-mcp-config --mcp-config --max-budget-usd --permission-mode --tools --allowedTools --add-dir \
    --dangerously-skip-permissions --model'; exit 0; fi\n";
/// A whole run: it prints its session, uses a tool, changes a file and prints its result.
const WORKS: &str = include_str!("programs/agents-works.sh");

#[test]
fn an_agent_does_the_work_of_an_activation() {
    let world = World::of_claude(WORKS, "");
    // With its own checks, which a sandbox would replace.
    world.unconfined();
    let fired = shown!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 0, "activation.state": "succeeded"});
    let run = &fired["runs"][0];
    shows!(run, {
        "provider": "claude", "state": "done", "tool_call_count": 1, "result_preview": "Noted.",
        "tokens": {"input": 9, "output": 2},
    });
    assert_eq!(world.branches().len(), 1);
    let document = document(run);
    shows!(document, {"claude_session_id": "11111111-2222-4333-8444-555555555555"});
    assert_eq!(document["cli_tokens"]["cached"], 4);
    let argv = document["backend_argv"].to_string();
    assert!(
        argv.contains("dontAsk") && !argv.contains("skip-permissions"),
        "{argv}"
    );
}

/// Returns the status and the detail of the doctor's check of the agent.
fn examined(world: &World) -> [Value; 2] {
    let (_, mut check) = world.examined("provider claude");
    ["status", "detail"].map(|key| check[key].take())
}

#[test]
fn the_doctor_proves_that_an_agent_knows_its_flags() {
    let version = "if [ \"$1\" = --version ]; then echo '2.1.9 (Claude Code)'; exit 0; fi\n";
    let good = format!("{version}{HELP}{WORKS}");
    let of = |script: &str, more: &str| {
        let world = World::of_claude(script, more);
        world.unconfined();
        let program = world.beside("agent.sh").display().to_string();
        let [status, detail] = examined(&world);
        let detail = detail.as_str().expect("text").replace(&program, "claude");
        (status.as_str().expect("text").to_owned(), detail)
    };
    let told = |status: &str, detail: &str| (status.to_owned(), detail.to_owned());
    let knows = "supports every flag, and its permissions are those of the run";
    assert_eq!(
        of(&good, ""),
        told(
            "ok",
            &format!("claude 2.1.9 {knows}; it has no login and no variable")
        )
    );
    assert_eq!(
        of(&good, "env = [\"PATH\"]"),
        told("ok", &format!("claude 2.1.9 {knows}; it gets PATH"))
    );
    assert_eq!(
        of(&good, "env = [\"PATH\", \"NO_SUCH_KEY\"]"),
        told(
            "warn",
            &format!("claude 2.1.9 {knows}; it gets PATH; not set: NO_SUCH_KEY")
        )
    );
    assert_eq!(
        of(&good.replace("2.1.9", "2.10.0"), ""),
        told(
            "ok",
            &format!("claude 2.10.0 (tried with 2.1) {knows}; it has no login and no variable")
        )
    );
    assert_eq!(
        of(&good.replace("--setting-sources", ""), ""),
        told("fail", "claude 2.1.9 does not support --setting-sources")
    );
    let (status, detail) = of(&good, "permissions = \"bypass\"");
    assert_eq!(status, "warn");
    assert!(
        detail.starts_with("claude 2.1.9 runs with its own checks switched off"),
        "{detail}"
    );
    // A login is a file in the home of the host's user, and this host has no such home.
    assert_eq!(
        of(&good, "auth = \"login\""),
        told(
            "fail",
            "`auth` is `login`, but `HOME` is not set for this process"
        )
    );
}

#[test]
fn the_doctor_distinguishes_a_missing_agent_from_one_that_is_not_executable() {
    let world = World::of_claude(WORKS, "");
    let program = world.beside("agent.sh");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).expect("it is there");
    let [status, detail] = examined(&world);
    assert_eq!(status, "fail");
    let shown = program.display();
    assert!(
        detail
            .to_string()
            .contains(&format!("`{shown}` is not an executable file")),
        "{detail}"
    );
    fs::remove_file(&program).expect("it is there");
    let [status, detail] = examined(&world);
    assert_eq!(status, "fail");
    assert!(detail.to_string().contains("No such file"), "{detail}");
}

#[test]
fn a_wrongly_configured_agent_is_refused_by_its_key() {
    for (more, key) in [
        ("permissions = \"all\"", "permissions"),
        (
            "args = [\"--dangerously-skip-permissions\"]",
            "`args` contains `--dangerously-skip-permissions`",
        ),
        ("auth = \"token\"", "auth"),
        ("input = \"json\"", "input"),
        ("kind = \"cobol\"", "cobol"),
        ("key_env = \"KEY\"", "key_env"),
        ("kind = \"command\"\nmodel = \"m\"", "model"),
    ] {
        let (code, answer) =
            World::of_claude(WORKS, more).json(&["fire", "pusher", "--repo", "repo"]);
        assert_eq!(code, 78, "{more}: {answer}");
        let message = answer["error"]["message"].to_string();
        assert!(message.contains(key), "{more}: {message}");
    }
}

/// A run that continues only when its folder shows its last output.
const WATCHES: &str = include_str!("programs/agents-watches.sh");

#[test]
fn an_agents_session_and_its_tool_are_on_disk_while_it_works() {
    let world = World::of_claude(WATCHES, "\n[limits]\nidle = \"40s\"");
    world.unconfined();
    let fired = shown!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 0});
    let run = &fired["runs"][0];
    let events = json_lines(&kept(run, "logs/events.jsonl"));
    shows!(events, {"*.event": [
        "daemon_start",
        "cli_output",
        "tool_call",
        "tool_result",
        "provider_terminal",
        "cli_usage",
        "daemon_done"
    ]});
    // What a program says that it used is in no ledger.
    let folder = run.text("folder");
    assert!(
        !std::path::Path::new(&folder)
            .join("logs/token_ledger.jsonl")
            .exists()
    );
    assert!(!world.home.join("logs/token_ledger.jsonl").exists());
}
