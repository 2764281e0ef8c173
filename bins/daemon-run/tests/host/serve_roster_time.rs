//! How the rows of a host that was killed age, and what its next start finds.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fields::Shown as _;
use crate::serve_roster::{Agent, rows};
use crate::world::{World, daemon_file, until};

/// Lists kinds, names and liveness at a time after now, by a command whose clock is ahead. No host may be running.
fn listed_after(world: &World, minutes: i64) -> Vec<String> {
    // The clock began a minute ago and is so much faster since then that it shows the time.
    let began = Timestamp::now().as_second() - 60;
    let mut command = world.command(&["roster", "--json"]);
    command.env("DAEMON_TEST_CLOCK", format!("{}:{began}", minutes + 1));
    let output = command.output().expect("the binary runs");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let rows = listed["rows"].as_array().expect("a list");
    let shown = rows.iter().map(|row| {
        let name = match row["kind"] == "host" {
            true => "-".to_owned(),
            false => row.text("name"),
        };
        format!("{} {name} {}", row.text("kind"), row.text("liveness"))
    });
    shown.collect()
}

#[test]
fn rows_of_a_killed_host_age_by_their_kind_and_cadence_and_the_next_host_revives_its_own() {
    let (world, host) = World::serving();
    let (_digger, row) = Agent::register(&host, 1, "digger");
    let (mut owl, _) = Agent::register(&host, 2, "owl");
    owl.done(
        "daemon_checkin",
        &json!({"wake": "tick", "cadence": "dormant"}),
    );
    // A cadence that does not exist refuses the check-in.
    let unknown = json!({"wake": "tick", "cadence": "sleepy"});
    assert_eq!(owl.refused("daemon_checkin", &unknown).0, -32602);
    until("all have checked in", || {
        rows(&world, "repository").len() + rows(&world, "host").len() == 2
    });
    let id = rows(&world, "host")[0].text("id");
    host.kill();
    for (minutes, host, digger, owl, pusher) in [
        (0, "live", "live", "live", "live"),
        (2, "stale", "live", "live", "live"),
        (4, "dead", "live", "live", "live"),
        (22, "dead", "stale", "live", "stale"),
        (42, "dead", "dead", "live", "dead"),
        (50, "dead", "dead", "stale", "dead"),
        (95, "dead", "dead", "dead", "dead"),
    ] {
        let expected = [
            format!("host - {host}"),
            format!("standing digger {digger}"),
            format!("standing owl {owl}"),
            format!("repository pusher {pusher}"),
        ];
        assert_eq!(listed_after(&world, minutes), expected, "{minutes} minutes");
    }
    let host = world.serve();
    let of_host = || rows(&world, "host").pop();
    until("it checked in again", || {
        of_host().is_some_and(|row| row["age"].as_i64() < Some(5))
    });
    assert_eq!(of_host().map(|row| row.text("id")), Some(id));
    // The agent continues under its row, and its check-in is that of the incarnation before.
    let mut digger = Agent::connect(&host, 1);
    let answer = digger.done("daemon_checkin", &json!({"wake": "tick"}));
    shows!(answer, {"daemon": row, "incarnation": 1});
    host.stop();
}

#[test]
fn a_daemon_whose_schedule_is_not_evaluated_says_why_and_does_not_check_in() {
    let world = World::pushed();
    world.write_daemon("hourly", &daemon_file("hourly", "schedule: 0 * * * *"));
    world.commit("one with a schedule");
    // The clock stays at an instant long before the build date.
    let host = world.serve_with(&[], &[("DAEMON_TEST_CLOCK", "0:1000000000")]);
    let reasons = || {
        let rows = rows(&world, "repository").into_iter();
        let mut reasons: Vec<String> = rows
            .map(|row| format!("{}: {}", row.text("name"), row.text("reason")))
            .collect();
        reasons.sort();
        reasons
    };
    let expected = [
        "hourly: schedules are not evaluated: the clock is before the date on which this program was built",
        "pusher: check-in",
    ];
    until("both say how they are", || reasons() == expected);
    host.stop();
}
