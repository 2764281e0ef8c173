//! `mcp`: a client sends lines of the protocol through the pipes of the program.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::world::{OPENED, TIDY, World};

impl Client {
    fn start(world: &World, arguments: &[&str]) -> Self {
        Self::over(world.command(&["mcp"]).args(arguments), "An Editor")
    }

    fn tools(&mut self) -> Vec<Value> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array();
        tools.expect("a list").clone()
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    let names = tools.iter().map(|tool| tool["name"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

#[test]
fn what_reads_the_working_tree_answers_as_the_commands_do_and_needs_no_home() {
    let world = World::of_daemon(TIDY);
    let before = world.tree();
    let mut client = Client::start(&world, &[]);
    let event: Value = serde_json::from_str(OPENED).expect("JSON");
    let opened = json!({"event": event, "source": "github", "kind": "pull_request"});
    let (is_error, told) = client.call("explain", &opened);
    let mut objects = [
        told.clone(),
        world.run_opened(&["explain", "--json"]).json(),
    ];
    for object in &mut objects {
        // The clock, and the hash of a body that is written with other spaces.
        object["event"]["time"] = Value::Null;
        object["event"]["delivery_id"] = Value::Null;
    }
    assert_eq!((is_error, &objects[0]), (false, &objects[1]));
    assert_eq!(told["daemons"][0]["wakes"], true);
    let condition = "when a pull request is opened";
    let (_, told) = client.call("explain", &json!({"condition": condition}));
    let expected = world.run(&["explain", "--condition", condition, "--json"]);
    assert_eq!(told, expected.json());

    let from = "2026-11-23T00:00:00Z";
    let (_, told) = client.call("next", &json!({"id": "tidy", "from": from, "n": 2}));
    let expected = world.run(&["next", "tidy", "--from", from, "-n", "2", "--json"]);
    assert_eq!(told, expected.json());
    let (_, told) = client.call("next", &json!({"from": from}));
    assert_eq!(told, world.run(&["next", "--from", from, "--json"]).json());
    let (is_error, told) = client.call("next", &json!({"cron": "61 * * * *"}));
    let expected = world.run(&["next", "--cron", "61 * * * *", "--json"]);
    assert_eq!((is_error, told), (true, expected.json()));

    let (_, told) = client.call("lint", &json!({}));
    assert_eq!(told, world.run(&["lint", "--json"]).json());
    let (_, told) = client.call(
        "lint",
        &json!({"text": "no daemon", "path": ".agents/daemons/x/DAEMON.md"}),
    );
    assert_eq!(
        (&told["ok"], &told["files"][0]["diagnostics"][0]["code"]),
        (&json!(false), &json!("D003"))
    );

    let (_, told) = client.call("fire", &json!({"id": "tidy", "dry_run": true}));
    let printed = world.run(&["fire", "tidy", "--dry-run", "--json"]);
    let mut objects = [told, printed.json()];
    for object in &mut objects {
        // It holds the time.
        object["plan"]["context"] = Value::Null;
    }
    assert_eq!(objects[0], objects[1]);
    assert_eq!(client.end(), Some(0));
    assert_eq!(world.tree(), before);
}

#[test]
fn what_needs_a_host_fails_without_one() {
    let world = World::of_daemon(TIDY);
    let mut client = Client::start(&world, &[]);
    let (is_error, told) = client.call("fire", &json!({"id": "tidy"}));
    let message = "No host is running for this home";
    assert_eq!(
        (is_error, &told["error"]["message"]),
        (true, &json!(message))
    );
    let (is_error, told) = client.call("daemon", &json!({"action": "reclaim"}));
    assert_eq!(
        (is_error, told),
        (true, json!({"status": "error", "message": message}))
    );
    let (is_error, told) = client.call("runs", &json!({}));
    assert_eq!(
        (is_error, &told["error"]["code"]),
        (true, &json!("no-home"))
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn listings_are_those_of_the_commands_and_take_all_they_say_they_take() {
    let world = World::of_daemon(TIDY);
    assert_eq!(world.run(&["fire", "tidy", "--json"]).code, 0);
    let mut client = Client::start(&world, &["--read-only"]);
    for command in ["list", "activations", "runs", "events", "ticks", "outputs"] {
        let (is_error, told) = client.call(command, &json!({}));
        let expected = world.run(&[command, "--json"]).json();
        assert_eq!((is_error, told), (false, expected), "{command}");
    }
    let (_, runs) = client.call("runs", &json!({"limit": 1, "daemon": "tidy", "repo": "."}));
    let id = &runs["runs"][0]["id"];
    let (_, told) = client.call("run", &json!({"id": id}));
    let id_text = id.as_str().expect("an id");
    assert_eq!(told, world.run(&["run", id_text, "--json"]).json());
    let (_, told) = client.call("logs", &json!({"id": id, "after": 1}));
    assert_eq!(
        told["lines"][0],
        client.call("run", &json!({"id": id})).1["timeline"][1]
    );
    let (_, told) = client.call("show", &json!({"id": "tidy"}));
    assert_eq!(told, world.run(&["show", "tidy", "--json"]).json());

    let values = json!({"limit": 3, "after": "x", "daemon": "d", "repo": "o/r", "state": "open", "since": "1h",
        "until": "2026-11-23T00:00:00Z", "id": "x", "n": 1});
    for tool in client.tools() {
        let properties = tool["inputSchema"]["properties"]
            .as_object()
            .expect("an object");
        for name in properties.keys().filter(|name| values.get(*name).is_some()) {
            let mut given = json!({name.as_str(): values[name]});
            if tool["inputSchema"]["required"] == json!(["id"]) {
                given["id"] = json!("x");
            }
            let (_, told) = client.call(tool["name"].as_str().expect("a name"), &given);
            assert!(
                !told.to_string().contains("is not a parameter"),
                "{tool}: {told}"
            );
        }
        let (is_error, told) = client.call(
            tool["name"].as_str().expect("a name"),
            &json!({"bogus": 1, "id": "x"}),
        );
        assert!(is_error, "{told}");
    }
    assert_eq!(client.end(), Some(0));
}

/// The tools that change nothing.
const READING: [&str; 23] = [
    "lint",
    "explain",
    "next",
    "list",
    "show",
    "activations",
    "activation",
    "runs",
    "run",
    "logs",
    "events",
    "event",
    "ticks",
    "outputs",
    "output",
    "notices",
    "recall_roster",
    "recall_daemon",
    "recall_signals",
    "recall_compaction",
    "recall_reset",
    "recall_audit",
    "recall_charters",
];

#[test]
fn read_only_serves_nothing_that_changes_anything() {
    let world = World::of_daemon(TIDY);
    let mut all = Client::start(&world, &[]);
    let tools = all.tools();
    for tool in &tools {
        let name = tool["name"].as_str().expect("a name");
        assert_eq!(
            tool["annotations"]["readOnlyHint"],
            READING.contains(&name),
            "{name}"
        );
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
    let mut reading = Client::start(&world, &["--read-only"]);
    let served = reading.tools();
    let mut expected = READING.to_vec();
    expected.push("daemon");
    expected.sort_unstable();
    let mut served_names = names(&served);
    served_names.sort_unstable();
    assert_eq!(served_names, expected);
    let daemon = served
        .iter()
        .find(|tool| tool["name"] == "daemon")
        .expect("it is there");
    assert_eq!(
        daemon["inputSchema"]["properties"]["action"]["enum"],
        json!(["list", "check"])
    );
    let (is_error, told) = reading.call(
        "daemon",
        &json!({"action": "emanate", "tasks": [{"task": "x"}]}),
    );
    let message = "only list and check are served read-only";
    assert_eq!(
        (is_error, told),
        (true, json!({"status": "error", "message": message}))
    );
    let answer = reading.ask(
        "tools/call",
        &json!({"name": "fire", "arguments": {"id": "tidy"}}),
    );
    assert_eq!(answer["error"]["message"], "no tool `fire`");
    assert_eq!((all.end(), reading.end()), (Some(0), Some(0)));
}

#[test]
fn the_manual_is_served_as_resources() {
    let world = World::new();
    let mut client = Client::start(&world, &[]);
    let answer = client.ask("resources/list", &json!({}));
    let resources = answer["result"]["resources"].as_array().expect("a list");
    assert_eq!(resources.len(), 5);
    for resource in resources {
        let read = client.ask("resources/read", &json!({"uri": resource["uri"]}));
        let text = read["result"]["contents"][0]["text"]
            .as_str()
            .expect("a text");
        assert_eq!(resource["size"], text.len());
        assert!(text.starts_with("---\nname: daemon-"), "{text}");
    }
    assert_eq!(resources[0]["uri"], "skill://daemon-manual/SKILL.md");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn what_is_not_of_the_protocol_ends_nothing_but_itself() {
    let world = World::new();
    let mut client = Client::start(&world, &[]);
    let mut writing = client.writing.as_ref().expect("the conversation goes on");
    writeln!(writing, "this is no JSON").expect("the program reads");
    writeln!(writing, "{{\"jsonrpc\":\"2.0\",\"id\":7}}").expect("the program reads");
    for (id, code) in [(Value::Null, -32700), (json!(7), -32600)] {
        let answer = client.read();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{answer}"
        );
    }
    assert!(!client.tools().is_empty());
    assert_eq!(client.end(), Some(0));
}
