//! Whose a run is: what one parent can name, end and see of the runs of others.

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::mcp_client::Client;
use crate::world::{World, until};

fn task(world: &World) -> Value {
    std::fs::create_dir_all(world.desk()).expect("a directory");
    json!([{"task": "Wait.", "cwd": world.desk().display().to_string()}])
}

fn waiting() -> World {
    let world = World::pushed();
    world.script("cat > /dev/null\necho up\nwhile [ ! -e go ]; do sleep 0.02; done\n");
    world
}

impl Client {
    fn dispatch(&mut self, world: &World) -> String {
        let call = json!({"action": "emanate", "tasks": task(world)});
        let (is_error, reply) = self.call("daemon", &call);
        assert!(!is_error, "{reply}");
        reply.text("run_ids.0")
    }

    fn daemon(&mut self, call: &Value) -> (bool, Value) {
        self.call("daemon", call)
    }
}

#[test]
fn two_clients_of_one_name_are_two_parents() {
    let world = waiting();
    let _host = world.serve();
    let (mut one, mut other) = (Client::start(&world), Client::start(&world));
    let run = one.dispatch(&world);
    let (_, reply) = other.daemon(&json!({"action": "reclaim"}));
    assert_eq!(reply["cancelled"], 0, "{reply}");
    // Neither its short name nor its full id lets another end it.
    shows!(other.daemon(&json!({"action": "reclaim", "id": "em-1"})), {
        "isError": true, "message": "Unknown emanation: em-1",
    });
    let parent = world.document(&run)["parent_addr"].clone();
    let owner = format!("{run} belongs to {}", parent.as_str().expect("an address"));
    shows!(other.daemon(&json!({"action": "reclaim", "id": run})), {"isError": true, "message": owner});
    let group = world.document(&run)["group_id"].clone();
    shows!(other.daemon(&json!({"action": "reclaim", "group_id": group})), {"isError": true, "message": owner});
    for call in [
        json!({"action": "check", "id": "em-1"}),
        json!({"action": "ask", "id": "em-1", "message": "x"}),
    ] {
        shows!(other.daemon(&call), {"isError": true, "message": "Unknown emanation: em-1"});
    }
    assert_eq!(world.document(&run)["state"], "running");
    // Every caller sees which parent a run has.
    let (_, list) = other.daemon(&json!({"action": "list"}));
    assert_eq!(list["emanations"][0]["parent_addr"], parent);
    let (_, checked) = other.daemon(&json!({"action": "check", "id": run}));
    assert_eq!(checked["parent_addr"], parent);
    let (_, checked) = one.daemon(&json!({"action": "check", "id": "em-1"}));
    assert_eq!(checked["run_id"], run.as_str());
    // The owner of the host ends any by its full id, and none by the short name of another's.
    shows!(world.json(&["emanate", "reclaim", "em-1"]), {"$?": 66, "error.message": "Unknown emanation: em-1"});
    shows!(world.json(&["emanate", "reclaim", &run]), {"$?": 0, "cancelled": 1});
    assert_eq!((one.end(), other.end()), (Some(0), Some(0)));
}

#[test]
fn a_short_name_found_on_disk_belongs_to_its_parent_only() {
    let world = waiting();
    let host = world.serve();
    let mut one = Client::start(&world);
    let run = one.dispatch(&world);
    std::fs::write(world.desk().join("go"), "").expect("a file");
    world.announced(&run);
    host.kill();
    let _host = world.serve();
    let mut other = Client::start(&world);
    shows!(other.daemon(&json!({"action": "check", "id": "em-1"})), {
        "isError": true, "message": "Unknown emanation: em-1",
    });
    shows!(one.daemon(&json!({"action": "check", "id": "em-1"})), {
        "isError": false, "run_id": run, "source": "history",
    });
}

#[test]
fn a_client_that_keeps_its_token_keeps_its_runs() {
    let world = waiting();
    let _host = world.serve();
    let token = "a-token-of-its-own-4711";
    let mut client = Client::started(&world, "An Editor", &["--parent", token]);
    let run = client.dispatch(&world);
    let parent = world.document(&run)["parent_addr"].clone();
    let parent = parent.as_str().expect("an address");
    let number = parent.strip_prefix("mcp:An-Editor#").expect("its client");
    assert!(
        number.len() == 8 && number.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{parent}"
    );
    assert_eq!(client.end(), Some(0));
    // Another name, or no token, is another parent; the same name and token continue as before.
    for (name, arguments) in [("Else", vec!["--parent", token]), ("An Editor", vec![])] {
        let mut stranger = Client::started(&world, name, &arguments);
        let (is_error, reply) = stranger.daemon(&json!({"action": "reclaim", "id": run}));
        assert!(is_error, "{reply}");
        assert_eq!(stranger.end(), Some(0));
    }
    let mut client = Client::started(&world, "An Editor", &["--parent", token]);
    shows!(client.daemon(&json!({"action": "reclaim", "id": "em-1"})), {"isError": false, "cancelled": 1});
    // It is notified of the end of a run that an earlier connection dispatched.
    let again = client.dispatch(&world);
    std::fs::write(world.desk().join("go"), "").expect("a file");
    until("the end is told", || {
        client.notification()["params"]["run_id"] == again.as_str()
    });
    assert_eq!(client.end(), Some(0));
    let output = world.run(&["mcp", "--parent", "short"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
}
