//! Policies and reloads while a repository or the store cannot be read; `transcripts/configuration.md` has the other cases.

use crate::fields::Shown as _;
use crate::slow_git::SlowGit;
use crate::world::{World, daemon_file, until, watch};

/// Makes a second repository of a world, `o/other`, with the daemon `other`.
fn other_repository(world: &World) -> SlowGit {
    let wakes = watch(&["when a commit is pushed to main"]);
    let other = SlowGit::new(world, "other", &daemon_file("other", &wakes));
    other.open();
    watch_other(world, &other, "");
    other
}

/// Writes a configuration that watches both, with more behind it.
fn watch_other(world: &World, other: &SlowGit, more: &str) {
    let path = other.repo.display().to_string();
    world.configure(&format!(
        "[[repo]]\npath = {path:?}\nname = \"o/other\"\n{more}"
    ));
}

/// Names the daemons that a host lists.
fn daemons(world: &World) -> Vec<String> {
    let (_, listed) = world.json(&["list"]);
    let all = listed["daemons"].as_array().expect("a list").iter();
    let ids = all.map(|daemon| daemon.text("id"));
    ids.collect()
}

#[test]
fn a_reload_that_the_store_fails_keeps_the_old_configuration_whole() {
    let world = World::pushed();
    other_repository(&world);
    let host = world.serve();
    assert_eq!(daemons(&world), ["other", "pusher"]);

    world.configure("[policy.daemon.pusher]\nprovider = \"builtin\"\n");
    let store = world.store();
    let rename = |from: &str, to: &str| {
        let renamed = store.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}"));
        renamed.expect("a table is renamed");
    };
    rename("ref_cursor", "hidden");
    shows!(world.json(&["reload"]), {"$?": 69, "error.code": "store-failed"});
    host.signal(rustix::process::Signal::HUP);
    until("both failures are logged", || {
        let failed = "the configuration could not be replaced; the old one stays";
        world.log().matches(failed).count() == 2
    });
    assert!(!world.log().contains("the configuration is wrong"));
    rename("hidden", "ref_cursor");
    let (_, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(fired["runs"][0]["provider"], "sh", "{fired}");
    assert_eq!(daemons(&world), ["other", "pusher"]);

    // As soon as the store can be read, the new one is taken, as a whole.
    shows!(world.json(&["reload"]), {"$?": 0, "generation": 2});
    assert_eq!(daemons(&world), ["pusher"]);
    assert_eq!(world.json(&["fire", "other"]).0, 66);
}

#[test]
fn a_registration_that_cannot_be_ended_stops_no_reload_and_ends_at_the_next_start() {
    let world = World::pushed();
    other_repository(&world);
    let host = world.serve();
    world.configure("");
    let store = world.store();
    store.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    shows!(world.json(&["reload"]), {"$?": 0, "generation": 2});
    drop(store);
    assert_eq!(world.json(&["fire", "other"]).0, 66);
    let failed = "the registration of a repository that is watched no longer could not be ended";
    assert!(world.log().contains(failed), "{}", world.log());
    let registered = || -> u32 {
        let count = "SELECT count(*) FROM daemon WHERE repo = 'o/other'";
        let row = world.store().query_row(count, [], |row| row.get(0));
        row.expect("a count")
    };
    assert_eq!(registered(), 1);
    drop(host);
    drop(world.serve());
    assert_eq!(registered(), 0);
}

#[test]
fn a_start_that_is_refused_cancels_nothing_of_a_repository_that_is_watched_no_longer() {
    let world = World::pushed();
    let other = other_repository(&world);
    let host = world.serve_with(&["--hold"], &[]);
    other.commit("push it");
    assert_eq!(host.activation_in("pending")["daemon_id"], "other");
    assert_eq!(host.stop().0, Some(0));
    world.configure("[policy.daemon.nosuch]\ncapability = \"read\"\n");
    world.refusal("config-invalid");
    watch_other(&world, &other, "");
    let host = world.serve();
    let all = host.list("activations");
    assert_eq!(all[0]["state"], "pending", "{all:#?}");
}
