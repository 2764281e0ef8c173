//! `next`: expressions, daemons, zones.

use serde_json::json;

use crate::world::{TIDY, World};

const FROM: [&str; 2] = ["--from", "2026-11-20T12:00:00Z"];

#[test]
fn an_expression_is_answered_with_the_contracts_fields() {
    let world = World::new();
    let ran = world.run(&[
        "next",
        "--cron",
        "30 14 * * 1-5",
        FROM[0],
        FROM[1],
        "-n",
        "2",
        "--json",
    ]);
    assert_eq!(
        (ran.code, ran.json(), ran.notes.as_str()),
        (
            0,
            json!({"schema_version": 1, "expression": "30 14 * * 1-5", "zone": "UTC", "never": false,
                "times": ["2026-11-20T14:30:00Z", "2026-11-23T14:30:00Z"]}),
            ""
        )
    );
    let five = world.run(&[
        "next",
        "--cron",
        "* * * * *",
        FROM[0],
        "2026-11-20T12:00:00Z",
        "--json",
    ]);
    let times = &five.json()["times"];
    assert_eq!(
        (times[0].as_str(), times.as_array().map(Vec::len)),
        (Some("2026-11-20T12:01:00Z"), Some(5)),
        "strictly after, five of them"
    );
}

#[test]
fn a_date_that_never_comes_is_said_and_is_no_failure() {
    let ran = World::new().run(&["next", "--cron", "0 0 30 2 *", "--json"]);
    assert_eq!(
        (ran.code, ran.json()),
        (
            0,
            json!({"schema_version": 1, "expression": "0 0 30 2 *", "zone": "UTC", "never": true, "times": []})
        )
    );
}

#[test]
fn a_zone_decides_the_instants_and_the_text_names_it() {
    let world = World::new();
    let berlin = [
        "next",
        "--cron",
        "30 2 * * *",
        "--tz",
        "Europe/Berlin",
        "--from",
        "2026-03-27T12:00:00Z",
        "-n",
        "3",
    ];
    let ran = world.run(&[&berlin[..], &["--json"]].concat());
    assert_eq!(
        ran.json()["times"],
        json!([
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z"
        ]),
        "the skipped half past two comes at three"
    );
    let text = world.run(&berlin).output;
    assert!(
        text.starts_with("30 2 * * *  at 02:30 every day (Europe/Berlin)\n"),
        "{text}"
    );
    assert!(
        text.contains("2026-03-28 01:30 UTC  Sat 2026-03-28 02:30 +01:00 Europe/Berlin\n"),
        "{text}"
    );
    assert!(text.contains("note[D214]"), "{text}");
}

#[test]
fn expressions_that_are_none_exit_with_their_code() {
    let world = World::new();
    for (expression, code) in [
        ("0 30 14 * * 1-5", "D201"),
        ("* * * *", "D201"),
        ("", "D201"),
        ("@daily", "D202"),
        ("75 * * * *", "D203"),
        ("0 0 ? * *", "D204"),
        ("*/0 * * * *", "D205"),
        ("0 22-6 * * *", "D206"),
        ("TZ=UTC 0 0 * * *", "D208"),
    ] {
        let ran = world.run(&["next", "--json", "--cron", expression]);
        assert_eq!(ran.failure(), (65, code.to_owned()), "{expression}");
    }
    let text = world.run(&["next", "--cron", "0 30 14 * * 1-5"]);
    assert_eq!(
        (text.code, text.output.as_str(), text.notes.as_str()),
        (
            65,
            "",
            "error: `schedule` must have five fields, found six\n  help: remove the seconds field\n"
        )
    );
}

#[test]
fn a_daemon_is_asked_by_its_id_and_all_without_one() {
    let world = World::of_daemon(TIDY);
    world.write(
        ".agents/daemons/watcher/DAEMON.md",
        &TIDY
            .replace("id: tidy", "id: watcher")
            .replace("schedule: \"30 14 * * 1-5\"\n", ""),
    );
    let answer = json!({"expression": "30 14 * * 1-5", "zone": "UTC", "never": false, "daemon_id": "tidy",
        "times": ["2026-11-20T14:30:00Z"]});
    let mut one = answer.clone();
    one["schema_version"] = json!(1);
    let ran = world.run(&["next", "tidy", FROM[0], FROM[1], "-n", "1", "--json"]);
    assert_eq!((ran.code, ran.json()), (0, one));
    let all = world.run(&["next", FROM[0], FROM[1], "-n", "1", "--json"]);
    assert_eq!(
        (all.code, all.json()),
        (0, json!({"schema_version": 1, "daemons": [answer]}))
    );
    assert_eq!(
        world.run(&["next", "watcher", "--json"]).failure(),
        (66, "no-schedule".to_owned())
    );
    assert_eq!(
        world.run(&["next", "nobody", "--json"]).failure(),
        (66, "unknown-daemon".to_owned())
    );
}

#[test]
fn the_configured_zone_is_a_daemons_and_a_flag_goes_before_it() {
    let world = World::of_daemon(TIDY);
    world.configure(
        "[schedule]\nzone = \"Europe/Berlin\"\n[policy.daemon.other]\nzone = \"Asia/Tokyo\"\n",
    );
    let zone = |arguments: &[&str]| {
        let ran = world.run(&[&["next", "tidy", "--json"], arguments].concat());
        ran.json()["zone"].as_str().map(str::to_owned)
    };
    assert_eq!(zone(&[]), Some("Europe/Berlin".to_owned()));
    assert_eq!(zone(&["--tz", "UTC"]), Some("UTC".to_owned()));
}

#[test]
fn wrong_flags_are_usage_errors() {
    let world = World::of_daemon(TIDY);
    for arguments in [
        &["--cron", "0 9 * * *", "--tz", "Mars/Base"][..],
        &["--cron", "0 9 * * *", "--from", "yesterday"],
        &["--cron", "0 9 * * *", "-n", "many"],
        &["--cron", "0 9 * * *", "-n", "1000000"],
        &["tidy", "--cron", "0 9 * * *"],
    ] {
        let ran = world.run(&[&["next", "--json"], arguments].concat());
        assert_eq!(ran.failure(), (64, "usage".to_owned()), "{arguments:?}");
    }
}
