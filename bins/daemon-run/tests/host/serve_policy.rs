//! A configuration that names what is not there.

use serde_json::json;

use crate::slow_git::SlowGit;
use crate::world::{World, daemon_file, eventually, watch};

/// Starts a host with more configuration, and returns the message with which it is refused.
#[track_caller]
fn refusal(world: &World, more: &str) -> String {
    world.configure(more);
    world.refusal("config-invalid")
}

#[test]
fn a_policy_for_a_daemon_that_never_was_is_refused_with_its_place() {
    let world = World::pushed();
    let message = refusal(&world, "[policy.daemon.pushr]\ncapability = \"read\"\n");
    assert!(
        message.ends_with(
            "config.toml:14:16: `policy.daemon.pushr`: no watched repository has a daemon `pushr`, did you mean `pusher`?"
        ),
        "{message}"
    );
    for (more, expected) in [
        (
            "[policy.daemon.\"o/x/pusher\"]\ncapability = \"read\"\n",
            "14:16: `policy.daemon.\"o/x/pusher\"`: no repository `o/x` is watched, did you mean `o/r`?",
        ),
        (
            "[policy.daemon.\"o/r\"]\ncapability = \"read\"\n",
            "14:16: `policy.daemon.\"o/r\"`: `o/r` is a repository; its daemon is named as `owner/name/id`",
        ),
        (
            "[policy.daemon.\"o/r/pushr\"]\ncapability = \"read\"\n",
            "14:16: `policy.daemon.\"o/r/pushr\"`: `o/r` has no daemon `pushr`, did you mean `pusher`?",
        ),
    ] {
        let message = refusal(&world, more);
        assert!(message.ends_with(expected), "{message}");
    }
    world.configure("[policy.daemon.nosuch]\nplanned = true\ncapability = \"read\"\n");
    world.serve();
}

#[test]
fn a_policy_for_a_daemon_that_is_gone_warns_and_stops_no_start() {
    let world = World::pushed();
    drop(world.serve());
    world.git(&["rm", "-rq", ".agents/daemons/pusher"]);
    world.commit("remove it");
    world.configure("[policy.daemon.pusher]\ncapability = \"read\"\n");
    // The first start takes it out of the registry.
    for _ in 0..2 {
        drop(world.serve());
    }
    assert_eq!(
        world
            .log()
            .matches("the policy of a daemon that is gone")
            .count(),
        1,
        "{}",
        world.log()
    );
}

#[test]
fn while_a_repository_cannot_be_read_an_unknown_daemon_is_a_warning() {
    let world = World::pushed();
    world.git(&["update-ref", "-d", "refs/heads/main"]);
    world.configure("[policy.daemon.nosuch]\ncapability = \"read\"\n");
    drop(world.serve());
    assert!(
        world
            .log()
            .contains("no watched repository has a daemon `nosuch`"),
        "{}",
        world.log()
    );
}

#[test]
fn a_reload_that_names_a_daemon_that_never_was_keeps_the_old_configuration() {
    let world = World::pushed();
    let host = world.serve();
    world.configure("[policy.daemon.nosuch]\ncapability = \"read\"\n[policy.daemon.pusher]\nprovider = \"builtin\"\n");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (78, &json!("config-invalid")),
        "{answer}"
    );
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("config.toml:14:16: `policy.daemon.nosuch`"),
        "{message}"
    );
    host.signal(rustix::process::Signal::HUP);
    eventually("both refusals are logged", || {
        let refused = "the configuration is wrong; the old one stays";
        (world.log().matches(refused).count() == 2).then_some(())
    });
    let (_, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(fired["runs"][0]["provider"], "sh", "{fired}");

    // A daemon that is committed before the reload, and not yet seen by the host, is known.
    world.write_daemon(
        "newer",
        &daemon_file("newer", &watch(&["when a commit is pushed to main"])),
    );
    world.commit("add it");
    world.configure("[policy.daemon.newer]\nprovider = \"builtin\"\n");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!(code, 0, "{answer}");
}

#[test]
fn a_start_that_is_refused_leaves_nothing_held() {
    let world = World::pushed();
    world.configure("[policy.daemon.nosuch]\ncapability = \"read\"\n");
    let (exit, answer) = world.json(&["serve", "--listen", "127.0.0.1:0", "--hold"]);
    assert_eq!(exit, 78, "{answer}");
    world.configure("");
    let host = world.serve();
    assert_eq!(host.get("stats")["gate"], "open");
    drop(host);
    let host = world.serve_with(&["--hold"], &[]);
    assert_eq!(host.get("stats")["gate"], "held");
}

/// Makes a second repository of a world, `o/other`, with the daemon `other`.
fn other_repository(world: &World) -> SlowGit {
    let wakes = watch(&["when a commit is pushed to main"]);
    let other = SlowGit::new(world, "other", &daemon_file("other", &wakes));
    other.open();
    watch_other(world, &other, "");
    other
}

/// Writes a configuration that watches both, with more behind it.
fn watch_other(world: &World, other: &SlowGit, more: &str) {
    let path = other.repo.display().to_string();
    world.configure(&format!(
        "[[repo]]\npath = {path:?}\nname = \"o/other\"\n{more}"
    ));
}

/// Names the daemons that a host lists.
fn daemons(world: &World) -> Vec<String> {
    let (_, listed) = world.json(&["list"]);
    let all = listed["daemons"].as_array().expect("a list").iter();
    let ids = all.map(|daemon| daemon["id"].as_str().expect("an id").to_owned());
    ids.collect()
}

/// Opens the store of a world.
fn open_store(world: &World) -> rusqlite::Connection {
    rusqlite::Connection::open(world.home.join("state.db")).expect("the store")
}

#[test]
fn a_reload_that_the_store_fails_keeps_the_old_configuration_whole() {
    let world = World::pushed();
    other_repository(&world);
    let host = world.serve();
    assert_eq!(daemons(&world), ["other", "pusher"]);

    world.configure("[policy.daemon.pusher]\nprovider = \"builtin\"\n");
    let store = open_store(&world);
    let rename = |from: &str, to: &str| {
        let renamed = store.execute_batch(&format!("ALTER TABLE {from} RENAME TO {to}"));
        renamed.expect("a table is renamed");
    };
    rename("ref_cursor", "hidden");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (69, &json!("store-failed")),
        "{answer}"
    );
    host.signal(rustix::process::Signal::HUP);
    eventually("both failures are logged", || {
        let failed = "the configuration could not be replaced; the old one stays";
        (world.log().matches(failed).count() == 2).then_some(())
    });
    assert!(!world.log().contains("the configuration is wrong"));
    rename("hidden", "ref_cursor");
    let (_, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(fired["runs"][0]["provider"], "sh", "{fired}");
    assert_eq!(daemons(&world), ["other", "pusher"]);

    // As soon as the store can be read, the new one is taken, as a whole.
    let (code, answer) = world.json(&["reload"]);
    assert_eq!((code, &answer["generation"]), (0, &json!(2)), "{answer}");
    assert_eq!(daemons(&world), ["pusher"]);
    assert_eq!(world.json(&["fire", "other"]).0, 66);
}

#[test]
fn a_registration_that_cannot_be_ended_stops_no_reload_and_ends_at_the_next_start() {
    let world = World::pushed();
    other_repository(&world);
    let host = world.serve();
    world.configure("");
    let store = open_store(&world);
    store.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let (code, answer) = world.json(&["reload"]);
    assert_eq!((code, &answer["generation"]), (0, &json!(2)), "{answer}");
    drop(store);
    assert_eq!(world.json(&["fire", "other"]).0, 66);
    let failed = "the registration of a repository that is watched no longer could not be ended";
    assert!(world.log().contains(failed), "{}", world.log());
    let registered = || -> u32 {
        let count = "SELECT count(*) FROM daemon WHERE repo = 'o/other'";
        let row = open_store(&world).query_row(count, [], |row| row.get(0));
        row.expect("a count")
    };
    assert_eq!(registered(), 1);
    drop(host);
    drop(world.serve());
    assert_eq!(registered(), 0);
}

#[test]
fn a_start_that_is_refused_cancels_nothing_of_a_repository_that_is_watched_no_longer() {
    let world = World::pushed();
    let other = other_repository(&world);
    let host = world.serve_with(&["--hold"], &[]);
    other.commit("push it");
    assert_eq!(host.activation_in("pending")["daemon_id"], "other");
    assert_eq!(host.stop().0, Some(0));
    world.configure("[policy.daemon.nosuch]\ncapability = \"read\"\n");
    world.refusal("config-invalid");
    watch_other(&world, &other, "");
    let host = world.serve();
    let all = host.list("activations");
    assert_eq!(all[0]["state"], "pending", "{all:#?}");
}

#[test]
fn a_policy_without_a_repository_says_how_to_give_one() {
    let world = World::pushed();
    world.write_config("[policy.daemon.pusher]\ncapability = \"read\"\n");
    let (exit, answer) = world.json(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(exit, 78, "{answer}");
    let text = |name: &str| answer["error"][name].as_str().expect(name).to_owned();
    assert!(
        text("message").ends_with("`policy.daemon.pusher`: no repository is watched"),
        "{answer}"
    );
    assert!(text("help").contains("--repo DIR"), "{answer}");
}

#[test]
fn the_policy_of_a_repository_goes_before_that_of_the_id() {
    let world = World::pushed();
    world.configure(
        "[policy.daemon.\"o/r/pusher\"]\nprovider = \"builtin\"\n[policy.daemon.pusher]\nprovider = \"sh\"\ncapability = \"read\"\n",
    );
    let _host = world.serve();
    let (_, fired) = world.json(&["fire", "pusher"]);
    assert_eq!(fired["runs"][0]["provider"], "builtin", "{fired}");
}

#[test]
fn everything_that_is_wrong_is_named_at_once_with_what_was_perhaps_meant() {
    let world = World::pushed();
    world.write_config(
        "listen = \"127.0.0.1\"\n[host]\nlisten = \"127.0.0.1\"\n[policy.daemon.pusher]\ncapabilty = \"read\"\nprovider = \"shh\"\n\
         [provider]\ndefault = \"nobody\"\n[provider.sh]\ncommand = 3\n[schedule]\nwindow = 5\n",
    );
    let (exit, answer) = world.json(&["serve"]);
    let message = answer["error"]["message"].as_str().expect("a message");
    let lines: Vec<&str> = message
        .lines()
        .map(|line| line.split_once("config.toml:").expect(line).1)
        .collect();
    assert_eq!(
        (exit, lines.as_slice()),
        (
            78,
            [
                "1:1: unknown key `listen`, did you mean `host.listen`?",
                "3:10: `host.listen` is `127.0.0.1`, which is no address with a port, such as `127.0.0.1:7777`",
                "5:1: unknown key `policy.daemon.pusher.capabilty`, did you mean `capability`?",
                "6:12: `policy.daemon.pusher.provider` names `shh`, and there is no section `[provider.shh]`, did you mean `sh`?",
                "8:11: `provider.default` names `nobody`, and there is no section `[provider.nobody]`",
                "10:11: `provider.sh.command`: invalid type: integer `3`, expected a string",
                "12:10: `schedule.window`: invalid type: integer `5`, expected a string",
            ]
            .as_slice()
        ),
        "{message}"
    );
}
