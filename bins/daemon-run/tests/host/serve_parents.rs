//! Whose a run is: what one parent can name, end and see of the runs of others.

use serde_json::{Value, json};

use crate::serve_mcp::Client;
use crate::world::{World, eventually};

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
        reply["run_ids"][0].as_str().expect("an id").to_owned()
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
    let (is_error, reply) = other.daemon(&json!({"action": "reclaim", "id": "em-1"}));
    assert_eq!(
        (is_error, &reply["message"]),
        (true, &json!("Unknown emanation: em-1"))
    );
    let parent = world.document(&run)["parent_addr"].clone();
    let owner = format!("{run} belongs to {}", parent.as_str().expect("an address"));
    let (is_error, reply) = other.daemon(&json!({"action": "reclaim", "id": run}));
    assert_eq!((is_error, &reply["message"]), (true, &json!(owner)));
    let group = world.document(&run)["group_id"].clone();
    let (is_error, reply) = other.daemon(&json!({"action": "reclaim", "group_id": group}));
    assert_eq!((is_error, &reply["message"]), (true, &json!(owner)));
    for call in [
        json!({"action": "check", "id": "em-1"}),
        json!({"action": "ask", "id": "em-1", "message": "x"}),
    ] {
        let (is_error, reply) = other.daemon(&call);
        assert_eq!(
            (is_error, &reply["message"]),
            (true, &json!("Unknown emanation: em-1"))
        );
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
    let (code, reply) = world.json(&["emanate", "reclaim", "em-1"]);
    assert_eq!(
        (code, &reply["error"]["message"]),
        (66, &json!("Unknown emanation: em-1"))
    );
    let (code, reply) = world.json(&["emanate", "reclaim", &run]);
    assert_eq!((code, &reply["cancelled"]), (0, &json!(1)), "{reply}");
    assert_eq!((one.end(), other.end()), (Some(0), Some(0)));
}

#[test]
fn a_short_name_that_only_the_disk_knows_is_its_parents_alone() {
    let world = waiting();
    let host = world.serve();
    let mut one = Client::start(&world);
    let run = one.dispatch(&world);
    std::fs::write(world.desk().join("go"), "").expect("a file");
    world.announced(&run);
    host.kill();
    let _host = world.serve();
    let mut other = Client::start(&world);
    let (is_error, reply) = other.daemon(&json!({"action": "check", "id": "em-1"}));
    assert_eq!(
        (is_error, &reply["message"]),
        (true, &json!("Unknown emanation: em-1"))
    );
    let (is_error, checked) = one.daemon(&json!({"action": "check", "id": "em-1"}));
    assert_eq!(
        (is_error, &checked["run_id"], &checked["source"]),
        (false, &json!(run), &json!("history"))
    );
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
    let (is_error, reply) = client.daemon(&json!({"action": "reclaim", "id": "em-1"}));
    assert_eq!(
        (is_error, &reply["cancelled"]),
        (false, &json!(1)),
        "{reply}"
    );
    // It is notified of the end of a run that an earlier connection dispatched.
    let again = client.dispatch(&world);
    std::fs::write(world.desk().join("go"), "").expect("a file");
    eventually("the end is told", || {
        (client.hear()["params"]["run_id"] == again.as_str()).then_some(())
    });
    assert_eq!(client.end(), Some(0));
    let output = world.run(&["mcp", "--parent", "short"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
}
