//! What changes something: gates, cancelling, retrying, reloading.

use serde_json::json;

use crate::world::{TIDY, World};

fn failed_once() -> (World, String) {
    let world = World::of_daemon(TIDY);
    world.configure("[provider.broken]\ncommand = \"false\"\n");
    let ran = world.run(&["fire", "tidy", "--provider", "broken", "--json"]);
    let object = ran.json();
    let id = object["activation"]["id"]
        .as_str()
        .expect("it was made")
        .to_owned();
    (world, id)
}

#[test]
fn a_daemon_is_held_and_let_go() {
    let (world, _) = failed_once();
    let held = world.run(&["hold", "tidy", "--json"]).json();
    assert_eq!(
        (&held["id"], &held["gate"]),
        (&json!("tidy"), &json!("held"))
    );
    let listed = world.run(&["list", "--state", "held", "--json"]).json();
    assert_eq!(listed["daemons"][0], without_version(held));
    let open = world.run(&["go", "tidy"]);
    assert_eq!((open.code, open.output.as_str()), (0, "tidy: open\n"));
    assert_eq!(
        world.run(&["list", "--state", "held", "--json"]).json()["daemons"],
        json!([])
    );
    let host = world.run(&["hold", "--json"]);
    assert_eq!(
        (host.code, host.json()),
        (0, json!({"schema_version": 1, "gate": "held"}))
    );
    assert_eq!(
        world.run(&["hold", "nobody", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
}

fn without_version(mut object: serde_json::Value) -> serde_json::Value {
    let members = object.as_object_mut().expect("an object");
    members.remove("schema_version");
    object
}

#[test]
fn a_failed_activation_is_retried_and_cancelled() {
    let (world, id) = failed_once();
    let retried = world.run(&["retry", &id, "--json"]);
    assert_eq!(
        (retried.code, &retried.json()["state"]),
        (0, &json!("pending"))
    );
    assert_eq!(
        world.run(&["retry", &id, "--json"]).failure(),
        (75, "conflict".to_owned())
    );
    let unasked = world.run(&["cancel", &id, "--json"]);
    assert_eq!(unasked.failure(), (64, "usage".to_owned()));
    let cancelled = world.run(&["cancel", &id, "--yes", "--json"]);
    let object = cancelled.json();
    assert_eq!(
        (
            cancelled.code,
            &object["id"],
            &object["state"],
            &object["reason"]
        ),
        (
            0,
            &json!(id),
            &json!("cancelled"),
            &json!("cancelled by a person")
        )
    );
    assert_eq!(
        world.run(&["cancel", &id, "--yes", "--json"]).failure(),
        (75, "conflict".to_owned())
    );
}

#[test]
fn ids_that_name_nothing_are_said_to() {
    let (world, _) = failed_once();
    let absent = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for id in [absent, "../x", "%_'\";--", ""] {
        for arguments in [
            &["cancel", "--yes", "--json", "--", id][..],
            &["retry", "--json", "--", id],
        ] {
            let ran = world.run(arguments);
            assert_eq!(
                ran.failure(),
                (66, "unknown-activation".to_owned()),
                "{arguments:?}"
            );
        }
    }
}

#[test]
fn only_a_live_host_reloads() {
    let (world, _) = failed_once();
    assert_eq!(
        world.run(&["reload", "--json"]).failure(),
        (69, "no-host".to_owned())
    );
    assert_eq!(
        World::new().run(&["hold", "--json"]).failure(),
        (69, "no-home".to_owned())
    );
}
