//! Agents whose provider is a coding agent: their tools, on the server that the host mounts for each turn.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::conversing::{add_agent, call, history, of};
use crate::rpc::Rpc;
use crate::serve_sandbox::levels;
use crate::world::{Host, World, eventually, json_lines};

/// A stand-in for each agent. A message that is an object is the call of a tool that it makes.
fn script() -> String {
    let servers = include_str!("programs/task-server-agent.sh");
    let plays = include_str!("programs/agent-tools.sh");
    format!("said=$(tail -n 1)\n{servers}\n{plays}")
}

fn world(provider: &str, level: u8) -> World {
    let world = World::pushed();
    world.script(&script());
    let program = world.beside("agent.sh").display().to_string();
    world.configure(&format!("[provider.{provider}]\ncommand = {program:?}\n"));
    world.at_level(level);
    let tools = "tools: [ask_user, remember, recall]";
    add_agent(&world, &format!("model: {provider}\n{tools}\n"));
    world
}

/// Returns the directory of the only conversation.
fn place(world: &World) -> PathBuf {
    let mut places = fs::read_dir(world.home.join("places")).expect("the places");
    places.next().expect("a place").expect("an entry").path()
}

/// Returns what the server sent.
fn sent(world: &World) -> Vec<Value> {
    let answers = fs::read_to_string(place(world).join("work/answers"));
    json_lines(&answers.expect("it called"))
}

/// Returns the results that the server sent: the listed names, and of the call whether it failed and its text.
fn answers(world: &World) -> (Vec<String>, Value, String) {
    let answers = sent(world);
    let tools = answers[0]["result"]["tools"].as_array().expect("tools");
    let names = tools.iter().map(|tool| &tool["name"]);
    let names = names.map(|name| name.as_str().expect("a name").to_owned());
    let (result, text) = (&answers[1]["result"], "/content/0/text");
    let text = result.pointer(text).and_then(Value::as_str);
    let text = text.unwrap_or_else(|| panic!("{answers:?}"));
    (names.collect(), result["isError"].clone(), text.to_owned())
}

fn types(lines: &[Value]) -> Vec<&str> {
    let types = lines.iter().map(|line| line["type"].as_str());
    types.map(|kind| kind.expect("a type")).collect()
}

/// Sends the call of a tool as the message of a turn, and returns the client that waits for its end.
fn begins(host: &Host, tool: &Value) -> Rpc {
    let mut rpc = Rpc::initialized(host.socket());
    let params = of(&json!({"content": tool.to_string()}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "conversation/stream", "params": params});
    rpc.line(&request.to_string());
    rpc
}

/// Waits until a question is asked, and returns its id.
fn asked(host: &Host) -> String {
    eventually("it asks", || {
        let listed = Rpc::initialized(host.socket()).call("conversation/list", &json!({}));
        let ask = listed["result"]["conversations"][0]["ask_id"].as_str();
        ask.map(str::to_owned)
    })
}

fn question() -> Value {
    json!({"name": "ask_user", "arguments": {"questions": ["Which one?"]}})
}

#[test]
fn the_tools_of_an_agent_and_no_others_reach_its_coding_agent() {
    let confined = levels().into_iter().map(|level| ("claude", level));
    let agents = ["claude", "codex", "opencode"].map(|provider| (provider, 1));
    for (provider, level) in agents.into_iter().chain(confined) {
        let context = format!("{provider} at level {level}");
        let world = world(provider, level);
        let host = world.serve();
        let entry = json!({"name": "colour", "content": "Blue."});
        let tool = json!({"name": "remember", "arguments": entry});
        let said = call(
            &host,
            "conversation/send",
            &json!({"content": tool.to_string()}),
        );
        shows!(said, {"result.text": "Called.", "result.outcome": "done"}, "{context}");
        let (names, is_error, text) = answers(&world);
        assert_eq!(names, ["ask_user", "remember", "recall"], "{context}");
        assert_eq!(is_error, false, "{context}: {text}");
        let lines = history(&host);
        let expected = ["meta", "user", "assistant", "tool", "assistant", "end"];
        assert_eq!(types(&lines), expected, "{context}");
        shows!(lines[2], {
            "content": "", "calls": [{"id": "call-3", "name": "remember", "arguments": entry}],
        }, "{context}");
        shows!(lines[3], {"call_id": "call-3", "output": text, "is_error": false}, "{context}");
        assert!(!place(&world).join("private").exists(), "{context}");
    }
}

#[test]
fn a_coding_agent_calls_no_tool_outside_the_scope_of_its_agent() {
    let world = world("claude", 1);
    let host = world.serve();
    let tool = json!({"name": "publish_event", "arguments": {"source": "s", "payload": {}}});
    let said = call(
        &host,
        "conversation/send",
        &json!({"content": tool.to_string()}),
    );
    shows!(said, {"result.outcome": "done"});
    let answers = sent(&world);
    let error = &answers[1]["error"]["message"];
    assert!(error.to_string().contains("publish_event"), "{answers:?}");
    let expected = ["meta", "user", "assistant", "end"];
    assert_eq!(types(&history(&host)), expected);
}

#[test]
fn a_coding_agent_asks_its_user_and_waits_over_a_reload() {
    for (provider, level) in [("claude", 1), ("codex", 1), ("opencode", 1)] {
        let world = world(provider, level);
        let host = world.serve();
        let mut rpc = begins(&host, &question());
        let ask_id = asked(&host);
        let expected = ["meta", "user", "assistant", "ask"];
        assert_eq!(types(&history(&host)), expected, "{provider}");
        let reloaded = Rpc::initialized(host.socket()).call("host/reload", &json!({}));
        shows!(reloaded, {"result.generation": 2}, "{provider}");
        let reply = json!({"ask_id": ask_id, "content": "Blue."});
        let replied = call(&host, "conversation/reply_to_ask", &reply);
        shows!(replied, {"result.turn": 1}, "{provider}");
        let mut kinds = Vec::new();
        let end = loop {
            let answer = rpc.answer();
            match answer["params"]["event"]["type"].as_str() {
                Some("text") => {}
                Some(kind) => kinds.push(kind.to_owned()),
                None => break answer,
            }
        };
        shows!(end, {"result.text": "Called.", "result.outcome": "done"}, "{provider}");
        let expected = ["start", "tool_start", "ask_user", "tool_result", "end"];
        assert_eq!(kinds, expected, "{provider}");
        let (_, is_error, text) = answers(&world);
        assert_eq!((is_error, text), (json!(false), "Blue.".to_owned()));
    }
}

#[test]
fn the_answer_to_a_coding_agent_resumes_its_session_after_a_kill_of_the_host() {
    for (provider, level) in [("claude", 1), ("codex", 1), ("opencode", 1)] {
        let world = world(provider, level);
        let host = world.serve();
        let _waits = begins(&host, &question());
        let ask_id = asked(&host);
        host.kill();
        let host = world.serve();
        let reply = json!({"ask_id": ask_id, "content": "Blue."});
        let replied = call(&host, "conversation/reply_to_ask", &reply);
        shows!(replied, {"result.turn": 1}, "{provider}");
        let lines = eventually("the turn has ended", || {
            let lines = history(&host);
            let has_ended = types(&lines).last() == Some(&"end");
            has_ended.then_some(lines)
        });
        let expected = [
            "meta",
            "user",
            "assistant",
            "ask",
            "answer",
            "tool",
            "assistant",
            "end",
        ];
        assert_eq!(types(&lines), expected, "{provider}");
        let text = "Continued with: The result of your call of `ask_user`: Blue.";
        shows!(lines[6], {"content": text}, "{provider}");
        shows!(lines[7], {"outcome": "done"}, "{provider}");
    }
}
