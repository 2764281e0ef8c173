//! The states of runs in listings: what a filter finds is what the listing without it shows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{Host, World, eventually, no_process_of, until};

const STATES: [&str; 6] = [
    "running",
    "done",
    "failed",
    "cancelled",
    "timeout",
    "unknown",
];

/// Lists the runs, by id, and the runs that the filter for each state finds.
fn listed_and_filtered(world: &World) -> [BTreeMap<String, String>; 2] {
    let states = |args: &[&str]| {
        let (_, listed) = world.json(&[&["runs"], args].concat());
        let runs = listed["runs"].as_array().cloned().unwrap_or_default();
        let ids = runs.iter().map(|run| run.text("id"));
        ids.zip(runs.iter().map(|run| run.text("state"))).collect()
    };
    let listed = states(&[]);
    let found = STATES.iter().flat_map(|state| {
        let found: BTreeMap<String, String> = states(&["--state", state]);
        found.into_keys().map(|id| (id, (*state).to_owned()))
    });
    [listed, found.collect()]
}

/// Waits until the listing and the filters show one run in a state, and returns the type of its error.
fn agreed(world: &World, id: &str, state: &str) -> Value {
    let expected = BTreeMap::from([(id.to_owned(), state.to_owned())]);
    until(&format!("the listings agree on {state}"), || {
        listed_and_filtered(world) == [expected.clone(), expected.clone()]
    });
    world.json(&["run", id]).1["run"]["error"]["type"].take()
}

/// Makes a world whose runs do not end by themselves, with a host that works on one.
fn working(script: &str) -> (World, Host, String) {
    let world = World::pushed();
    world.script(script);
    let host = world.serve();
    world.commit("wake it");
    let run = eventually("the run works", || {
        let run = host.list("runs").into_iter().next()?;
        run["last_output_at"].is_string().then_some(run)
    });
    (world, host, run.text("id"))
}

const WORKS: &str = "cat > /dev/null\necho begun\nexec sleep 600\n";
const IGNORES: &str = "trap '' TERM\ncat > /dev/null\necho begun\nwhile :; do sleep 1; done\n";

#[test]
fn a_run_of_a_killed_host_is_found_in_the_state_that_is_listed() {
    let (world, host, id) = working(WORKS);
    host.kill();
    assert_eq!(agreed(&world, &id, "running"), json!(null));
    let host = world.serve_with(&["--hold"], &[]);
    assert_eq!(agreed(&world, &id, "failed"), "DaemonOrphaned");
    assert_eq!(host.stop().0, Some(0));
    assert_eq!(agreed(&world, &id, "failed"), "DaemonOrphaned");
}

#[test]
fn an_activation_of_a_killed_host_is_cancelled_with_its_run() {
    let (world, host, id) = working(WORKS);
    let activation = host.activation_in("running").text("id");
    host.kill();
    shows!(world.json(&["cancel", &activation, "--yes"]), {"$?": 0, "state": "cancelled"});
    no_process_of(&id);
    assert_eq!(agreed(&world, &id, "failed"), "DaemonOrphaned");
}

#[test]
fn a_run_whose_host_is_killed_while_it_is_cancelled_is_found_in_the_state_that_is_listed() {
    let (world, host, id) = working(IGNORES);
    let activation = host.activation_in("running").text("id");
    shows!(world.json(&["cancel", &activation, "--yes"]), {"$?": 0, "state": "cancelled"});
    host.kill();
    let _host = world.serve();
    assert_eq!(agreed(&world, &id, "failed"), "DaemonOrphaned");
}

#[test]
fn a_run_that_lost_its_lease_is_found_in_the_state_that_is_listed() {
    let (world, _host, id) = working(WORKS);
    let taken = world
        .store()
        .execute("UPDATE activation SET run_lease = run_lease + 1", []);
    assert_eq!(taken.expect("a lease can be taken"), 1);
    assert_eq!(agreed(&world, &id, "cancelled"), "lost_lease");
}

#[test]
fn a_run_of_an_earlier_release_is_found_in_the_state_that_is_listed() {
    let (world, host, id) = working(WORKS);
    host.kill();
    let host = world.serve_with(&["--hold"], &[]);
    agreed(&world, &id, "failed");
    host.kill();
    let unknown = world
        .store()
        .execute("UPDATE run SET state = 'unknown'", []);
    assert_eq!(unknown.expect("a state can be set"), 1);
    let _host = world.serve_with(&["--hold"], &[]);
    assert_eq!(agreed(&world, &id, "failed"), "DaemonOrphaned");
}
