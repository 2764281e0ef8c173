//! A configuration file that is missing or empty.

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
        message.ends_with("config.toml` is a link to `../mount/late.toml`, which is not there"),
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
    for (what, said) in [("gone", "is not there any more"), ("empty", "is empty")] {
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
