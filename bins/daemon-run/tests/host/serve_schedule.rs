//! Schedules: a tick is recorded once, by a schedule or by `fire`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::world::{World, eventually_within};

#[test]
fn a_tick_that_is_asked_for_twice_runs_once() {
    let world = World::new(&[("nightly", "schedule: \"0 3 * * *\"")]);
    let host = world.serve();
    let next = host.get("daemons/nightly/next?n=1");
    let daemon = &host.get("daemons")["daemons"][0];
    shows!(daemon, {"modes": ["schedule"], "next_tick": &next["times"][0]});
    let fire = || world.json(&["fire", "nightly", "--tick", "2026-11-20T03:00:00Z"]);
    let (first, second) = (fire(), fire());
    assert_eq!(
        (first.0, &first.1["duplicate"]),
        (0, &json!(false)),
        "{}",
        first.1
    );
    assert_eq!(
        (second.0, &second.1["duplicate"]),
        (0, &json!(true)),
        "{}",
        second.1
    );
    assert_eq!(first.1["activation"]["id"], second.1["activation"]["id"]);
    let trigger = &first.1["activation"]["trigger"];
    shows!(trigger, {"kind": "tick", "key": "tick:2026-11-20T03:00:00Z", "scheduled_at": "2026-11-20T03:00:00Z"});
    assert_eq!(world.branches().len(), 1);
    let ticks = host.list("ticks");
    let recorded: Vec<_> = ticks
        .iter()
        .map(|tick| (&tick["scheduled_at"], &tick["outcome"], &tick["count"]))
        .collect();
    assert_eq!(
        recorded,
        [(
            &json!("2026-11-20T03:00:00Z"),
            &json!("enqueued"),
            &json!(1)
        )],
        "a fired tick has its row"
    );
    shows!(world.json(&["fire", "nightly", "--tick", "2026-11-20T03:00:30Z"]), {"$?": 64});
}

/// The one test that waits for a minute to pass, since the binary reads the clock of the machine.
#[test]
fn a_minute_that_passes_is_recorded_and_runs_once_across_restarts() {
    let world = World::new(&[("minutely", "schedule: \"* * * * *\"")]);
    let host = world.serve();
    let ticks = eventually_within(Duration::from_secs(120), "a minute has passed", || {
        let ticks = host.list("ticks");
        match ticks.is_empty() {
            true => Err("no tick is recorded"),
            false => Ok(ticks),
        }
    });
    assert_eq!(ticks[0]["outcome"], "enqueued", "{ticks:?}");
    host.kill();
    let host = world.serve();
    let activations = host.settled(1);
    let ticks = host.list("ticks");
    let instants: BTreeSet<&str> = ticks
        .iter()
        .filter_map(|tick| tick["scheduled_at"].as_str())
        .collect();
    assert_eq!(instants.len(), ticks.len(), "{ticks:?}");
    let keys: BTreeSet<&str> = activations
        .iter()
        .filter_map(|one| one["trigger"]["key"].as_str())
        .collect();
    assert_eq!(keys.len(), activations.len(), "{activations:?}");
    for activation in &activations {
        assert_eq!(activation["state"], "succeeded", "{activation}");
        let recorded = ticks
            .iter()
            .any(|tick| tick["activation_id"] == activation["id"]);
        assert!(recorded, "{ticks:?}");
    }
    assert_eq!(world.branches().len(), activations.len());
}
