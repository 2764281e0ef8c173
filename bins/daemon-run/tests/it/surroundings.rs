//! Surroundings: directories, homes, configurations, `doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::world::{Ran, TIDY, World};

fn checks(ran: &Ran) -> Vec<(String, String)> {
    let object = ran.json();
    let checks = object["checks"].as_array().into_iter().flatten();
    checks
        .map(|check| {
            assert_eq!(
                check.as_object().map(serde_json::Map::len),
                Some(4),
                "{check}"
            );
            let text = |name: &str| check[name].as_str().expect("text").to_owned();
            assert_eq!(
                check["remedy"].is_string(),
                check["status"] != "ok",
                "{check}"
            );
            (text("name"), text("status"))
        })
        .collect()
}

fn status<'a>(checks: &'a [(String, String)], name: &str) -> Option<&'a str> {
    checks
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, status)| status.as_str())
}

#[test]
fn the_doctor_examines_everything_and_writes_nothing() {
    let world = World::of_daemon(TIDY);
    let before = world.tree();
    let ran = world.run(&["doctor", "--repo", ".", "--json"]);
    let found = checks(&ran);
    assert_eq!((ran.code, &ran.json()["ok"]), (0, &json!(true)));
    for name in [
        "git",
        "disk",
        "clock",
        "tzdb",
        "config",
        "providers",
        "repository lamp",
    ] {
        assert_eq!(status(&found, name), Some("ok"), "{name}: {found:?}");
    }
    assert_eq!(
        (status(&found, "home"), status(&found, "github")),
        (Some("warn"), Some("warn"))
    );
    assert!(status(&found, "sandbox").is_some() && status(&found, "port").is_some());
    assert_eq!(world.tree(), before);
    assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    let found = checks(&world.run(&["doctor", "--json"]));
    for name in ["home", "lock", "store", "daemon lamp:tidy"] {
        assert_eq!(status(&found, name), Some("ok"), "{name}: {found:?}");
    }
}

#[test]
fn the_doctor_fails_on_what_is_broken_and_names_a_remedy() {
    let world = World::of_daemon(TIDY);
    world.configure("[sources.github]\nsecret_file = \"nowhere\"\n");
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = world.run(&["doctor", "--json"]);
    let found = checks(&ran);
    assert_eq!((ran.code, &ran.json()["ok"]), (1, &json!(false)));
    assert_eq!(
        (status(&found, "home"), status(&found, "github")),
        (Some("fail"), Some("fail"))
    );
    world.configure("nonsense = 1\n");
    let ran = world.run(&["doctor", "--json"]);
    assert_eq!(
        (ran.code, status(&checks(&ran), "config")),
        (1, Some("fail"))
    );
    let text = world.run(&["doctor"]);
    assert_eq!(text.code, 1);
    assert!(
        text.output
            .lines()
            .any(|line| line.starts_with("fail  config")),
        "{}",
        text.output
    );
}

#[test]
fn a_secret_is_never_shown() {
    let world = World::of_daemon(TIDY);
    world.configure("[sources.github]\nsecret_file = \"hook\"\n");
    fs::write(world.home().join("hook"), "moonshine-and-candles\n").unwrap();
    let ran = world.run(&["doctor", "--json"]);
    assert_eq!(status(&checks(&ran), "github"), Some("ok"));
    assert!(!ran.output.contains("moonshine"), "{}", ran.output);
}

#[test]
fn a_wrong_configuration_stops_what_needs_it_and_nothing_else() {
    let world = World::of_daemon(TIDY);
    for text in [
        "nonsense = 1\n",
        "[host]\nlisden = \"x\"\n",
        "[host",
        "[schedule]\nzone = \"Mars/Base\"\n",
        "[budget]\nactivation_usd = -1\n",
    ] {
        world.configure(text);
        for arguments in [
            &["fire", "tidy"][..],
            &["fire", "tidy", "--dry-run"],
            &["list"],
            &["context", "tidy"],
            &["serve"],
        ] {
            let ran = world.run(&[arguments, &["--json"]].concat());
            assert_eq!(ran.failure().0, 78, "{arguments:?} {text}");
        }
        for arguments in [
            &["lint"][..],
            &["explain"],
            &["rule"],
            &["next", "--cron", "0 9 * * *"],
            &["schema"],
        ] {
            assert_eq!(world.run(arguments).code, 0, "{arguments:?} {text}");
        }
    }
    world.configure("[provider]\ndefault = \"nobody\"\n");
    assert_eq!(world.run(&["fire", "tidy", "--json"]).failure().0, 78);
    world.configure("");
    assert_eq!(
        world
            .run(&["fire", "tidy", "-q", "--home", "../elsewhere"])
            .code,
        0
    );
    assert!(world.root().join("elsewhere/state.db").is_file());
}

#[test]
fn an_unknown_key_is_named_with_its_place() {
    let world = World::of_daemon(TIDY);
    world.configure("[host]\nlisden = \"x\"\n");
    let ran = world.run(&["list", "--json"]);
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("config.toml:2:1") && message.contains("lisden"),
        "{message}"
    );
}

#[test]
fn the_home_is_found_by_flag_then_environment_then_state_directory() {
    let world = World::of_daemon(TIDY);
    let home_of = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = world.command(&[arguments, &["runs", "--json"]].concat());
        command
            .env_remove("DAEMON_HOME")
            .env_remove("HOME")
            .envs(variables.iter().copied());
        let ran = world.ran(command.output().unwrap());
        let message = ran.masked()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        (ran.code, message)
    };
    let missing = |home: &str| {
        (
            69,
            format!("there is no store in `{home}`, and no host is running for it"),
        )
    };
    assert_eq!(
        home_of(
            &[("DAEMON_HOME", "/x/a"), ("HOME", "/x/u")],
            &["--home", "/x/b"]
        ),
        missing("/x/b")
    );
    assert_eq!(
        home_of(&[("DAEMON_HOME", "/x/a"), ("XDG_STATE_HOME", "/x/s")], &[]),
        missing("/x/a")
    );
    assert_eq!(
        home_of(&[("XDG_STATE_HOME", "/x/s"), ("HOME", "/x/u")], &[]),
        missing("/x/s/daemon-run")
    );
    assert_eq!(
        home_of(&[("HOME", "/x/u")], &[]),
        missing("/x/u/.local/state/daemon-run")
    );
    assert_eq!(home_of(&[], &[]), (78, "no home is set".to_owned()));
}

#[test]
fn without_a_home_what_needs_none_works() {
    let world = World::of_daemon(TIDY);
    for arguments in [
        &["lint"][..],
        &["rule", "D201"],
        &["explain", "tidy"],
        &["next", "tidy"],
        &["context", "tidy"],
        &["fire", "tidy", "--dry-run"],
        &["schema"],
        &["doctor"],
        &["demo", "-q"],
    ] {
        let mut command = world.command(arguments);
        command.env_remove("DAEMON_HOME").env_remove("HOME");
        let ran = world.ran(command.output().unwrap());
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.notes);
    }
}

#[test]
fn another_directory_is_worked_in_with_the_flag() {
    let world = World::of_daemon(TIDY);
    let inside = world.run(&["-C", ".agents/daemons", "explain", "tidy", "--json"]);
    assert_eq!(
        (inside.code, &inside.json()["daemons"][0]["daemon_id"]),
        (0, &json!("tidy"))
    );
    let outside = world.run(&["-C", "..", "next", "tidy", "--repo", "lamp", "--json"]);
    assert_eq!(
        (outside.code, &outside.json()["daemon_id"]),
        (0, &json!("tidy"))
    );
    let below = world.run(&[
        "-C",
        "..",
        "context",
        "tidy",
        "--repo",
        "lamp/.agents/daemons/tidy",
        "-q",
    ]);
    assert_eq!(below.code, 0, "a directory inside the repository names it");
    let file = [
        "explain",
        "--json",
        "--repo",
        ".agents/daemons/tidy/DAEMON.md",
    ];
    assert_eq!(world.run(&file).failure(), (66, "unreadable".to_owned()));
    let empty = world.run(&["-C", "../user", "explain"]);
    assert_eq!((empty.code, empty.output.as_str()), (0, ""));
    assert!(
        empty.notes.starts_with("no daemons in `"),
        "{}",
        empty.notes
    );
    assert_eq!(
        world.run(&["-C", "nowhere", "list", "--json"]).failure(),
        (66, "unreadable".to_owned())
    );
}

#[test]
fn a_home_that_cannot_be_used_is_said_to_be() {
    let world = World::of_daemon(TIDY);
    fs::write(world.home(), "a file").unwrap();
    assert_eq!(
        world.run(&["fire", "tidy", "--json"]).failure(),
        (73, "home".to_owned())
    );
    assert_eq!(world.run(&["fire", "tidy", "--dry-run", "-q"]).code, 0);
}

#[test]
fn a_store_that_is_none_is_refused_and_left_as_it_is() {
    let world = World::of_daemon(TIDY);
    world.configure("");
    let path = world.home().join("state.db");
    for bytes in [&b""[..], b"not a database, but long enough to be read as the head of one, surely; more words follow here"] {
        fs::write(&path, bytes).unwrap();
        for arguments in [&["list", "--json"][..], &["fire", "tidy", "--json"]] {
            assert_eq!(world.run(arguments).failure(), (69, "store-failed".to_owned()), "{arguments:?}");
        }
        let doctor = world.run(&["doctor", "--json"]);
        assert_eq!(status(&checks(&doctor), "store"), Some("fail"));
        assert_eq!(fs::read(&path).unwrap(), bytes, "never begun anew");
    }
    let named = world
        .command(&["list", "--json"])
        .env("DAEMON_STORE", "papyrus")
        .output()
        .unwrap();
    assert_eq!(world.ran(named).failure(), (78, "unknown-store".to_owned()));
}

#[test]
fn two_repositories_and_a_name_tell_daemons_apart() {
    let world = World::of_daemon(TIDY);
    world.run(&["fire", "tidy", "-q"]);
    let twin = world.root().join("twin");
    world.git(&["clone", "--quiet", ".", twin.to_str().unwrap()]);
    world.git(&[
        "-C",
        twin.to_str().unwrap(),
        "remote",
        "set-url",
        "origin",
        "https://example.invalid/acme/twin.git",
    ]);
    let ran = world.run(&["fire", "tidy", "--repo", "../twin", "--json"]);
    assert_eq!(
        (ran.code, &ran.json()["activation"]["repo"]),
        (0, &json!("acme/twin"))
    );
    assert_eq!(
        world.run(&["show", "tidy", "--json"]).failure(),
        (64, "ambiguous-daemon".to_owned())
    );
    let repo_of = |ran: Ran| ran.json()["daemon"]["repo"].clone();
    assert_eq!(
        repo_of(world.run(&["show", "tidy", "--repo", "../twin", "--json"])),
        Value::from("acme/twin")
    );
    assert_eq!(
        repo_of(world.run(&["show", "tidy", "--repo", "lamp", "--json"])),
        Value::from("lamp")
    );
    let held = world.run(&["hold", "tidy", "--repo", "../twin", "--json"]);
    assert_eq!((held.code, &held.json()["repo"]), (0, &json!("acme/twin")));
}
