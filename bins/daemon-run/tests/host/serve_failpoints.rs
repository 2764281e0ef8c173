//! A host that dies at a named place: after the next start everything is as if it had not.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::fields::Shown as _;
use crate::http::{pull_request_opened, try_raw, webhook};
use crate::serve_crash::everything_ran_once;
use crate::world::{SECRET, World, daemon_file, eventually, until, watch};

/// The places on the way of a webhook to its branch.
const HOOK_PLACES: [&str; 22] = [
    "W1", "W2", "W3", "W4", "W5", "W6", "M1", "M2", "M3", "R1", "R2", "R3", "R4", "R5", "R6", "R7",
    "R8", "R9", "O1", "O2", "O4", "O5",
];
/// The places on the way of a push to its event.
const PUSH_PLACES: [&str; 7] = ["N1", "N2", "N3", "D1", "D2", "D3", "D4"];

#[test]
fn a_webhook_survives_a_death_at_every_place() {
    for place in HOOK_PLACES {
        let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
        let mut host = world.serve_with(&[], &[("DAEMON_FAILPOINT", place)]);
        let body = pull_request_opened(7).to_string();
        let request = webhook(
            host.address(),
            ("pull_request", "d-1"),
            SECRET,
            body.as_bytes(),
        );
        let answer = try_raw(host.address(), &request);
        // These are reached as soon as the event is stored, while the answer is being written: either may come first.
        if !["W6", "M1", "M2"].contains(&place) {
            let is_lost = place.starts_with('W');
            assert_eq!(answer.is_none(), is_lost, "{place}: {answer:?}");
        }
        assert_eq!(host.wait().0, None, "{place}: it was killed");
        drop(host);

        let host = world.serve();
        let stored = host.list("events").len();
        let expected = usize::from(!["W1", "W2", "W3", "W4"].contains(&place));
        assert!(
            stored >= expected && (expected == 1 || stored == 0),
            "{place}: {stored}"
        );
        let again = host
            .hook("pull_request", "d-1", &pull_request_opened(7))
            .json();
        assert_eq!(again["duplicate"], expected == 1, "{place}: {again}");
        let id = again.text("event_ids.0");
        everything_ran_once(&world, &host, &BTreeSet::from([id]));
        assert_eq!(host.settled(1).len(), 1, "{place}");
    }
}

#[test]
fn a_push_survives_a_death_at_every_place() {
    for place in PUSH_PLACES {
        let condition = watch(&["when a commit is pushed to main"]);
        let world = World::new(&[("pusher", &condition)]);
        world.serve().kill();
        world.write_daemon("late", &daemon_file("late", &condition));
        let commit = world.commit("push it");
        // The start reads the repository, so that it dies there.
        assert_eq!(world.killed_at(place).0, None, "{place}: it was killed");
        let host = world.serve();
        host.registered(&commit);
        let activations = host.settled(1);
        let woken: Vec<_> = activations
            .iter()
            .filter_map(|one| one["daemon_id"].as_str())
            .collect();
        assert_eq!(woken, ["pusher"], "{place}");
        let pushes = host
            .list("events")
            .into_iter()
            .filter(|event| event["kind"] == "push");
        assert_eq!(pushes.count(), 1, "{place}");
        assert_eq!(world.branches().len(), 1, "{place}");
    }
}

/// Returns the rows of ticks, oldest first, and the number of activations.
fn recorded(ticks: &Value, activations: &Value) -> (Vec<(String, u64)>, usize) {
    let mut rows: Vec<&Value> = ticks.as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| row["scheduled_at"].as_str());
    let told = |row: &&Value| {
        let outcome = row["outcome"].as_str().unwrap_or_default();
        (
            outcome.to_owned(),
            row["count"].as_u64().unwrap_or_default(),
        )
    };
    let rows = rows.iter().map(told).collect();
    (rows, activations.as_array().map_or(0, Vec::len))
}

#[test]
fn a_tick_survives_a_death_at_every_place() {
    let whole = (
        vec![
            ("missed_window".to_owned(), 24),
            ("coalesced".to_owned(), 23),
            ("enqueued".to_owned(), 1),
        ],
        1,
    );
    for (place, is_committed) in [
        ("T1", false),
        ("T2", false),
        ("T3", false),
        ("T4", true),
        ("T5", true),
    ] {
        // Half an hour from the tick before and the one after, so that none falls into the test.
        let now = Timestamp::now();
        let minute = (now.as_second() / 60 + 30) % 60;
        let world = World::new(&[("hourly", &format!("schedule: \"{minute} * * * *\""))]);
        world.serve().kill();
        world.rewind(now - SignedDuration::from_hours(48));
        assert_eq!(world.dies_at(place), None, "{place}: it was killed");
        let listed = |what: &str| world.json(&[what]).1[what].take();
        let left = recorded(&listed("ticks"), &listed("activations"));
        if is_committed {
            assert_eq!(left, whole, "{place}");
        } else {
            assert_eq!(left, (Vec::new(), 0), "{place}");
        }
        let host = world.serve();
        until("the ticks are recorded", || !host.list("ticks").is_empty());
        let activations = host.settled(1);
        assert_eq!(activations[0]["state"], "succeeded", "{place}");
        let after = recorded(&host.list("ticks").into(), &activations.into());
        assert_eq!(after, whole, "{place}");
        assert_eq!(world.branches().len(), 1, "{place}");
    }
}

#[test]
fn a_run_that_panics_fails_and_the_host_continues() {
    for place in ["R2", "R3", "R5", "R6"] {
        let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
        let point = format!("panic:{place}");
        let host = world.serve_with(&[], &[("DAEMON_FAILPOINT", &point)]);
        host.hook("pull_request", "d-1", &pull_request_opened(7));
        let failed = host.settled(1).remove(0);
        let reason = format!("a defect of the host: asked for at {place}");
        assert_eq!(failed["state"], "failed", "{place}: {failed}");
        assert!(
            failed["reason"]
                .as_str()
                .is_some_and(|told| told.ends_with(&reason)),
            "{place}: {failed}"
        );
        let running = host.list("runs").into_iter();
        let running = running.filter(|run| run["state"] == "running" || run["state"] == "starting");
        assert_eq!(running.count(), 0, "{place}");
        host.hook("pull_request", "d-2", &pull_request_opened(8));
        let states: BTreeSet<String> = host
            .settled(2)
            .iter()
            .map(|one| one["state"].to_string())
            .collect();
        assert!(states.contains("\"succeeded\""), "{place}: {states:?}");
    }
}

#[test]
fn a_loop_that_panics_begins_again_and_shows() {
    for place in ["M1", "R1", "O1"] {
        let world = World::new(&[("pr-helper", &watch(&["when a pull request is opened"]))]);
        let point = format!("panic:{place}");
        let host = world.serve_with(&[], &[("DAEMON_FAILPOINT", &point)]);
        host.hook("pull_request", "d-1", &pull_request_opened(7));
        let ready = eventually("the defect shows", || {
            Some(host.open("GET", "/readyz", &[])).filter(|answer| answer.status == 503)
        });
        let ready = ready.json();
        assert!(ready.to_string().contains("loops"), "{place}: {ready}");
        if place != "R1" {
            let activations = host.settled(1);
            assert_eq!(activations[0]["state"], "succeeded", "{place}");
        }
    }
}
