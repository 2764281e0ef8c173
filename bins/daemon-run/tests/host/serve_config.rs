//! A configuration file that is missing, empty, or has a value with which the host could not do its work.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::world::{World, eventually};

/// A policy that is visible in what a run gets.
const POLICY: &str = "[policy.daemon.pusher]\nprovider = \"sh\"\ncapability = \"read\"\n";

#[test]
fn a_configuration_that_is_a_link_to_nothing_is_refused() {
    let world = World::pushed();
    let config = world.home.join("config.toml");
    fs::rename(&config, world.beside("late.toml")).expect("a move");
    symlink("../mount/late.toml", &config).expect("a link");
    let message = world.refusal("config-unreadable");
    assert!(
        message.ends_with("config.toml` is a link to `../mount/late.toml`, which does not exist"),
        "{message}"
    );
    let (_, found) = world.json(&["doctor"]);
    let checks = found["checks"].as_array().expect("checks").iter();
    let status: Vec<&Value> = checks
        .filter(|check| check["name"] == "config")
        .map(|check| &check["status"])
        .collect();
    assert_eq!(status, [&json!("fail")], "{found}");

    fs::remove_file(&config).expect("a removal");
    symlink(world.beside("late.toml"), &config).expect("a link");
    drop(world.serve());
}

#[test]
fn a_reload_without_the_file_that_the_host_began_with_changes_nothing() {
    let world = World::pushed();
    world.configure(POLICY);
    let host = world.serve();
    let config = world.home.join("config.toml");
    let beside = world.beside("config.bak");
    fs::rename(&config, &beside).expect("a move");
    for (what, said) in [("gone", "does not exist any more"), ("empty", "is empty")] {
        let (code, answer) = world.json(&["reload"]);
        let error = &answer["error"];
        assert_eq!(
            (code, &error["code"]),
            (78, &json!("config-invalid")),
            "{what}: {answer}"
        );
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.contains("config.toml") && message.contains(said),
            "{answer}"
        );
        let help = error["help"].as_str().expect("a help");
        assert!(help.contains("restart the host"), "{answer}");
        assert_eq!(host.get("daemons")["daemons"][0]["repo"], "o/r");
        let (_, fired) = world.json(&["fire", "pusher"]);
        assert_eq!(fired["runs"][0]["provider"], "sh", "{fired}");
        fs::write(&config, "").expect("an empty file");
    }
    let refusals = || {
        let text = "the configuration is wrong; the old one stays";
        world.log().matches(text).count()
    };
    let before = refusals();
    host.signal(rustix::process::Signal::HUP);
    eventually("the refusal of the signal is logged", || {
        (refusals() > before).then_some(())
    });
    assert_eq!(before, 2, "{}", world.log());
    assert_eq!(host.get("daemons")["daemons"][0]["repo"], "o/r");

    fs::rename(&beside, &config).expect("a move");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!((code, &answer["changed"]), (0, &json!(false)), "{answer}");
}

#[test]
fn a_host_that_began_without_a_configuration_is_reloaded_without_one() {
    let world = World::pushed();
    fs::remove_file(world.home.join("config.toml")).expect("a removal");
    let repo = world.repo.display().to_string();
    let _host = world.serve_with(&["--repo", &repo], &[]);
    let (code, answer) = world.json(&["reload"]);
    assert_eq!((code, &answer["changed"]), (0, &json!(false)), "{answer}");
}

#[test]
fn a_configuration_that_a_reload_refused_is_not_missed() {
    let world = World::pushed();
    let config = world.home.join("config.toml");
    fs::remove_file(&config).expect("a removal");
    let repo = world.repo.display().to_string();
    let _host = world.serve_with(&["--repo", &repo], &[]);
    world.write_config("[policy.daemon.nosuch]\ncapability = \"read\"\n");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!(code, 78, "{answer}");
    fs::remove_file(&config).expect("a removal");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!((code, &answer["changed"]), (0, &json!(false)), "{answer}");
}

#[test]
fn a_log_level_that_is_none_is_refused_with_its_place() {
    let world = World::pushed();
    world.configure("[log]\nlevel = \"warning\"\n");
    let message = world.refusal("config-invalid");
    assert!(
        message.ends_with(
            "config.toml:15:9: `log.level`: `warning` is no level, did you mean `warn`?"
        ),
        "{message}"
    );
    world.configure("");
    let (code, line) = world.refused(&[("DAEMON_LOG", "warning")]);
    assert_eq!(code, Some(78), "{line}");
    assert!(line.contains("did you mean `warn`?"), "{line}");
    world.configure("[log]\nlevel = \"warn,daemon_host=debug\"\n");
    drop(world.serve());
}

#[test]
fn a_sandbox_level_that_no_machine_has_is_refused_with_its_place() {
    let world = World::pushed();
    world.configure("[policy]\nsandbox_min = 4\n[policy.daemon.pusher]\nsandbox_min = 9\n");
    let message = world.refusal("config-invalid");
    for expected in [
        "config.toml:15:15: `policy.sandbox_min` is 4, at most 3 is served",
        "config.toml:17:15: `policy.daemon.pusher.sandbox_min` is 9, at most 3 is served",
    ] {
        assert!(message.contains(expected), "{message}");
    }
}
