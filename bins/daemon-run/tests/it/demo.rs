//! `demo`: the tour.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn the_tour_is_real_and_leaves_nothing() {
    let world = World::new();
    let ran = world.run(&["demo", "--json"]);
    let object = ran.json();
    let names: Vec<&str> = object["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "repository",
            "lint",
            "event",
            "explain",
            "activation",
            "output",
            "same event",
            "next"
        ]
    );
    for step in object["steps"].as_array().unwrap() {
        assert_eq!(step["ok"], true, "{step}");
        assert!(
            step["detail"].is_string() && step["ids"].is_object(),
            "{step}"
        );
    }
    assert_eq!((ran.code, &object["ok"]), (0, &json!(true)));
    let fields: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["schema_version", "ok", "dir", "steps"]);
    assert!(
        !Path::new(object["dir"].as_str().unwrap()).exists(),
        "it is removed"
    );
    assert!(!world.home().exists(), "the user's own home is not touched");
}

#[test]
fn what_is_kept_holds_the_branch_and_the_records() {
    let world = World::new();
    let ran = world.run(&["demo", "--keep", "--json"]);
    let object = ran.json();
    let kept = Path::new(object["dir"].as_str().unwrap());
    let step = |name: &str| {
        let steps = object["steps"].as_array().unwrap();
        steps
            .iter()
            .find(|step| step["name"] == name)
            .cloned()
            .unwrap_or(Value::Null)
    };
    let branch = step("output")["ids"]["branch"].as_str().unwrap().to_owned();
    let lantern = kept.join("lantern");
    let shown = world.git(&[
        "-C",
        lantern.to_str().unwrap(),
        "show",
        &format!("{branch}:README.md"),
    ]);
    assert!(shown.contains("(docs/start/setup.md)"), "{shown}");
    let home = kept.join("home");
    let listed = world
        .run(&["--home", home.to_str().unwrap(), "activations", "--json"])
        .json();
    assert_eq!(
        listed["activations"][0]["id"],
        step("activation")["ids"]["activation_id"]
    );
    assert_eq!(
        listed["activations"].as_array().map(Vec::len),
        Some(1),
        "the same event made no second one"
    );
    std::fs::remove_dir_all(kept).unwrap();
}

#[test]
fn the_text_is_one_line_a_step() {
    let ran = World::new().run(&["demo"]);
    assert_eq!((ran.code, ran.output.lines().count()), (0, 8));
    assert!(
        ran.output.contains(
            "explain       link-janitor wakes: \"when files matching docs/**/*.md are changed\"\n"
        ),
        "{}",
        ran.output
    );
    assert!(
        ran.output
            .ends_with("next          daemon-run new pr-helper\n"),
        "{}",
        ran.output
    );
}

#[test]
fn without_git_it_says_what_to_install() {
    let world = World::new();
    let mut command = world.command(&["demo", "--json"]);
    command.env("PATH", world.root().join("user"));
    let ran = world.ran(command.output().unwrap());
    assert_eq!(ran.failure(), (69, "no-git".to_owned()));
    assert_eq!(ran.json()["error"]["help"], "install git");
}
