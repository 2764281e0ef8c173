//! Tools over the Model Context Protocol: those of a live host, and those that a host gives its own runs.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::granted::CLIENT;
use crate::mcp_client::Client;
use crate::world::{Host, World, eventually, json_lines};

impl Client {
    pub(crate) fn start(world: &World) -> Self {
        Self::named(world, "An Editor")
    }

    fn named(world: &World, name: &str) -> Self {
        Self::started(world, name, &[])
    }

    /// Starts it with more arguments.
    pub(crate) fn started(world: &World, name: &str, arguments: &[&str]) -> Self {
        Self::over(world.command(&["mcp"]).args(arguments), name)
    }

    /// Waits for a notification.
    pub(crate) fn notification(&mut self) -> Value {
        match self.notified.pop_front() {
            Some(notified) => notified,
            None => self.read(),
        }
    }
}

#[test]
fn an_agent_fires_a_daemon_and_sees_its_end() {
    let (world, host) = World::serving();
    let mut client = Client::start(&world);
    let fired = shown!(client.call("fire", &json!({"id": "pusher"})), {
        "isError": false, "activation.state": "succeeded",
    });
    assert_eq!(fired["runs"][0]["state"], "done");
    let (_, listed) = client.call("activations", &json!({}));
    assert_eq!(listed["activations"][0]["id"], fired["activation"]["id"]);
    assert_eq!(client.end(), Some(0));
    host.stop();
}

#[test]
fn an_agent_dispatches_checks_and_reclaims_in_its_own_name() {
    let (world, host) = World::serving();
    let mut client = Client::start(&world);
    let desk = world.desk();
    std::fs::create_dir_all(&desk).expect("a directory");
    let tasks = json!([{"task": "Note.", "cwd": desk.display().to_string()}]);
    let reply = shown!(client.call("daemon", &json!({"action": "emanate", "tasks": tasks})), {
        "isError": false, "ids": ["em-1"],
    });
    let id = reply.text("run_ids.0");
    let checked = eventually("the run is over", || {
        let (_, checked) = client.call("daemon", &json!({"action": "check", "id": "em-1"}));
        (checked["status"] != "running").then_some(checked)
    });
    shows!(checked, {"status": "done", "run_id": id});
    let parent = world.document(&id)["parent_addr"].clone();
    let parent = parent.as_str().expect("an address");
    assert!(parent.starts_with("mcp:An-Editor#"), "{parent}");
    let (is_error, reply) = client.call("daemon", &json!({"action": "emanate", "tasks": []}));
    assert_eq!(
        (is_error, reply),
        (
            true,
            json!({"status": "error", "message": "No tasks provided"})
        )
    );
    let (_, reply) = client.call("daemon", &json!({"action": "reclaim"}));
    assert_eq!(reply["status"], "reclaimed");
    host.stop();
    shows!(client.call("daemon", &json!({"action": "list"})), {"isError": false, "emanations.0.run_id": id});
    let (is_error, reply) = client.call(
        "daemon",
        &json!({"action": "ask", "id": "em-1", "message": "x"}),
    );
    let message = "No host is running for this home";
    assert_eq!(
        (is_error, reply),
        (true, json!({"status": "error", "message": message}))
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_end_of_a_run_is_sent_only_to_the_client_that_dispatched_it() {
    let (world, host) = World::serving();
    let desk = world.desk();
    std::fs::create_dir_all(&desk).expect("a directory");
    let (mut one, mut other) = (Client::named(&world, "one"), Client::named(&world, "other"));
    let task = json!({"task": "Note.", "cwd": desk.display().to_string()});
    let call = json!({"action": "emanate", "tasks": [task]});
    let run = |client: &mut Client| {
        let (is_error, reply) = client.call("daemon", &call);
        assert!(!is_error, "{reply}");
        reply["run_ids"][0].clone()
    };
    for client in [&mut one, &mut other] {
        let run = run(client);
        let told = client.notification();
        let event = &told["params"];
        assert_eq!(
            json!([told["method"], event["run_id"], event["status"]]),
            json!(["run/event", run, "done"]),
            "{told}"
        );
        // It is the event that the home holds.
        assert_eq!(world.events().last(), Some(event));
        assert_eq!(client.notified, VecDeque::new());
    }
    assert_eq!((one.end(), other.end()), (Some(0), Some(0)));
    host.stop();
}

/// A stand-in for `claude` that calls the server it is given, writes the responses to files, and writes down how to connect again.
const SPEAKS: &str = include_str!("programs/mcp-speaks.sh");

fn speaking() -> World {
    let begins = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"11111111-2222-4333-8444-555555555555"}'
here=$(dirname "$0")
while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && config=$2; shift; done
"#;
    let world = World::of_claude(&[begins, CLIENT, SPEAKS].concat(), "");
    world.unconfined();
    world
}

fn lines(world: &World, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.beside(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn fire(host: &Host, world: &World) -> Value {
    let (_, fired) = world.json(&["fire", "pusher"]);
    shows!(fired, {"activation.state": "succeeded"}, "{fired} {}", host.address());
    fired
}

#[test]
fn a_run_reads_and_sets_state_and_proposes_through_the_hosts_own_server() {
    let world = speaking();
    let host = world.serve();
    let fired = fire(&host, &world);
    let answers = json_lines(&lines(&world, "answers").join("\n"));
    let tools = answers[1]["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["state_get", "state_set", "propose_output"],
        "{:?}",
        lines(&world, "trouble")
    );
    assert_eq!(answers[2]["result"]["isError"], false, "{answers:?}");
    shows!(answers, {"3.result.structuredContent": {"value": {"n": 1}}});
    assert_eq!(answers[4]["result"]["isError"], false, "{answers:?}");
    assert_eq!(answers[5]["result"]["isError"], true, "{answers:?}");
    let message = &answers[5]["result"]["structuredContent"]["message"];
    let message = message.as_str().expect("text");
    assert!(
        message.starts_with("there is no verb `merge`; there are push_branch, "),
        "{message}"
    );
    // What it set is there for the next run.
    let again = fire(&host, &world);
    let folder = again["runs"][0]["folder"].as_str().expect("a folder");
    let state =
        std::fs::read_to_string(format!("{folder}/context/state.json")).expect("it is there");
    assert_eq!(
        serde_json::from_str::<Value>(&state).expect("JSON")["values"]["seen"],
        json!({"n": 1}),
        "{state}"
    );

    let way = lines(&world, "way");
    let token = &way[2];
    let folder = fired["runs"][0]["folder"].as_str().expect("a folder");
    for file in ["daemon.json", "logs/events.jsonl"] {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).expect("it is there");
        assert!(!text.contains(token.as_str()), "{text}");
    }
    assert!(!std::path::Path::new(&format!("{folder}/private")).exists());
    host.stop();
}

#[test]
fn a_process_of_a_run_needs_the_token_of_a_live_run() {
    let world = speaking();
    let host = world.serve();
    fire(&host, &world);
    let way = lines(&world, "way");
    for token in [way[2].as_str(), "", "0000"] {
        let mut command = world.command(&["mcp", "--run", &way[1]]);
        command
            .env("DAEMON_RUN_TOKEN", token)
            .env("DAEMON_RUN_ID", "em-1");
        let mut client = Client::over(&mut command, "c");
        shows!(client.call("state_get", &json!({"key": "seen"})), {
            "isError": true, "message": "a process of a run shows the token of its run first",
        });
        client.end();
    }
    // Neither does the owner's door open for it.
    let mut command = world.command(&["hold", "--json"]);
    let output = command
        .env("DAEMON_RUN_ID", "em-1")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(77), "{output:?}");
    host.stop();
}
