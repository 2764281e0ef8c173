//! MCP servers in the turns of agents, and the methods that set and show them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use daemon_fakes::Reply;
use serde_json::{Value, json};

use crate::conversing::{add_agent, api, call, received, world};
use crate::rpc::Rpc;
use crate::world::{World, eventually, executable, processes_with};

/// The secret of the server; no other test has it, so that its processes can be found by it.
const KEY: &str = "tkt-agents-0123456789";
const SERVER: &str = include_str!("programs/granted-server.sh");

/// Writes the program of the servers and the file of its key; returns the command.
fn server(world: &World) -> String {
    let server = world.beside("server.sh");
    executable(&server, SERVER);
    let key = world.home.join("tickets-key");
    fs::write(&key, format!("{KEY}\n")).expect("the key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
    server.display().to_string()
}

fn listed(rpc: &mut Rpc) -> Value {
    let mut answer = rpc.call("mcp/list", &json!({}));
    assert!(!answer.to_string().contains(KEY), "{answer}");
    answer["result"]["servers"].take()
}

#[test]
fn an_agent_uses_the_servers_that_its_file_names_until_the_host_stops() {
    let api = api([
        Reply::call("mcp__tickets__find", json!({})),
        Reply::text("Found."),
        Reply::call("mcp__tickets__die", json!({})),
        Reply::text("It is gone."),
        Reply::call("mcp__tickets__find", json!({})),
        Reply::text("Not mine."),
    ]);
    let world = world(&api, "");
    let command = server(&world);
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let tickets = json!({"name": "tickets", "transport": "stdio", "command": command,
        "env": {"KEY": {"file": "tickets-key"}}});
    shows!(rpc.call("mcp/set", &tickets), {"result.state": "connecting"});
    add_agent(&world, "mcps: [tickets]\n");
    let say = |content: &str| call(&host, "conversation/send", &json!({"content": content}));
    shows!(say("Find it."), {"result.text": "Found."});
    let last = |api| {
        let messages = received(api).into_iter().rev();
        let mut results = messages.filter(|(role, _)| role == "tool");
        results.next().expect("a result").1
    };
    assert_eq!(last(&api), "found with <redacted>");
    let found = listed(&mut rpc);
    shows!(found, {"0.name": "tickets", "0.state": "connected", "0.tools": ["find", "close", "flood", "die"],
        "0.error": null, "0.restarts": 0});
    shows!(say("End it."), {"result.text": "It is gone."});
    assert!(
        last(&api).starts_with("error: the server `tickets`: "),
        "{}",
        last(&api)
    );
    eventually("the server is connected again", || {
        let found = listed(&mut rpc);
        (found[0]["state"] == "connected" && found[0]["restarts"] == 1).then_some(())
    });
    add_agent(&world, "description: It has no servers.\n");
    shows!(say("Find it."), {"result.text": "Not mine."});
    assert_eq!(
        last(&api),
        "error: tool not registered: `mcp__tickets__find`"
    );
    shows!(rpc.call("mcp/restart", &json!({"name": "absent"})), {"error.data.code": "not-found"});
    let text = fs::read_to_string(world.home.join("config.toml")).expect("the configuration");
    assert!(
        !text.contains(KEY) && text.contains("tickets-key"),
        "{text}"
    );
    host.stop();
    assert_eq!(processes_with(&format!("KEY={KEY}")), [0; 0]);
}

#[test]
fn servers_are_set_restarted_and_removed() {
    let api = api([]);
    let world = world(&api, "");
    let command = server(&world);
    let path = world.home.join("config.toml");
    let before = fs::read_to_string(&path).expect("the configuration");
    let host = world.serve();
    let mut rpc = Rpc::initialized(host.socket());
    let set = |more: Value| {
        let mut params = json!({"name": "tickets", "transport": "stdio", "command": command});
        let members = params.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        params
    };
    for (more, code) in [
        (json!({"name": "../x"}), "invalid-params"),
        (json!({"env": {"KEY": KEY}}), "invalid-params"),
        (
            json!({"env": {"KEY": {"file": "../key"}}}),
            "invalid-params",
        ),
        (
            json!({"env": {"KEY": {"file": "absent"}}}),
            "config-invalid",
        ),
        (json!({"url": "http://127.0.0.1:1/mcp"}), "config-invalid"),
        (json!({"command": "no-such-program-here"}), "config-invalid"),
    ] {
        let answer = rpc.call("mcp/set", &set(more.clone()));
        assert_eq!(answer["error"]["data"]["code"], code, "{more}: {answer}");
        let text = fs::read_to_string(&path).expect("the configuration");
        assert_eq!(text, before, "{more}");
    }
    shows!(rpc.call("mcp/set", &set(json!({}))), {"result.state": "connecting"});
    eventually("the server is connected", || {
        (listed(&mut rpc)[0]["state"] == "connected").then_some(())
    });
    shows!(rpc.call("mcp/restart", &json!({"name": "tickets"})), {"result.state": "connected"});
    eventually("the server is connected again", || {
        let found = listed(&mut rpc);
        (found[0]["state"] == "connected" && found[0]["restarts"] == 1).then_some(())
    });
    shows!(rpc.call("mcp/delete", &json!({"name": "tickets"})), {"result.state": "disconnected"});
    assert_eq!(listed(&mut rpc), json!([]));
    let text = fs::read_to_string(&path).expect("the configuration");
    assert_eq!(text.trim_end(), before.trim_end());
    shows!(rpc.call("mcp/delete", &json!({"name": "tickets"})), {"error.data.code": "not-found"});
}
