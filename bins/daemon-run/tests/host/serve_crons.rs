//! Crons: the turns that they start, the rows of their ticks, and their file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use daemon_fakes::Reply;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::conversing::{api, world};
use crate::rpc::Rpc;
use crate::world::{Host, World, until};

fn ask(host: &Host, method: &str, params: &Value) -> Value {
    Rpc::initialized(host.socket()).call(method, params)
}

fn file(world: &World) -> PathBuf {
    world.home.join("cron/crons.toml")
}

/// Returns the parameters of a cron of every minute.
fn every_minute(more: &Value) -> Value {
    let mut params =
        json!({"schedule": "* * * * *", "skill": "inbox", "agent": "scout", "sender": "user"});
    let members = params.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    params
}

fn create(host: &Host, more: &Value) -> Value {
    let created = ask(host, "cron/create", &every_minute(more));
    shows!(created, {"result.cron.skill": "inbox", "result.cron.problem": null, "result.cron.last": null});
    created["result"]["cron"]["id"].clone()
}

/// Makes the last minutes due, while no host serves. What is more than a minute late is missed.
fn rewind(world: &World, minutes: i64) {
    world.rewind(now() - SignedDuration::from_secs(60 * minutes + 1));
}

fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns the lines of the conversation that crons start.
fn lines(host: &Host) -> Vec<Value> {
    let params = json!({"agent": "scout", "sender": "user"});
    let answer = ask(host, "conversation/history", &params);
    answer["result"]["lines"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn count(lines: &[Value], kind: &str) -> usize {
    lines.iter().filter(|line| line["type"] == kind).count()
}

/// Returns the outcomes of the ticks of crons, the newest first.
fn outcomes(host: &Host) -> Vec<Value> {
    let listed = ask(host, "tick/list", &json!({"repo": "/cron"}));
    let rows = listed["result"]["ticks"].as_array().cloned();
    let rows = rows.unwrap_or_else(|| panic!("{listed}")).into_iter();
    rows.map(|mut row| row["outcome"].take()).collect()
}

#[test]
fn a_due_cron_starts_the_turn_of_its_skill_and_what_was_due_in_a_downtime_is_missed() {
    let api = api([
        Reply::text("Nothing is new."),
        Reply::text("Still nothing."),
    ]);
    let world = world(&api, "");
    let host = world.serve();
    let id = create(&host, &json!({}));
    host.kill();
    rewind(&world, 10);
    let host = world.serve();
    until("the turn has ended", || count(&lines(&host), "end") > 0);
    shows!(lines(&host)[1].clone(), {"content": "/inbox", "via": "cron", "turn": 1});
    let outcomes = outcomes(&host);
    assert_eq!(
        outcomes[outcomes.len() - 2..],
        ["enqueued", "missed_window"]
    );
    let listed = ask(&host, "cron/list", &json!({}));
    shows!(listed, {"result.crons.0.id": id, "result.crons.0.last.outcome": "enqueued", "result.crons.0.zone": "UTC"});
    shows!(ask(&host, "host/stats", &json!({})), {"result.crons": 1});
}

#[test]
fn a_tick_in_quiet_hours_is_recorded_and_starts_nothing_and_a_once_cron_waits() {
    let api = api([]);
    let world = world(&api, "");
    let host = world.serve();
    let begun = now();
    let [start, past, end] = [-2, -1, 2].map(|hours| {
        let at = begun + SignedDuration::from_hours(hours);
        at.strftime("%H:%M").to_string()
    });
    let quiet = json!({"quiet_start": start, "quiet_end": end, "once": true});
    let id = create(&host, &quiet);
    let written = fs::read(file(&world)).expect("the file");
    host.kill();
    rewind(&world, 1);
    let host = world.serve();
    until("the tick is recorded", || !outcomes(&host).is_empty());
    assert!(
        outcomes(&host)
            .iter()
            .all(|outcome| outcome == "skipped_quiet")
    );
    let listed = ask(&host, "cron/list", &json!({}));
    shows!(listed, {"result.crons.0.id": id, "result.crons.0.last.outcome": "skipped_quiet"});
    assert_eq!(lines(&host), Vec::<Value>::new());
    assert_eq!(fs::read(file(&world)).expect("the file"), written);
    // The quiet hours end while no host runs: the next one starts the turn that waits.
    host.kill();
    let text = String::from_utf8(written).expect("text");
    let loud = text.replace(&end, &past);
    assert_ne!(loud, text);
    fs::write(file(&world), loud).expect("the file");
    let host = world.serve();
    until("the cron has left the disk", || {
        fs::read_to_string(file(&world)).expect("the file") == "cron = []\nnext_id = 2\n"
    });
    until("the turn has begun", || count(&lines(&host), "user") == 1);
}

#[test]
fn five_fields_are_accepted_and_what_is_invalid_is_refused() {
    let api = api([]);
    let world = world(&api, "");
    let host = world.serve();
    for schedule in ["0 */2 * * *", "0 9 * * 0", "0 9 * * 7"] {
        create(&host, &json!({"schedule": schedule}));
    }
    for more in [
        json!({"schedule": "0 0 */2 * * *"}),
        json!({"zone": "Mars/Base"}),
        json!({"quiet_start": "23:00"}),
        json!({"quiet_start": "23:00", "quiet_end": "23:00"}),
        json!({"skill": "../x"}),
        json!({"sender": "a\u{0}"}),
        json!({"agent": "../x"}),
    ] {
        let refused = ask(&host, "cron/create", &every_minute(&more));
        shows!(refused, {"error.code": -32602, "error.data.code": "invalid-params"}, "{more}");
    }
    let unknown = ask(
        &host,
        "cron/create",
        &every_minute(&json!({"agent": "nemo"})),
    );
    shows!(unknown, {"error.code": -32004, "error.data.code": "not-found"});
    let listed = ask(&host, "cron/list", &json!({}));
    assert_eq!(listed["result"]["crons"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_corrupt_file_of_crons_is_not_written_until_it_is_repaired() {
    let api = api([]);
    let world = world(&api, "");
    let broken = "next_id = 9\n[[cron]\n";
    fs::create_dir_all(world.home.join("cron")).expect("a directory");
    fs::write(file(&world), broken).expect("a file");
    let host = world.serve();
    for (method, params) in [
        ("cron/create", every_minute(&json!({}))),
        ("cron/list", json!({})),
        ("cron/delete", json!({"id": 1})),
    ] {
        let refused = ask(&host, method, &params);
        shows!(refused, {"error.code": -32010, "error.data.code": "storage-failed"}, "{method}");
    }
    assert_eq!(fs::read_to_string(file(&world)).expect("the file"), broken);
    fs::write(
        file(&world),
        "next_id = 9\n[[cron]]\nid = 3\nskill = \"x\"\n",
    )
    .expect("a file");
    ask(&host, "host/reload", &json!({}));
    let listed = ask(&host, "cron/list", &json!({}));
    shows!(listed, {"result.crons.0.id": 3, "result.crons.0.skill": "x", "result.crons.0.problem": "missing field `schedule`"});
    assert_eq!(create(&host, &json!({})), 9);
}

#[test]
fn an_id_is_new_after_a_restart_and_a_restart_rewrites_no_file() {
    let api = api([]);
    let world = world(&api, "");
    let host = world.serve();
    let yearly = json!({"schedule": "0 0 29 2 *"});
    assert_eq!(create(&host, &yearly), 1);
    assert_eq!(create(&host, &yearly), 2);
    shows!(ask(&host, "cron/delete", &json!({"id": 2})), {"result": {}});
    shows!(ask(&host, "cron/delete", &json!({"id": 2})), {"error.code": -32004});
    let inode = || fs::metadata(file(&world)).expect("the file").ino();
    let written = (inode(), fs::read(file(&world)).expect("the file"));
    host.kill();
    let host = world.serve();
    let listed = ask(&host, "cron/list", &json!({}));
    shows!(listed, {"result.crons.0.id": 1, "result.crons.0.schedule": "0 0 29 2 *"});
    assert_eq!(
        (inode(), fs::read(file(&world)).expect("the file")),
        written
    );
    assert_eq!(create(&host, &yearly), 3);
}

/// Kills a host at places between the removal of a `once` cron and the end of its turn: `DAEMON_TEST_CRON_KILLS` times, 10 by default.
#[cfg(feature = "internal-testing")]
#[test]
fn a_once_cron_runs_at_most_once_whatever_kills_the_host_and_its_tick_is_recorded() {
    let kills = std::env::var("DAEMON_TEST_CRON_KILLS");
    let n_kills: usize = kills.map_or(10, |n| n.parse().expect("a number"));
    let api = daemon_fakes::ModelApi::scripted(|_| Reply::text("Done.")).expect("a port");
    let world = world(&api, "");
    for n in 0..n_kills {
        let place = ["C1", "C2", "A1#1", "A3#2", "A1#3"][n % 5];
        let host = world.serve();
        let before = lines(&host);
        let id = create(&host, &json!({"once": true}));
        host.kill();
        rewind(&world, 1);
        world.forget_crashes();
        assert_eq!(world.dies_at(place), None, "{place}");
        world.forget_crashes();
        let text = fs::read_to_string(file(&world)).expect("the file");
        assert!(text.starts_with("cron = []\n"), "{place}: {text}");
        let host = world.serve();
        until("the tick is recorded", || {
            let ticks = ask(
                &host,
                "tick/list",
                &json!({"repo": "/cron", "daemon": id.to_string()}),
            );
            ticks["result"]["ticks"]
                .as_array()
                .is_some_and(|rows| !rows.is_empty())
        });
        let after = lines(&host);
        assert!(
            count(&after, "user") <= count(&before, "user") + 1,
            "{place}"
        );
        assert_eq!(count(&after, "user"), count(&after, "end"), "{place}");
        let listed = ask(&host, "cron/list", &json!({}));
        shows!(listed, {"result.crons": []}, "{place}");
        host.kill();
        world.forget_crashes();
    }
}
