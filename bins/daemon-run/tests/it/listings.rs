//! The listings, and what shows one thing.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::{TIDY, World};

/// A world in which two daemons ran: `tidy` by an event and by a tick, `other` by a person.
fn lived() -> World {
    let world = World::of_daemon(TIDY);
    world.write(
        ".agents/daemons/other/DAEMON.md",
        &TIDY.replace("id: tidy", "id: other"),
    );
    world.write(".agents/daemons/tidy/scripts/check.sh", "#!/bin/sh\n");
    world.commit("Add another");
    assert_eq!(world.run_opened(&["fire", "tidy", "-q"]).code, 0);
    assert_eq!(
        world
            .run(&["fire", "tidy", "-q", "--tick", "2026-11-20T14:30:00Z"])
            .code,
        0
    );
    assert_eq!(world.run(&["fire", "other", "-q"]).code, 0);
    world
}

#[test]
fn a_followed_listing_prints_one_object_a_line() {
    let world = lived();
    let mut child = world
        .command(&["activations", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let rows: Vec<Value> = lines
        .take(3)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let interrupt = ["-INT", &child.id().to_string()];
    let sent = Command::new("kill").args(interrupt).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let triggers: Vec<&str> = rows
        .iter()
        .map(|row| {
            assert_eq!(row["schema_version"], 1);
            row["trigger"]["kind"].as_str().unwrap()
        })
        .collect();
    assert_eq!(triggers, ["event", "tick", "person"], "oldest first");
}
