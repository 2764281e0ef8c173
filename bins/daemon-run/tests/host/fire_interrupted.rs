//! `fire` that is interrupted by a signal, or by the end of its host.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::world::{Host, Running, World, cleared, eventually, no_process_of, until};

/// Begins to fire the daemon, and waits until its run works; returns the command and the id of the run.
fn working(script: &str) -> (World, Running, String) {
    let world = World::pushed();
    world.script(script);
    let repo = world.repo.display().to_string();
    let fire = world.begin(&["fire", "pusher", "--repo", &repo, "--json"]);
    let id = begun(&world);
    (world, fire, id)
}

/// Waits until a run works, and returns its id.
fn begun(world: &World) -> String {
    eventually("the run works", || {
        // Until the command has made the home's store, there is nothing to list.
        let (_, listed) = world.json(&["runs"]);
        let run = listed["runs"].as_array()?.first()?.clone();
        run["last_output_at"].is_string().then(|| run.text("id"))
    })
}

/// Returns the state and the reason of the only activation.
fn activation(world: &World) -> Value {
    let (_, listed) = world.json(&["activations"]);
    let all = listed["activations"].as_array().expect("a list");
    assert_eq!(all.len(), 1, "{listed}");
    json!([all[0]["state"], all[0]["reason"]])
}

#[test]
fn a_signal_ends_the_processes_and_cancels_the_activation() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (world, fire, id) =
            working("cat > /dev/null\n(setsid sleep 600 &)\nsleep 601 &\necho begun\nwait\n");
        fire.signal(signal);
        let failed = fire.json();
        let message = failed.text("error.message");
        shows!(failed, {"$?": 130, "error.code": "interrupted"}, "{signal:?}");
        assert!(message.ends_with(" is cancelled"), "{message}");
        no_process_of(&id);
        assert_eq!(
            activation(&world),
            json!(["cancelled", "cancelled by a person"])
        );
        let (_, found) = world.json(&["runs", "--state", "cancelled"]);
        shows!(found, {"runs.0.id": id, "runs.0.state": "cancelled", "runs.0.error.type": "reclaim"});
        let host = world.serve();
        assert_eq!(host.settled(1).len(), 1);
        assert_eq!(host.list("runs").len(), 1, "the next host runs it no more");
    }
}

#[test]
fn a_second_signal_does_not_wait_for_the_processes() {
    let (world, fire, id) =
        working("trap '' TERM\ncat > /dev/null\necho begun\nwhile :; do sleep 1; done\n");
    fire.signal(Signal::TERM);
    until("it is cancelled", || activation(&world)[0] == "cancelled");
    fire.signal(Signal::INT);
    shows!(fire.json(), {"$?": 130, "error.code": "interrupted"});
    let _host = world.serve();
    no_process_of(&id);
    until("the run has ended", || {
        world.json(&["run", &id]).1["run"]["finished_at"].is_string()
    });
}

#[test]
fn a_signal_that_is_ignored_from_the_start_interrupts_nothing() {
    let world = World::pushed();
    world.script("cat > /dev/null\necho begun\nwhile [ ! -e go ]; do sleep 0.1; done\n");
    let mut command = cleared("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_daemon-run"))
        .arg("--home")
        .arg(&world.home)
        .args(["fire", "pusher", "--json", "--repo"])
        .arg(&world.repo)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let fire = Running::of(command.spawn().expect("sh starts"));
    begun(&world);
    fire.signal(Signal::HUP);
    let worktrees = fs::read_dir(world.home.join("worktrees")).expect("it is there");
    let worktrees: Vec<PathBuf> = worktrees
        .map(|entry| entry.expect("it is there").path())
        // Next to each are files about it, with an extension.
        .filter(|path| path.extension().is_none())
        .collect();
    assert_eq!(worktrees.len(), 1, "{worktrees:?}");
    fs::write(worktrees[0].join("go"), "").expect("the run waits for it");
    shows!(fire.json(), {"$?": 0, "activation.state": "succeeded"});
}

#[test]
fn a_signal_leaves_the_activation_to_the_host_and_names_the_command_that_cancels_it() {
    let world = World::pushed();
    world.script("cat > /dev/null\necho begun\nexec sleep 600\n");
    let host = world.serve();
    let fire = world.begin(&["fire", "pusher", "--json"]);
    begun(&world);
    let id = host.activation_in("running").text("id");
    fire.signal(Signal::INT);
    shows!(fire.json(), {
        "$?": 130,
        "error.code": "interrupted",
        "error.message": format!("interrupted; activation {id} is not cancelled"),
        "error.help": format!("it continues in the host; `daemon-run cancel {id}` ends it"),
    });
    assert_eq!(activation(&world)[0], "running");
    shows!(world.json(&["cancel", &id, "--yes"]), {"$?": 0, "state": "cancelled"});
}

/// Ends the host of a command that waits, and checks that the command names the activation, which is left in a state.
fn host_ends(end: fn(Host), state: &str) {
    let world = World::pushed();
    world.configure("[host]\ndrain = \"1s\"\n");
    world.script("cat > /dev/null\necho begun\nexec sleep 600\n");
    let host = world.serve();
    let fire = world.begin(&["fire", "pusher", "--json"]);
    begun(&world);
    let id = host.activation_in("running").text("id");
    end(host);
    let failed = fire.json();
    // A host that stops may refuse the call before it closes the connection.
    let found = format!("{} {}", failed.0, failed.text("error.code"));
    assert!(
        ["69 host-unreachable", "75 shutting-down"].contains(&found.as_str()),
        "{found}"
    );
    let message = failed.text("error.message");
    let stored =
        format!("; activation `{id}` is stored, and the next host runs it unless it has ended");
    assert!(message.ends_with(&stored), "{message}");
    assert_eq!(activation(&world)[0], state);
}

#[test]
fn a_host_that_stops_leaves_the_activation_and_fire_names_it() {
    host_ends(|host| assert_eq!(host.stop().0, Some(0)), "pending");
}

#[test]
fn a_host_that_is_killed_leaves_the_activation_and_fire_names_it() {
    host_ends(Host::kill, "running");
}
