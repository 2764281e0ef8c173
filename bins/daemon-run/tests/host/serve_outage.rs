//! Ticks that came while no host ran or a gate was closed: outages, edits and holds.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::fields::Shown as _;
use crate::world::{Host, World, daemon_file, eventually};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Returns an hourly schedule whose ticks are half an hour from the current minute.
fn hourly() -> String {
    let last = Timestamp::now() - HOUR / 2;
    let minute = last.as_second().div_euclid(60).rem_euclid(60);
    format!("schedule: \"{minute} * * * *\"")
}

/// Returns the rows of a daemon, oldest first.
fn rows(ticks: &[Value], id: &str) -> String {
    let mut rows: Vec<&Value> = ticks.iter().filter(|row| row["daemon_id"] == id).collect();
    rows.sort_by_key(|row| row["scheduled_at"].as_str());
    let told = rows.iter().map(|row| {
        let outcome = row["outcome"].as_str().unwrap_or_default();
        format!("{outcome} {}", row["count"])
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Makes a world whose host saw its daemons once and has been down since `outage` ago.
fn down_for(outage: SignedDuration, daemons: &[(&str, &str)], config: &str) -> World {
    let world = World::new(daemons);
    world.configure(config);
    world.serve().kill();
    world.rewind(Timestamp::now() - outage);
    world
}

/// Waits until a number of daemons have rows, and returns all rows.
fn recorded(host: &Host, n_daemons: usize) -> Vec<Value> {
    eventually("the ticks are recorded", || {
        let ticks = host.list("ticks");
        let daemons: BTreeSet<&str> = ticks
            .iter()
            .filter_map(|row| row["daemon_id"].as_str())
            .collect();
        (daemons.len() >= n_daemons).then_some(ticks)
    })
}

/// Three daemons whose missed ticks are not collapsed into one.
const MISFIRES: &str = "[policy.daemon.skipper]\nmisfire = \"skip\"\n[policy.daemon.catcher]\nmisfire = \"catch_up\"\n\
                  overlap = \"buffer_all\"\n[policy.daemon.patient]\nmisfire = \"catch_up\"\noverlap = \"buffer_all\"\n\
                  window = \"4000d\"\n";

/// Counts the activations of each daemon.
fn n_activations(host: &Host) -> BTreeMap<String, usize> {
    let mut made = BTreeMap::new();
    for activation in host.list("activations") {
        *made.entry(activation.text("daemon_id")).or_insert(0) += 1;
    }
    made
}

#[test]
fn a_host_that_was_down_does_what_the_misfire_policy_says() {
    let many: Vec<String> = (0..47).map(|n| format!("many-{n:02}")).collect();
    let ids = many.iter().map(String::as_str);
    let ids = ids.chain(["skipper", "catcher", "patient"]);
    let schedule = hourly();
    let daemons: Vec<(&str, &str)> = ids.map(|id| (id, schedule.as_str())).collect();
    for (hours, coalesced, skipped, caught_up, waited_for) in [
        (1, "enqueued 1", "missed_window 1", 1, 1),
        (
            30 * 24,
            "missed_window 696, coalesced 23, enqueued 1",
            "missed_window 720",
            24,
            100,
        ),
        (
            3_652 * 24,
            "missed_window 87624, coalesced 23, enqueued 1",
            "missed_window 87648",
            24,
            100,
        ),
    ] {
        let world = down_for(HOUR * hours, &daemons, MISFIRES);
        let host = world.serve_with(&["--hold"], &[]);
        let ticks = recorded(&host, daemons.len());
        for id in &many {
            assert_eq!(rows(&ticks, id), coalesced, "{id}, {hours} h");
        }
        assert_eq!(rows(&ticks, "skipper"), skipped, "{hours} h");
        let each = |n: usize| vec!["enqueued 1"; n].join(", ");
        let before = |rest: String| match hours {
            1 => rest,
            _ => format!("missed_window {}, {rest}", hours - 24),
        };
        assert_eq!(
            rows(&ticks, "catcher"),
            before(each(caught_up)),
            "{hours} h"
        );
        let after = match hours {
            1 => String::new(),
            _ => format!(", missed_window {}", hours - 100),
        };
        assert_eq!(
            rows(&ticks, "patient"),
            each(waited_for) + &after,
            "{hours} h"
        );

        let made = n_activations(&host);
        let mut expected: BTreeMap<String, usize> = many.iter().map(|id| (id.clone(), 1)).collect();
        expected.insert("catcher".to_owned(), caught_up);
        expected.insert("patient".to_owned(), waited_for);
        assert_eq!(made, expected, "{hours} h");
        let warned = world.log().contains("ticks did not run");
        assert!(warned, "what was missed is warned of after {hours} h");
    }
}

#[test]
fn a_new_schedule_and_a_new_zone_begin_a_coverage_without_catching_up() {
    let schedule = hourly();
    for change in ["schedule", "zone", "removal"] {
        let world = down_for(HOUR * 3, &[("hourly", &schedule)], "");
        match change {
            "schedule" => {
                let seldom = daemon_file("hourly", "schedule: \"0 9 29 2 *\"");
                world.write_daemon("hourly", &seldom);
            }
            "zone" => world.configure("[schedule]\nzone = \"America/New_York\"\n"),
            _ => world.write_daemon(
                "hourly",
                &daemon_file("hourly", "watch:\n  - when a pull request is opened"),
            ),
        }
        world.commit(change);
        let host = world.serve();
        let ticks = recorded(&host, 1);
        assert_eq!(rows(&ticks, "hourly"), "superseded 3", "{change}");
        assert_eq!(host.list("activations"), Vec::<Value>::new(), "{change}");
        host.kill();
        if change != "zone" {
            world.write_daemon("hourly", &daemon_file("hourly", &schedule));
            world.commit("as it was");
        }
        world.configure("");
        let host = world.serve();
        let again = host.list("ticks");
        assert_eq!(again, ticks, "{change}: coming back begins anew");
    }
}

#[test]
fn an_edit_of_anything_else_keeps_the_coverage() {
    let schedule = hourly();
    let world = down_for(HOUR * 3, &[("hourly", &schedule)], "");
    let edited = daemon_file("hourly", &schedule).replace("Be brief.", "Be briefer.");
    world.write_daemon("hourly", &edited);
    world.commit("edit");
    let host = world.serve();
    let ticks = recorded(&host, 1);
    assert_eq!(rows(&ticks, "hourly"), "coalesced 2, enqueued 1");
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    assert_eq!(activations[0]["state"], "succeeded");
}

#[test]
fn a_zone_that_is_configured_while_a_host_serves_is_kept_from_the_reload_on() {
    let world = World::new(&[("nightly", "schedule: \"30 3 * * *\"")]);
    let host = world.serve();
    let times = |zone: &str| {
        let next = host.get("daemons/nightly/next?n=1");
        (next["zone"] == zone).then(|| next.text("times.0"))
    };
    let before = times("UTC").expect("it is the default");
    assert!(before.ends_with("T03:30:00Z"), "{before}");
    world.configure("[schedule]\nzone = \"Asia/Kolkata\"\n");
    shows!(world.json(&["reload"]), {"$?": 0});
    let after = eventually("the zone is in force", || times("Asia/Kolkata"));
    assert!(after.ends_with("T22:00:00Z"), "{after}");
    assert_eq!(host.list("ticks"), Vec::<Value>::new());
    host.kill();
    world.rewind("2026-03-01T00:00:00Z".parse().expect("an instant"));
    let ticks = recorded(&world.serve_with(&["--hold"], &[]), 1);
    let last = ticks.iter().find(|row| row["outcome"] == "enqueued");
    let last = last.expect("the newest runs")["scheduled_at"]
        .as_str()
        .expect("an instant");
    assert!(last.ends_with("T22:00:00Z"), "{ticks:?}");
}

#[test]
fn ticks_of_a_held_daemon_wait_and_run_when_it_may_go() {
    let schedule = hourly();
    let world = World::new(&[("hourly", &schedule)]);
    let host = world.serve();
    assert_eq!(world.json(&["hold", "hourly"]).0, 0);
    host.kill();
    world.rewind(Timestamp::now() - HOUR * 3);
    let host = world.serve();
    let ticks = recorded(&host, 1);
    assert_eq!(rows(&ticks, "hourly"), "coalesced 2, enqueued 1");
    assert_eq!(host.activation_in("pending")["attempts"], 0);
    host.kill();
    // A tick that is recorded and waits is not recorded again, however often the host restarts.
    world.rewind(Timestamp::now() - HOUR * 4);
    let host = world.serve();
    let ticks = eventually("the fourth is recorded", || {
        Some(host.list("ticks")).filter(|ticks| rows(ticks, "hourly").contains("coalesced 1"))
    });
    assert_eq!(
        rows(&ticks, "hourly"),
        "coalesced 1, coalesced 2, enqueued 1"
    );
    assert_eq!(host.list("runs"), Vec::<Value>::new());
    assert_eq!(world.json(&["go", "hourly"]).0, 0);
    let activations = host.settled(1);
    assert_eq!(activations.len(), 1, "{activations:?}");
    assert_eq!(activations[0]["state"], "succeeded");
}
