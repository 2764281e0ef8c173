//! `events record` and `events replay`, over a store without a host.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::world::{OPENED, TIDY, World};

/// A world whose home holds one event of GitHub, in which somebody wrote down a token.
fn told() -> (World, String) {
    let world = World::of_daemon(TIDY);
    world.git(&[
        "remote",
        "add",
        "origin",
        "https://github.com/acme/lamp.git",
    ]);
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let body = OPENED.replace("Add a wick", &format!("Add {token} to the wick"));
    let ran = world.run_with_input(
        &[
            "fire",
            "tidy",
            "-q",
            "--event",
            "-",
            "--source",
            "github",
            "--kind",
            "pull_request",
        ],
        &body,
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let event = github_event(&world);
    (world, event["id"].as_str().expect("an id").to_owned())
}

fn events(world: &World) -> Vec<Value> {
    let listed = world.run(&["events", "--json"]).json();
    listed["events"].as_array().expect("a list").clone()
}

fn github_event(world: &World) -> Value {
    let mut found = events(world).into_iter();
    found
        .find(|event| event["source"] == "github")
        .expect("it was stored")
}

fn read(world: &World, path: &str) -> Value {
    let bytes = world.tree()[&world.root().join("lamp").join(path)].clone();
    serde_json::from_slice(&bytes).expect("it is JSON")
}

#[test]
fn a_recorded_event_is_an_envelope_without_secrets_that_tests_and_explanations_take() {
    let (world, id) = told();
    let ran = world.run(&[
        "events", "record", "--out", "kept/new", "--source", "github", "--json",
    ]);
    let object = ran.json();
    let delivery = github_event(&world)["delivery_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let file = format!("{}.json", delivery.replace(':', "%3A"));
    assert_eq!(
        (ran.code, object),
        (
            0,
            json!({"schema_version": 1, "dir": world.repository().join("kept/new"), "skipped": [], "next": null,
                "events": [{"id": id, "delivery_id": delivery, "source": "github", "kind": "pull_request", "file": file}]})
        )
    );
    let envelope = read(&world, &format!("kept/new/{file}"));
    let mut body: Value = serde_json::from_str(OPENED).unwrap();
    body["pull_request"]["title"] = json!("Add [a GitHub token, removed] to the wick");
    assert_eq!(
        envelope,
        json!({"id": delivery, "source": "github", "event": "pull_request", "enrichment": {}, "body": body,
            "headers": {"X-GitHub-Event": "pull_request", "X-GitHub-Delivery": delivery}})
    );
    let schema: Value = serde_json::from_str(&world.run(&["schema", "fixture"]).output).unwrap();
    assert!(
        jsonschema::draft202012::new(&schema)
            .unwrap()
            .is_valid(&envelope)
    );
    let path = format!("kept/new/{file}");
    let explained = world
        .run(&["explain", "tidy", "--event", &path, "--json"])
        .json();
    assert_eq!(explained["daemons"][0]["wakes"], true);
    world.run(&[
        "events",
        "record",
        "--out",
        ".agents/daemon-tests/tidy",
        "--source",
        "github",
    ]);
    world.write(
        ".agents/daemon-tests/tidy/kept.yml",
        &format!("- name: as it came\n  event: {{payload: '{file}'}}\n  expect: {{wakes: true}}\n"),
    );
    assert_eq!(world.run(&["test", "--json"]).json()["passed"], 1);
}

#[test]
fn a_record_stays_in_its_directory_and_takes_the_newest() {
    let (world, _) = told();
    world.write("docs/a.md", "a\n");
    world.commit("Add a page");
    assert_eq!(world.run(&["fire", "tidy", "-q"]).code, 0);
    let all = events(&world).len();
    assert!(all > 1, "the repository's own events are there too");
    let count = |arguments: &[&str]| {
        let start = ["events", "record", "--out", "kept", "--json"];
        world.run(&[&start, arguments].concat()).json()["events"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((count(&[]), count(&["-n", "1"])), (all, 1));
    assert_eq!(count(&["--source", "slack"]), 0);
    // A link at a file's place is replaced, not followed.
    let file = format!(
        "{}.json",
        github_event(&world)["delivery_id"]
            .as_str()
            .unwrap()
            .replace(':', "%3A")
    );
    let place = world.repository().join("kept").join(&file);
    std::fs::remove_file(&place).unwrap();
    world.write("precious", "mine");
    symlink(world.repository().join("precious"), &place).unwrap();
    count(&["--source", "github"]);
    assert_eq!(
        std::fs::read_to_string(world.repository().join("precious")).unwrap(),
        "mine"
    );
    assert_eq!(read(&world, &format!("kept/{file}"))["source"], "github");
    for (arguments, expected) in [
        (&["--source", "gitlab"][..], (64, "usage")),
        (&["-n", "0"], (64, "usage")),
        (&["--out", "precious/x"], (73, "unwritable")),
    ] {
        let start = ["events", "record", "--json"];
        let out: &[&str] = if arguments[0] == "--out" {
            &[]
        } else {
            &["--out", "kept"]
        };
        let failure = world.run(&[&start, out, arguments].concat()).failure();
        assert_eq!(
            failure,
            (expected.0, expected.1.to_owned()),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_replay_is_a_duplicate_unless_it_comes_as_new() {
    let (world, id) = told();
    world.run(&["events", "record", "--out", "kept", "--source", "github"]);
    let delivery = github_event(&world)["delivery_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("kept/{}.json", delivery.replace(':', "%3A"));
    let n_before = events(&world).len();
    let replay = |arguments: &[&str]| {
        let ran = world.run(&[&["events", "replay", "--json"], arguments].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let object = ran.json();
        assert_eq!(object["next"], Value::Null);
        object["events"].as_array().unwrap().clone()
    };
    let home = || {
        world
            .tree()
            .into_iter()
            .filter(|(path, _)| path.ends_with("state.db"))
            .collect::<Vec<_>>()
    };
    let before = home();
    for name in [id.as_str(), path.as_str()] {
        let dry = replay(&[name, "--dry-run"]);
        assert_eq!(
            (&dry[0]["id"], &dry[0]["duplicate"], &dry[0]["dry_run"]),
            (&json!(id), &json!(true), &json!(true)),
            "{name}"
        );
    }
    let dry = replay(&[&path, "--dry-run", "--as-new"]);
    assert_eq!(
        (&dry[0]["duplicate"], &dry[0]["verdicts"]),
        (
            &json!(false),
            &json!([{"daemon_id": "tidy", "condition": 0, "wakes": true, "activation_id": null}])
        )
    );
    assert_eq!(home(), before, "a dry run stores nothing");
    let same = replay(&[&id, &path]);
    let told: Vec<_> = same
        .iter()
        .map(|event| (&event["id"], &event["duplicate"], &event["delivery_id"]))
        .collect();
    let expected = (&json!(id), &json!(true), &json!(delivery));
    assert_eq!(told, [expected, expected]);
    assert_eq!(
        (events(&world).len(), &github_event(&world)["duplicates"]),
        (n_before, &json!(2))
    );
    let fresh = replay(&[&id, &path, "--as-new"]);
    for event in &fresh {
        assert_eq!(
            (&event["duplicate"], &event["kind"]),
            (&json!(false), &json!("pull_request"))
        );
        let name = event["delivery_id"].as_str().unwrap();
        assert!(name.starts_with("replay:"), "{name}");
    }
    assert_eq!(events(&world).len(), n_before + 2);
}

#[test]
fn nothing_is_replayed_where_one_of_the_names_is_none() {
    let (world, id) = told();
    let n_before = events(&world).len();
    world.write("raw.json", OPENED);
    let absent = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (name, expected) in [
        ("gone.json", (66, "unreadable")),
        ("raw.json", (65, "invalid-event")),
    ] {
        let failure = world
            .run(&["events", "replay", &id, name, "--as-new", "--json"])
            .failure();
        assert_eq!(failure, (expected.0, expected.1.to_owned()), "{name}");
    }
    assert_eq!(
        world.run(&["events", "replay", absent, "--json"]).failure(),
        (66, "unknown-event".to_owned())
    );
    assert_eq!(
        world.run(&["events", "replay", "--json"]).failure(),
        (64, "usage".to_owned())
    );
    assert_eq!(events(&world).len(), n_before);
}

#[test]
fn an_event_is_shown_to_people_with_its_payload() {
    let (world, id) = told();
    let ran = world.run(&["events", "show", &id]);
    let lines: Vec<&str> = ran.output.lines().collect();
    assert_eq!(
        (ran.code, lines[0], lines[1]),
        (
            0,
            format!("{id}  github pull_request.opened").as_str(),
            "  subject      github:acme/lamp#7"
        )
    );
    assert!(
        ran.output
            .contains("\n  tidy  watch[0] woke it: activation "),
        "{}",
        ran.output
    );
    assert!(
        ran.output.contains("\n  \"action\": \"opened\",\n"),
        "{}",
        ran.output
    );
    assert_eq!(
        ran.notes,
        format!(
            "next: daemon-run explain --event {id}, which explains why the other daemons did not wake\n"
        )
    );
}
