//! Servers of tools that policy grants: their tools reach the run of every kind of provider, what they are given reaches none.

use std::fs;
use std::path::Path;

use daemon_fakes::{Message, ModelApi, Reply};
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::leaks::walk;
use crate::world::{World, check, executable, json_lines, kept, no_process_of};

/// A secret of the server, which no output may contain.
const KEY: &str = "tkt-canary-0123456789";
/// A server with a tool that reads, one that changes, one that floods, and one that ends it.
const SERVER: &str = include_str!("programs/granted-server.sh");

/// Two servers under one program, both granted to `pusher`.
fn granted(world: &World, provider: &str, more: &str) {
    let server = world.beside("server.sh");
    executable(&server, SERVER);
    fs::write(world.home.join("tickets-key"), format!("{KEY}\n")).expect("the key");
    let section = |name: &str| {
        format!(
            "[mcp.{name}]\ncommand = {:?}\nenv_file = {{ KEY = \"tickets-key\" }}\n",
            server.display().to_string()
        )
    };
    world.watch_with(&format!(
        "{}{}\n[policy.daemon.pusher]\nmcp = [\"tickets\", \"pages\"]\n{more}\n{provider}\n",
        section("tickets"),
        section("pages"),
    ));
}

fn model(api: &ModelApi, world: &World) -> String {
    fs::write(world.home.join("key"), "sk-test-0123456789\n").expect("the key");
    format!(
        "[provider]\ndefault = \"llm\"\n[provider.llm]\nkind = \"openai\"\nmodel = \"m\"\nbase_url = {:?}\nkey_file = \"key\"\n",
        api.base_url()
    )
}

fn events(run: &Value) -> Vec<Value> {
    json_lines(&kept(run, "logs/events.jsonl"))
}

/// Returns the tool calls in a run's log, each with its name and its outcome.
fn uses(run: &Value) -> Vec<(String, String)> {
    let all = events(run).into_iter();
    let ended = all.filter(|event| event["event"] == "tool_result");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    ended
        .map(|event| (text(&event["name"]), text(&event["status"])))
        .collect()
}

/// Asserts that a secret occurs in no file of a run and in no file of the host.
fn is_nowhere(world: &World, folder: &str, secret: &str) {
    for place in [Path::new(folder), &world.home.join("logs")] {
        for found in walk(place, &[]) {
            assert!(
                !found.text.contains(secret),
                "{}: {}",
                found.path,
                found.text
            );
        }
    }
}

fn fired(world: &World) -> Value {
    let (_, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(fired["activation"]["state"], "succeeded", "{fired}");
    let run = fired["runs"][0].clone();
    no_process_of(&run.text("id"));
    run
}

fn ok(name: &str) -> (String, String) {
    (name.to_owned(), "ok".to_owned())
}

fn error(name: &str) -> (String, String) {
    (name.to_owned(), "error".to_owned())
}

#[test]
fn a_model_uses_granted_tools_and_continues_when_a_server_fails() {
    let calls = Message::default()
        .and_call("tickets__find", json!({"q": "x"}))
        .and_call("tickets__close", json!({}))
        .and_call("tickets__flood", json!({}))
        .and_call("pages__die", json!({}))
        .and_call("pages__find", json!({}));
    let api = ModelApi::replaying([Reply::Message(calls), Reply::text("done")]).expect("a port");
    let world = World::pushed();
    granted(&world, &model(&api, &world), "");
    let host = world.serve();
    let run = fired(&world);
    let received = api.received();
    let of_servers: Vec<String> = received[0]
        .tools()
        .into_iter()
        .filter(|name| name.contains("__"))
        .collect();
    let expected = ["find", "close", "flood", "die"];
    let expected: Vec<String> = ["tickets", "pages"]
        .iter()
        .flat_map(|server| expected.map(|tool| format!("{server}__{tool}")))
        .collect();
    assert_eq!(of_servers, expected);
    assert_eq!(
        received[1].tool_results(),
        [
            "found with <redacted>",
            "error: no such ticket",
            "error: the server `tickets`: the server sent too much data",
            "error: the server `pages`: the server has closed the connection",
            "error: the server `pages`: the server has closed the connection",
        ]
    );
    assert_eq!(
        uses(&run),
        [
            ok("tickets__find"),
            error("tickets__close"),
            error("tickets__flood"),
            error("pages__die"),
            error("pages__find")
        ]
    );
    // The cost of the model's calls is part of the run.
    let cost = run["cost_usd"].as_f64().expect("it is known");
    assert!(cost > 0.0, "{run}");
    let (_, shown) = world.json(&["run", run["id"].as_str().expect("an id")]);
    assert_eq!(shown["run"]["cost_usd"], run["cost_usd"], "{shown}");
    is_nowhere(&world, run["folder"].as_str().expect("a folder"), KEY);
    // The servers did get it.
    let given = fs::read_to_string(world.beside("given")).expect("they began");
    assert_eq!(given, format!("{KEY}\n{KEY}\n"));
    host.stop();
}

#[test]
fn a_run_that_may_only_read_is_offered_tools_that_say_they_read() {
    let calls = Message::default().and_call("tickets__close", json!({}));
    let api = ModelApi::replaying([Reply::Message(calls), Reply::text("done")]).expect("a port");
    let world = World::pushed();
    granted(&world, &model(&api, &world), "capability = \"read\"");
    let host = world.serve();
    let run = fired(&world);
    let received = api.received();
    let tools = received[0].tools();
    let of_servers: Vec<&String> = tools.iter().filter(|name| name.contains("__")).collect();
    assert_eq!(of_servers, ["tickets__find", "pages__find"]);
    assert_eq!(
        received[1].tool_results(),
        ["error: tool not registered: `tickets__close`"]
    );
    let denied = events(&run).into_iter();
    let denied: Vec<Value> = denied
        .filter(|event| event["event"] == "permission_denied")
        .map(|event| json!([event["name"], event["detail"]]))
        .collect();
    let detail = "tools that are not marked as reading, under the capability `read`: 3 not offered: close, flood, die";
    assert_eq!(
        denied,
        [json!(["mcp.tickets", detail]), json!(["mcp.pages", detail])]
    );
    host.stop();
}

#[test]
fn a_run_without_a_grant_sees_no_server_that_its_repository_configures() {
    let api = ModelApi::replaying([Reply::text("done")]).expect("a port");
    let world = World::pushed();
    granted(&world, &model(&api, &world), "");
    let config = fs::read_to_string(world.home.join("config.toml")).expect("it is there");
    world.write_config(&config.replace("mcp = [\"tickets\", \"pages\"]", ""));
    for file in [".mcp.json", ".agents/config.toml", "config.toml"] {
        world.write(
            file,
            "[mcp.own]\ncommand = \"sh\"\n[policy.daemon.pusher]\nmcp = [\"tickets\"]\n",
        );
    }
    world.commit("claim servers");
    let host = world.serve();
    let run = fired(&world);
    let tools = api.received()[0].tools();
    assert!(!tools.iter().any(|name| name.contains("__")), "{tools:?}");
    assert!(!world.beside("given").exists());
    let prompt = kept(&run, ".prompt");
    assert!(!prompt.contains("Servers whose tools"), "{prompt}");
    host.stop();
}

#[test]
fn a_removed_server_is_recorded_and_the_run_continues() {
    let calls = Message::default().and_call("tickets__find", json!({}));
    let api = ModelApi::replaying([Reply::Message(calls), Reply::text("done")]).expect("a port");
    let world = World::pushed();
    granted(&world, &model(&api, &world), "");
    let host = world.serve();
    fs::remove_file(world.beside("server.sh")).expect("it was there");
    let run = fired(&world);
    assert_eq!(uses(&run), [error("tickets__find")]);
    let told = events(&run).into_iter();
    let told: Vec<Value> = told
        .filter(|event| event["event"] == "limit")
        .map(|event| event["name"].clone())
        .collect();
    assert_eq!(told, [json!("mcp.tickets"), json!("mcp.pages")]);
    host.stop();
}

/// A client of the server in a configuration file, which writes every response to a file.
pub(crate) const CLIENT: &str = include_str!("programs/mcp-client.sh");
/// What the client asks for.
const ASKS: &str = include_str!("programs/granted-asks.sh");

/// Asserts that a program got the tools of both servers, and nothing that they are given.
fn asked_well(world: &World) {
    let read = |name: &str| fs::read_to_string(world.beside(name)).unwrap_or_default();
    let answers = json_lines(&read("answers"));
    let tools = answers[1]["result"]["tools"].as_array().expect("a list");
    let reading: Vec<Value> = tools
        .iter()
        .filter(|tool| tool["annotations"]["readOnlyHint"] == true)
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(tools.len(), 3 + 8, "{}", read("trouble"));
    assert_eq!(
        json!(reading),
        json!(["state_get", "tickets__find", "pages__find"])
    );
    shows!(answers, {"2.result": {"content": [{"type": "text", "text": "found with <redacted>"}], "isError": false}});
    shows!(answers, {"3.result": {"content": [{"type": "text", "text": "no such ticket"}], "isError": true}});
    for name in ["answers", "environment", "config"] {
        assert!(!read(name).contains(KEY), "{name}");
    }
}

#[test]
fn an_agent_uses_granted_tools_through_the_hosts_own_server() {
    let world = World::pushed();
    world.script(&format!(
        r#"cat > /dev/null; here=$(dirname "$0")
echo '{{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}}'
while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && config=$2; shift; done
{CLIENT}{ASKS}
echo '{{"type":"result","subtype":"success","is_error":false,"result":"Done.","usage":{{}}}}'
"#
    ));
    let agent = world.beside("agent.sh").display().to_string();
    let provider =
        format!("[provider]\ndefault = \"claude\"\n[provider.claude]\ncommand = {agent:?}\n");
    granted(&world, &provider, "");
    world.unconfined();
    let host = world.serve();
    let run = fired(&world);
    asked_well(&world);
    is_nowhere(&world, run["folder"].as_str().expect("a folder"), KEY);
    host.stop();
}

#[test]
fn a_command_reads_where_its_granted_tools_are_and_the_host_records_their_use() {
    let world = World::pushed();
    world.script(&format!(
        "cat > /dev/null; here=$(dirname \"$0\"); config=$DAEMON_MCP\n{CLIENT}{ASKS}\necho done\n"
    ));
    let agent = world.beside("agent.sh").display().to_string();
    let provider = format!("[provider]\ndefault = \"sh\"\n[provider.sh]\ncommand = {agent:?}\n");
    granted(&world, &provider, "");
    world.unconfined();
    let host = world.serve();
    let run = fired(&world);
    asked_well(&world);
    assert_eq!(uses(&run), [ok("tickets__find"), error("pages__close")]);
    assert_eq!(run["tool_call_count"], 2);
    let folder = run["folder"].as_str().expect("a folder");
    assert!(!Path::new(&format!("{folder}/private")).exists());
    let prompt = kept(&run, ".prompt");
    for words in ["tickets, pages", "`tickets__NAME`", "`DAEMON_MCP`"] {
        assert!(prompt.contains(words), "{prompt}");
    }
    is_nowhere(&world, folder, KEY);
    host.stop();
}

#[test]
fn what_is_wrong_with_a_server_stops_the_start_and_the_doctor_shows_no_secret() {
    let api = ModelApi::replaying([]).expect("a port");
    let world = World::pushed();
    granted(&world, &model(&api, &world), "");
    let whole = fs::read_to_string(world.home.join("config.toml")).expect("it is there");
    let (_, report) = world.json(&["doctor"]);
    let check = check(&report, "mcp tickets");
    let server = world.beside("server.sh");
    shows!(check, {
        "status": "ok", "detail": format!("stdio, {}, 1 secret set, granted to pusher", server.display()),
    });
    assert!(!report.to_string().contains(KEY));
    for (old, new, problem) in [
        (
            "env_file = { KEY",
            "bogus = { KEY",
            "unknown key `mcp.tickets.bogus`",
        ),
        (
            "\"tickets-key\"",
            "\"absent\"",
            "mcp.pages.env_file.KEY: cannot read",
        ),
        ("server.sh", "absent.sh", "mcp.pages.command cannot be run"),
        (
            "mcp = [\"tickets\"",
            "mcp = [\"others\"",
            "`policy.daemon.pusher.mcp` names `others`, and there is no section `[mcp.others]`",
        ),
    ] {
        world.write_config(&whole.replace(old, new));
        let answer = shown!(world.json(&["fire", "pusher", "--repo", "repo"]), {"$?": 78}, "{new}");
        let message = answer["error"]["message"].to_string();
        assert!(message.contains(problem), "{new}: {message}");
    }
    let schema = shown!(world.json(&["schema", "config"]), {"$?": 0});
    let keys = schema.to_string();
    assert!(
        keys.contains("env_file") && keys.contains("headers_env"),
        "{keys}"
    );
}
