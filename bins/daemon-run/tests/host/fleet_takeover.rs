//! What a host takes over from another, how soon it notices work, and what `doctor` knows of all of them.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::fleet::{database, join, report};
use crate::postgres::server;
use crate::world::{World, check, eventually_within, watch};

/// Makes two homes with one database.
pub(crate) fn two(store: &str, more: &str) -> (World, World) {
    let one = World::new(&[("helper", &watch(&["when an issue is opened"]))]);
    let two = one.other_home();
    join(&one, store, "");
    join(&two, store, more);
    (one, two)
}

#[test]
fn work_that_a_held_host_records_starts_at_once_on_another() {
    let Some(server) = server() else {
        return;
    };
    let (one, two) = two(&database(&server), "");
    let (held, other) = (one.serve_with(&["--hold"], &[]), two.serve());
    for n in 1..=4 {
        report(&held, n);
        other.settled(n);
    }
    // A host that is not woken looks for work every 15 seconds.
    for activation in other.list("activations") {
        let instant = |name: &str| activation.text(name).parse::<Timestamp>();
        let (made, began) = (instant("created_at"), instant("started_at"));
        let waited = began
            .expect("an instant")
            .duration_since(made.expect("an instant"));
        assert!(
            waited < SignedDuration::from_secs(5),
            "{waited}: {activation}"
        );
    }
}

#[cfg(feature = "internal-testing")]
#[test]
fn an_output_that_a_dead_host_was_sending_is_looked_up_and_there_once() {
    use crate::fleet::forget_check_in;
    use crate::world::Host;

    let Some(server) = server() else {
        return;
    };
    // Before it is sent, and after.
    for place in ["O2", "O4"] {
        let store = database(&server);
        let (one, two) = two(&store, "");
        let mut dying = one.serve_with(&[], &[("DAEMON_FAILPOINT", place)]);
        report(&dying, 1);
        assert_eq!(dying.wait().0, None, "{place}: it was killed");
        assert_eq!(one.branches().len(), usize::from(place == "O4"), "{place}");
        let other = two.serve();
        let output = |host: &Host| host.list("outputs").remove(0);
        shows!(output(&other), {"state": "sending"});
        forget_check_in(&one, &store);
        eventually_within(Duration::from_secs(60), "it is confirmed", || {
            let output = output(&other);
            match output["state"] == "confirmed" {
                true => Ok(()),
                false => Err(output.to_string()),
            }
        });
        shows!(other.settled(1)[0], {"state": "succeeded", "attempts": 1});
        assert_eq!(one.branches().len(), 1, "{place}");
    }
}

#[cfg(feature = "internal-testing")]
#[test]
fn a_run_ends_before_its_lease_if_the_database_is_away_and_is_begun_again() {
    use crate::fleet::WAIT;
    use crate::world::{processes_with, until};

    let Some(mut server) = server() else {
        return;
    };
    let world = World::new(&[("helper", &watch(&["when an issue is opened"]))]);
    join(&world, &database(&server), "");
    let (busy, go) = (world.beside("busy"), world.beside("go"));
    let script = WAIT
        .replace("$BUSY", &busy.display().to_string())
        .replace("$GO", &go.display().to_string());
    world.script(&script);
    world.unconfined();
    // A run is stopped after 50 s without a renewal: 5 s of this clock.
    let clock = format!("10:{}", Timestamp::now().as_second());
    let host = world.serve_with(&[], &[("DAEMON_TEST_CLOCK", &clock)]);
    report(&host, 1);
    until("the run has begun", || busy.exists());
    server.crash();
    let marker = format!("DAEMON_CONTEXT={}", world.home.display());
    eventually_within(
        Duration::from_secs(30),
        "its processes have ended",
        || match processes_with(&marker) {
            left if left.is_empty() => Ok(()),
            left => Err(format!("{left:?}")),
        },
    );
    std::fs::write(&go, "").expect("a file");
    server.start();
    shows!(host.settled(1)[0], {"state": "succeeded", "attempts": 1, "run_lease": 2});
    let runs = host.list("runs");
    assert_eq!(
        [&runs[0]["state"], &runs[1]["state"]],
        ["done", "cancelled"]
    );
}

/// Runs `doctor --fleet` until a host has checked in, which it does right after its start.
pub(crate) fn examined(world: &World) -> (i32, Value) {
    eventually_within(Duration::from_secs(20), "both have checked in", || {
        let (exit, answer) = world.json(&["doctor", "--fleet"]);
        let hosts = answer["hosts"].as_array().cloned().unwrap_or_default();
        match hosts.iter().filter(|host| host["present"] == true).count() {
            2 => Ok((exit, answer)),
            _ => Err(answer.to_string()),
        }
    })
}

#[test]
fn doctor_names_the_hosts_of_a_fleet_and_fails_for_policies_that_differ() {
    let Some(server) = server() else {
        return;
    };
    let (one, two) = two(&database(&server), "\n[budget]\nday_usd = 25\n");
    let alone = World::new(&[]);
    drop(alone.serve());
    let (exit, refused) = alone.json(&["doctor", "--fleet"]);
    assert_eq!(
        (exit, refused.text("error.code")),
        (78, "no-fleet".to_owned())
    );
    let hosts = [one.serve(), two.serve()];
    let (exit, answer) = examined(&one);
    assert_eq!((exit, &answer["ok"]), (1, &json!(false)), "{answer}");
    for host in answer["hosts"].as_array().expect("a list") {
        assert_eq!(host["version"], env!("CARGO_PKG_VERSION"), "{host}");
        assert!(
            host["clock_ahead_s"].as_f64().expect("a number").abs() < 2.0,
            "{host}"
        );
    }
    for name in ["clocks", "versions", "queue", "leases"] {
        assert_eq!(check(&answer, name)["status"], "ok", "{answer}");
    }
    let policies = check(&answer, "policies");
    assert_eq!(policies["status"], "fail");
    let detail = policies.text("detail");
    assert!(detail.starts_with("budget.day_usd: 10.0 ("), "{detail}");
    for host in hosts {
        assert_eq!(host.stop().0, Some(0));
    }
    let (exit, answer) = two.json(&["doctor", "--fleet"]);
    assert_eq!(exit, 1, "{answer}");
}
