//! Backends of dispatched runs: which there are, what is recorded of them, and one whose program does not exist.

use serde_json::{Value, json};

use crate::world::{Host, World, check};

/// A whole run of `claude`, which keeps nothing.
const CLAUDE: &str = "cat > /dev/null
echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}'
echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Noted.\",\"usage\":{}}'\n";

/// Dispatches one task and returns what `check` shows when it has ended.
fn ended(world: &World, call: Value) -> Value {
    let reply = shown!(world.tool(&call), {"$?": 0});
    world.announced(reply["run_ids"][0].as_str().expect("an id"))
}

/// A world with a stand-in for `claude` under a name of its own, and a host.
fn claude(more: &str) -> (World, Host) {
    let world = World::pushed();
    world.script(CLAUDE);
    let program = world.beside("agent.sh").display().to_string();
    world.configure(&format!(
        "[provider.own]\nkind = \"claude\"\ncommand = {program:?}\n{more}"
    ));
    world.unconfined();
    let host = world.serve();
    (world, host)
}

#[test]
fn a_missing_program_fails_the_run_and_not_the_host() {
    let world = World::pushed();
    world.configure("[provider.gone]\ncommand = \"/nowhere/gone\"\n");
    let host = world.serve();
    for (backend, canonical, named) in [
        ("gone", "gone", "/nowhere/gone"),
        ("claude-code", "claude", "`claude`"),
        ("codex", "codex", "`codex`"),
        ("opencode", "opencode", "`opencode`"),
    ] {
        let task = json!({"task": "look", "tools": ["web"]});
        let task = if backend == "gone" {
            json!({"task": "look"})
        } else {
            task
        };
        let run = ended(
            &world,
            json!({"action": "emanate", "backend": backend, "tasks": [task]}),
        );
        let error = &run["error"];
        assert_eq!(
            json!([
                run["backend"],
                run["status"],
                error["type"],
                error["class"],
                run["exit"]
            ]),
            json!([canonical, "failed", "spawn", "final", null]),
            "{run}"
        );
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(named), "{backend}: {message}");
    }
    assert_eq!(world.events().len(), 4, "each end is told");
    drop(host);
    let (code, report) = world.json(&["doctor"]);
    let gone = check(&report, "provider gone");
    assert_eq!(
        json!([code, gone["status"], gone["remedy"]]),
        json!([1, "fail", "install it, or correct `provider.gone.command`"])
    );
    assert_eq!(check(&report, "providers")["detail"], "builtin, gone, sh");
}

#[test]
fn what_a_run_was_called_with_is_recorded_whole() {
    let (world, _host) = claude("");
    let options = json!({"effort": "high", "api_key": "k3y-of-the-caller"});
    let run = ended(
        &world,
        json!({"action": "emanate", "backend": "own", "tasks": [{"task": "look", "backend_options": options}]}),
    );
    let id = run["run_id"].as_str().expect("an id");
    let document = world.document(id);
    let hidden = json!({"effort": "high", "api_key": "<redacted>"});
    shows!(document, {
        "call_parameters": {"task": "look", "tools": null, "skills": null, "mcp": null, "system_prompt": null,
            "backend_options": hidden, "cwd": world.desk()},
    });
    assert_eq!(document["backend_options"], hidden);
    assert_eq!(
        json!([document["permissions"], run["permissions"]]),
        json!(["propose", "propose"])
    );
    let plain = ended(
        &world,
        json!({"action": "emanate", "backend": "own", "tasks": [{"task": "look"}]}),
    );
    let document = world.document(plain["run_id"].as_str().expect("an id"));
    assert_eq!(document["backend_options"], json!({}));
}

#[test]
fn switched_off_checks_are_shown_with_the_run() {
    let (world, _host) = claude("permissions = \"bypass\"\n");
    let run = ended(
        &world,
        json!({"action": "emanate", "backend": "own", "tasks": [{"task": "look"}]}),
    );
    let id = run["run_id"].as_str().expect("an id");
    assert_eq!(
        json!([world.document(id)["permissions"], run["permissions"]]),
        json!(["bypass", "bypass"])
    );
}

/// A run that ends well only if its folder shows what it said last well before the next heartbeat would write it.
const WATCHES: &str = "cat > /dev/null
echo first
echo second
n=0
until grep -q '\"last_output\": \"second\"' \"$HOME/../daemon.json\"; do
  n=$((n + 1)); [ $n -lt 60 ] || exit 3; sleep 0.05
done\n";

#[test]
fn the_last_output_of_a_silent_run_is_soon_on_disk() {
    let world = World::pushed();
    world.script(WATCHES);
    world.unconfined();
    let _host = world.serve();
    let id = world.dispatch(&["say two things"]).remove(0);
    let run = world.announced(&id);
    shows!(run, {"status": "done", "error": null});
}
