//! A model API as the provider: an activation through it, what its folder holds, and what its budget stops.

use std::fs;

use daemon_fakes::{Message, ModelApi, Reply, Tokens};
use serde_json::json;

use crate::fields::Shown as _;
use crate::world::{World, check, document, json_lines, kept};

/// A world whose provider is a model API on loopback, with more of its configuration.
fn world(api: &ModelApi, more: &str) -> World {
    let world = World::pushed();
    fs::write(world.home.join("key"), "sk-test-0123456789\n").expect("the key");
    world.watch_with(&format!(
        "[provider]\ndefault = \"llm\"\n\n[provider.llm]\nkind = \"openai\"\nmodel = \"m\"\n\
         base_url = {:?}\nkey_file = \"key\"\n{more}\n",
        api.base_url(),
    ));
    world
}

fn tokens(input: u64, cached: u64, output: u64) -> Tokens {
    Tokens {
        input,
        cached,
        output,
    }
}

#[test]
fn a_model_carries_out_an_activation_and_its_folder_records_every_turn() {
    let api = ModelApi::replaying([
        Reply::Message(
            Message::text("Noting.")
                .and_call("write", json!({"path": "NOTE.md", "content": "note\n"}))
                .and_call("read", json!({"path": "../x"}))
                .and_call("state_set", json!({"key": "seen", "value": 3}))
                .with_tokens(tokens(100, 20, 10)),
        ),
        Reply::Message(Message::text("Noted.").with_tokens(tokens(200, 0, 20))),
    ])
    .expect("a port");
    let world = world(&api, "price = {input = 10, output = 100}");
    let fired = shown!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 0, "activation.state": "succeeded"});
    assert_eq!(world.branches().len(), 1);
    let run = &fired["runs"][0];
    shows!(run, {
        "provider": "llm", "state": "done", "turn": 2, "tool_call_count": 3, "result_preview": "Noted.",
        "tokens": {"input": 300, "output": 30},
    });
    // 300 tokens read at 10 USD a million, 20 cached and 30 written at 100.
    shows!(fired, {"activation.cost_usd": 0.008, "activation.tokens": 330});
    let history = json_lines(&kept(run, "history/chat_history.jsonl"));
    shows!(history, {
        "*.(role,kind,turn)": [
            ["user", "task", 0], ["assistant", null, 1], ["user", "tool_results", 1], ["assistant", null, 2],
        ],
        "0.text": api.received()[0].body["messages"][0]["content"],
    });
    let ledger = json_lines(&kept(run, "logs/token_ledger.jsonl"));
    let endpoint = api.base_url();
    shows!(ledger, {
        "*.(input,cached,output,model,endpoint)": [[100, 20, 10, "m", endpoint], [200, 0, 20, "m", endpoint]],
    });
    let of_home =
        fs::read_to_string(world.home.join("logs/token_ledger.jsonl")).expect("it is there");
    assert_eq!(json_lines(&of_home), ledger);
    shows!(document(run), {
        "model": "m", "max_turns": 100, "tokens": {"input": 300, "output": 30, "thinking": 0, "cached": 20},
        "cli_tokens": {"input": 0, "output": 0, "thinking": 0, "cached": 0, "calls": 0},
    });
    assert_eq!(api.received()[0].key.as_deref(), Some("sk-test-0123456789"));
}

#[test]
fn a_model_that_would_cost_more_than_its_budget_is_not_called() {
    let api = ModelApi::replaying([Reply::text("late")]).expect("a port");
    let world = world(&api, "[budget]\nactivation_usd = 0.0001");
    let fired = shown!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 1});
    let run = &fired["runs"][0];
    shows!(run, {"state": "failed", "error.type": "budget"});
    assert_eq!(api.received().len(), 0);
}

#[test]
fn the_doctor_shows_a_model_api_and_never_its_key() {
    let api = ModelApi::replaying([]).expect("a port");
    let world = world(&api, "");
    let (_, report) = world.json(&["doctor"]);
    let check = check(&report, "provider llm");
    let detail = format!("openai, m, at {}, with a key", api.base_url());
    shows!(check, {"status": "ok", "detail": detail});
    assert!(!report.to_string().contains("sk-test"));
    assert_eq!(api.received().len(), 0);
}

#[test]
fn what_is_wrong_with_a_model_api_is_named_by_its_key() {
    let api = ModelApi::replaying([]).expect("a port");
    for (old, new, problem) in [
        ("kind = \"openai\"\n", "", "`kind` is missing"),
        (
            "kind = \"openai\"",
            "kind = \"gpt\"",
            "`provider.llm.kind` is `gpt`",
        ),
        ("model = \"m\"", "", "`model` is missing"),
        (
            "\"key\"",
            "\"absent\"",
            "provider.llm.key_file: cannot read",
        ),
        (
            "key_file = \"key\"",
            "bash = true\nsandbox_max = 1",
            "sandbox of level 2",
        ),
        (
            "key_file = \"key\"",
            "price = {input = -1, output = 1}",
            "must not be negative",
        ),
    ] {
        let world = world(&api, "");
        let text = fs::read_to_string(world.home.join("config.toml")).expect("it is there");
        world.write_config(&text.replace(old, new));
        let answer = shown!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 78}, "{new}");
        let message = answer["error"]["message"].to_string();
        assert!(message.contains(problem), "{new}: {message}");
    }
}

#[test]
fn a_default_without_a_section_is_an_agent_or_an_error() {
    let world = World::pushed();
    let configure = |name: &str| {
        world.watch_with(&format!("[provider]\ndefault = {name:?}\n"));
        world.json(&["fire", "pusher", "--repo", "repo"])
    };
    let answer = shown!(configure("mine"), {"$?": 78});
    let message = answer["error"]["message"].to_string();
    let problem = "`provider.default` names `mine`, but there is no section `[provider.mine]`";
    assert!(message.contains(problem), "{message}");
    // The search path of a test contains no agent, so the error names the program.
    let (_, answer) = configure("codex");
    let error = &answer["runs"][0]["error"];
    assert_eq!(error["type"], "spawn", "{answer}");
    let message = error["message"].to_string();
    assert!(message.contains("cannot run `codex`"), "{message}");
}

#[test]
fn a_dispatched_run_uses_a_preset_and_an_unknown_one_is_named() {
    let api = ModelApi::replaying([Reply::text("small, but mine")]).expect("a port");
    let world = world(&api, "");
    let presets = world.home.join("presets");
    fs::create_dir(&presets).expect("a directory");
    let preset = format!(
        "kind = \"anthropic\"\nmodel = \"small\"\nbase_url = {:?}\nkey_file = \"key\"\ntools = [\"file\"]\n",
        api.base_url()
    );
    fs::write(presets.join("mine.toml"), preset).expect("a preset");
    let _host = world.serve();
    let call =
        |preset: &str| json!({"action": "emanate", "tasks": [{"task": "greet", "preset": preset}]});
    let refused = shown!(world.tool(&call("absent")), {"$?": 64});
    assert!(
        refused.to_string().contains("tasks[0].preset: unknown"),
        "{refused}"
    );
    let reply = shown!(world.tool(&call("mine")), {"$?": 0});
    let run = world.announced(reply["run_ids"][0].as_str().expect("an id"));
    shows!(run, {"status": "done", "result_preview": "small, but mine", "turn": 1});
    shows!(world.document(&run.text("run_id")), {
        "backend": "llm", "model": "small", "preset_name": "mine", "preset_provider": "anthropic",
        "preset_model": "small", "tools": ["file"],
    });
    assert_eq!(
        api.received()[0].tools(),
        ["read", "list", "search", "write", "edit"]
    );
    assert_eq!(api.received()[0].body["model"], "small");
}
